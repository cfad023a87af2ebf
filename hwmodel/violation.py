"""Violation: a legality rule that a plan breaks, its stable name, its figures and its sentence."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A rule that a plan breaks; `used` and `limit` are in the unit its sentence names."""

    rule: str
    used: int
    limit: int

    @property
    def sentence(self) -> str:
        """The rule in words, with the figures."""
        return f"{RULE_SENTENCES[self.rule]} ({self.used} against {self.limit})"


RULE_SENTENCES = {
    "k_nonzero": "a kernel that multiplies needs K of at least 1",
    "positive_fields": "sizes, counts and window must be at least 1",
    "base_m_multiple": "base_m must be a multiple of 16",
    "base_n_multiple": "base_n must be a multiple of 16",
    "base_m_limit": "base_m must not exceed M rounded up to 16",
    "base_n_limit": "base_n must not exceed N rounded up to 16",
    "base_k_multiple": "base_k must be a multiple of the fractal's K elements",
    "l1_slots": "L1 holds two or four slots of a streamed operand",
    "l0c_tiles": "L0C holds one or two tiles",
    "ub_tiles": "UB holds one or two tiles",
    "unused_fields": "fields that the template does not use must keep their canonical value",
    "l0c_capacity": "bytes of the tiles must fit L0C",
    "bias_table": "bytes of one tile's bias must fit half of the bias table",
    "fixpipe_template": "the template has no fixpipe output",
    "fixpipe_cores": "the fixpipe output needs two vector cores per cube core",
    "fixpipe_fp32_split_k": "the fixpipe output does not combine with fp32 split-K",
    "ub_capacity": "bytes of the output tiles must fit UB",
    "l0a_capacity": "bytes of two A parts must fit L0A",
    "l0b_capacity": "bytes of two B parts must fit L0B",
    "l1_capacity": "bytes of slabs and bias must fit L1",
    "resident_slabs": "resident slabs must be at least 1 and leave something to stream",
    "resident_fp32_split_k": "partial residency does not combine with fp32 split-K",
    "stream_k_rest": "stream-K needs tiles that do not divide evenly among the cores",
    "stream_k_pieces": "stream-K needs at least two K pieces",
    "stream_k_cores": "K pieces of the remaining tiles must not exceed the cores",
    "stream_k_workspace": "elements of a tile must fit the core's workspace slot",
    "stream_k_single_l0c": "stream-K holds one tile in L0C",
    "stream_k_determinism": "the determinism level must allow stream-K",
    "stream_k_vector_cores": "stream-K needs two vector cores per cube core",
    "vector_dims": "the vector kernel needs M = 1 or N = 1",
    "vector_ub": "fp32 units of the vector kernel's buffers must fit UB",
    "k_equal_zero": "this kernel serves K = 0 only",
    "used_core_num": "used_core_num follows from the number of blocks",
    "tail_product": "pieces of the last round's blocks must not exceed the cores",
    "tail_m_reachable": "row pieces beyond what the vendor's loop reaches",
    "tail_n_reachable": "column pieces beyond what the vendor's loop reaches",
}
"""Every rule by its stable name, in the order of checking."""


def require_at_most(rule: str, used: int, limit: int) -> Violation | None:
    """The violation of `used <= limit`, None when it holds."""
    return Violation(rule=rule, used=used, limit=limit) if used > limit else None


def require_at_least(rule: str, used: int, limit: int) -> Violation | None:
    """The violation of `used >= limit`, None when it holds."""
    return Violation(rule=rule, used=used, limit=limit) if used < limit else None


def require_equal(rule: str, used: int, limit: int) -> Violation | None:
    """The violation of `used == limit`, None when it holds."""
    return Violation(rule=rule, used=used, limit=limit) if used != limit else None


def require_multiple(rule: str, used: int, unit: int) -> Violation | None:
    """The violation of `used` being a multiple of `unit`, None when it is one."""
    return Violation(rule=rule, used=used, limit=unit) if used % unit else None
