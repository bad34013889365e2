"""igmp_unknown.p4: the controller hears of joins of groups without a slot, and cannot be flooded with them."""

import random

import pytest

from tests.p4src.bench.packets import Record, address, data, join, leave, leave_v2, report, report_v2
from tests.p4src.bench.program import enum, number
from tests.p4src.bench.setup import install, route_group, route_source
from tests.p4src.bench.target import Embedded, Target

SOURCE = "10.0.1.1"
GROUP = "239.1.1.1"
WINDOW_US = 1 << number("UNKNOWN_WINDOW_SHIFT")


def _unknown(target: Target) -> list[tuple[int, int, int]]:
    """(source, group, port) of the unknown_group digests since the last call."""
    digests = target.digests()
    assert {digest.name for digest in digests} <= {"unknown_group"}
    return [(digest["source"], digest["group"], digest["port"]) for digest in digests]


def test_join_of_an_unknown_group_is_told(switch: Target) -> None:
    assert switch.send(3, join(GROUP, SOURCE)) == []
    assert switch.send(4, report_v2(GROUP)) == []
    assert _unknown(switch) == [(address(SOURCE), address(GROUP), 3), (0, address(GROUP), 4)]
    assert [switch.counter("unknown_reports", port)[0] for port in range(17)] == [0, 0, 0, 1, 1] + [0] * 12


def test_repeats_are_counted_but_not_told(embedded: Embedded) -> None:
    install(embedded)
    for _ in range(50):
        embedded.send(3, join(GROUP, SOURCE))
    assert len(_unknown(embedded)) == 1
    assert embedded.counter("unknown_reports", 3)[0] == 50
    embedded.advance(WINDOW_US)
    embedded.send(3, join(GROUP, SOURCE))
    assert len(_unknown(embedded)) == 1


def test_leaves_and_known_groups_are_not_told(switch: Target) -> None:
    switch.send(3, leave(GROUP, SOURCE))
    switch.send(3, leave(GROUP))
    switch.send(3, leave_v2(GROUP))
    switch.send(3, bytes(data(SOURCE, GROUP)))
    assert switch.digests() == []
    assert switch.counter("unknown_reports", 3)[0] == 0


def test_group_and_its_sources_are_known_apart(switch: Target) -> None:
    route_group(switch, GROUP, 1, accept=[1])
    switch.send(3, join(GROUP, SOURCE))
    assert _unknown(switch) == [(address(SOURCE), address(GROUP), 3)]


def test_every_unknown_record_is_told(switch: Target) -> None:
    groups = [f"239.1.2.{index}" for index in range(10)]
    switch.send(3, report(*[Record("allow", group, [SOURCE]) for group in groups]))
    assert _unknown(switch) == [(address(SOURCE), address(group), 3) for group in groups]


def test_controller_answers_and_replays(switch: Target) -> None:
    """What the controller does upon the digest: a slot, then the report once more."""
    packet = join(GROUP, SOURCE)
    switch.send(3, packet)
    ((source, group, port),) = _unknown(switch)
    assert (source, group) == (address(SOURCE), address(GROUP))
    route_source(switch, SOURCE, GROUP, 1, accept=[1])
    switch.packet_out(packet, port=port, mode=enum("packet_out_mode", "receive"))
    assert [out for out, _ in switch.send(1, bytes(data(SOURCE, GROUP)))] == [3]


def test_malicious_port_is_bounded_and_harms_no_other(embedded: Embedded) -> None:
    install(embedded)
    places = number("UNKNOWN_PER_PORT")
    chooser = random.Random(1)
    joined = 0
    told = 0
    for _ in range(200):
        groups = [f"239.{chooser.randrange(256)}.{chooser.randrange(256)}.{chooser.randrange(256)}" for _ in range(100)]
        embedded.send(3, report(*[Record("to_ex", group) for group in groups], router_alert=False))
        joined += len(groups)
        told += len(_unknown(embedded))
    assert embedded.counter("unknown_reports", 3)[0] == joined == 20_000
    assert 0.9 * places < told <= places
    for group in (f"239.200.0.{index}" for index in range(20)):
        embedded.send(4, join(group))
    assert len(_unknown(embedded)) >= 19


@pytest.mark.parametrize("port", [1, 16])
def test_first_and_last_port_have_places(target: Target, port: int) -> None:
    install(target, ports=16)
    target.send(port, join(GROUP))
    assert _unknown(target) == [(0, address(GROUP), port)]


def test_first_window_is_told(switch: Target) -> None:
    """A register starts at 0, and so does time."""
    switch.send(1, join(GROUP))
    assert len(_unknown(switch)) == 1
