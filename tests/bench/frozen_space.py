"""A frozen search benchmark: a tiling space with a made-up cost and a known optimum.

Seven factors, 38,720 combinations, 26,496 of which fit the buffers of a chip like the 950PR. The
cost is deterministic: a few lines of arithmetic and, for every point, a factor within 4 % of 1
that looks random. So the best points are scattered over a good region and have to be looked for
one by one. It exercises search strategies only; it is no model of a chip.

Other shapes, another salt of the factor and other strengths of it give more spaces of the kind.
"""

import hashlib
import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hwmodel.integers import ceil_div
from studies.strategies.points import FactorColumns, FloatArray, Indices

PARAMETERS = {
    "base_m": (16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 256),
    "base_n": (16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 256),
    "base_k": (16, 32, 64, 128, 256),
    "step_k": (1, 2, 4, 8),
    "db_l0c": (1, 2),
    "swizzle": (1, 2, 4, 8),
    "order": (0, 1),
}
SHAPES = (
    (4096, 4096, 4096),
    (1, 4096, 4096),
    (16, 28672, 8192),
    (8192, 8192, 8192),
    (4096, 14336, 4096),
    (2048, 128256, 4096),
)
"""(m, n, k) of the six shapes of the benchmark."""
OTHER_SHAPES = (
    (3072, 5120, 2048),
    (64, 11008, 4096),
    (512, 8192, 1024),
    (1, 14336, 5120),
    (2048, 2048, 12288),
    (6000, 5000, 777),
    (128, 50257, 768),
    (5120, 1280, 8192),
)
"""Shapes on which the design of `prior` was chosen, and its robustness is checked."""
RUGGEDNESS = 0.08
"""Width of the factor that looks random."""

# The made-up chip, and the constants of the made-up cost.
_L0_BYTES, _L0C_BYTES, _L1_BYTES = 64 << 10, 256 << 10, 512 << 10
_CORES = 32
_CLOCK_HZ, _HBM_BYTES_PER_S, _L2_BYTES_PER_S = 1.65e9, 1.6e12, 5.0e12
_FRACTAL = 16
_STEP_CYCLES, _L1_CYCLES, _EPILOGUE_CYCLES = 22, 600, 300
_LAUNCH_S = 4e-6
_US_PER_S = 1e6
_HASH_BYTES = 4
_DOUBLE = 2
_ELEMENT_BYTES = 2

Configuration = tuple[int, ...]
"""Values of PARAMETERS, in their order."""
Shape = tuple[int, int, int]


def fits(config: Configuration) -> bool:
    """Whether the tile fits the buffers."""
    m, n, k, step, depth, _, _ = config
    return (
        4 * m * k <= _L0_BYTES
        and 4 * n * k <= _L0_BYTES
        and 4 * m * n * depth <= _L0C_BYTES
        and 4 * (m + n) * k * step <= _L1_BYTES
    )


def smooth_cost_us(shape: Shape, config: Configuration) -> float:
    """The cost without the factor that looks random, microseconds."""
    problem_m, problem_n, problem_k = shape
    m, n, k, step, depth, swizzle, order = config
    rows, columns = ceil_div(problem_m, m), ceil_div(problem_n, n)
    tiles = rows * columns
    steps = ceil_div(problem_k, k)
    cycles = ceil_div(m, _FRACTAL) * ceil_div(n, _FRACTAL) * ceil_div(k, _FRACTAL) + _STEP_CYCLES
    compute_s = cycles * steps / _CLOCK_HZ
    long_side = min(swizzle, rows if order == 0 else columns)
    short_side = max(1, _CORES // max(1, long_side))
    reuse_m, reuse_n = (long_side, short_side) if order == 0 else (short_side, long_side)
    l2_bytes = (m + n) * problem_k * _ELEMENT_BYTES
    hbm_bytes = (m * problem_k * _ELEMENT_BYTES) / min(reuse_n, columns) + (
        n * problem_k * _ELEMENT_BYTES
    ) / min(reuse_m, rows)
    active = min(tiles, _CORES)
    l2_s = l2_bytes * active / _L2_BYTES_PER_S
    hbm_s = hbm_bytes * active / _HBM_BYTES_PER_S
    hidden = 2 if step >= _DOUBLE else 1
    latency_s = ceil_div(steps, step) * (_L1_CYCLES / _CLOCK_HZ) / hidden
    epilogue_s = m * n * 2 * active / _HBM_BYTES_PER_S + _EPILOGUE_CYCLES / _CLOCK_HZ
    tile_s = (
        max(compute_s, l2_s, hbm_s, latency_s)
        + (0 if depth == _DOUBLE else epilogue_s)
        + (k * step * (m + n) * 2) * active / _L2_BYTES_PER_S
    )
    if depth == _DOUBLE:
        tile_s = max(tile_s, epilogue_s)
    return float((ceil_div(tiles, _CORES) * tile_s + _LAUNCH_S) * _US_PER_S)


def _random_share(text: str) -> float:
    digest = hashlib.blake2b(text.encode(), digest_size=_HASH_BYTES).digest()
    return int.from_bytes(digest, "little") / (1 << 8 * _HASH_BYTES)


@dataclass(frozen=True, slots=True, eq=False)
class FrozenSpace:
    """The legal points with their costs; a `PointSpace`.

    Attributes:
        configurations: the points' factors, shape (n, 7).
        cost_us: their costs, shape (n,).
    """

    configurations: FactorColumns
    cost_us: FloatArray

    def __len__(self) -> int:
        return len(self.cost_us)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(PARAMETERS)

    @property
    def values(self) -> tuple[Indices, ...]:
        return tuple(np.array(values, dtype=np.int64) for values in PARAMETERS.values())

    def factors(self, indices: Indices) -> FactorColumns:
        return self.configurations[indices]

    def neighbours(self, index: int) -> Indices:
        """Points that differ in one factor."""
        differing = (self.configurations != self.configurations[index]).sum(axis=1)
        return np.flatnonzero(differing == 1).astype(np.int64)

    def is_hit(self, index: int) -> bool:
        """Whether the point is within 1 % of the optimum."""
        return bool(self.cost_us[index] <= 1.01 * self.cost_us.min())


def build_frozen_space(
    shape: Shape, *, salt: str = "", ruggedness: float = RUGGEDNESS
) -> FrozenSpace:
    """The space of one shape: with the defaults the frozen one, else one of the same kind."""
    configurations = [c for c in itertools.product(*PARAMETERS.values()) if fits(c)]
    costs = np.array([smooth_cost_us(shape, config) for config in configurations])
    texts = [
        repr((salt, shape, config)) if salt else repr((shape, config)) for config in configurations
    ]
    shares: NDArray[np.float64] = np.array([_random_share(text) for text in texts])
    return FrozenSpace(np.array(configurations), costs * (1 + ruggedness * (shares - 0.5)))
