"""Rounding floats to whole numbers that stay floats: the fastest form for compiled code."""

import numpy as np

from hwmodel.jit import inline


@inline
def ceil(value: float) -> float:
    """The least whole number that is not below the value."""
    return float(np.ceil(value))


@inline
def floor(value: float) -> float:
    """The greatest whole number that is not above the value."""
    return float(np.floor(value))
