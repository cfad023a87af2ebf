"""Write the bundled shape lists: `python -m studies.shapes.generate`.

The lists are committed; a test keeps them equal to what this script writes.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hwmodel.validation.measured import load_measured
from studies.shape_rows import (
    BUNDLED_DIRECTORY,
    SUFFIX,
    ShapeRow,
    format_shapes,
    write_shapes,
)
from studies.shapes.domains import build_h4_rows, build_h5_rows, build_h6_rows
from studies.shapes.figures import load_configs
from studies.shapes.kinds import build_quick_rows
from studies.shapes.llm import LLM_MODELS, build_llm_rows

REGENERATE = "Generated: edit the generator, then run `python -m studies.shapes.generate`."
DEFINITION = "Defined in the specification (studies.md, section Shapes)."

LOCKED_TAG = "locked"
"""Tag of the measured rows that no constant is fitted to: judge them pooled, not singly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeList:
    """One bundled list.

    Attributes:
        name: file name without `.csv`.
        comments: what stands above the header: contents, source, how to regenerate.
        rows: its shapes.
        notes: what was left out, and why.
    """

    name: str
    comments: tuple[str, ...]
    rows: tuple[ShapeRow, ...]
    notes: tuple[str, ...] = ()

    def text(self) -> str:
        """The contents of the list's file."""
        return format_shapes(self.rows, self.comments)


def build_lists() -> tuple[ShapeList, ...]:
    """All bundled lists."""
    return (
        _build_llm_list(),
        ShapeList(
            name="h4",
            comments=(
                "Domain of hypothesis H4: short K, rows of C that end inside a 128-byte line.",
                DEFINITION,
                REGENERATE,
            ),
            rows=build_h4_rows(),
        ),
        ShapeList(
            name="h5",
            comments=(
                "Domain of hypothesis H5: more written than read, C from 0.5 to 8 times L2.",
                DEFINITION,
                REGENERATE,
            ),
            rows=build_h5_rows(),
        ),
        ShapeList(
            name="h6",
            comments=(
                "Domain of hypothesis H6: matrix-vector products in 16 bit.",
                DEFINITION,
                REGENERATE,
            ),
            rows=build_h6_rows(),
        ),
        ShapeList(
            name="quick",
            comments=(
                "One shape for each kind of work the operator treats differently; see the tags.",
                DEFINITION,
                REGENERATE,
            ),
            rows=build_quick_rows(),
        ),
        _build_measured_list(),
    )


def _build_llm_list() -> ShapeList:
    """Every GEMM of one pass of the language models of the list."""
    configs = load_configs()
    rows, notes = build_llm_rows(configs)
    sources = tuple(
        f"{name} tp{tp}: {configs[name]['_source']}" for name, tp in LLM_MODELS if name in configs
    )
    comments = (
        "Every GEMM of one pass of six language models on one device: decode of 1, 16, 64 tokens,",
        "prefill of 2048 tokens, and a training step of 4096 tokens for two of them.",
        "weight = calls in a pass on one device; tag grouped = served by another operator today.",
        "Figures: studies/shapes/llm_configs.json, copied from",
        *sources,
        DEFINITION,
        REGENERATE,
    )
    return ShapeList(name="llm_shapes", comments=comments, rows=rows, notes=notes)


def _build_measured_list() -> ShapeList:
    """The kernels timed on a 950PR, in the order of the measurements."""
    rows = tuple(
        ShapeRow(
            index=row.index,
            name=f"measured {row.problem.label()}",
            problem=row.problem,
            tag=LOCKED_TAG if row.locked else "",
            measured_us=row.duration_us,
        )
        for row in load_measured()
    )
    comments = (
        "Kernels timed on an Ascend950PR_9589 by an earlier release of the operator.",
        "tag locked = no constant is fitted to the row; judge these rows pooled.",
        "Source: the bundled measurements of hwmodel/validation.",
        DEFINITION,
        REGENERATE,
    )
    return ShapeList(name="measured", comments=comments, rows=rows)


def summarise_lists(lists: Sequence[ShapeList]) -> str:
    """Rows of every list, of the language models by model and phase, and all notes, as text."""
    lines = [f"{shapes.name + SUFFIX:<16} {len(shapes.rows):>4} rows" for shapes in lists]
    counts = Counter(
        (row.model, row.phase) for shapes in lists for row in shapes.rows if row.model
    )
    lines += [f"  {model:<15} {phase:<9} {n:>3}" for (model, phase), n in counts.items()]
    lines += [f"note: {note}" for shapes in lists for note in shapes.notes]
    return "\n".join(lines) + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Write every list and say how many rows each has; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m studies.shapes.generate", description=__doc__)
    parser.add_argument(
        "--out", type=Path, default=BUNDLED_DIRECTORY, help="directory to write to"
    )
    out: Path = parser.parse_args(argv).out
    lists = build_lists()
    out.mkdir(parents=True, exist_ok=True)
    for shapes in lists:
        write_shapes(out / f"{shapes.name}{SUFFIX}", shapes.rows, shapes.comments)
    sys.stdout.write(summarise_lists(lists))
    return 0


if __name__ == "__main__":
    sys.exit(main())
