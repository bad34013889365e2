"""Binary strings; the examples are the specification's tables."""

import pytest
from finsy.proto import rpc_code
from hypothesis import given
from hypothesis import strategies as st

from engine.switch.p4runtime import bytestrings
from tests.engine.entities import refused


@pytest.mark.parametrize(
    ("text", "width", "number"),
    [
        (b"\x63", 8, 99),
        (b"\x00\x63", 16, 99),
        (b"\x63", 16, 99),
        (b"\x30\x64", 16, 12388),
        (b"\x00\x30\x64", 16, 12388),
        (b"\x00\x63", 12, 99),
        (b"\x00\x00\x63", 12, 99),
        (b"\x00", 1, 0),
    ],
)
def test_valid_strings(text: bytes, width: int, number: int) -> None:
    assert bytestrings.decode(text, width, "value") == number
    assert bytestrings.encode(number) == (text.lstrip(b"\0") or b"\0")


@pytest.mark.parametrize(
    ("text", "width"),
    [
        (b"\x01\x63", 8),
        (b"", 8),
        (b"\x01\x00\x63", 16),
        (b"\x10\x63", 12),
        (b"\x01\x00\x63", 12),
        (b"\x00\x40\x63", 12),
    ],
)
def test_invalid_strings_are_out_of_range(text: bytes, width: int) -> None:
    with refused(rpc_code.OUT_OF_RANGE, "ttl"):
        bytestrings.decode(text, width, "ttl")


@pytest.mark.parametrize(
    ("number", "text"), [(99, b"\x63"), (-99, b"\x9d"), (-739, b"\xfd\x1d"), (0, b"\x00"), (128, b"\x00\x80")]
)
def test_signed_strings_are_the_shortest(number: int, text: bytes) -> None:
    assert bytestrings.encode_signed(number) == text


@given(st.integers(min_value=0, max_value=(1 << 200) - 1), st.integers(min_value=0, max_value=9))
def test_any_number_of_leading_zeros_is_accepted_and_none_is_written(number: int, zeros: int) -> None:
    canonical = bytestrings.encode(number)
    assert bytestrings.decode(bytes(zeros) + canonical, max(1, number.bit_length()), "value") == number
    assert bytestrings.canonical(bytes(zeros) + canonical) == canonical
    assert len(canonical) == 1 or canonical[0] != 0


@given(st.binary(max_size=40), st.integers(min_value=1, max_value=256))
def test_a_string_is_accepted_exactly_when_its_value_fits(text: bytes, width: int) -> None:
    if text and int.from_bytes(text, "big") < 1 << width:
        assert bytestrings.decode(text, width, "value") == int.from_bytes(text, "big")
    else:
        with refused(rpc_code.OUT_OF_RANGE):
            bytestrings.decode(text, width, "value")


@given(st.integers(min_value=2, max_value=80), st.data())
def test_signed_numbers_survive_their_encoding(width: int, data: st.DataObject) -> None:
    number = data.draw(st.integers(min_value=-(1 << (width - 1)), max_value=(1 << (width - 1)) - 1))
    assert int.from_bytes(bytestrings.encode_signed(number), "big", signed=True) == number
    assert bytestrings.to_signed(number & ((1 << width) - 1), width) == number
