"""Chips as they may really be: figures drawn from their ranges, fitted constants from their fit.

Specification: studies.md, "Robust"; hardware.md, "Ranges for robustness". The ranges are those of
the hardware file. A constant that was fitted is drawn from the bootstrap of its fit, all of one
model together; where there is none, the figure that it corrects is drawn from its range. The
baseline's decision and the selector's choice are those of the nominal chip: a draw changes only
what the models believe about it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from hwmodel.spec import SECTIONS, HardwareSpec, Provenance

SEED = 20_261_130
"""Seed of the draws: any fixed number does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncertain:
    """A thing that is not known well, and where the models read it.

    Attributes:
        figures: dotted paths of the figures that it scales together; the first one has the range.
        constants: calibrated constants that correct the figure or replace it, any model's.
    """

    figures: tuple[str, ...]
    constants: tuple[str, ...] = ()


UNCERTAIN = (
    Uncertain(
        figures=("rates.hbm_read_total_bytes_per_cycle", "rates.hbm_write_total_bytes_per_cycle"),
        constants=("hbm_read_ratio",),
    ),
    Uncertain(
        figures=("rates.l2_total_bytes_per_cycle", "rates.l2_write_total_bytes_per_cycle"),
        constants=("l2_total_ratio", "l2_ratio"),
    ),
    Uncertain(figures=("rates.mte2_port_bytes_per_cycle",), constants=("mte2_port_ratio",)),
    Uncertain(figures=("cache.l2_usable_ratio",), constants=("l2_usable_ratio",)),
    Uncertain(figures=("rates.l1_to_l0a_bytes_per_cycle", "rates.l1_to_l0b_bytes_per_cycle")),
    Uncertain(figures=("rates.fixpipe_bytes_per_cycle",), constants=("fixpipe_ratio",)),
    Uncertain(figures=("fixed.launch_us",), constants=("launch_us",)),
    Uncertain(figures=("fixed.l2_first_access_cycles",), constants=("l2_latency_cycles",)),
    Uncertain(figures=("fixed.hbm_first_access_cycles",), constants=("hbm_latency_cycles",)),
    Uncertain(figures=("fixed.stream_k_barrier_us",), constants=("barrier_us", "barrier_ratio")),
    Uncertain(figures=("fixed.mixed_kernel_extra_us",), constants=("mixed_kernel_extra_us",)),
    Uncertain(figures=("compute.cube_efficiency_ratio",), constants=("cube_efficiency_ratio",)),
    Uncertain(figures=("compute.vector_lanes_per_cycle",)),
    Uncertain(figures=("rates.aiv_hbm_bytes_per_cycle",)),
)
"""What is drawn (specification: hardware.md, "Ranges for robustness")."""


@lru_cache(maxsize=4)
def draw_chips(spec: HardwareSpec, model: str, count: int) -> tuple[HardwareSpec, ...]:
    """`count` chips for the predictions of one model; the same ones for the same nominal chip.

    Args:
        spec: the nominal chip.
        model: the model whose fitted constants are drawn.
        count: number of draws.
    """
    rng = np.random.default_rng(SEED)
    return tuple(_draw_chip(spec, model, rng) for _ in range(count))


def _draw_chip(spec: HardwareSpec, model: str, rng: np.random.Generator) -> HardwareSpec:
    """One chip. All random numbers are taken in any case, so that draws do not shift."""
    calibration = spec.calibrations.get(model)
    constants = dict(calibration.constants) if calibration is not None else {}
    scatter = calibration.draws if calibration is not None else ()
    chosen = int(rng.integers(max(1, len(scatter))))
    fitted: Mapping[str, float] = scatter[chosen] if scatter else {}
    figures = spec.figures()
    changed: dict[str, int | float] = {}
    for uncertain in UNCERTAIN:
        position = float(rng.random())
        if any(name in fitted for name in uncertain.constants):
            continue
        leading = uncertain.figures[0]
        drawn = _place_in_range(spec.provenance[leading], figures[leading], position)
        factor = drawn / figures[leading] if figures[leading] else 1.0
        for path in uncertain.figures:
            changed[path] = drawn if path == leading else figures[path] * factor
        _replace_held(constants, uncertain.constants, leading, drawn, factor)
    constants.update(fitted)
    drawn_spec = _with_figures(spec, changed)
    if calibration is None:
        return drawn_spec
    calibrations = {**spec.calibrations, model: replace(calibration, constants=constants)}
    return replace(drawn_spec, calibrations=calibrations)


def _place_in_range(provenance: Provenance, nominal: float, position: float) -> float:
    """The value at `position`, 0..1, of the range: log-uniform, uniform where it starts at 0.

    A figure without a range stays as it is.
    """
    low, high = provenance.low, provenance.high
    if low is None or high is None:
        return nominal
    if low <= 0:
        return low + (high - low) * position
    return low * math.exp(math.log(high / low) * position)


def _replace_held(
    constants: dict[str, float],
    names: Sequence[str],
    figure: str,
    drawn: float,
    factor: float,
) -> None:
    """Let a constant that a calibration holds at a value, in the figure's unit, follow the draw.

    A ratio to the figure stays: it moves with the figure. A latency of HBM that comes on top of
    that of L2 is no figure of its own and is scaled.
    """
    unit = figure.rsplit("_", maxsplit=1)[-1]
    for name in names:
        if name in constants and name.endswith(f"_{unit}") and not name.endswith("_ratio"):
            is_difference = name == "hbm_latency_cycles"
            constants[name] = constants[name] * factor if is_difference else drawn


def _with_figures(spec: HardwareSpec, changed: Mapping[str, int | float]) -> HardwareSpec:
    """The chip with these figures; integers stay integers."""
    sections = {}
    for name in SECTIONS:
        section = getattr(spec, name)
        values = {}
        for path, value in changed.items():
            group, figure = path.split(".")
            if group == name:
                is_integer = isinstance(getattr(section, figure), int)
                values[figure] = round(value) if is_integer else value
        sections[name] = replace(section, **values) if values else section
    return replace(spec, **sections)
