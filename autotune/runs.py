"""Run directories: created, found again, locked by the process that works in them.

Layout: manifest.json, hardware.toml, shapes.csv, journal/*.jsonl, trials.jsonl, results.json,
results.csv, report.html, report.md, figures/*.svg, run.log. trials.jsonl, the results, report.md
and the figures hold no time, host or number of processes: the same question gives the same bytes.
"""

import hashlib
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from autotune.atomic_write import open_atomically, write_text_atomically
from autotune.file_lock import require_lock, try_lock
from autotune.manifest import (
    MANIFEST_NAME,
    MANIFEST_SCHEMA,
    Manifest,
    RunStatus,
    collect_versions,
    find_git_commit,
    load_manifest,
    write_manifest,
)
from autotune.run_inputs import Digests, ResolvedOptions, RunInputs
from hwmodel.errors import AutotuneError, RunDirectoryError
from studies.shape_rows import ShapeRow

RUNS_DIRECTORY = Path("runs")
"""Where runs without `--out` go, relative to the working directory."""

HARDWARE_NAME = "hardware.toml"
SHAPES_NAME = "shapes.csv"
JOURNAL_NAME = "journal"
TRIALS_NAME = "trials.jsonl"
RESULTS_JSON_NAME = "results.json"
RESULTS_CSV_NAME = "results.csv"
REPORT_NAME = "report.html"
LOG_NAME = "run.log"

_STAMP_FORMAT = "%Y%m%dT%H%M%SZ"
_INDEX_DIGITS = 4
"""Width of the shape index in the names of journals; longer indices still work."""
_DIGEST_DIGITS = 12
"""Hex digits of a digest in file names, for the eye: the journal's header decides."""
_LONGEST_NAME = 40
"""Characters of the shapes file's name kept in the name of a run."""


