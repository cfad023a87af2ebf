"""The reference emulator on kernels that are small enough to be worked out on paper.

All cases use `CHIP`: what a load, a move or a store costs there is easy to
multiply out, in ticks of 1/256 cycle:

- HBM 64, L2 128 bytes a cycle: 512 bytes alone take 2048 ticks on HBM, 1024 on L2; with another
  active share twice that.
- Port 100 bytes a cycle: 512 bytes take at least ceil(512*256/100) = 1311.
- MTE1 256 bytes a cycle: 16 x 16 elements of 2 bytes take 512, A and B together 1024.
- CUBE: a fractal step 256; gap before a tile 40. G = 1024.
- Fixpipe 128 bytes a cycle: 16 x 16 tile, 1024 bytes: 2048. A partial row end 10.
- Launch 1000, latency 100, on a miss 300 more: the first data phase begins at 1400.
"""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwmodel.dtypes import DType, Format, OpImplMode
from hwmodel.emulator.constants import (
    EmulatorConstants,
    rate_q,
    resource_grains,
    share_f,
)
from hwmodel.emulator.reference import emulate_reference
from hwmodel.emulator.reference.slabs import Operand, SlabMaker, select_cache_mode
from hwmodel.emulator.reference.work import WorkBuilder, count_partial_ends
from hwmodel.errors import InputError
from hwmodel.plan import KernelPlan, L0cOutput, StreamKOrder, Template
from hwmodel.problem import GemmProblem
from hwmodel.walk import WalkItem, walk
from tests.hwmodel.emulator.random_cases import TEMPLATES, make_case

CHIP = EmulatorConstants(
    launch_ticks=1000,
    l2_latency_ticks=100,
    hbm_latency_ticks=300,
    busy_latency_ticks=0,
    port_q=rate_q(100),
    hbm_grains=resource_grains(64),
    l2_grains=resource_grains(128),
    fixpipe_q=rate_q(128),
    l1_to_l0a_q=rate_q(256),
    l1_to_l0b_q=rate_q(256),
    hbm_write_cost_f=share_f(1.0),
    write_back_shares=32,
    write_back_slack_bytes=131072,
    line_waste_f=0,
    row_ticks=0,
    straddle_ticks=6,
    partial_ticks=10,
    fractal_ticks_16bit=256,
    fractal_ticks_fp32=2048,
    fractal_ticks_hf32=512,
    tile_ticks=40,
    barrier_ticks=500,
    aiv_reduce_q=rate_q(32),
    aiv_store_q=rate_q(40),
    aiv_hbm_q=rate_q(16),
    aiv_l2_q=rate_q(41),
    vector_lanes=64,
    mixed_kernel_extra_ticks=100,
    l2_bytes=1 << 30,
    l2_capacity_bytes=1 << 30,
)

PLAN = KernelPlan(
    template=Template.ASWT,
    base_m=16,
    base_n=16,
    base_k=16,
    step_k=1,
    single_core_k=16,
    used_core_num=1,
)

SMALL = GemmProblem(m=16, k=16, n=16)


def test_one_tile() -> None:
    # A: 1400 + 2048 = 3448. B: issued 3448, data at once (1000 + 400 is over), done 5496.
    # MTE1 5496 .. 6520. CUBE 6520 + 40 = 6560 .. 6816. FIX starts at 6560 + 1024 = 7584; L2 serves
    # 512 bytes by 8608, the fixpipe needs until 9632, CUBE's end + G is 7840. The tile is one run
    # of 512 bytes: no partial ends.
    result = emulate_reference(SMALL, PLAN, CHIP)
    assert result.makespan_ticks == 9632
    assert (result.loads, result.events, result.hits, result.follows) == (2, 3, 0, 0)
    assert (result.load_bytes, result.hbm_read_bytes, result.store_bytes) == (1024, 1024, 512)
    (core,) = result.cores
    assert (core.mte2_ticks, core.mte1_ticks, core.cube_ticks) == (4096, 1024, 256)
    assert (core.fixpipe_ticks, core.end_ticks) == (2048, 9632)


