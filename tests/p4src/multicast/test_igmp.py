"""igmp.p4: what each IGMP message asks for, record by record and source by source."""

import struct

import pytest
from scapy.layers.inet import IP

from tests.p4src.bench.packets import (
    Record,
    address,
    data,
    igmp_message,
    igmp_packet,
    join,
    leave_v2,
    report,
    report_message,
    report_v1,
    report_v2,
)
from tests.p4src.bench.program import enum, number
from tests.p4src.bench.setup import route_group, route_source
from tests.p4src.bench.target import Rates, Target

GROUPS = [f"239.1.1.{index}" for index in range(8)]
SOURCES = [f"10.0.1.{index}" for index in range(4)]
MEMBER = 5


@pytest.fixture
def target(switch: Target) -> Target:
    """Every group has an any-source slot and one for each source; data comes in at port 1."""
    for index, group in enumerate(GROUPS):
        route_group(switch, group, 100 + index, accept=[1])
        for number_of_source, source in enumerate(SOURCES):
            route_source(switch, source, group, 200 + 10 * index + number_of_source, upstream=[], accept=[1])
    return switch


def _receives(target: Target, group: str, source: str) -> bool:
    return [port for port, _ in target.send(1, bytes(data(source, group)))] == [MEMBER]


def _received_sources(target: Target, group: str) -> list[str]:
    """Of the known sources and of one that has no slot of its own ("any")."""
    received = [source for source in SOURCES if _receives(target, group, source)]
    return received + ["any"] * _receives(target, group, "10.0.9.9")


EVERYTHING = [*SOURCES, "any"]


@pytest.mark.parametrize("kind", ["is_in", "to_in", "allow"])
def test_include_joins_its_sources(target: Target, kind: str) -> None:
    target.send(MEMBER, report(Record(kind, GROUPS[0], [SOURCES[1], SOURCES[3]])))
    assert _received_sources(target, GROUPS[0]) == [SOURCES[1], SOURCES[3]]
    assert _received_sources(target, GROUPS[1]) == []


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(report(Record("is_ex", GROUPS[0])), id="is_ex"),
        pytest.param(report(Record("to_ex", GROUPS[0])), id="to_ex"),
        pytest.param(report_v2(GROUPS[0]), id="version 2"),
        pytest.param(report_v1(GROUPS[0]), id="version 1"),
        pytest.param(report(Record("to_ex", GROUPS[0]), router_alert=False), id="without router alert"),
        pytest.param(report(Record("to_ex", GROUPS[0]), source="0.0.0.0"), id="of a host without an address"),
    ],
)
def test_a_member_of_the_group_gets_everything(target: Target, message: bytes) -> None:
    target.send(MEMBER, message)
    assert _received_sources(target, GROUPS[0]) == EVERYTHING


@pytest.mark.parametrize("kind", ["is_ex", "to_ex"])
def test_exclude_leaves_the_sources_it_names(target: Target, kind: str) -> None:
    target.send(MEMBER, report(Record("allow", GROUPS[0], SOURCES)))
    target.send(MEMBER, report(Record(kind, GROUPS[0], SOURCES[:2])))
    target.digests()
    target.send(MEMBER, report(Record("to_in", GROUPS[0])))
    assert _received_sources(target, GROUPS[0]) == SOURCES[2:]


def test_block_leaves_its_sources(target: Target) -> None:
    target.send(MEMBER, report(Record("allow", GROUPS[0], SOURCES)))
    target.send(MEMBER, report(Record("block", GROUPS[0], [SOURCES[0], SOURCES[2]])))
    assert _received_sources(target, GROUPS[0]) == [SOURCES[1], SOURCES[3]]


@pytest.mark.parametrize(
    ("kind", "sources", "received"),
    [
        ("to_in", [], []),
        ("to_in", [SOURCES[2]], [SOURCES[2]]),
        *((kind, [], EVERYTHING) for kind in ("is_in", "allow", "block")),  # says nothing
        # A switch downstream reports its hosts' memberships one by one.
        *((kind, [SOURCES[2]], EVERYTHING) for kind in ("is_in", "allow")),
    ],
)
def test_what_is_left_to_a_member_of_the_group(
    target: Target, kind: str, sources: list[str], received: list[str]
) -> None:
    target.send(MEMBER, join(GROUPS[0]))
    target.send(MEMBER, report(Record(kind, GROUPS[0], sources)))
    assert _received_sources(target, GROUPS[0]) == received
    missing = len(EVERYTHING) - len(received)
    assert target.drops() == ({"no_members": missing} if missing else {})


def test_version_2_leave(target: Target) -> None:
    target.send(MEMBER, report_v2(GROUPS[0]))
    target.send(MEMBER, report_v2(GROUPS[1]))
    target.send(MEMBER, leave_v2(GROUPS[0]))
    assert _received_sources(target, GROUPS[0]) == []
    assert _received_sources(target, GROUPS[1]) == EVERYTHING


