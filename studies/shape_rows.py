"""Rows of a shapes file: a problem, and where in which model it comes from."""

from dataclasses import dataclass

from hwmodel.problem import GemmProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeRow:
    """One line of a shapes CSV.

    Attributes:
        index: 0-based position among the data rows.
        name: the row's name, or the problem's label where the file gives none.
        problem: the GEMM.
        weight: calls in one forward pass on one device.
        tag: free text; `grouped` marks shapes another operator serves today.
        model: model the shape belongs to, empty when unknown.
        layer: layer of the model, empty when unknown.
        phase: `decode`, `prefill`, `training`, ..., empty when unknown.
        tp: tensor-parallel degree, None when unknown.
        tokens: tokens in flight, None when unknown.
        measured_us: measured time, None when not measured.
    """

    index: int
    name: str
    problem: GemmProblem
    weight: float = 1.0
    tag: str = ""
    model: str = ""
    layer: str = ""
    phase: str = ""
    tp: int | None = None
    tokens: int | None = None
    measured_us: float | None = None