def test_the_slower_of_port_and_resources_decides() -> None:
    # Port 10 bytes a cycle: ceil(512*256/10) = 13108 a load. 1400 + 2*13108 = 27616, then as above
    # 9632 - 5496 = 4136 to the end.
    slow_port = replace(CHIP, port_q=rate_q(10))
    assert emulate_reference(SMALL, PLAN, slow_port).makespan_ticks == 27616 + 4136
    # 400 ticks a row, but each slab is one run: no change. With K = 32 the rows are apart: 16*400.
    slow_rows = replace(CHIP, row_ticks=400)
    assert emulate_reference(SMALL, PLAN, slow_rows).makespan_ticks == 9632
    apart = SlabMaker(replace(SMALL, k=32), PLAN, slow_rows)
    assert apart.make(Operand.A, outer=(0, 16), inner=(0, 16)).port_ticks == 6400


def test_bias_comes_with_the_first_b() -> None:
    # B brings 16*4 bytes more: 576 bytes take 2304 on HBM, 256 ticks more than without.
    biased = replace(SMALL, bias_dtype=DType.FP32)
    result = emulate_reference(biased, PLAN, CHIP)
    assert result.makespan_ticks == 9632 + 256
    assert (result.load_bytes, result.hbm_read_bytes) == (1088, 1088)


def test_two_cores_share_a_slab_in_flight() -> None:
    # A of both cores at once: HBM at half rate, 1400 + 4096 = 5496. There core 0 leads B's load,
    # core 1 follows. HBM 2048 for the leader, L2 2*1024 for both: 7544. Core 0 completes, then in
    # the same pass core 1. MTE1 8568, CUBE 8608 .. 8864, FIX 9632; both stores share L2, 2048, as
    # long as the fixpipe takes: 11680.
    problem = replace(SMALL, m=32)
    result = emulate_reference(problem, replace(PLAN, used_core_num=2), CHIP)
    assert result.makespan_ticks == 11680
    assert (result.loads, result.hits, result.follows) == (4, 0, 1)
    assert (result.load_bytes, result.hbm_read_bytes) == (2048, 1536)
    assert [core.end_ticks for core in result.cores] == [11680, 11680]


def test_second_tile_hits_and_trails_the_fixpipe() -> None:
    # Tile 0 as above: A 3448, B 5496, MTE1 6520, CUBE 6560 .. 6816, FIX from 7584.
    # Tile 1: A is a hit, 5496: L2 1024, port 1311: 6807. B from HBM 6807 + 2048 = 8855.
    # FIX of tile 0: rows of 32 bytes at a pitch of 64. Beginnings off a line: odd rows, 8; ends:
    # all 16. 24*10 = 240: 7584 + 2048 + 240 = 9872. (L2 serves it by 8855.)
    # MTE1 of tile 1: 8855 .. 9879. CUBE waits until 9872 is known: 9879 + 40 = 9919, end
    # max(9919 + 256, 9872 + 1024) = 10896. FIX: 9919 + 1024 = 10943, + 2048 + 240 = 13231.
    problem = replace(SMALL, n=32)
    result = emulate_reference(problem, PLAN, CHIP)
    assert result.makespan_ticks == 13231
    assert (result.hits, result.follows, result.hbm_read_bytes) == (1, 0, 1536)
    (core,) = result.cores
    assert (core.mte2_ticks, core.mte1_ticks, core.cube_ticks) == (2048 * 3 + 1311, 2048, 512)
    assert core.fixpipe_ticks == 2 * 2288


def test_second_l0c_half_lets_the_cube_go_on() -> None:
    # Two tiles of 4 L0 steps; loads of 2048 bytes take 82 ticks from HBM (6400 bytes a cycle), 53
    # at the port: tile 0 is loaded at 1400 + 2*82 = 1564, tile 1 at 1564 + 53 + 82 = 1699.
    # Tile 0: MTE1 2588, 3612, 4636, 5660; CUBE's last step 5660 .. 5916. Fixpipe 8192 + 240 from
    # 6684: 15116. Tile 1: MTE1 6684, 7708.
    # Two halves: MTE1 8732, 9756; CUBE's last step starts at 9756, FIX at 15116: 23548.
    # One half: CUBE's first step 7708 .. 15116 + 1024 = 16140; the second .. 16396; MTE1 goes on
    # at 16140: 17164, 18188; CUBE's last step starts there, FIX 19212: 27644.
    problem = replace(SMALL, n=32, k=64)
    chip = replace(
        CHIP,
        hbm_grains=resource_grains(6400),
        l2_grains=resource_grains(12800),
        port_q=rate_q(10000),
        fixpipe_q=rate_q(32),
    )
    plan = replace(PLAN, step_k=4, single_core_k=64)
    assert emulate_reference(problem, replace(plan, db_l0c=2), chip).makespan_ticks == 23548
    assert emulate_reference(problem, plan, chip).makespan_ticks == 27644