class RunDirectory:
    """One run directory and its manifest.

    Args:
        path: the directory; it holds a manifest.
        manifest: its contents.
    """

    def __init__(self, path: Path, manifest: Manifest) -> None:
        """Take what `create_run` or `open_run` checked."""
        self.path = path
        self.manifest = manifest

    def set_status(self, status: RunStatus) -> None:
        """Record how far the run came; of a finished one also what its results are.

        Raises:
            AutotuneError: the manifest cannot be written.
        """
        digests = dict(self.manifest.file_digests)
        if status is RunStatus.RUNNING:
            digests.pop(RESULTS_JSON_NAME, None)
        elif status is RunStatus.FINISHED:
            digests[RESULTS_JSON_NAME] = _digest_file(self.path / RESULTS_JSON_NAME)
        self.manifest = replace(self.manifest, status=status, file_digests=digests)
        write_manifest(self.path, self.manifest)

    def has_answers(self) -> bool:
        """The run is finished and its results are there."""
        is_finished = self.manifest.status is RunStatus.FINISHED
        return is_finished and (self.path / RESULTS_JSON_NAME).exists()

    def journal_path(self, row: ShapeRow) -> Path:
        """The journal of the problem whose first row this is."""
        digest = self.manifest.digests.run[:_DIGEST_DIGITS]
        return self.path / JOURNAL_NAME / f"{row.index:0{_INDEX_DIGITS}}-{digest}.jsonl"

    def write_trials(self, journals: Iterable[Path]) -> None:
        """Concatenate the journals, in the order given, into trials.jsonl.

        Raises:
            AutotuneError: it cannot be written.
        """
        with open_atomically(self.path / TRIALS_NAME) as output:
            for journal in journals:
                if journal.exists():
                    with journal.open("rb") as stream:
                        shutil.copyfileobj(stream, output)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Work in the directory alone.

        Raises:
            RunDirectoryError: another process works in it, or it cannot be opened.
        """
        descriptor = self._open()
        try:
            require_lock(descriptor, f"run {self.path}")
            yield
        finally:
            os.close(descriptor)

    def is_idle(self) -> bool:
        """No process works in the directory.

        Raises:
            RunDirectoryError: the directory cannot be opened.
        """
        descriptor = self._open()
        try:
            return try_lock(descriptor)
        finally:
            os.close(descriptor)

    def _open(self) -> int:
        """A descriptor of the directory, for its lock."""
        try:
            return os.open(self.path, os.O_RDONLY)
        except OSError as error:
            raise RunDirectoryError(f"cannot open {self.path}: {error.strerror}") from error


def create_run(
    out: Path | None,
    shapes_file: Path,
    inputs: RunInputs,
    options: ResolvedOptions,
    argv: tuple[str, ...],
) -> RunDirectory:
    """A new run directory: `out`, or one in `runs/` named after the time and the shapes file.

    Args:
        out: a directory that is empty or does not exist; None to choose one.
        shapes_file: copied into the run.
        inputs: the question.
        options: the same with the names the user gave, for the manifest.
        argv: the command line without the program.

    Raises:
        RunDirectoryError: the directory cannot be made, is not empty or a file is in the way.
        AutotuneError: a file cannot be written into it.
    """
    from hwmodel.spec_io import format_hardware

    now = datetime.now(UTC)
    path = _make_directory(out, now, Path(options.shapes).stem)
    with open_atomically(path / SHAPES_NAME) as copy, shapes_file.open("rb") as original:
        shutil.copyfileobj(original, copy)
    write_text_atomically(path / HARDWARE_NAME, format_hardware(inputs.spec))
    manifest = Manifest(
        schema=MANIFEST_SCHEMA,
        status=RunStatus.RUNNING,
        created_utc=now.isoformat(timespec="seconds"),
        argv=argv,
        options=options,
        seed=options.seed,
        versions=collect_versions(),
        git_commit=find_git_commit(Path(__file__).parent),
        digests=inputs.digests(),
        file_digests={name: _digest_file(path / name) for name in (HARDWARE_NAME, SHAPES_NAME)},
    )
    write_manifest(path, manifest)
    return RunDirectory(path, manifest)


def open_run(path: Path) -> RunDirectory:
    """The run in an existing directory.

    Raises:
        RunDirectoryError: there is none, or it cannot be read.
    """
    return RunDirectory(path, load_manifest(path))


def require_same_question(run: RunDirectory, digests: Digests) -> None:
    """Refuse to mix the answers of two questions in one directory.

    Raises:
        RunDirectoryError: the run's digest is another; the message names the parts that differ.
    """
    parts = ", ".join(run.manifest.digests.differing_parts(digests))
    if parts:
        raise RunDirectoryError(
            f"{run.path} holds a run with another digest ({parts} differ); "
            "name another directory with --out, or repeat that run's options"
        )


def find_changed_files(directory: Path, manifest: Manifest) -> tuple[str, ...]:
    """Names of files that are not what the run wrote; missing ones do not count.

    Raises:
        RunDirectoryError: a file cannot be read.
    """
    return tuple(
        name
        for name, digest in manifest.file_digests.items()
        if (directory / name).exists() and _digest_file(directory / name) != digest
    )


def require_results(directory: Path, manifest: Manifest) -> Path:
    """The results of a run, which are what it wrote and belong to its hardware.

    Raises:
        RunDirectoryError: there are none, or a file changed, so that a report would show what the
            run did not compute.
    """
    path = directory / RESULTS_JSON_NAME
    resume = f"`autotune study --resume {directory}`"
    if not path.exists():
        if manifest.status is RunStatus.FINISHED:
            raise RunDirectoryError(
                f"{directory}: the run is finished, but its {RESULTS_JSON_NAME} is missing; "
                f"{resume} makes it again from the journals"
            )
        is_stopped = manifest.status is not RunStatus.RUNNING
        state = manifest.status.value if is_stopped else "still running, or was stopped"
        raise RunDirectoryError(
            f"{directory}: the run is not finished ({state}) and has no {RESULTS_JSON_NAME}; "
            f"continue it with {resume}"
        )
    for name in find_changed_files(directory, manifest):
        if name != SHAPES_NAME:
            is_results = name == RESULTS_JSON_NAME
            remedy = f"remove it and let {resume} make it" if is_results else "start a new run"
            raise RunDirectoryError(
                f"{directory / name}: changed since the run wrote it, so a report would show what "
                f"was not computed; put it back, or {remedy}"
            )
    return path


def is_free(path: Path) -> bool:
    """A new run may be made there: nothing, or an empty directory.

    Raises:
        RunDirectoryError: a file is in the way, or the directory holds other things.
    """
    try:
        entries = sorted(entry.name for entry in path.iterdir())
    except FileNotFoundError:
        return True
    except OSError as error:
        raise RunDirectoryError(
            f"cannot use {path} as a run directory: {error.strerror}"
        ) from error
    if entries and MANIFEST_NAME not in entries:
        raise RunDirectoryError(
            f"{path} is not empty and holds no run; name another directory with --out"
        )
    return not entries


def find_interrupted(digests: Digests) -> RunDirectory | None:
    """The newest run in `runs/` with this question that was interrupted or killed, if any."""
    try:
        candidates = sorted(RUNS_DIRECTORY.iterdir(), reverse=True)
    except OSError:
        return None
    for path in candidates:
        with suppress(AutotuneError):  # no run, or none that can be used
            run = open_run(path)
            is_stopped = run.manifest.status is RunStatus.INTERRUPTED or (
                run.manifest.status is RunStatus.RUNNING and run.is_idle()
            )
            if is_stopped and run.manifest.digests == digests:
                return run
    return None


def _digest_file(path: Path) -> str:
    """Hex sha256 of a file of the run.

    Raises:
        RunDirectoryError: it cannot be read.
    """
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise RunDirectoryError(f"cannot read {path}: {error.strerror}") from error


def _make_directory(out: Path | None, now: datetime, name: str) -> Path:
    """Make `out`, or `runs/<UTC stamp>-<name>`, with a counter when that second has one."""
    safe_name = re.sub(r"[^A-Za-z0-9._-]+", "_", name)[:_LONGEST_NAME] or "shapes"
    stamped = RUNS_DIRECTORY / f"{now.strftime(_STAMP_FORMAT)}-{safe_name}"
    path, count = out or stamped, 1
    while True:
        try:
            path.mkdir(parents=True, exist_ok=out is not None)
            (path / JOURNAL_NAME).mkdir()
        except FileExistsError:
            if out is not None:
                raise RunDirectoryError(f"cannot make {path}: a file is in the way") from None
            count += 1
            path = stamped.with_name(f"{stamped.name}-{count}")
        except OSError as error:
            raise RunDirectoryError(
                f"cannot make the run directory {path}: {error.strerror}"
            ) from error
        else:
            return path
