"""`autotune calibrate`: fit a model's constants to measured kernels."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hwmodel.errors import EXIT_DONE, InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hwmodel.spec import Calibration
    from hwmodel.validation.calibrate import Fitted, PooledError

NAME = "calibrate"
HELP = "Fit a model's constants to measured kernels, with the error on kernels it has not seen."

EVALUATORS = ("emulator", "pipeline")
"""Models that can be fitted; a test keeps them equal to hwmodel's, whose import is heavy."""

BOOTSTRAP_DRAWS = {"emulator": 32, "pipeline": 0}
"""Fits of the bootstrap by model: enough for a spread, and a minute or two of work."""

PERCENT = 100

LOW_PERCENTILE, HIGH_PERCENTILE = 10, 90
"""Between which the middle four fifths of the draws lie."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the subcommand's options."""
    parser.add_argument("--evaluator", choices=EVALUATORS, default="emulator")
    parser.add_argument(
        "--measured",
        metavar="FILE.csv",
        type=Path,
        help="measured kernels; default: the bundled ones less the quarter kept back",
    )
    parser.add_argument(
        "--hw", metavar="NAME|FILE", help="hardware; default: that of the bundled measurements"
    )
    parser.add_argument(
        "--output",
        metavar="TOML",
        type=Path,
        nargs="+",
        default=[],
        help="hardware files to put the constants into; a new one is made from --hw",
    )
    parser.add_argument(
        "--ablation",
        action="store_true",
        help="also the error with each constant held, or fitted where it is held otherwise",
    )
    parser.add_argument(
        "--date", metavar="YYYY-MM-DD", help="date to put into the files (default: today)"
    )
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes (default: 1)")


def run(args: argparse.Namespace) -> int:
    """Fit, cross-validate, print, and write the files.

    Raises:
        InputError: wrong measurements, hardware, date or number of processes.
    """
    from hwmodel.spec_io import DEFAULT_HARDWARE
    from hwmodel.validation.calibrate import (
        FITS,
        ablate,
        build_calibration,
        load_without_fit,
        select_fit_rows,
        write_calibration,
    )
    from hwmodel.validation.measured import load_measured

    if args.jobs < 1:
        raise InputError(f"--jobs {args.jobs}: must be 1 or more")
    date = _parse_date(args.date)
    fit = FITS[args.evaluator]
    spec = load_without_fit(args.hw or DEFAULT_HARDWARE, fit.model)
    rows = select_fit_rows(load_measured(args.measured))
    draws = BOOTSTRAP_DRAWS[fit.model]
    fitted = build_calibration(fit, spec, rows, date, draws=draws, jobs=args.jobs)
    write_calibration(fitted.calibration, spec, args.output)
    sys.stdout.write(format_report(fitted))
    if args.ablation:
        changed = ablate(fit, spec, rows, jobs=args.jobs)
        sys.stdout.write("\n" + format_ablation(fitted.error, changed, fit.held))
    return EXIT_DONE


def _parse_date(text: str | None) -> str:
    """The ISO date; today's when none is given."""
    from datetime import UTC, date, datetime

    if text is None:
        return datetime.now(UTC).date().isoformat()
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise InputError(f"--date {text}: is no date such as 2026-08-31") from None


def format_report(fitted: "Fitted") -> str:
    """Constants and errors as text."""
    from tabulate import tabulate

    calibration, pooled = fitted.calibration, fitted.error
    constants = tabulate(
        [
            (name, value, *_spread(calibration, name))
            for name, value in calibration.constants.items()
        ],
        headers=("constant", "value", f"p{LOW_PERCENTILE}", f"p{HIGH_PERCENTILE}"),
        floatfmt=".4g",
    )
    errors = tabulate(
        [
            (name, error.n, error.median_ape * PERCENT, error.p90_ape * PERCENT)
            for name, error in calibration.errors.items()
        ],
        headers=("class", "rows", "median error %", "90th percentile %"),
        floatfmt=".2f",
    )
    return (
        f"{calibration.rows} kernels of {calibration.measured_on}\n\n{constants}\n\n"
        f"on kernels not fitted to (cross-validated by weights):\n{errors}\n"
        f"mean {pooled.mean_ape * PERCENT:.2f} %, greatest {pooled.max_ape * PERCENT:.1f} %\n"
    )


def _spread(calibration: "Calibration", name: str) -> tuple[float, ...]:
    """The range of the bootstrap's middle four fifths; nothing where there is none."""
    import numpy as np

    values = [draw[name] for draw in calibration.draws if name in draw]
    if not values:
        return ()
    return tuple(float(one) for one in np.percentile(values, (LOW_PERCENTILE, HIGH_PERCENTILE)))


def format_ablation(
    full: "PooledError", changed: "Mapping[str, PooledError]", held: "Sequence[str]"
) -> str:
    """Cross-validated error with each constant changed over, as text.

    Args:
        full: the error of the fit as it is.
        changed: the error by the constant that is held, or fitted if it is one of `held`.
        held: constants that the fit holds.
    """
    from tabulate import tabulate

    changes = {
        f"{name} {'fitted too' if name in held else 'held'}": one for name, one in changed.items()
    }
    table = tabulate(
        [
            (name, *(one * PERCENT for one in (error.median_ape, error.mean_ape, error.p90_ape)))
            for name, error in {"as fitted": full, **changes}.items()
        ],
        headers=("fit", "median error %", "mean %", "90th percentile %"),
        floatfmt=".2f",
    )
    return table + "\n"
