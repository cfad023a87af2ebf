"""Finished runs that searched best plans, as `explain` and `compare` need them."""

from pathlib import Path

from autotune.manifest import load_manifest
from autotune.report.run_files import RunFiles, load_run_files
from hwmodel.errors import RunDirectoryError
from studies.space import SPACE_NAME


def load_search_run(directory: Path) -> RunFiles:
    """Read a run of the study that searches best plans.

    Raises:
        RunDirectoryError: not a run, one of another study or schema, one without results, or one
            whose files changed since.
        InputError: a file of it is damaged.
    """
    study = load_manifest(directory).options.study
    if study != SPACE_NAME:
        raise RunDirectoryError(
            f"{directory}: the run is one of study {study}, which keeps no best plans; give a run "
            f"of study {SPACE_NAME}"
        )
    return load_run_files(directory)
