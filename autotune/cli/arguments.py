"""Options that several subcommands have in common."""

import argparse
from pathlib import Path


def add_hardware_arguments(group: argparse._ActionsContainer) -> None:
    """Declare `--hw`, `--hw-base` and `--as-950`; None means not given."""
    group.add_argument(
        "--hw", metavar="NAME|FILE", help="chip: a name of `autotune hw list`, a .toml or an .ini"
    )
    group.add_argument(
        "--hw-base", metavar="NAME", help="chip that gives the figures an .ini file lacks"
    )
    group.add_argument(
        "--as-950",
        action="store_true",
        default=None,
        help="apply the heuristic of the Ascend 950 to another chip's figures",
    )


def parse_directory(text: str) -> Path:
    """The type of an option that names a directory: an empty name would be the working one."""
    if not text:
        raise argparse.ArgumentTypeError("the name is empty; give a directory")
    return Path(text)
