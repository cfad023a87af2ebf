"""How long it takes to certify the best plan of the whole space: a program, slower than a test.

    python -m tests.bench.certificate_times

For every distinct problem of the bundled LLM shapes: the whole space built, bounded and covered by
the pipeline model on one core, the best 64 plans kept. Printed are median, 90th percentile and
maximum of the time, the points covered a second, and the share of the points that were evaluated.
"""

import argparse
import sys
import time

import numpy as np

from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from hwmodel.spec_io import DEFAULT_HARDWARE, load_hardware
from studies.exhaustive_search import search_exhaustively
from studies.objective import build_objective
from studies.outcome import Certificate
from studies.setting import build_setting
from studies.shape_rows import find_shapes_file, load_shapes
from studies.space_axes import ALL
from tests.studies.fake_evaluator import MemoryJournal

BEST_COUNT = 64
"""Plans that the deepest cascade judges (specification: studies.md, "Search")."""
HIGH_PERCENTILE = 90
PERCENT = 100.0
MILLION = 1e6


def certify(problem: GemmProblem, spec: HardwareSpec) -> tuple[Certificate, float]:
    """The certificate, and how long it took in seconds; the vendor's decision does not count."""
    objective = build_objective(problem, spec, "pipeline")
    setting = build_setting(problem, spec, objective, quick=False, space=ALL)
    start = time.perf_counter()
    outcome = search_exhaustively(setting, MemoryJournal(), count=BEST_COUNT)
    elapsed_s = time.perf_counter() - start
    assert outcome.certificate is not None
    return outcome.certificate, elapsed_s


def main(arguments: list[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="time of certificates of the whole space")
    parser.add_argument("--shapes", default="llm_shapes.csv", help="bundled list or file")
    parser.add_argument("--every", type=int, default=1, help="take one problem in so many")
    parser.add_argument("--hw", default=DEFAULT_HARDWARE)
    options = parser.parse_args(arguments)
    spec = load_hardware(options.hw)
    rows = load_shapes(find_shapes_file(options.shapes).path)
    problems = tuple(dict.fromkeys(row.problem for row in rows))[:: options.every]
    certify(problems[0], spec)  # loads what was compiled before
    found = [certify(problem, spec) for problem in problems]
    times_s = np.array([elapsed_s for _, elapsed_s in found])
    evaluated = sum(certificate.evaluated for certificate, _ in found)
    covered = evaluated + sum(certificate.pruned for certificate, _ in found)
    sys.stdout.write(
        f"{len(found)} problems: median {np.median(times_s):.3f} s, "
        f"p{HIGH_PERCENTILE} {np.percentile(times_s, HIGH_PERCENTILE):.3f} s, "
        f"max {times_s.max():.3f} s; {covered} points covered, "
        f"{covered / times_s.sum() / MILLION:.1f} million a second; "
        f"{evaluated / covered * PERCENT:.1f} % of them evaluated\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
