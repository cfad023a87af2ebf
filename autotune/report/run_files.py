"""What the report reads of a run directory, and nothing else: manifest, hardware and results."""

from dataclasses import dataclass
from pathlib import Path

from autotune.manifest import Manifest, load_manifest
from autotune.results import ResultRow
from autotune.results_io import load_results
from autotune.runs import HARDWARE_NAME, require_results
from hwmodel.spec import HardwareSpec
from hwmodel.spec_io import load_hardware


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFiles:
    """A run as far as the report is concerned.

    Attributes:
        directory: the run directory.
        manifest: what was asked, and how far the run came.
        spec: the hardware of the run.
        rows: its results.
    """

    directory: Path
    manifest: Manifest
    spec: HardwareSpec
    rows: tuple[ResultRow, ...]


def load_run_files(directory: Path) -> RunFiles:
    """Read a run that has results.

    Raises:
        RunDirectoryError: not a run, a run of another schema, one without results, or one
            whose files changed since.
        InputError: a file of it is damaged.
    """
    manifest = load_manifest(directory)
    results_path = require_results(directory, manifest)
    return RunFiles(
        directory=directory,
        manifest=manifest,
        spec=load_hardware(str(directory / HARDWARE_NAME)),
        rows=load_results(results_path),
    )
