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
    """The model by its name; says so when it must be compiled first.

    Raises:
        InputError: no model has this name.
    """
    from hwmodel.cost.evaluators import prepare_evaluator, select_evaluator

    prepare_evaluator(name, spec, lambda message: say(args, message))
    return select_evaluator(name)