def test_through_ub() -> None:
    # A mixed kernel, 100 more at the launch: FIX from 7684, done 9732 without partial ends. MTE3
    # from 9732: L2 1024, but 16 rows of 32 bytes at 40 a cycle take ceil(512*256/40) = 3277, to
    # 13009.
    plan = replace(PLAN, l0c_output=L0cOutput.FIXPIPE)
    result = emulate_reference(SMALL, plan, CHIP)
    assert result.makespan_ticks == 13009
    assert (result.events, result.store_bytes, result.cores[0].fixpipe_ticks) == (3, 512, 2048)
    # fp32 C: the two vector cores take 8 rows of 64 bytes each, the same 512 bytes.
    wide = replace(SMALL, out_dtype=DType.FP32)
    assert emulate_reference(wide, plan, CHIP).makespan_ticks == 13009


def test_ub_slot_is_free_when_mte3_has_stored_it() -> None:
    # One slot: tile 0 leaves it at 13009 (above). Tile 1's CUBE is long done: FIX 13009, MTE3
    # 13009 + 2048 = 15057, 3277 more: 18334. Two slots: FIX of tile 1 runs meanwhile, MTE3 takes
    # it over at once.
    rows = replace(SMALL, m=32)
    plan = replace(PLAN, template=Template.B_FULL, l0c_output=L0cOutput.FIXPIPE, used_core_num=1)
    one = emulate_reference(rows, plan, CHIP)
    two = emulate_reference(rows, replace(plan, ub_db=2), CHIP)
    # B is loaded first, then A twice: 1500 + 2*2048 = 5596 and 7644, as in the case above.
    assert one.makespan_ticks == 18334
    assert two.makespan_ticks == 13009 + 3277


def test_stream_k() -> None:
    # Each core multiplies 16 columns of K. A twice at once: 1400 + 4096 = 5496, B 9592. MTE1
    # 10616, CUBE 10656 .. 10912, FIX from 11680: 1024 bytes each, together 4096: 15776. Barrier:
    # 16276.
    # Bands: 2*2 of up(ceil(16, 4), ceil(32, 16)) = 4 rows, 64 elements, 4*2 + 2 bytes each:
    # 640 bytes at 32 a cycle 5120, 2 passes over 64 lanes 512: 21908.
    problem = replace(SMALL, k=32)
    plan = replace(PLAN, template=Template.STREAM_K, used_core_num=2)
    result = emulate_reference(problem, plan, CHIP)
    assert result.makespan_ticks == 21908
    assert (result.store_bytes, result.hbm_write_bytes) == (2048, 0)
    # Through the workspace pitch of 32: bands of up(4, 1) rows of 32: 128 elements, 1280 bytes
    # 10240, 2*2*256 = 1024. No extra launch.
    mixed = emulate_reference(problem, replace(plan, l0c_output=L0cOutput.FIXPIPE), CHIP)
    assert mixed.makespan_ticks == 16276 + 11264


def test_write_back_holds_up_the_store_that_evicts() -> None:
    # L2 holds one slab. A and B of both tiles come from HBM: 3448, 5496, 7544, 9592. FIX of tile
    # 0: 7584 .. 9872 (above). MTE1 of tile 1: 9592 .. 10616, CUBE 10656 .. 10912, FIX from 11680.
    # Its C object evicts that of tile 0: 512 dirty bytes that cost 512,000 on HBM. In grains, from
    # the clock V: until = 512,000*65,536/32 = 1,048,576,000, the slack is 131,072*65,536/32 =
    # 268,435,456, so the watch is at 780,140,544. The write-back alone has 32 shares: V advances
    # by floor(1024*16384/32) = 524,288 until L2 has served the tile after 1024 ticks; the rest
    # takes ceil(779,616,256*32/16384) = 1,522,688.
    problem = replace(SMALL, n=32)
    chip = replace(CHIP, l2_capacity_bytes=600, hbm_write_cost_f=share_f(1000.0))
    result = emulate_reference(problem, PLAN, chip)
    assert result.makespan_ticks == 11680 + 1024 + 1522688
    assert (result.hbm_write_bytes, result.hits, result.hbm_read_bytes) == (512, 0, 2048)
    # At a cost of 1 the slack covers it: 11680 + 2048 + 240.
    cheap = replace(CHIP, l2_capacity_bytes=600)
    assert emulate_reference(problem, PLAN, cheap).makespan_ticks == 13968


