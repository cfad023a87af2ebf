"""`autotune trace`: the timeline of an emulated kernel, for Perfetto or MindStudio Insight."""

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from autotune.cli.kernel_arguments import add_kernel_arguments, emulate_kernel, resolve_kernel
from hwmodel.errors import EXIT_DONE, InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

NAME = "trace"
HELP = "write what every pipe of every core does when, for Perfetto or MindStudio Insight"

_GZIP: Final = ".gz"
_LEVEL: Final = 6
"""zlib's own default: smaller files take several times longer."""

_RANGE: Final = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_kernel_arguments(parser)
    parser.add_argument(
        "--output",
        required=True,
        type=_parse_output,
        metavar="FILE",
        help="file in Chrome's trace format; compressed when its name ends in .gz",
    )
    parser.add_argument(
        "--cores", type=_parse_cores, metavar="LIST", help="cores to show, e.g. 0-3,7 (all)"
    )
    parser.add_argument(
        "--rounds",
        type=_parse_rounds,
        metavar="N",
        help="show the first N work items of each core (all)",
    )


def run(args: argparse.Namespace) -> int:
    """Write the trace; says on stdout what is in it.

    Raises:
        InputError: options that do not go together, or a trace that is too long for viewers.
        AutotuneError: the file cannot be written.
    """
    from autotune.atomic_write import open_atomically
    from hwmodel.emulator.trace import format_ranges, select_trace, write_trace_lines

    kernel = resolve_kernel(args)
    emulation = emulate_kernel(args, kernel)
    if emulation.log is None:
        raise InputError(
            f"{kernel.problem.label()}: no timeline: {emulation.why_no_log}; give another problem"
        )
    used = len(emulation.result.cores)
    cores = range(used) if args.cores is None else args.cores
    if cores[-1] >= used:
        raise InputError(f"--cores: core {cores[-1]}: the kernel runs on cores 0-{used - 1}")
    timeline = select_trace(emulation.log, kernel.plan, kernel.spec, cores, args.rounds)
    lines = write_trace_lines(timeline, emulation.log, kernel.plan, kernel.spec)
    with open_atomically(args.output) as stream:
        size = _write(stream, lines, is_compressed=args.output.name.endswith(_GZIP))
    shown = ",".join(format_ranges(cores))
    sys.stdout.write(
        f"{args.output}: {len(timeline.rows)} events of core{'s' if len(cores) > 1 else ''} "
        f"{shown}, {size} bytes uncompressed; open it with ui.perfetto.dev or MindStudio Insight\n"
    )
    return EXIT_DONE


def _write(stream: "BinaryIO", lines: "Iterator[str]", *, is_compressed: bool) -> int:
    """Write the lines; returns their size in bytes. The same lines give the same file."""
    import gzip
    from contextlib import nullcontext

    target = (
        gzip.GzipFile(filename="", mode="wb", compresslevel=_LEVEL, fileobj=stream, mtime=0)
        if is_compressed
        else nullcontext(stream)
    )
    with target as out:
        return sum(out.write(line.encode("ascii")) for line in lines)


def _parse_output(text: str) -> Path:
    """A file name."""
    if not text or text.endswith("/"):
        raise argparse.ArgumentTypeError("the name is empty; give a file")
    return Path(text)


def _parse_cores(text: str) -> tuple[int, ...]:
    """Numbers and ranges, separated by commas."""
    from hwmodel.emulator.setup import MAX_CORES

    numbers: set[int] = set()
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            raise argparse.ArgumentTypeError(f"{text!r}: write numbers and ranges like 0-3,7")
        low, high = int(match[1]), int(match[2] or match[1])
        if not low <= high < MAX_CORES:
            raise argparse.ArgumentTypeError(f"{part!r}: must ascend and stay below {MAX_CORES}")
        numbers.update(range(low, high + 1))
    return tuple(sorted(numbers))


def _parse_rounds(text: str) -> int:
    """A count of at least 1."""
    try:
        rounds = int(text)
    except ValueError:
        rounds = 0
    if rounds < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: must be a number of at least 1")
    return rounds
