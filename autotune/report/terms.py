"""The words of the report, one line each, for someone who knows matrix multiplication only."""

from autotune.report.text import STREAM_K, TIMES

TABLE_TERMS = (
    (
        "Base tile",
        f"base_m{TIMES}base_n{TIMES}base_k: the rows and columns of C that one core computes at "
        "a time, and the columns of K in one step of the cube.",
    ),
    (
        "L1 step (step)",
        "how many base_k columns of A and B are loaded into a core's L1 buffer at a time.",
    ),
    (
        "L0C (2 L0C)",
        "the buffer of a core that holds the tile of C being summed; with two halves, one tile is "
        "stored while the next is computed.",
    ),
    (
        "Block order, window (W)",
        "the order in which tiles are dealt to the cores: column by column inside a band of W "
        "rows of tiles, every other band backwards unless it says one-way.",
    ),
    (
        "Tail split (tail)",
        "the tiles of the last, partly filled round are cut into that many pieces, so that idle "
        "cores help.",
    ),
    (
        "Round",
        "one tile on each core; the last round may leave cores idle.",
    ),
    (
        f"{STREAM_K} (K/224)",
        "a kernel that also splits K between cores, here into pieces of 224 columns, and adds the "
        "partial sums at the end.",
    ),
    (
        "A or B full load",
        "a kernel in which a core keeps all of A, or all of B, that it needs in L1.",
    ),
    ("ASWT", "the vendor's plain kernel for tiles in a block order with windows."),
    (
        "via UB",
        "tiles leave through the vector cores' buffer (UB), which can store lines that are not "
        "aligned.",
    ),
    (
        "Bound by",
        "what the time is spent on: cube (multiply-accumulate), MTE2 (loads from HBM or L2 into "
        "L1), MTE1 (loads from L1 into L0), fixpipe (the way of a tile out of L0C), vector "
        "(vector cores) or launch (starting the kernel and its first access).",
    ),
    (
        "Error class",
        "kernels that the model gets wrong to a similar degree; chosen by the predicted time of "
        "the baseline.",
    ),
    (
        "Regret",
        "how far the best found may be from the best of the space searched, by the model.",
    ),
    (
        "Certificate",
        "the statement that every legal tiling of the space was evaluated, or skipped by a proof "
        "that it is slower.",
    ),
    ("tp", "tensor parallelism: over how many devices each layer is split."),
    (
        "Grouped",
        "expert layers that another operator serves today; shown, but left out of every count.",
    ),
)
"""Terms of the tables, in the order of a tiling's description, then of the columns."""