def test_a_miss_beside_the_write_back_waits_longer() -> None:
    # As above with a third tile, at a cost of 100: no store is held up, and the write-back of
    # tile 0 is still active when the last B, a miss, is issued.
    problem = replace(SMALL, n=48)
    chip = replace(CHIP, l2_capacity_bytes=600, hbm_write_cost_f=share_f(100.0))
    plain = emulate_reference(problem, PLAN, chip)
    late = emulate_reference(problem, PLAN, replace(chip, busy_latency_ticks=128000))
    later = emulate_reference(problem, PLAN, replace(chip, busy_latency_ticks=128100))
    assert plain.hbm_write_bytes == late.hbm_write_bytes
    assert later.makespan_ticks == late.makespan_ticks + 100 > plain.makespan_ticks + 100
    # With room for all of it nothing is written back, and nothing waits for that.
    roomy = emulate_reference(problem, PLAN, replace(CHIP, busy_latency_ticks=128000))
    assert roomy.makespan_ticks == emulate_reference(problem, PLAN, CHIP).makespan_ticks


@pytest.mark.parametrize(
    ("operand", "changes", "straddles"),
    [
        # 16 rows of 32 bytes, 80 apart from 32 on: those at 112 and 752 take two lines.
        (Operand.B, {"n": 40, "trans_b": False}, 2),
        (Operand.A, {"m": 40, "trans_a": True}, 2),
        # The same rows along K, and in fractals, cost nothing more.
        (Operand.B, {"k": 40}, 0),
        (Operand.B, {"n": 40, "trans_b": False, "format_b": Format.NZ}, 0),
    ],
)
def test_rows_that_straddle_lines_cost_the_port(
    operand: Operand, changes: dict[str, Any], straddles: int
) -> None:
    maker = SlabMaker(replace(SMALL, **changes), PLAN, CHIP)
    outer, inner = ((0, 16), (16, 16)) if "k" in changes else ((16, 16), (0, 16))
    # 512 bytes at 100 a cycle: 1310.72 ticks.
    assert maker.make(operand, outer=outer, inner=inner).port_ticks == 1311 + 6 * straddles


def test_cache_mode_bypasses_l2() -> None:
    # One column of blocks: A is read once. K = 64: rows of 128 bytes. Four slabs of A, two of B.
    problem = GemmProblem(m=32, k=64, n=16)
    plan = replace(PLAN, base_k=64, single_core_k=64, used_core_num=2)
    total = problem.a_total_bytes + problem.b_total_bytes + problem.c_total_bytes
    assert select_cache_mode(problem, plan, total) == 1
    assert select_cache_mode(problem, plan, total + 1) == 0
    assert select_cache_mode(problem, replace(plan, n_tail_cnt=2), total) == 0
    assert select_cache_mode(problem, replace(plan, base_k=32), total) == 0
    bypassing = emulate_reference(problem, plan, replace(CHIP, l2_bytes=total))
    cached = emulate_reference(problem, plan, replace(CHIP, l2_bytes=total, l2_capacity_bytes=0))
    assert bypassing.makespan_ticks == cached.makespan_ticks
    assert (bypassing.follows, bypassing.hbm_read_bytes) == (1, 6144)


def test_cache_mode_takes_the_l1_tile_of_the_template() -> None:
    # A and B with M and N contiguous: the L1 tile's rows are 48 elements, but for the operand
    # that is kept whole: 64.
    problem = GemmProblem(m=64, k=64, n=64, trans_a=True, trans_b=False)
    plan = replace(PLAN, base_m=64, base_n=48, base_k=64)
    assert select_cache_mode(problem, plan, 1) == 0
    assert select_cache_mode(problem, replace(plan, template=Template.B_FULL), 1) == 2
    assert select_cache_mode(problem, replace(plan, template=Template.B_PARTIAL), 1) == 2
    plan = replace(plan, base_m=48, base_n=64)
    assert select_cache_mode(problem, plan, 1) == 0
    assert select_cache_mode(problem, replace(plan, template=Template.A_FULL), 1) == 1
    assert select_cache_mode(problem, replace(plan, template=Template.A_PARTIAL), 1) == 1


