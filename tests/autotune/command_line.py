"""The program with some of its subcommands, run in this process."""

import json
from typing import Any

import pytest

from autotune import __main__ as program
from hwmodel.cost import evaluators


class CommandLine:
    """Runs a command and gives back the exit code and both streams.

    Only the subcommands under test are there, so that no other one slows or breaks the tests, and
    nothing is said of compiling, which depends on what was compiled before.
    """

    def __init__(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *names: str
    ) -> None:
        monkeypatch.setattr(program, "COMMAND_MODULES", names)
        monkeypatch.setattr(evaluators, "prepare_evaluator", lambda *_: None)
        self.capsys = capsys

    def run(self, *argv: str) -> tuple[int, str, str]:
        try:
            code = program.main(argv)
        except SystemExit as leaving:
            code = int(leaving.code or 0)
        streams = self.capsys.readouterr()
        return code, streams.out, streams.err

    def answer(self, *argv: str) -> str:
        """What a command prints that succeeds."""
        code, out, err = self.run(*argv)
        assert code == 0, err
        return out

    def document(self, *argv: str) -> Any:
        """The JSON document of a command that succeeds."""
        return json.loads(self.answer(*argv, "--format", "json"))

    def complaint(self, *argv: str, code: int = 2) -> str:
        """The one line of a command that fails, without its line end."""
        found, out, err = self.run(*argv)
        assert (found, out) == (code, "")
        assert err.count("\n") == 1, err
        return err.rstrip("\n")
