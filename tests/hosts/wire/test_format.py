"""Packets as their declarations write and read them, and the parsers that do so by themselves for speed."""

import enum
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts import protocols
from hosts.wire.checks import read_header
from hosts.wire.fields import Flag, Number
from hosts.wire.format import Format
from hosts.wire.header import PacketError
from tests.hosts.datagrams import EXAMPLES

FORMATS = {
    (one.protocol, int(kind)): one
    for name in protocols.names()
    for one in protocols.get(name).packets
    if isinstance(one, Format)
    for kind in one.kinds
}
IDS = [f"{data[1]}-{data[2]}" for data, _ in EXAMPLES]


def outcome(read: Callable[[], Any]) -> Any:
    """What is read, or why nothing is."""
    try:
        return read()
    except PacketError as error:
        return error.reason


@pytest.mark.parametrize(("data", "parse"), EXAMPLES, ids=IDS)
def test_a_declaration_writes_and_reads_what_the_endpoints_do(data: bytes, parse: Callable[[bytes], Any]) -> None:
    declared = FORMATS[data[1], data[2]]
    assert declared.decode(data, *read_header(data, data[1])) == parse(data)
    assert declared.encode(parse(data)) == data


@given(st.data())
def test_both_refuse_the_same(draw: st.DataObject) -> None:
    """Cut, lengthened, or with other octets behind the common header."""
    example, parse = draw.draw(st.sampled_from(EXAMPLES))
    data = bytearray(example)
    for at, octet in draw.draw(st.lists(st.tuples(st.integers(8, len(data) - 1), st.integers(0, 255)), max_size=4)):
        data[at] = octet
    data[3] = draw.draw(st.integers(0, 255))
    changed = bytes(data[: draw.draw(st.integers(8, len(data)))] if draw.draw(st.booleans()) else data)
    changed += draw.draw(st.binary(max_size=2))
    declared = FORMATS[changed[1], changed[2]]
    own = outcome(lambda: declared.decode(changed, *read_header(changed, changed[1])))
    assert outcome(lambda: parse(changed)) == own


class Type(enum.IntEnum):
    """Of a protocol."""

    ONE = 1
    TWO = 2


class Word(NamedTuple):
    """One number, and whether it is the last."""

    session: int
    again: bool
    last: bool
    value: int


VALUE = Number("value", 16, "what is said")
LAST = Flag("last", 0x80, "nothing follows")


def test_flags_and_two_types() -> None:
    word = Format(9, (Type.ONE, Type.TWO), Word, VALUE, flags=(LAST,), second="again")
    data = word.encode(Word(7, True, True, 0x1234))
    assert data.hex() == "01090280" + "00000007" + "1234"
    assert word.decode(data, *read_header(data, 9)) == Word(7, True, True, 0x1234)


def test_a_tuple_and_a_packet_that_differ_are_an_error() -> None:
    with pytest.raises(ValueError, match="ONE: again, last in the tuple or the packet only"):
        Format(9, Type.ONE, Word, VALUE)
    with pytest.raises(ValueError, match="ONE: other in the tuple or the packet only"):
        Format(9, (Type.ONE, Type.TWO), Word, VALUE, Number("other", 8), flags=(LAST,), second="again")