@pytest.mark.parametrize("position", range(8))
def test_member_in_any_record(target: Target, position: int) -> None:
    """A resubmitted packet starts with zero metadata: the port must survive to the record's pass."""
    records = [Record("allow", f"239.9.9.{index}", [SOURCES[0]]) for index in range(8)]
    records[position] = Record("allow", GROUPS[0], [SOURCES[0]])
    target.send(MEMBER, report(*records))
    assert _received_sources(target, GROUPS[0]) == [SOURCES[0]]


def test_records_of_all_types_in_one_report(target: Target) -> None:
    for group in (GROUPS[3], GROUPS[5]):
        target.send(MEMBER, report(Record("allow", group, SOURCES)))
    target.send(MEMBER, join(GROUPS[4]))
    target.send(
        MEMBER,
        report(
            Record("is_in", GROUPS[0], [SOURCES[0]]),
            Record("is_ex", GROUPS[1]),
            Record("to_in", GROUPS[2], SOURCES[1:3]),
            Record("block", GROUPS[3], [SOURCES[3]]),
            Record("to_in", GROUPS[4]),
            Record("to_ex", GROUPS[5], SOURCES),
            Record("allow", GROUPS[6], [SOURCES[2]]),
            Record("block", GROUPS[7], SOURCES),
        ),
    )
    target.send(MEMBER, report(Record("to_in", GROUPS[5])))
    expected = [[SOURCES[0]], EVERYTHING, SOURCES[1:3], SOURCES[:3], [], [], [SOURCES[2]], []]
    assert [_received_sources(target, group) for group in GROUPS] == expected


@pytest.mark.parametrize("words", [1, 3, 255])
def test_auxiliary_data_is_skipped(target: Target, words: int) -> None:
    # What looks like a record in it is none.
    auxiliary = (Record("to_ex", GROUPS[2]).encode() * words)[: 4 * words]
    target.send(
        MEMBER,
        report(
            Record("allow", GROUPS[0], SOURCES[:2], auxiliary),
            Record("to_ex", GROUPS[1], [], auxiliary if words < 255 else b""),
        ),
    )
    assert _received_sources(target, GROUPS[0]) == SOURCES[:2]
    assert _received_sources(target, GROUPS[1]) == EVERYTHING
    assert _received_sources(target, GROUPS[2]) == []


@pytest.mark.parametrize("kind", [0, 7, 255])
def test_unknown_record_types_are_skipped(target: Target, kind: int) -> None:
    """In one pass, however many sources they have."""
    sources = SOURCES * (number("MAX_REPORT_PASSES") // len(SOURCES))
    target.send(MEMBER, report(Record(kind, GROUPS[0], sources, b"abcd"), Record("to_ex", GROUPS[1])))
    assert _received_sources(target, GROUPS[0]) == []
    assert _received_sources(target, GROUPS[1]) == EVERYTHING
    assert target.drops() == {"no_members": 5}


def test_reports_are_consumed(target: Target) -> None:
    target.send(4, join(GROUPS[0]))
    assert target.send(MEMBER, join(GROUPS[0])) == []
    assert target.send(MEMBER, report()) == []
    assert target.send(MEMBER, report(Record("allow", GROUPS[1]))) == []
    assert target.drops() == {}


def test_replayed_report_belongs_to_the_named_port(target: Target) -> None:
    mode = enum("packet_out_mode", "receive")
    packet = report(Record("allow", "239.9.9.9", SOURCES), Record("allow", GROUPS[0], SOURCES[:1]))
    target.packet_out(packet, port=MEMBER, mode=mode)
    assert _received_sources(target, GROUPS[0]) == SOURCES[:1]


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(report_message([Record("to_ex", GROUPS[0])]), id="version 3"),
        pytest.param(igmp_message(0x16, 0, struct.pack("!I", address(GROUPS[0]))), id="version 2"),
    ],
)
def test_checksum_is_verified(target: Target, message: bytes) -> None:
    for position in range(len(message)):
        broken = bytearray(message)
        broken[position] ^= 0x40
        target.send(MEMBER, bytes(igmp_packet(bytes(broken))))
    assert _received_sources(target, GROUPS[0]) == []
    assert target.drops() == {"igmp_checksum": len(message), "no_members": 5}


