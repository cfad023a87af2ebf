"""Kernels on which extrapolation is compared with emulating every event.

python -m tests.bench.extrapolation_cases prints the table of docs/emulator.md, section 9.
"""

import sys
import time
from dataclasses import dataclass

from hwmodel.dtypes import DType
from hwmodel.emulator.constants import EmulatorConstants
from hwmodel.emulator.engine import emulate
from hwmodel.emulator.extrapolation import count_events, emulate_long
from hwmodel.emulator.result import EmulationResult
from hwmodel.emulator.spec_constants import constants_from_spec
from hwmodel.emulator.vector_engine import emulate_vector
from hwmodel.emulator.vector_setup import VECTOR_TEMPLATES
from hwmodel.plan import KernelPlan, Template
from hwmodel.problem import GemmProblem
from hwmodel.spec_io import DEFAULT_HARDWARE, load_hardware

PART = 4
"""A kernel is extrapolated from about this part of its events."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LongCase:
    """A kernel, and what it is an example of."""

    label: str
    problem: GemmProblem
    plan: KernelPlan

    def emulate_all(self, constants: EmulatorConstants) -> EmulationResult:
        """Every event."""
        run = emulate_vector if self.plan.template in VECTOR_TEMPLATES else emulate
        return run(self.problem, self.plan, constants)

    def emulate_part(self, constants: EmulatorConstants) -> EmulationResult:
        """Extrapolated from a part of the events."""
        limit = count_events(self.problem, self.plan) // PART
        return emulate_long(self.problem, self.plan, constants, limit_events=limit)


def _case(
    label: str, sizes: tuple[int, int, int], tile: tuple[int, int, int, int], **changes: object
) -> LongCase:
    """`sizes` are m, k, n; `tile` base_m, base_n, base_k and step_k."""
    m, k, n = sizes
    dtype = DType.FP32 if changes.pop("fp32", False) else DType.BF16
    trans_b = bool(changes.pop("trans_b", True))
    values: dict[str, object] = {
        "template": Template.ASWT,
        "base_m": tile[0],
        "base_n": tile[1],
        "base_k": tile[2],
        "step_k": tile[3],
        "single_core_k": k,
        "used_core_num": 32,
    }
    problem = GemmProblem(m=m, k=k, n=n, trans_b=trans_b, dtype=dtype, out_dtype=dtype)
    return LongCase(
        label=label,
        problem=problem,
        plan=KernelPlan(**(values | changes)),  # type: ignore[arg-type]
    )


VECTOR = {"template": Template.VECTOR, "used_core_num": 64, "fp32": True}

SHORT_CASES = (
    _case("compute-bound, more than L2", (16384, 4096, 16384), (256, 256, 64, 4)),
    _case("small tiles, fits L2", (4096, 2048, 4096), (64, 64, 128, 2)),
    _case("small K, large C", (32768, 256, 32768), (128, 256, 64, 4)),
    _case("unaligned, more than L2", (20011, 2050, 9001), (128, 128, 64, 4), trans_b=False),
    _case("few rows, long N", (32, 2048, 1000000), (32, 128, 64, 4)),
    _case("long K", (512, 2000000, 512), (128, 64, 64, 4)),
    _case("B stays in L1", (4000000, 256, 64), (128, 64, 64, 4), template=Template.B_FULL),
    _case(
        "panel of A",
        (8192, 2048, 8192),
        (128, 128, 64, 4),
        template=Template.A_PANEL,
        resident_slabs=2,
    ),
    _case("matrix times vector", (4000000, 512, 1), (96, 1, 128, 1), **VECTOR),
    _case("vector times matrix, long K", (1, 2000000, 512), (1, 8, 512, 1), **VECTOR),
)
"""0.1 to 0.5 million events each."""

LONG_CASES = (
    _case("compute-bound, more than L2", (65536, 8192, 32768), (256, 256, 64, 4)),
    _case("small tiles, fits L2", (4096, 4096, 4096), (32, 32, 64, 2)),
    _case("small tiles, more than L2", (16384, 8192, 16384), (128, 128, 64, 4)),
    _case("small K, large C", (131072, 256, 131072), (128, 256, 64, 4)),
    _case("unaligned, more than L2", (60011, 4098, 27001), (128, 128, 64, 4), trans_b=False),
    _case("few rows, long N", (32, 2048, 20000000), (32, 128, 64, 4)),
    _case("long K", (1024, 8000000, 1024), (128, 128, 64, 4)),
    _case("one window", (4096, 1024, 262144), (128, 128, 64, 4), window_len=17),
    _case("wide window", (65536, 1024, 16384), (128, 128, 64, 4), window_len=16),
    _case("B stays in L1", (60000000, 256, 64), (128, 64, 64, 4), template=Template.B_FULL),
    _case(
        "panel of A",
        (32768, 4096, 32768),
        (128, 128, 64, 4),
        template=Template.A_PANEL,
        resident_slabs=2,
    ),
    _case(
        "stream-K",
        (16640, 4096, 16640),
        (128, 128, 64, 4),
        template=Template.STREAM_K,
        single_core_k=1024,
    ),
    _case("matrix times vector", (320000000, 128, 1), (96, 1, 128, 1), **VECTOR),
    _case("vector times matrix, long K", (1, 10000000, 512), (1, 8, 512, 1), **VECTOR),
    _case(
        "TO_MULTI_MUL",
        (16384, 1024, 8192),
        (64, 64, 64, 1),
        template=Template.TO_MULTI_MUL,
        used_core_num=64,
        fp32=True,
    ),
)
"""1 to 10 million events each."""


def main() -> int:
    """Print the errors of all cases."""
    constants = constants_from_spec(load_hardware(DEFAULT_HARDWARE))
    for case in SHORT_CASES + LONG_CASES:
        start = time.perf_counter()
        whole = case.emulate_all(constants)
        middle = time.perf_counter()
        part = case.emulate_part(constants)
        end = time.perf_counter()
        error = part.makespan_ticks / whole.makespan_ticks - 1
        read = part.hbm_read_bytes / max(1, whole.hbm_read_bytes) - 1
        # A kernel that may not be shortened is emulated as it is.
        emulated = (part.emulated_events or part.events) / 1e6
        sys.stdout.write(
            f"| {case.label} | {case.problem.label()} | {whole.events / 1e6:.2f} | {emulated:.2f} "
            f"| {100 * error:+.3f} | {100 * read:+.3f} | {middle - start:.2f} "
            f"| {end - middle:.2f} |\n"
        )
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
