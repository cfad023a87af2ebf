"""The manifest of a run: what was asked, with which versions, and how far it came."""

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from importlib import metadata
from pathlib import Path

from autotune.atomic_write import write_text_atomically
from autotune.plain_data import from_plain, to_plain
from autotune.run_inputs import DISTRIBUTION, Digests, ResolvedOptions
from hwmodel.errors import InputError, RunDirectoryError

MANIFEST_SCHEMA = 1
"""Version of the layout of a run directory."""

MANIFEST_NAME = "manifest.json"

_RECORDED_DISTRIBUTIONS = (DISTRIBUTION, "numpy", "optuna", "joblib", "matplotlib", "scipy")
"""Distributions whose version may change a number or a figure."""

_GIT_TIMEOUT_S = 10.0


class RunStatus(StrEnum):
    """How far a run came. A `running` run whose program is gone counts as interrupted."""

    RUNNING = "running"
    INTERRUPTED = "interrupted"
    FAILED = "failed"
    FINISHED = "finished"


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """Contents of manifest.json.

    Attributes:
        schema: layout of the run directory, `MANIFEST_SCHEMA`.
        status: how far the run came.
        created_utc: ISO time at which the run was first started.
        argv: the command line that started it, without the program.
        options: the options with every default filled in.
        seed: seed of the sampling strategies (also among the options).
        versions: distribution or `python` to version.
        git_commit: commit of the program's checkout; None when it does not run from one.
        digests: of the question and its parts.
        file_digests: hex sha256 of files that the report rests on, by name: of the question's from
            the start, of the results once they are complete.
    """

    schema: int
    status: RunStatus
    created_utc: str
    argv: tuple[str, ...]
    options: ResolvedOptions
    seed: int
    versions: Mapping[str, str]
    git_commit: str | None
    digests: Digests
    file_digests: Mapping[str, str] = field(default_factory=dict)


def load_manifest(directory: Path) -> Manifest:
    """The manifest of a run directory.

    Raises:
        RunDirectoryError: no such directory, no run, an unreadable or foreign manifest.
    """
    path = directory / MANIFEST_NAME
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise RunDirectoryError(f"{directory}: not a run directory (no {MANIFEST_NAME})") from None
    except OSError as error:
        raise RunDirectoryError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise RunDirectoryError(f"{path}: not valid JSON ({error})") from error
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema != MANIFEST_SCHEMA:
        raise RunDirectoryError(
            f"{path}: schema {schema!r}, this version reads {MANIFEST_SCHEMA}; "
            "use the version that made the run, or start a new one"
        )
    try:
        return from_plain(Manifest, document, str(path))
    except InputError as error:
        raise RunDirectoryError(str(error)) from error


def write_manifest(directory: Path, manifest: Manifest) -> None:
    """Replace the manifest of a run directory.

    Raises:
        AutotuneError: it cannot be written.
    """
    text = json.dumps(to_plain(manifest), indent=2) + "\n"
    write_text_atomically(directory / MANIFEST_NAME, text)


def collect_versions() -> Mapping[str, str]:
    """Versions of Python, this program and the libraries that may change a number."""
    versions = {name: metadata.version(name) for name in _RECORDED_DISTRIBUTIONS}
    return {"python": ".".join(map(str, sys.version_info[:3])), **versions}


def find_git_commit(package: Path) -> str | None:
    """Commit of the git checkout whose top directory holds `package`; None when there is none."""
    command = ("git", "-C", str(package), "rev-parse", "--show-toplevel", "HEAD")
    try:
        answer = subprocess.run(
            command, capture_output=True, text=True, timeout=_GIT_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = answer.stdout.splitlines()
    if answer.returncode != 0 or Path(lines[0]) != package.resolve().parent:
        return None
    return lines[1]
