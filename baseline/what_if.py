"""Departures from the operator's rules, for studies that ask what another choice would lead to.

The default departs from nothing: every function that takes a `WhatIf` then reproduces the operator
exactly, and computes with the same operations in the same order. (Specification: studies.md, the
treatments of H1, H4 and H5.)
"""

from dataclasses import dataclass
from typing import Final

from baseline.tiling_key import FullLoad
from hwmodel.plan import L0cOutput


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """What BASIC_ASWT takes as given instead of deciding it; everything after goes by its rules.

    Attributes:
        base_tile: (base_m, base_n), taken instead of the base block search's; None to search.
        full_load: the operand that stays in L1, whatever the rules say; None to decide.
        l0c_output: the way of C out of L0C; None to decide.
        hbm_share: factor of the HBM bandwidth in the two edges of the base block search.
    """

    base_tile: tuple[int, int] | None = None
    full_load: FullLoad | None = None
    l0c_output: L0cOutput | None = None
    hbm_share: float = 1.0


AS_IT_IS: Final = WhatIf()
"""The operator as it is."""