def test_lines_of_a_slab() -> None:
    # K = 24: rows of 32 bytes at a pitch of 48. Eight rows lie in 3 lines; the row at 240 touches
    # two, so eight rows touch 9, sixteen 18: 2304 bytes. Half of the waste is paid.
    problem = replace(SMALL, k=24, bias_dtype=DType.BF16)
    maker = SlabMaker(problem, PLAN, replace(CHIP, line_waste_f=share_f(0.5)))
    request = maker.make(Operand.A, outer=(0, 16), inner=(0, 16))
    assert (request.slab_bytes, request.hbm_bytes) == (512, 512 + 896)
    # The bias is paid in full, and is no part of the object.
    request = maker.make(Operand.B, outer=(0, 16), inner=(0, 16), bias_bytes=32)
    assert (request.slab_bytes, request.request_bytes, request.hbm_bytes) == (512, 544, 1440)


@pytest.mark.parametrize(
    ("changes", "operand", "rows", "slab_bytes", "line_bytes"),
    [
        # 4 rows of 32 bytes at 672, 752, 832, 912: the second touches two lines.
        ({}, Operand.A, 4, 128, 5 * 128),
        # 16 rows of 8 bytes, 40 apart from 656 on: none crosses a line.
        ({"trans_a": True}, Operand.A, 16, 128, 16 * 128),
        ({"trans_b": False}, Operand.B, 16, 128, 16 * 128),
        # 16 x 16 padded elements in one run.
        ({"format_b": Format.NZ}, Operand.B, 1, 512, 512),
        ({"format_b": Format.NZ, "trans_b": False}, Operand.B, 1, 512, 512),
    ],
)
def test_place_of_a_slab(
    changes: dict[str, object],
    operand: Operand,
    rows: int,
    slab_bytes: int,
    line_bytes: int,
) -> None:
    fields = {"m": 20, "n": 20, "k": 40, **changes}
    problem = GemmProblem(**fields)  # type: ignore[arg-type]
    chip = replace(CHIP, row_ticks=10_000, line_waste_f=share_f(1.0))
    request = SlabMaker(problem, PLAN, chip).make(operand, outer=(8, 4), inner=(16, 16))
    assert (request.port_ticks, request.slab_bytes) == (rows * 10_000, slab_bytes)
    assert request.hbm_bytes == line_bytes


def test_objects_of_pieces() -> None:
    maker = SlabMaker(GemmProblem(m=40, k=64, n=40), replace(PLAN, step_k=2), CHIP)
    whole = maker.make(Operand.A, outer=(16, 16), inner=(32, 32))
    assert whole.own == whole.block == (Operand.A, 1, 1, -1)
    last = maker.make(Operand.A, outer=(32, 8), inner=(0, 32))
    assert last.own == last.block == (Operand.A, 2, 0, -1)
    first_piece = maker.make(Operand.B, outer=(16, 8), inner=(0, 32))
    second_piece = maker.make(Operand.B, outer=(24, 8), inner=(0, 32))
    assert first_piece.own == (Operand.B, 1, 0, 16)
    assert second_piece.own == (Operand.B, 1, 0, 24)
    assert first_piece.block == second_piece.block == (Operand.B, 1, 0, -1)


def test_partial_ends_of_a_tile() -> None:
    problem = GemmProblem(m=8, k=1, n=128)
    tile = WalkItem(0, 0, 0, 0, 0, 0, 8, 64, 1)
    assert count_partial_ends(tile, problem) == 0
    assert count_partial_ends(tile._replace(blk_n=65), problem) == 8
    assert count_partial_ends(tile._replace(n_off=1, blk_n=65), problem) == 16
    whole = tile._replace(m_off=1, blk_m=3, blk_n=8)
    assert count_partial_ends(whole, replace(problem, n=8)) == 2


