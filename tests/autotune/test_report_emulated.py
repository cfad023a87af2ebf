"""Timelines and block maps of the report: from which pair, what they show, how they look."""

import logging
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from autotune.emulation import Emulation, run_emulation
from autotune.report import emulated
from autotune.report.aggregates import select_counted
from autotune.report.emulated import EmulatedKernel, EmulatedPair, emulate_pair
from autotune.report.figures import swizzle_map
from autotune.report.figures.style import figure_style
from autotune.report.figures.swizzle_map import (
    build_swizzle_map,
    compute_block_map,
    draw_swizzle_map,
)
from autotune.report.figures.timelines import build_timelines, draw_timelines
from autotune.report.page import build_report
from autotune.report.run_files import load_run_files
from baseline.decision import decide
from hwmodel.emulator import layout
from hwmodel.plan import KernelPlan, L0cOutput, Template
from hwmodel.problem import GemmProblem
from hwmodel.spec_io import load_hardware
from tests.autotune.report_runs import make_compared, make_plan, make_row, make_run
from tests.autotune.test_report_figures import SVG, find_overlaps

SPEC = load_hardware("ascend950pr-9589")
WIDE = GemmProblem(m=1000, k=700, n=6000)


def make_kernel(problem: GemmProblem, plan: KernelPlan) -> EmulatedKernel:
    run = run_emulation(problem, SPEC, plan)
    assert run.log is not None
    return EmulatedKernel(emulation=run, log=run.log)


def make_vector_pair(problem: GemmProblem, baseline: KernelPlan) -> EmulatedPair:
    """The kernel of the vector cores for a vector, against another plan."""
    vector = replace(
        baseline, template=Template.VECTOR, base_m=1, base_n=64, base_k=128, used_core_num=64
    )
    return EmulatedPair(
        name="vector",
        gap_ratio=0.25,
        evaluator="pipeline",
        baseline=make_kernel(problem, baseline),
        best=make_kernel(problem, vector),
    )


def make_pair(problem: GemmProblem = WIDE, **changes: object) -> EmulatedPair:
    vendor = decide(problem, SPEC).plan
    best = replace(vendor, m_tail_cnt=1, n_tail_cnt=1, **changes)  # type: ignore[arg-type]
    return EmulatedPair(
        name="some <shape> & more",
        gap_ratio=0.25,
        evaluator="pipeline",
        baseline=make_kernel(problem, vendor),
        best=make_kernel(problem, best),
    )


PAIRS: dict[str, tuple[GemmProblem, dict[str, object]]] = {
    "other tile": (WIDE, {"base_n": 128}),
    "through UB": (WIDE, {"l0c_output": L0cOutput.FIXPIPE}),
    "one row of blocks": (GemmProblem(m=16, k=4096, n=20000), {"base_k": 32}),
    "one block": (GemmProblem(m=16, k=64, n=16), {"base_n": 16, "used_core_num": 1}),
    "many blocks": (GemmProblem(m=4096, k=128, n=4096), {"base_m": 64, "base_n": 64}),
    "long K": (GemmProblem(m=256, k=60000, n=4096), {"base_k": 32}),
}


@pytest.mark.parametrize("name", PAIRS)
def test_no_text_overlaps(name: str) -> None:
    problem, changes = PAIRS[name]
    pair = make_pair(problem, **changes)
    with figure_style():
        assert find_overlaps(draw_timelines(pair)) == []
        assert find_overlaps(draw_swizzle_map(pair)) == []


def test_figures_have_words_for_those_who_do_not_see_them() -> None:
    pair = make_pair(base_n=128)
    for figure in (build_timelines(pair), build_swizzle_map(pair)):
        assert figure is not None
        root = ElementTree.fromstring(figure.svg)
        assert root.findtext(f"{SVG}title") == figure.title
        assert root.findtext(f"{SVG}desc") == figure.alt
        assert "emulat" in figure.title
        assert "emulator" in figure.caption
        assert "some <shape> & more" in figure.caption
    assert "+25.0 % by the pipeline model" in build_timelines(pair).caption


def test_a_gap_that_the_emulator_does_not_see_is_said_to_be_unconfirmed() -> None:
    pair = make_pair(base_m=64, base_n=64)
    assert pair.best.duration_us > pair.baseline.duration_us
    assert "so it does not confirm the gap" in build_timelines(pair).caption
    turned = replace(pair, baseline=pair.best, best=pair.baseline)
    assert "does not confirm" not in build_timelines(turned).caption


def test_the_same_pair_gives_the_same_bytes() -> None:
    one, two = make_pair(base_n=128), make_pair(base_n=128)
    assert build_timelines(one) == build_timelines(two)
    assert build_swizzle_map(one) == build_swizzle_map(two)


