"""The option that names a model, and the model ready for use."""

import argparse
from typing import TYPE_CHECKING

from autotune.cli.kernel_arguments import say
from autotune.cli.study import EVALUATORS

if TYPE_CHECKING:
    from hwmodel.cost.evaluator import Evaluator
    from hwmodel.spec import HardwareSpec


def add_evaluator_argument(
    group: argparse._ActionsContainer, *, default: str = "pipeline"
) -> None:
    """Declare `--evaluator`; None means not given, `default` says what that means."""
    group.add_argument(
        "--evaluator", choices=EVALUATORS, help=f"model that predicts (default: {default})"
    )


def load_evaluator(args: argparse.Namespace, name: str, spec: "HardwareSpec") -> "Evaluator":
    """The model by its name; says so when the emulator must be compiled first.

    Raises:
        InputError: no model has this name.
    """
    from hwmodel.cost.evaluators import select_evaluator

    if name == "emulator":
        from hwmodel.emulator.evaluator import compile_engines, needs_compiling

        if needs_compiling():
            say(args, "compiling the emulator, once; this takes about twenty seconds")
            compile_engines(spec)
    return select_evaluator(name)
