"""The tiling key: which kernel variant runs, as one integer (host-tiling.md, section 10).

A bit field from the lowest bit: API level 4 bits, trans_a 2, trans_b 2, batch model 4, model 4,
full load 4, L0C output 4.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from hwmodel.errors import InputError


class ApiLevel(IntEnum):
    """Programming interface the kernel is built on."""

    HIGH = 0
    BASIC = 1
    TENSOR = 2


class Model(IntEnum):
    """Kernel model."""

    BASIC = 0
    STREAM_K = 1
    K_EQUAL_ZERO = 2
    TO_MUL = 3
    TO_MULTI_MUL = 4
    SLICE = 5
    BASIC_SPLIT_K = 6
    SK_SPLIT_K = 7


class FullLoad(IntEnum):
    """Operands held whole in L1."""

    NONE = 0
    A = 1
    B = 2
    AB = 3


class L0cOut(IntEnum):
    """Way of a tile out of L0C: direct, or through UB with 1 or 2 vector cores per cube core."""

    ON_THE_FLY = 0
    ND_FIXPIPE_1_1 = 1
    ND_FIXPIPE_1_2 = 2


_TRANS_A_SHIFT: Final = 4
_TRANS_B_SHIFT: Final = 6
_BATCH_MODEL_SHIFT: Final = 8
_MODEL_SHIFT: Final = 12
_FULL_LOAD_SHIFT: Final = 16
_L0C_OUT_SHIFT: Final = 20
_KEY_BITS: Final = 24
_NIBBLE: Final = 0xF
_PAIR: Final = 0x3


@dataclass(frozen=True, slots=True, kw_only=True)
class TilingKey:
    """The parts of a tiling key; `batch_model` is 0 for a plain matrix multiplication."""

    api_level: ApiLevel
    trans_a: bool = False
    trans_b: bool = False
    batch_model: int = 0
    model: Model = Model.BASIC
    full_load: FullLoad = FullLoad.NONE
    l0c_out: L0cOut = L0cOut.ON_THE_FLY

    def encode(self) -> int:
        """The key as the host hands it to the launcher."""
        return (
            self.api_level
            | self.trans_a << _TRANS_A_SHIFT
            | self.trans_b << _TRANS_B_SHIFT
            | self.batch_model << _BATCH_MODEL_SHIFT
            | self.model << _MODEL_SHIFT
            | self.full_load << _FULL_LOAD_SHIFT
            | self.l0c_out << _L0C_OUT_SHIFT
        )


def decode_tiling_key(key: int) -> TilingKey:
    """The parts of `key`; the inverse of `TilingKey.encode`.

    Raises:
        InputError: a part has a value that no kernel has, or bits above the field are set.
    """
    if not 0 <= key < 1 << _KEY_BITS:
        raise InputError(f"tiling key {key}: must fit {_KEY_BITS} bits")
    try:
        trans_a, trans_b = (key >> shift & _PAIR for shift in (_TRANS_A_SHIFT, _TRANS_B_SHIFT))
        if trans_a > 1 or trans_b > 1:
            raise ValueError("a transpose flag is neither 0 nor 1")
        return TilingKey(
            api_level=ApiLevel(key & _NIBBLE),
            trans_a=bool(trans_a),
            trans_b=bool(trans_b),
            batch_model=key >> _BATCH_MODEL_SHIFT & _NIBBLE,
            model=Model(key >> _MODEL_SHIFT & _NIBBLE),
            full_load=FullLoad(key >> _FULL_LOAD_SHIFT & _NIBBLE),
            l0c_out=L0cOut(key >> _L0C_OUT_SHIFT & _NIBBLE),
        )
    except ValueError as error:
        raise InputError(f"tiling key {key}: no kernel of the operator has it; {error}") from None