def test_block_maps_hold_the_order_and_the_misses() -> None:
    kernel = make_pair().baseline
    blocks = compute_block_map(kernel)
    plan = kernel.emulation.plan
    assert blocks.order.shape == (plan.m_tiles(WIDE), plan.n_tiles(WIDE))
    ranks = np.sort(blocks.order.ravel() * blocks.order.size)
    assert np.rint(ranks).tolist() == list(range(blocks.order.size))
    assert blocks.order[0, 0] == 0.0
    rows = kernel.log.rows
    loads = rows[rows[:, layout.LOG_PIPE] == layout.PIPE_MTE2]
    misses = np.sum(loads[:, layout.LOG_DETAIL] % layout.LOG_OPERAND >= layout.LEADER)
    assert (blocks.miss_ratio > 0).any()
    assert blocks.miss_ratio.max() <= 1.0
    slabs = np.bincount(kernel.log.items[:, layout.M_OFF] // plan.base_m)
    assert slabs.sum() == len(kernel.log.items)
    result = kernel.emulation.result
    assert misses == result.loads - result.hits - result.follows


def test_vector_kernels_are_drawn_too() -> None:
    problem = GemmProblem(m=1, k=4096, n=20000)
    pair = make_vector_pair(problem, decide(problem, SPEC).plan)
    with figure_style():
        figure = draw_timelines(pair)
        assert find_overlaps(figure) == []
        assert find_overlaps(draw_swizzle_map(pair)) == []
        lanes = [[text.get_text() for text in axes.get_yticklabels()] for axes in figure.axes]
    assert lanes[1] == ["MTE2", "VECTOR", "MTE3"]
    caption = build_timelines(pair).caption
    assert "MTE1 moves them" in caption
    assert "the vector unit multiplies" in caption
    only_vectors = replace(pair, baseline=pair.best)
    assert "MTE1" not in build_timelines(only_vectors).caption
    # Every tile is computed in turn, and its matrix comes from HBM.
    blocks = compute_block_map(pair.best)
    assert blocks.order.shape == (1, 313)
    assert (np.diff(blocks.order[0]) > 0).all()
    assert blocks.miss_ratio.min() >= 0.5


def test_kernels_without_loads_have_no_map() -> None:
    problem = GemmProblem(m=300, k=0, n=2000)
    kernel = make_kernel(problem, decide(problem, SPEC).plan)
    pair = EmulatedPair(
        name="empty", gap_ratio=0.1, evaluator="pipeline", baseline=kernel, best=kernel
    )
    assert build_swizzle_map(pair) is None
    assert "MTE3 stores" in build_timelines(pair).caption


def test_too_many_blocks_have_no_map(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = make_pair()
    monkeypatch.setattr(swizzle_map, "MOST_BLOCKS", 10)
    assert build_swizzle_map(pair) is None


def find_pair(*plans: tuple[KernelPlan, KernelPlan]) -> EmulatedPair | None:
    rows = [
        make_row(index, make_compared(0.5 - index / 10, baseline=baseline, best=best))
        for index, (baseline, best) in enumerate(plans)
    ]
    return emulate_pair(select_counted(rows), SPEC, "formula")


def test_the_first_pair_that_can_be_emulated_is_taken() -> None:
    plain, other = make_plan(64, 256, used_core_num=24), make_plan(64, 128)
    # Only vectors are for this template, and 192 x 6144 is none.
    vector = make_plan(64, 256, template=Template.VECTOR)
    impossible = make_plan(64, 256, used_core_num=24, m_tail_cnt=7)
    pair = find_pair((vector, plain), (plain, impossible), (plain, other), (other, plain))
    assert pair is not None
    assert pair.name == "192x4096x6144"
    assert pair.evaluator == "formula"
    assert pair.best.emulation.plan == other
    assert pair.best.duration_us > 0.0
    assert find_pair((vector, plain)) is None
    assert find_pair() is None


def test_long_kernels_are_not_emulated(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = make_plan(64, 256, used_core_num=24)
    monkeypatch.setattr(emulated, "MOST_EVENTS", 100)
    assert find_pair((plain, plain)) is None
    monkeypatch.undo()

    def run_without_log(*args: object) -> Emulation:
        return replace(run_emulation(*args), log=None)  # type: ignore[arg-type]

    monkeypatch.setattr(emulated, "run_emulation", run_without_log)
    assert find_pair((plain, plain)) is None


def test_compiling_is_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(emulated, "needs_compiling", lambda _: True)
    plain = make_plan(64, 256, used_core_num=24)
    with caplog.at_level(logging.WARNING):
        assert find_pair((plain, plain)) is not None
    assert [record.message[:22] for record in caplog.records] == ["compiling the emulator"]


def test_reports_have_both_figures(tmp_path_factory: pytest.TempPathFactory) -> None:
    row = make_row(0, make_compared(0.5, baseline=make_plan(64, 256, used_core_num=24)))
    run = make_run(tmp_path_factory.mktemp("with"), (row,))
    names = [figure.name for figure in build_report(load_run_files(run)).overview_figures]
    assert names.index("timelines") + 1 == names.index("swizzle_map")
    vector = make_plan(64, 256, template=Template.VECTOR)
    row = make_row(0, make_compared(0.5, baseline=vector))
    run = make_run(tmp_path_factory.mktemp("without"), (row,))
    names = [figure.name for figure in build_report(load_run_files(run)).overview_figures]
    assert "timelines" not in names
    assert "swizzle_map" not in names
