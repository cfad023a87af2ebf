"""`autotune hw`: list, show and check hardware specs."""

import argparse
import json
import sys
from typing import TYPE_CHECKING

from hwmodel.errors import EXIT_BAD_INPUT, EXIT_DONE, AutotuneError, InputError

if TYPE_CHECKING:
    from hwmodel.spec import HardwareSpec

NAME = "hw"
HELP = "list, show and check hardware specs"

_UNITS = (
    ("_bytes_per_cycle", "B/cycle"),
    ("lanes_per_cycle", "lanes/cycle"),
    ("_bytes", "B"),
    ("_mhz", "MHz"),
    ("_us", "us"),
    ("_cycles", "cycles"),
    ("_ratio", "ratio"),
)
"""Unit of a figure by the suffix of its name; the first that fits counts."""

_SOURCE_WIDTH = 60
_BYTES_PER_TERABYTE = 1e12
_OPERATIONS_PER_MAC = 2
_OPERATIONS_PER_TERA = 1e12


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `hw list`, `hw show` and `hw check`."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="the bundled specs, one a line")
    listing.add_argument("--format", choices=("table", "json"), default="table")
    show = actions.add_parser(
        "show", help="every figure of a spec with its unit, provenance, range and source"
    )
    show.add_argument("hardware", metavar="NAME|PATH", help="a name of `hw list`, a .toml or .ini")
    show.add_argument("--format", choices=("table", "json", "toml"), default="table")
    check = actions.add_parser("check", help="say whether hardware files are valid")
    check.add_argument("paths", nargs="+", metavar="PATH", help="a .toml or .ini hardware file")
    for action in (show, check):
        action.add_argument(
            "--hw-base", metavar="NAME|PATH", help="spec that gives what an .ini file lacks"
        )


def run(args: argparse.Namespace) -> int:
    """Carry out the action; the exit code is 2 when a checked file is not valid.

    Raises:
        InputError: unknown name or a wrong hardware file (`show`), or a `--hw-base` that is
            unknown or completes nothing (`check`).
    """
    if args.action == "list":
        return _run_list(args.format)
    if args.action == "show":
        return _run_show(args.hardware, args.hw_base, args.format)
    return _run_check(args.paths, args.hw_base)


def _run_list(output_format: str) -> int:
    from tabulate import tabulate

    from hwmodel.spec_io import hardware_names, load_hardware

    rows = [_summarise(load_hardware(name)) for name in hardware_names()]
    if output_format == "json":
        _write_json(rows)
    else:
        _write(tabulate(rows, headers="keys", floatfmt=".4g"))
    return EXIT_DONE


def _summarise(spec: "HardwareSpec") -> dict[str, object]:
    """What tells one chip from another, for `hw list`."""
    hbm_per_second = spec.rates.hbm_read_total_bytes_per_cycle * spec.clock_hz
    macs_per_second = spec.compute.macs_per_cycle_16bit * spec.cores.aic_num * spec.clock_hz
    return {
        "name": spec.name,
        "soc": spec.soc,
        "npu_arch": spec.npu_arch,
        "cube_cores": spec.cores.aic_num,
        "vector_cores": spec.cores.aiv_num,
        "clock_mhz": spec.cores.clock_mhz,
        "hbm_tb_per_s": round(hbm_per_second / _BYTES_PER_TERABYTE, 3),
        "peak_16bit_tflops": round(
            _OPERATIONS_PER_MAC * macs_per_second / _OPERATIONS_PER_TERA, 1
        ),
        "calibrated": _describe_calibrations(spec),
    }


def _describe_calibrations(spec: "HardwareSpec") -> str:
    """Models with constants fitted to measured kernels, and to whose when not this chip's."""
    parts = []
    for model, calibration in sorted(spec.calibrations.items()):
        relative = calibration.measured_on != spec.soc or not calibration.errors
        parts.append(f"{model} (carried over)" if relative else model)
    return ", ".join(parts) or "no"