def test_padding_is_not_part_of_the_message(target: Target) -> None:
    """A short frame is padded to 60 bytes; the records end where the IP packet ends."""
    message = report_message([Record("to_ex", GROUPS[0])], count=2)
    frame = bytes(igmp_packet(message, router_alert=False)).ljust(60, b"\0")
    target.send(MEMBER, frame)
    assert _received_sources(target, GROUPS[0]) == EVERYTHING
    assert target.drops() == {"igmp_malformed": 1}


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        pytest.param(report_message([Record("to_ex", GROUPS[0])], count=2), "igmp_malformed", id="record missing"),
        pytest.param(report_message([Record("to_ex", GROUPS[0])], count=65535), "igmp_malformed", id="65535 records"),
        pytest.param(report_message([], count=1), "igmp_malformed", id="no record at all"),
        pytest.param(
            igmp_message(0x22, 0, struct.pack("!HHBBHI", 0, 1, 5, 0, 2, address(GROUPS[0])) + b"\x0a\0\x01\x01"),
            "igmp_malformed",
            id="source missing",
        ),
        pytest.param(
            igmp_message(0x22, 0, struct.pack("!HHBBHI", 0, 1, 4, 0, 65535, address(GROUPS[0]))),
            "igmp_malformed",
            id="65535 sources",
        ),
        pytest.param(
            igmp_message(0x22, 0, struct.pack("!HHBBHI", 0, 1, 4, 255, 0, address(GROUPS[0]))),
            "igmp_malformed",
            id="auxiliary data missing",
        ),
        pytest.param(igmp_message(0x22, 0, b"\0\0\0\1\4\0\0"), "igmp_malformed", id="half a record"),
        pytest.param(igmp_message(0x22, 0, b""), "parse_error", id="half a header"),
        pytest.param(igmp_message(0x16, 0, b""), "parse_error", id="no group"),
        pytest.param(igmp_message(0x13, 0, bytes(4)), "igmp_type", id="DVMRP"),
        pytest.param(igmp_message(0xFF, 0, bytes(4)), "igmp_type", id="type 255"),
    ],
)
def test_malformed_messages(target: Target, message: bytes, reason: str) -> None:
    frame = bytes(igmp_packet(message))
    assert target.send(MEMBER, frame) == []
    assert target.drops() == {reason: 1}


def test_message_shorter_than_its_header_in_a_padded_frame(target: Target) -> None:
    frame = bytes(igmp_packet(igmp_message(0x16, 0, b""))).ljust(60, b"\0")
    target.send(MEMBER, frame)
    assert target.drops() == {"igmp_malformed": 1}


def test_fragmented_report_is_refused(target: Target) -> None:
    packet = igmp_packet(report_message([Record("to_ex", GROUPS[0])]))
    packet[IP].flags = "MF"
    target.send(MEMBER, bytes(packet))
    assert target.drops() == {"igmp_malformed": 1}
    packet[IP].flags, packet[IP].frag = 0, 3
    target.send(MEMBER, bytes(packet))
    assert target.drops() == {"igmp_malformed": 1, "link_local": 1}
    assert _received_sources(target, GROUPS[0]) == []


@pytest.mark.parametrize("source", ["0.0.0.0", "127.0.0.1", "224.1.1.1", "255.255.255.255"])
def test_sources_that_cannot_be(target: Target, source: str) -> None:
    target.send(MEMBER, report(Record("allow", GROUPS[0], [source, SOURCES[0]])))
    assert _received_sources(target, GROUPS[0]) == [SOURCES[0]]
    assert [digest["source"] for digest in target.digests()] == [address(SOURCES[0])]


@pytest.mark.parametrize("group", ["10.0.0.1", "0.0.0.0", "240.0.0.1", "224.0.0.251"])
def test_groups_that_cannot_be(target: Target, group: str) -> None:
    target.send(MEMBER, report(Record("to_ex", group), Record("allow", group, SOURCES), Record("to_ex", GROUPS[0])))
    messages = [digest for digest in target.digests() if digest["group"] == address(group)]
    assert messages == []
    assert _received_sources(target, GROUPS[0]) == EVERYTHING


def test_largest_report_of_an_ethernet_frame(target: Target) -> None:
    """184 records without sources; the member is in the last one."""
    records = [Record("to_ex", f"239.7.7.{index}") for index in range(183)] + [Record("to_ex", GROUPS[0])]
    target.send(MEMBER, report(*records, router_alert=False))
    assert _received_sources(target, GROUPS[0]) == EVERYTHING
    assert target.drops() == {}


def test_passes_are_bounded(target: Target) -> None:
    """A source beyond the bound is ignored, and the report counted."""
    limit = number("MAX_REPORT_PASSES")
    sources = [f"10.7.{index >> 8}.{index & 255}" for index in range(limit)]
    target.send(MEMBER, report(Record("allow", GROUPS[0], [*sources[: limit - 1], SOURCES[0], SOURCES[1]])))
    assert _received_sources(target, GROUPS[0]) == [SOURCES[0]]
    assert target.drops() == {"igmp_ignored": 1, "no_members": 4}


def test_query_of_somebody_else_goes_to_the_controller(target: Target) -> None:
    query = bytes(igmp_packet(igmp_message(0x11, 100, bytes(4)), destination="224.0.0.1"))
    assert target.send(3, query) == []
    (packet_in,) = target.packet_ins()
    assert (packet_in.ingress_port, packet_in.reason) == (3, enum("packet_in_reason", "igmp_query"))
    assert packet_in.packet == query


def test_reports_beyond_the_ports_rate_are_dropped(target: Target) -> None:
    slow = Rates(committed_rate=1, committed_burst=3, peak_rate=1, peak_burst=3)
    target.set_meter("report_meter", 3, slow)
    for _ in range(10):
        target.send(3, join(GROUPS[0]))
        target.send(MEMBER, join(GROUPS[0]))
    assert 6 <= target.drops()["igmp_rate"] <= 7
