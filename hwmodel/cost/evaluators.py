"""The evaluators by name."""

from collections.abc import Callable

from hwmodel.cost.evaluator import Evaluator
from hwmodel.cost.formula import FormulaEvaluator
from hwmodel.errors import InputError
from hwmodel.spec import HardwareSpec

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
            # The compiler that it needs takes a second to import.
            from hwmodel.cost.pipeline import PipelineEvaluator

            return PipelineEvaluator()
        case "emulator":
            from hwmodel.emulator.evaluator import EmulatorEvaluator

            return EmulatorEvaluator()
        case _:
            raise InputError(
                f"evaluator '{name}' is unknown; use one of {', '.join(EVALUATOR_NAMES)}"
            )


def prepare_evaluator(name: str, spec: HardwareSpec, say: Callable[[str], None]) -> None:
    """Compile what the evaluator needs before processes start that would each do so.

    Args:
        name: the evaluator; the search for the emulator's best plan runs the pipeline model, too.
        spec: the chip.
        say: takes a message before each compilation, if there is one to do.
    """
    if name in {"pipeline", "emulator"}:
        from hwmodel.cost import pipeline

        if pipeline.needs_compiling():
            say("compiling the pipeline model, once; this takes about twenty seconds")
            pipeline.compile_model(spec)
    if name == "emulator":
        from hwmodel.emulator import evaluator

        if evaluator.needs_compiling():
            say("compiling the emulator, once; this takes about twenty seconds")
            evaluator.compile_engines(spec)
