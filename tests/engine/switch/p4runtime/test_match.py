"""Match keys, by the constraints of the specification's "Match Format"."""

import pytest
from finsy.proto import p4i, p4r, rpc_code
from hypothesis import given
from hypothesis import strategies as st

from engine.switch.p4runtime.match import Key, KeyCodec
from engine.switch.p4runtime.p4info import MatchFieldInfo
from tests.engine.entities import raw, refused

EXACT, LPM, TERNARY = p4i.MatchField.EXACT, p4i.MatchField.LPM, p4i.MatchField.TERNARY
RANGE, OPTIONAL = p4i.MatchField.RANGE, p4i.MatchField.OPTIONAL

FIELDS = [
    (1, "exact", 9, EXACT, "exact"),
    (2, "lpm", 32, LPM, "lpm"),
    (3, "ternary", 12, TERNARY, "ternary"),
    (4, "range", 16, RANGE, "range"),
    (5, "optional", 48, OPTIONAL, "ternary"),
]
CODEC = KeyCodec(
    [MatchFieldInfo(id_, name, width, kind) for id_, name, width, kind, _ in FIELDS],
    [(width, engine) for _, _, width, _, engine in FIELDS],
    "table t",
)
EXACT_MATCH = raw.FieldMatch(field_id=1, exact={"value": b"\x05"})


def parse(*matches: p4r.FieldMatch) -> Key:
    return CODEC.parse([EXACT_MATCH, *matches])


def test_omitted_fields_match_everything() -> None:
    assert parse() == (5, (0, 0), (0, 0), (0, 0xFFFF), None)
    assert CODEC.to_proto(parse()) == [EXACT_MATCH]


def test_all_kinds_and_leading_zeros() -> None:
    key = CODEC.parse(
        [
            raw.FieldMatch(field_id=5, optional={"value": b"\0\0\x0a"}),
            raw.FieldMatch(field_id=4, range={"low": b"\0", "high": b"\0\x10"}),
            raw.FieldMatch(field_id=3, ternary={"value": b"\0\x01", "mask": b"\x0f"}),
            raw.FieldMatch(field_id=2, lpm={"value": b"\x0a\0\0\0", "prefix_len": 8}),
            raw.FieldMatch(field_id=1, exact={"value": b"\x01\xff"}),
        ]
    )
    assert key == (0x1FF, (0x0A000000, 8), (1, 15), (0, 16), 10)
    assert CODEC.to_proto(key) == [
        raw.FieldMatch(field_id=1, exact={"value": b"\x01\xff"}),
        raw.FieldMatch(field_id=2, lpm={"value": b"\x0a\0\0\0", "prefix_len": 8}),
        raw.FieldMatch(field_id=3, ternary={"value": b"\x01", "mask": b"\x0f"}),
        raw.FieldMatch(field_id=4, range={"low": b"\0", "high": b"\x10"}),
        raw.FieldMatch(field_id=5, optional={"value": b"\x0a"}),
    ]


def test_the_data_plane_gets_full_width_strings_and_p4cs_ternary_for_optional() -> None:
    assert CODEC.to_engine(parse()) == [
        b"\0\x05",
        (bytes(4), 0),
        (bytes(2), bytes(2)),
        (bytes(2), b"\xff\xff"),
        (bytes(6), bytes(6)),
    ]
    set_optional = parse(raw.FieldMatch(field_id=5, optional={"value": b"\x0a"}))
    assert CODEC.to_engine(set_optional)[4] == (b"\0\0\0\0\0\x0a", b"\xff" * 6)


@pytest.mark.parametrize(
    ("match", "reason"),
    [
        (raw.FieldMatch(field_id=9, exact={"value": b"\x01"}), "no match field has id 9"),
        (EXACT_MATCH, "given twice"),
        (p4r.FieldMatch(field_id=2), "needs lpm, not an empty match"),
        (raw.FieldMatch(field_id=2, exact={"value": b"\x01"}), "needs lpm, not exact"),
        (raw.FieldMatch(field_id=2, lpm={"value": b"\0", "prefix_len": 0}), "prefix length 0"),
        (raw.FieldMatch(field_id=2, lpm={"value": b"\0", "prefix_len": 33}), "prefix length 33"),
        (raw.FieldMatch(field_id=2, lpm={"value": b"\0", "prefix_len": -1}), "prefix length -1"),
        (raw.FieldMatch(field_id=2, lpm={"value": b"\x0a\0\0\x01", "prefix_len": 8}), "beyond its prefix"),
        (raw.FieldMatch(field_id=3, ternary={"value": b"\0", "mask": b"\0"}), "mask is zero"),
        (raw.FieldMatch(field_id=3, ternary={"value": b"\x03", "mask": b"\x02"}), "outside its mask"),
        (raw.FieldMatch(field_id=4, range={"low": b"\x02", "high": b"\x01"}), "empty"),
        (raw.FieldMatch(field_id=4, range={"low": b"\0", "high": b"\xff\xff"}), "every value"),
    ],
)
def test_refused_matches(match: p4r.FieldMatch, reason: str) -> None:
    with refused(rpc_code.INVALID_ARGUMENT, f"table t.*{reason}"):
        parse(match)


@pytest.mark.parametrize(
    "match",
    [
        raw.FieldMatch(field_id=1, exact={"value": b"\x02\0"}),
        raw.FieldMatch(field_id=1, exact={"value": b""}),
        raw.FieldMatch(field_id=2, lpm={"value": b"\x01\0\0\0\0", "prefix_len": 8}),
        raw.FieldMatch(field_id=3, ternary={"value": b"\x01", "mask": b"\x10\0"}),
        raw.FieldMatch(field_id=4, range={"low": b"\x01", "high": b"\x01\0\0"}),
        raw.FieldMatch(field_id=5, optional={"value": b"\x01" + bytes(6)}),
    ],
)
def test_values_that_do_not_fit_are_out_of_range(match: p4r.FieldMatch) -> None:
    matches = [match] if match.field_id == 1 else [EXACT_MATCH, match]
    with refused(rpc_code.OUT_OF_RANGE, "field"):
        CODEC.parse(matches)


def test_an_exact_field_may_not_be_omitted() -> None:
    with refused(rpc_code.INVALID_ARGUMENT, "may not be omitted"):
        CODEC.parse([])


@st.composite
def keys(draw: st.DrawFn) -> Key:
    """Any key of the codec."""
    length = draw(st.integers(0, 32))
    lpm = draw(st.integers(0, (1 << length) - 1)) << (32 - length)
    mask = draw(st.integers(0, 0xFFF))
    low = draw(st.integers(0, 0xFFFF))
    return (
        draw(st.integers(0, 0x1FF)),
        (lpm, length),
        (draw(st.integers(0, 0xFFF)) & mask, mask),
        (low, draw(st.integers(low, 0xFFFF))),
        draw(st.none() | st.integers(0, (1 << 48) - 1)),
    )


@given(keys())
def test_a_key_is_read_back_as_it_was_written(key: Key) -> None:
    assert CODEC.parse(CODEC.to_proto(key)) == key
    assert CODEC.from_engine(CODEC.to_engine(key)) == key
