"""What a gap is worth, in words: whether it is resolved, and how near to what was measured."""

from typing import Final

from autotune.report.text import name_class
from autotune.results import ComparedPlans, Coverage

_TELLING: Final = 0.5e-3
"""Gap that is printed as more than nothing (`format_gap` has one decimal of a percentage)."""

_COVERAGE_WORDS: Final = {
    Coverage.INSIDE: "types, layout, tiles and order of both plans were measured",
    Coverage.TRANSPOSED: "as measured, but for transposed operands",
    Coverage.EXTRAPOLATED: (
        "one of the two plans is beyond the measured kernels, by its tile, order, kernel, types "
        "or layout, so the model's error there is not known"
    ),
}


def describe_resolved(compared: ComparedPlans) -> str:
    """Whether the gap is larger than the model's error, by the rules of `studies.gap`."""
    classes = " and ".join(
        dict.fromkeys(map(name_class, (compared.error_class, compared.best_error_class)))
    )
    if compared.gap_ratio < _TELLING:
        return "there is no gap to speak of"
    if not compared.resolved:
        return f"not resolved: it may be nothing but the model's error (kernels: {classes})"
    surer = "and" if compared.exceeds_p90 else "but not"
    return (
        f"resolved: it exceeds twice the model's median error for such kernels ({classes}), "
        f"{surer} twice its 90th percentile"
    )


def describe_coverage(coverage: Coverage) -> str:
    """How near the comparison is to the measured kernels."""
    return f"{coverage.value}: {_COVERAGE_WORDS[coverage]}"
