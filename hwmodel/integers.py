"""Integer rounding as the vendor's host code does it.

Notation of the specification: `ceil(a, b)`, `up(a, b)`, `down(a, b)`. The originals guard a zero
divisor; these do the same: `ceil_div(x, 0) == x`, `align_up(x, 0) == align_down(x, 0) == 0`,
`floor_div(x, 0) == x`.
"""

FRACTAL = 16
"""Edge of the cube unit's 16 x 16 fractal, in elements."""


def ceil_div(value: int, divisor: int) -> int:
    """Ceiling division of non-negative integers; `value` itself when `divisor` is 0."""
    return -(-value // divisor) if divisor else value


def floor_div(value: int, divisor: int) -> int:
    """Floor division of non-negative integers; `value` itself when `divisor` is 0."""
    return value // divisor if divisor else value


def align_up(value: int, unit: int) -> int:
    """Smallest multiple of `unit` that is >= `value`; 0 when `unit` is 0."""
    return -(-value // unit) * unit if unit else 0


def align_down(value: int, unit: int) -> int:
    """Largest multiple of `unit` that is <= `value`; 0 when `unit` is 0."""
    return value // unit * unit if unit else 0
