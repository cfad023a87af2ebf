"""A cost model of a few lines, for tests of searches: cheap, exact in batches, easy to predict."""

import json
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hwmodel.cost.breakdown import Bound, CostBreakdown
from hwmodel.plan import KernelPlan
from hwmodel.plan_batch import PlanBatch
from hwmodel.problem import GemmProblem
from hwmodel.spec import HardwareSpec
from studies.search import JsonRecord


class FakeEvaluator:
    """Time grows with the distance from a favourite tile, in steps so that many plans tie.

    Attributes:
        calls: scalar evaluations so far.
    """

    def __init__(self, version: str = "1", base_m: int = 32, base_n: int = 48) -> None:
        self._version = version
        self._favourite = base_m, base_n
        self.calls = 0

    @property
    def name(self) -> str:
        return "fake"

    @property
    def version(self) -> str:
        return self._version

    def evaluate(
        self, problem: GemmProblem, spec: HardwareSpec, plan: KernelPlan
    ) -> CostBreakdown:
        self.calls += 1
        time_us = float(self.estimate_us(problem, spec, PlanBatch.from_plans([plan]))[0])
        return CostBreakdown(
            task_duration_us=time_us,
            launch_us=1.0,
            prologue_us=0.1,
            rounds_us=time_us - 1.1,
            epilogue_us=0.0,
            cube_time_us=time_us / 3,
            mte2_time_us=time_us / 2,
            mte1_time_us=time_us / 7,
            fixpipe_time_us=time_us / 9,
            hbm_read_bytes=1e6 / 3,
            l2_read_bytes=2e6,
            write_bytes=1e5,
            rounds=2,
            bound=Bound.MTE2,
        )

    def estimate_us(
        self, problem: GemmProblem, spec: HardwareSpec, plans: PlanBatch
    ) -> NDArray[np.float64]:
        base_m, base_n = self._favourite
        distance = np.abs(plans.base_m - base_m) + np.abs(plans.base_n - base_n)
        steps = distance // 16 + np.abs(plans.window_len - 2) * 0.25
        last_bits = plans.base_k * 1e-9
        return 10.0 + problem.macs * 1e-9 + steps + last_bits


class MemoryJournal:
    """A journal in memory that counts its writes."""

    def __init__(self, records: Sequence[JsonRecord] = ()) -> None:
        self.records = list(records)
        self.writes = 0

    def read(self) -> Sequence[JsonRecord]:
        return tuple(self.records)

    def append(self, records: Sequence[JsonRecord]) -> None:
        self.writes += 1
        self.records.extend(json.loads(json.dumps(records, allow_nan=False)))