def list_requests(problem: GemmProblem, plan: KernelPlan) -> list[tuple[str, int | None]]:
    work = WorkBuilder(problem, plan, CHIP).build(walk(problem, plan), 0)
    return [(request.block[0].value, request.step) for request in work.requests]


def test_requests_of_full_and_partial_loads() -> None:
    # 2 m blocks of 2 slabs each, one n block: 2 items of 2 steps.
    problem = GemmProblem(m=32, k=32, n=16)
    plan = replace(PLAN, template=Template.A_FULL, single_core_k=32)
    before: list[tuple[str, int | None]] = [("a", None)] * 4
    assert list_requests(problem, plan) == before + [("b", step) for step in range(4)]
    partial = replace(plan, template=Template.A_PARTIAL, resident_slabs=3)
    assert list_requests(problem, partial) == [
        *before[:3],
        ("b", 0),
        ("b", 1),
        ("b", 2),
        ("a", 3),
        ("b", 3),
    ]
    mirrored = GemmProblem(m=16, k=32, n=32)
    partial = replace(partial, template=Template.B_PARTIAL)
    assert list_requests(mirrored, partial)[:4] == [("b", None)] * 3 + [("a", 0)]
    idle = WorkBuilder(problem, replace(plan, used_core_num=2), CHIP)
    assert idle.build(walk(problem, replace(plan, used_core_num=2)), 1).requests == ()


def test_requests_of_a_panel() -> None:
    # One row of blocks: the second item reuses slab 0, loads slab 1 of A again.
    problem = GemmProblem(m=16, k=32, n=32)
    plan = replace(PLAN, template=Template.A_PANEL, resident_slabs=1, single_core_k=32)
    first = [("a", 0), ("b", 0), ("a", 1), ("b", 1)]
    assert list_requests(problem, plan) == [*first, ("b", 2), ("a", 3), ("b", 3)]
    # Two rows: nothing to reuse; the second item overwrites slab 0 after step 0 has read it.
    rows = GemmProblem(m=32, k=32, n=16)
    work = WorkBuilder(rows, plan, CHIP).build(walk(rows, plan), 0)
    assert [step.waits_for for step in work.l1_steps] == [None, None, 0, None]
    mirrored = replace(plan, template=Template.B_PANEL)
    assert list_requests(rows, mirrored)[4:] == [("a", 2), ("a", 3), ("b", 3)]


def test_l0_durations_by_type() -> None:
    # 16 x 16 x 16 in fp32: 1024 bytes of A and of B, two fractal steps; a transposed side doubles.
    def first_step(problem: GemmProblem) -> tuple[int, int]:
        step = WorkBuilder(problem, PLAN, CHIP).build(walk(problem, PLAN), 0).l0_steps[0]
        return step.mte1_ticks, step.cube_ticks

    fp32 = replace(SMALL, dtype=DType.FP32, out_dtype=DType.FP32)
    assert first_step(SMALL) == (1024, 256)
    assert first_step(fp32) == (2048, 4096)
    assert first_step(replace(fp32, trans_a=True)) == (3072, 4096)
    assert first_step(replace(fp32, trans_b=False)) == (3072, 4096)
    assert first_step(replace(fp32, op_impl_mode=OpImplMode.HF32)) == (2048, 1024)
    assert first_step(replace(SMALL, op_impl_mode=OpImplMode.HF32)) == (1024, 256)


def test_stream_k_places_its_piece() -> None:
    # 3 tiles on 2 cores: one data-parallel round, then the third tile in two K pieces.
    problem = GemmProblem(m=48, k=32, n=16)
    plan = replace(PLAN, template=Template.STREAM_K, used_core_num=2)
    ways = {}
    for order in StreamKOrder:
        ordered = replace(plan, sk_order=order)
        work = WorkBuilder(problem, ordered, CHIP).build(walk(problem, ordered), 0)
        ways[order] = [store.way.value for store in work.stores]
    assert ways[StreamKOrder.VENDOR] == ways[StreamKOrder.FIRST] == ["workspace", "c"]
    assert ways[StreamKOrder.LAST] == ["c", "workspace"]


def test_vector_templates_are_refused() -> None:
    with pytest.raises(InputError, match="vector cores"):
        emulate_reference(SMALL, replace(PLAN, template=Template.TO_MULTI_MUL), CHIP)


