"""Layouts: where fields lie, and what is read and refused."""

import enum
import struct
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.wire.fields import Bitmap, Flag, Host, Marks, Number, Reserved, Size, Words
from hosts.wire.layout import Inner, Items, Layout


class Colour(enum.IntEnum):
    """Of a thing."""

    RED = 1
    BLUE = 4


class Spot(NamedTuple):
    """Part of a thing."""

    host: str
    port: int


class Thing(NamedTuple):
    """One of each kind of field."""

    old: bool
    colour: Colour
    tally: int
    level: int
    spot: Spot
    seen: int
    whole: bool


SPOT = Layout("spot", Spot, Host("host"), Number("port", 16))
THING = Layout(
    "thing",
    Thing,
    Marks("marks", 3, Flag("old", 0x4, "no longer new")),
    Number("colour", 5, kind=Colour),
    Number("tally", 8, wraps=True),
    Reserved("reserved", 16),
    Number("level", 16, cut=True, least=1, most=1000),
    Inner(SPOT, "where", "spot", "at_"),
    Bitmap("seen", 24, "what it has seen"),
    Number("whole", 8, kind=bool),
)
EXAMPLE = Thing(True, Colour.BLUE, 3, 500, Spot("10.0.0.1", 4000), 0xABCDEF, True)
OCTETS = bytes.fromhex("84 03 0000 01f4 0a000001 0fa0 abcdef 01")


def read(data: bytes) -> Thing:
    return THING.made_of(THING.struct.unpack(data))


def test_the_octets() -> None:
    assert THING.struct.format == "!BB2xH4sH3sB"
    assert THING.size == len(OCTETS)
    assert THING.pack(EXAMPLE) == OCTETS
    assert read(OCTETS) == EXAMPLE


def test_where_the_fields_lie() -> None:
    assert [(place.name, place.at, place.field.bits) for place in THING.places()] == [
        ("marks", 0, 3),
        ("colour", 3, 5),
        ("tally", 8, 8),
        ("reserved", 16, 16),
        ("level", 32, 16),
        ("at_host", 48, 32),
        ("at_port", 80, 16),
        ("seen", 96, 24),
        ("whole", 120, 8),
    ]


@given(
    st.builds(
        Thing,
        st.booleans(),
        st.sampled_from(Colour),
        st.integers(0, 255),
        st.integers(1, 1000),
        st.builds(Spot, st.ip_addresses(v=4).map(str), st.integers(0, 65535)),
        st.integers(0, 2**24 - 1),
        st.booleans(),
    )
)
def test_what_is_written_is_read(thing: Thing) -> None:
    assert read(THING.pack(thing)) == thing


def test_numbers_that_are_too_large() -> None:
    large = read(THING.pack(EXAMPLE._replace(tally=258, level=70_000, seen=1 << 24 | 5)))
    assert (large.tally, large.level, large.seen) == (2, 1000, 5)
    with pytest.raises(struct.error):
        THING.pack(EXAMPLE._replace(spot=Spot("10.0.0.1", 65_536)))


@pytest.mark.parametrize(
    ("at", "octets", "why"),
    [
        (0, "44", "marks"),
        (0, "a4", "marks"),
        (0, "82", "2 is not a valid Colour"),
        (4, "ffff", "level"),
        (4, "0000", "level"),
        (15, "02", "whole"),
    ],
)
def test_values_that_are_refused(at: int, octets: str, why: str) -> None:
    data = bytearray(OCTETS)
    data[at : at + len(octets) // 2] = bytes.fromhex(octets)
    with pytest.raises(ValueError, match=why):
        read(bytes(data))


def test_what_is_reserved_is_ignored() -> None:
    assert read(OCTETS[:2] + b"\xff\xff" + OCTETS[4:]) == EXAMPLE


def test_fields_that_fill_no_number_are_an_error() -> None:
    with pytest.raises(ValueError, match="no number has 7 bits"):
        Layout[object]("odd", None, Number("odd", 7))
    with pytest.raises(ValueError, match="no number has 24 bits"):
        Layout[object]("wide", None, Number("wide", 24))


def test_a_list_at_the_end_and_words_in_between() -> None:
    many = Layout[object]("many", None, Size("count", 8, "spots", of="spots"), Items("spots", SPOT, "where"))
    assert many.size == 1
    assert many.tail is not None
    assert many.tail.unit == 6
    assert many.tail.read(bytes.fromhex("0a000001 0fa0 0a000002 0fa1")) == (
        Spot("10.0.0.1", 4000),
        Spot("10.0.0.2", 4001),
    )
    words = Layout[object]("words", None, Number("until", 8), Words("more", "", "until"), Number("last", 8))
    assert words.size == 1
    assert [place.at for place in words.places()] == [0, 8, None]
