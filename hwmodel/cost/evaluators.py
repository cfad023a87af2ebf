"""The evaluators by name."""

from hwmodel.cost.evaluator import Evaluator
from hwmodel.cost.formula import FormulaEvaluator
from hwmodel.cost.pipeline import PipelineEvaluator
from hwmodel.errors import InputError

EVALUATOR_NAMES = ("formula", "pipeline", "emulator")
"""Names that `select_evaluator` knows."""

SLOW_EVALUATORS = frozenset({"emulator"})
"""Those that take milliseconds a plan: too long for the million plans of a whole space."""


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
        case "emulator":
            # The compiler that it needs takes a second to import.
            from hwmodel.emulator.evaluator import EmulatorEvaluator

            return EmulatorEvaluator()
        case _:
            raise InputError(
                f"evaluator '{name}' is unknown; use one of {', '.join(EVALUATOR_NAMES)}"
            )
