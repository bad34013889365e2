"""What a real kernel sends: reports of a Linux 6.18 host (10.0.0.5), recorded from a veth pair, byte for byte.

The host joined 239.1.1.0 from any source, then 239.1.1.1 from 10.0.1.1 and 10.0.1.3, answered a general query, and left
all of it again; then 239.1.1.0 once more with force_igmp_version=2.
"""

import pytest

from tests.p4src.bench.packets import data, parse_report
from tests.p4src.bench.setup import install, route_group, route_source
from tests.p4src.bench.target import Target

ETHERNET = "01005e000016020000000105080046c0"
FRAMES = {
    name: bytes.fromhex(ETHERNET + text)
    for name, text in {
        "join_any": "0028000040000102f9f40a000005e0000016940400002200e9fc0000000104000000ef010100",
        "join_first": "002c000040000102f9f00a000005e0000016940400002200ddf90000000105000001ef0101010a000101",
        "join_second": "002c000040000102f9f00a000005e0000016940400002200ddf70000000105000001ef0101010a000103",
        "answer": "0038000040000102f9e40a000005e0000016940400002200e4f20000000201000002ef0101010a0001010a000103"
        "02000000ef010100",
        "leave_first": "002c000040000102f9f00a000005e0000016940400002200dcf90000000106000001ef0101010a000101",
        "leave_second": "002c000040000102f9f00a000005e0000016940400002200dcf70000000106000001ef0101010a000103",
        "leave_any": "0028000040000102f9f40a000005e0000016940400002200eafc0000000103000000ef010100",
    }.items()
}
JOIN_V2 = bytes.fromhex("01005e010100020000000105080046c00020000040000102ea110a000005ef010100940400001600f9fdef010100")
LEAVE_V2 = bytes.fromhex("01005e000002020000000105080046c00020000040000102fa100a000005e0000002940400001700f8fdef010100")

PORT = 5
FIRST, SECOND, ANY = ("10.0.1.1", "239.1.1.1"), ("10.0.1.3", "239.1.1.1"), ("10.0.1.2", "239.1.1.0")


@pytest.fixture
def switch(target: Target) -> Target:
    install(target)
    route_source(target, *FIRST, 1, upstream=[1])
    route_source(target, *SECOND, 2, upstream=[1])
    route_group(target, ANY[1], 3, upstream=[1], accept=[1, PORT])
    return target


def _received(switch: Target) -> list[tuple[str, str]]:
    streams = [FIRST, SECOND, ANY]
    return [stream for stream in streams if [port for port, _ in switch.send(1, bytes(data(*stream)))] == [PORT]]


def test_joins_and_leaves(switch: Target) -> None:
    told = []
    for frame, streams in (
        ("join_any", [ANY]),
        ("join_first", [FIRST, ANY]),
        ("join_second", [FIRST, SECOND, ANY]),
        ("leave_first", [SECOND, ANY]),
        ("leave_second", [ANY]),
        ("leave_any", []),
    ):
        # The kernel sends each twice (RFC 3376 8.1).
        for _ in range(2):
            told += [parse_report(packet) for _, packet in switch.send(PORT, FRAMES[frame])]
            assert _received(switch) == streams, frame
    assert told == [
        ("to_ex", ANY[1], None),
        ("allow", FIRST[1], FIRST[0]),
        ("allow", SECOND[1], SECOND[0]),
        ("block", FIRST[1], FIRST[0]),
        ("block", SECOND[1], SECOND[0]),
        ("to_in", ANY[1], None),
    ]
    assert set(switch.drops()) == {"no_members"}


def test_answer_to_a_query_restores_everything(switch: Target) -> None:
    sent = switch.send(PORT, FRAMES["answer"])
    assert [parse_report(packet) for _, packet in sent] == [
        ("allow", FIRST[1], FIRST[0]),
        ("allow", SECOND[1], SECOND[0]),
        ("to_ex", ANY[1], None),
    ]
    assert _received(switch) == [FIRST, SECOND, ANY]


def test_version_2(switch: Target) -> None:
    assert [parse_report(packet) for _, packet in switch.send(PORT, JOIN_V2)] == [("to_ex", ANY[1], None)]
    assert _received(switch) == [ANY]
    assert [parse_report(packet) for _, packet in switch.send(PORT, LEAVE_V2)] == [("to_in", ANY[1], None)]
    assert _received(switch) == []
