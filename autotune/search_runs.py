"""Finished runs that searched best plans, as `explain` and `compare` need them."""

from dataclasses import dataclass
from pathlib import Path

from autotune.manifest import Manifest, load_manifest
from autotune.report.run_files import RunFiles
from autotune.results import ResultRow
from autotune.results_io import load_results
from autotune.runs import HARDWARE_NAME, require_results
from hwmodel.errors import InputError, RunDirectoryError
from hwmodel.spec_io import load_hardware
from studies.space import SPACE_NAME


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResults:
    """What a run found, whatever version of the models found it.

    Attributes:
        directory: the run directory.
        manifest: what was asked.
        rows: the results.
    """

    directory: Path
    manifest: Manifest
    rows: tuple[ResultRow, ...]


def load_search_results(directory: Path) -> SearchResults:
    """Read the results of a run of the study that searches best plans.

    Its hardware is not read: that of an older model may be none that this version knows.

    Raises:
        RunDirectoryError: not a run, one of another study or schema, one without results, or one
            whose files changed since.
    """
    manifest = load_manifest(directory)
    study = manifest.options.study
    if study != SPACE_NAME:
        raise RunDirectoryError(
            f"{directory}: the run is one of study {study}, which keeps no best plans; give a run "
            f"of study {SPACE_NAME}"
        )
    rows = load_results(require_results(directory, manifest))
    return SearchResults(directory=directory, manifest=manifest, rows=rows)


def load_search_run(directory: Path) -> RunFiles:
    """Read such a run with its hardware, to evaluate its plans again.

    Raises:
        RunDirectoryError: as `load_search_results`, or the hardware cannot be used.
    """
    results = load_search_results(directory)
    try:
        spec = load_hardware(str(directory / HARDWARE_NAME))
    except InputError as error:
        raise RunDirectoryError(
            f"{error} (the run may be of another version; run the study again)"
        ) from error
    return RunFiles(directory=directory, manifest=results.manifest, spec=spec, rows=results.rows)
