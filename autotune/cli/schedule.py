"""`autotune schedule`: the work list of every core, for requests in JSON lines.

In: one `{"id", "input"}` a line, `input` being the tiling data of a swizzle case of the
specification (swizzle.md, "The golden files"). Out: one answer a line in the same order, `id`
first when one was given. Blank lines are skipped; a line that is no request is answered with
`{"error": "bad_input", "message": ...}`, and the next line is read.
"""

import argparse
from collections.abc import Mapping

from autotune.cli.batch import run_batch
from hwmodel.errors import InputError

NAME = "schedule"
HELP = "print which core computes which block, in which order (JSON lines)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the subcommand's options."""
    parser.add_argument(
        "--batch",
        required=True,
        metavar="FILE|-",
        help='requests {"id", "input"}, one a line; - reads standard input',
    )


def run(args: argparse.Namespace) -> int:
    """Answer the requests line by line on stdout.

    Raises:
        InputError: the file cannot be read.
    """
    from baseline.json_lines import answer_line

    return run_batch(args.batch, lambda line: answer_line(line, _describe_schedule))


def _describe_schedule(fields: Mapping[str, object]) -> Mapping[str, object]:
    """The answer's keys behind `id`."""
    from baseline.swizzle import parse_request
    from baseline.swizzle_record import build_record
    from hwmodel.walk import build_schedule

    tiling = fields.get("input")
    if not isinstance(tiling, Mapping):
        raise InputError('input: missing or no object; write {"id": ..., "input": {...}}')
    return build_record(build_schedule(parse_request(tiling)))
