"""The words of the first screen, one line each, for someone who has never seen the project."""

DEFINITIONS = (
    (
        "Control",
        "what the operator does today: the tiling that its host code chooses, computed exactly as "
        "it does.",
    ),
    (
        "Treatment",
        "what the selector chooses among the control and the alternatives of a hypothesis; it may "
        "keep the control.",
    ),
    ("Selector", "the fast model that chooses; a host tiling could run it."),
    ("Judge", "the emulator of the chip, which says what a choice is worth."),
    (
        "Gain",
        "t_control / t_treatment - 1 by the judge; means are geometric, each distinct shape once.",
    ),
    (
        "Weighted",
        "the same over all rows of the shapes file by calls in a pass, every model and phase "
        "alike; no gain outside the domain.",
    ),
    ("Optimism", "the selector's gain less the judge's."),
    (
        "Unseen shapes",
        "a third of the shapes, by hash of (k, n): they chose no rule and no part, and only score "
        "them.",
    ),
    (
        "Resolved",
        "the judge's difference exceeds twice its median error, so it may be more than model "
        "error.",
    ),
)
"""Terms and meanings, in the order in which a reader meets them."""
