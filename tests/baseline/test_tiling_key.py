import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baseline.tiling_key import (
    ApiLevel,
    FullLoad,
    L0cOut,
    Model,
    TilingKey,
    decode_tiling_key,
)
from hwmodel.errors import InputError
from tests.golden_tilings import load_golden_tilings

keys = st.builds(
    TilingKey,
    api_level=st.sampled_from(ApiLevel),
    trans_a=st.booleans(),
    trans_b=st.booleans(),
    batch_model=st.integers(0, 15),
    model=st.sampled_from(Model),
    full_load=st.sampled_from(FullLoad),
    l0c_out=st.sampled_from(L0cOut),
)


@settings(derandomize=True, deadline=None, max_examples=500)
@given(keys)
def test_decoding_undoes_encoding(key: TilingKey) -> None:
    assert decode_tiling_key(key.encode()) == key


@settings(derandomize=True, deadline=None, max_examples=500)
@given(st.integers(-10, 2**26))
def test_any_integer_is_a_key_or_an_error(number: int) -> None:
    try:
        key = decode_tiling_key(number)
    except InputError:
        return
    assert key.encode() == number


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (-1, "24 bits"),
        (1 << 24, "24 bits"),
        (3, "3 is not a valid ApiLevel"),
        (2 << 4, "transpose"),
        (3 << 6, "transpose"),
        (8 << 12, "Model"),
        (4 << 16, "FullLoad"),
        (3 << 20, "L0cOut"),
    ],
)
def test_numbers_that_are_no_key(number: int, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        decode_tiling_key(number)


def test_golden_keys_decode_to_their_parts() -> None:
    for case in load_golden_tilings():
        out = case["out"]
        if "tilingKey" in out:
            key = decode_tiling_key(out["tilingKey"])
            parts = (key.api_level, key.model, key.full_load, key.l0c_out)
            assert parts == (out["apiLevel"], out["model"], out["fullLoad"], out["l0C2Out"])
            assert key.batch_model == 0