def _run_show(hardware: str, base: str | None, output_format: str) -> int:
    from hwmodel.spec_io import format_hardware, load_hardware, spec_digest

    spec = load_hardware(hardware, base=base)
    if output_format == "toml":
        _write(format_hardware(spec).rstrip())
        return EXIT_DONE
    head: dict[str, object] = {
        "name": spec.name,
        "soc": spec.soc,
        "npu_arch": spec.npu_arch,
        "digest": spec_digest(spec),
    }
    if output_format == "json":
        _write_json({**head, "figures": _list_figures(spec), "calibration": _list_fits(spec)})
    else:
        _write_tables(spec, head)
    return EXIT_DONE


def _list_figures(spec: "HardwareSpec") -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for path, value in spec.figures().items():
        provenance = spec.provenance[path]
        has_range = provenance.low is not None
        rows.append(
            {
                "figure": path,
                "value": value,
                "unit": _find_unit(path),
                "provenance": provenance.kind.value,
                "range": [provenance.low, provenance.high] if has_range else None,
                "source": provenance.source,
            }
        )
    return rows


def _list_fits(spec: "HardwareSpec") -> dict[str, object]:
    from hwmodel.spec_document import build_document

    fits: dict[str, object] = build_document(spec).get("calibration", {})
    return fits


def _write_tables(spec: "HardwareSpec", head: dict[str, object]) -> None:
    from tabulate import tabulate

    _write(tabulate(head.items(), tablefmt="plain") + "\n")
    rows = [
        (
            row["figure"],
            f"{row['value']:g}" if isinstance(row["value"], float) else str(row["value"]),
            row["unit"],
            row["provenance"],
            "" if row["range"] is None else _format_range(spec, str(row["figure"])),
            row["source"],
        )
        for row in _list_figures(spec)
    ]
    headers = ("figure", "value", "unit", "provenance", "range", "source")
    widths = [None] * (len(headers) - 1) + [_SOURCE_WIDTH]
    _write(tabulate(rows, headers=headers, maxcolwidths=widths, disable_numparse=True))
    for model, fit in sorted(spec.calibrations.items()):
        _write(
            f"\ncalibration of {model}: {fit.rows} kernels measured on {fit.measured_on}, "
            f"{fit.date}, data {fit.data_digest}"
        )
        _write(tabulate(fit.constants.items(), headers=("constant", "value")))
        if not fit.errors:
            _write("no error is known: the constants were carried over, this chip not measured")
            continue
        errors = [
            (name, error.n, f"{error.median_ape:.1%}", f"{error.p90_ape:.1%}")
            for name, error in fit.errors.items()
        ]
        _write(tabulate(errors, headers=("class", "rows", "median error", "90th percentile")))


def _format_range(spec: "HardwareSpec", path: str) -> str:
    provenance = spec.provenance[path]
    digits = "g" if isinstance(spec.figures()[path], float) else ".0f"
    return f"{provenance.low:{digits}} .. {provenance.high:{digits}}"


def _find_unit(path: str) -> str:
    if "macs_per_cycle" in path:
        return "MAC/cycle"
    return next((unit for suffix, unit in _UNITS if path.endswith(suffix)), "cores")


def _run_check(paths: list[str], base: str | None) -> int:
    from hwmodel.spec_io import load_hardware

    if base is not None:
        if not any(map(_is_ini, paths)):
            raise InputError(
                f"--hw-base {base}: completes platform .ini files, and none is to be checked; "
                "leave it out"
            )
        load_hardware(base)
    code = EXIT_DONE
    for path in paths:
        try:
            spec = load_hardware(path, base=base if _is_ini(path) else None)
        except AutotuneError as error:
            print(f"autotune hw: {error}", file=sys.stderr)  # noqa: T201
            code = EXIT_BAD_INPUT
            continue
        _write(f"{path}: valid: {spec.name}, {spec.npu_arch}, {len(spec.provenance)} figures")
    return code


def _is_ini(path: str) -> bool:
    return path.lower().endswith(".ini")


def _write_json(document: object) -> None:
    _write(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False))


def _write(text: str) -> None:
    sys.stdout.write(text + "\n")
