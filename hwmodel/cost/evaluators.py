"""The evaluators by name."""

from hwmodel.cost.evaluator import Evaluator
from hwmodel.cost.formula import FormulaEvaluator
from hwmodel.cost.pipeline import PipelineEvaluator
from hwmodel.errors import InputError

EVALUATOR_NAMES = ("formula", "pipeline")
"""Names that `select_evaluator` knows."""


def select_evaluator(name: str) -> Evaluator:
    """The evaluator of that name.

    Raises:
        InputError: there is none.
    """
    match name:
        case "formula":
            return FormulaEvaluator()
        case "pipeline":
            return PipelineEvaluator()
        case _:
            raise InputError(
                f"evaluator '{name}' is unknown; use one of {', '.join(EVALUATOR_NAMES)}"
            )
