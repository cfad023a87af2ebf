"""What a subcommand module provides; the program's parser is put together from these."""

import argparse
from typing import Protocol


class Command(Protocol):
    """A module of `autotune.cli`; heavy imports inside `run`, so that `--help` is instant."""

    NAME: str
    HELP: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the subcommand's options."""

    def run(self, args: argparse.Namespace) -> int:
        """Do the work; print the answer to stdout, the rest to stderr; return the exit code.

        Raises:
            AutotuneError: for anything one line explains; `main` prints it and exits with
                its code.
        """
