"""Error and time of extrapolation where every event can be emulated, too.

The full table: python -m tests.bench.extrapolation_cases
"""

from collections.abc import Callable
from typing import Protocol

import pytest

from hwmodel.emulator.result import EmulationResult
from hwmodel.emulator.spec_constants import constants_from_spec
from hwmodel.spec_io import DEFAULT_HARDWARE, load_hardware
from tests.bench.extrapolation_cases import SHORT_CASES, LongCase

CONSTANTS = constants_from_spec(load_hardware(DEFAULT_HARDWARE))

MAX_ERROR = 0.005
"""Of the time; the largest error of these cases is 0.1 %."""


class Benchmark(Protocol):
    extra_info: dict[str, object]

    def __call__(self, function: Callable[[], EmulationResult]) -> EmulationResult: ...


@pytest.mark.parametrize("case", SHORT_CASES, ids=lambda case: case.label)
def test_extrapolation(benchmark: Benchmark, case: LongCase) -> None:
    whole = case.emulate_all(CONSTANTS)
    part = benchmark(lambda: case.emulate_part(CONSTANTS))
    error = part.makespan_ticks / whole.makespan_ticks - 1
    assert abs(error) < MAX_ERROR
    assert part.store_bytes == whole.store_bytes
    benchmark.extra_info["events"] = whole.events
    benchmark.extra_info["emulated_events"] = part.emulated_events or part.events
    benchmark.extra_info["error_percent"] = round(100 * error, 4)
