"""`autotune schedule`: the work list of every core, for requests in JSON lines.

In: one `{"id", "input"}` a line, `input` being the tiling data of a swizzle case of the
specification (swizzle.md, "The golden files"). Out: one answer a line in the same order, `id`
first when one was given. Blank lines are skipped; a line that is no request is answered with
`{"error": "bad_input", "message": ...}`, and the next line is read.
"""

import argparse
import json
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import BinaryIO

from hwmodel.errors import EXIT_DONE, InputError

NAME = "schedule"
HELP = "print which core computes which block, in which order (JSON lines)"

_STDIN = "-"


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
    with _open_batch(args.batch) as lines:
        for line in lines:
            if line.strip():
                sys.stdout.write(json.dumps(_answer(line)) + "\n")
                # A reader at the other end of a pipe gets each answer when it is ready.
                sys.stdout.flush()
    return EXIT_DONE


def _open_batch(name: str) -> "nullcontext[BinaryIO] | BinaryIO":
    if name == _STDIN:
        return nullcontext(sys.stdin.buffer)
    try:
        return Path(name).open("rb")
    except OSError as error:
        raise InputError(f"{name}: {error.strerror}; give a file of JSON lines, or -") from error


def _answer(line: bytes) -> dict[str, object]:
    """The answer to one line; never raises for what the line says."""
    from baseline.swizzle import parse_request
    from baseline.swizzle_record import build_record
    from hwmodel.walk import build_schedule

    head: dict[str, object] = {}
    try:
        request = _parse_line(line)
        if "id" in request:
            head["id"] = request["id"]
        tiling = request.get("input")
        if not isinstance(tiling, Mapping):
            raise InputError('input: missing or no object; write {"id": ..., "input": {...}}')
        return head | build_record(build_schedule(parse_request(tiling)))
    except InputError as error:
        return head | {"error": "bad_input", "message": str(error)}


def _parse_line(line: bytes) -> Mapping[str, object]:
    try:
        request = json.loads(line, parse_constant=_reject_constant)
    except (ValueError, RecursionError) as error:
        raise InputError(f"no JSON: {error}") from error
    if not isinstance(request, dict):
        raise InputError('no JSON object; write {"id": ..., "input": {...}}')
    return request


def _reject_constant(name: str) -> object:
    """NaN and the infinities are no JSON; an `id` must come back as valid JSON."""
    raise ValueError(f"{name} is no JSON value")