# Properties

picks = st.tuples(st.sampled_from(TEMPLATES), st.integers(10**6, 2 * 10**6))


@settings(derandomize=True, deadline=None, max_examples=60)
@given(picks)
def test_bytes_and_times_hold_together(pick: tuple[Template, int]) -> None:
    case = make_case(*pick)
    problem, plan, chip = case
    schedule = walk(problem, plan)
    result = emulate_reference(problem, plan, chip)
    items = [item for core in range(plan.used_core_num) for item in schedule.items(core)]
    assert result.events == result.loads + len(items)
    written = sum(
        item.blk_m * item.blk_n * (problem.out_dtype.size_bytes if slot < 0 else 4)
        for core in range(plan.used_core_num)
        for item, slot in zip(schedule.items(core), schedule.workspace_slots(core), strict=True)
    )
    assert result.store_bytes == written
    assert result.hits + result.follows <= result.loads
    assert result.hbm_write_bytes <= result.store_bytes
    assert result.makespan_ticks >= max(core.end_ticks for core in result.cores)
    for core in result.cores:
        busy = (core.mte2_ticks, core.mte1_ticks, core.cube_ticks, core.fixpipe_ticks)
        assert core.end_ticks >= max(busy)
        assert min(busy) >= 0
    # No resource moves more than its rate times the time.
    moved = (result.load_bytes + result.store_bytes) * 65536
    assert result.makespan_ticks * chip.l2_grains >= moved
    assert result.makespan_ticks * chip.hbm_grains >= result.hbm_read_bytes * 65536
    assert emulate_reference(problem, plan, chip) == result


FAST = replace(
    CHIP,
    launch_ticks=0,
    l2_latency_ticks=0,
    hbm_latency_ticks=0,
    port_q=1 << 52,
    hbm_grains=1 << 52,
    l2_grains=1 << 52,
    fixpipe_q=1 << 52,
    l1_to_l0a_q=1 << 52,
    l1_to_l0b_q=1 << 52,
    tile_ticks=0,
    partial_ticks=0,
)


@pytest.mark.parametrize("template", sorted({*TEMPLATES} - {Template.STREAM_K}))
def test_infinitely_fast_memory_leaves_the_multiplications(template: Template) -> None:
    # Every ceil() leaves a tick per load, move and store at most.
    problem, plan, _ = make_case(template, 3)
    plan = replace(plan, l0c_output=L0cOutput.ON_THE_FLY, db_l0c=2)
    result = emulate_reference(problem, plan, replace(FAST, fractal_ticks_fp32=100_000))
    busiest = max(core.cube_ticks for core in result.cores)
    per_item = 2 * 1024
    items = max(walk(problem, plan).item_count(core) for core in range(plan.used_core_num))
    assert busiest <= result.makespan_ticks
    assert result.makespan_ticks <= busiest + per_item * items + 4 * result.events


@pytest.mark.parametrize("template", TEMPLATES)
def test_twice_as_fast_is_half_as_long(template: Template) -> None:
    # G is fixed by the page and cannot be halved: everything else is made long against it.
    problem, plan, _ = make_case(template, 11)
    slow = make_scaled_chip(8)
    fast = make_scaled_chip(4)
    ratio = (
        emulate_reference(problem, plan, slow).makespan_ticks
        / emulate_reference(problem, plan, fast).makespan_ticks
    )
    assert ratio == pytest.approx(2.0, rel=0.01)


def make_scaled_chip(factor: int) -> EmulatorConstants:
    """CHIP with every time `factor` * 64 times as long."""
    factor *= 64
    changes: dict[str, int] = {}
    for name in EmulatorConstants.__dataclass_fields__:
        value = getattr(CHIP, name)
        if "_ticks" in name:
            changes[name] = value * factor
        elif name.endswith(("_q", "_grains")):
            changes[name] = value // factor
    return replace(CHIP, **changes)


def test_results_do_not_depend_on_the_order_of_equal_cores() -> None:
    # A kernel whose cores all do the same ends on all of them within the rounding.
    problem = GemmProblem(m=64, k=64, n=16)
    result = emulate_reference(problem, replace(PLAN, used_core_num=4), CHIP)
    ends = [core.end_ticks for core in result.cores]
    assert max(ends) - min(ends) <= 1
