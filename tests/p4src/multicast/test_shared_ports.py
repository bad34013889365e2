"""shared_ports.p4: a leave at a port with several hosts behind it waits for what the others say."""

import random

import pytest

from tests.p4src.bench.packets import data, join, leave, leave_v2, parse_report, report_v2
from tests.p4src.bench.program import enum
from tests.p4src.bench.setup import bitmap, install, ports_of, route_group, route_source
from tests.p4src.bench.target import Target

SOURCE = "10.0.1.1"
GROUP = "232.1.1.1"
SHARED = [2, 5]


@pytest.fixture
def shared(target: Target) -> Target:
    """A switch whose ports 2 and 5 are shared; port 1 leads to the source."""
    install(target)
    target.set_default("shared", "set_shared", {"shared_ports": bitmap(SHARED)})
    route_source(target, SOURCE, GROUP, 7, upstream=[1])
    return target


def _ports(target: Target) -> list[int]:
    return [out for out, _ in target.send(1, bytes(data(SOURCE, GROUP)))]


def _told(target: Target) -> list[tuple[str, list[int], list[int]]]:
    kinds = ("join", "leave", "expire", "refresh", "leaving")
    names = {enum("change", name): name for name in kinds}
    return [
        (names[digest["change"]], ports_of(digest["ports"]), ports_of(digest["members"])) for digest in target.digests()
    ]


def _last(target: Target, port: int, report: bytes) -> list[tuple[str, str, str | None]]:
    """The controller repeats a leave after its queries; the reports that go upstream."""
    sent = target.packet_out(report, port=port, mode=enum("packet_out_mode", "last"))
    return [parse_report(packet) for _, packet in sent]


def test_a_leave_there_is_told_and_changes_nothing(shared: Target) -> None:
    shared.send(2, join(GROUP, SOURCE))
    shared.digests()
    assert shared.send(2, leave(GROUP, SOURCE)) == []
    assert _told(shared) == [("leaving", [2], [2])]
    assert _ports(shared) == [2]
    assert shared.send(2, leave(GROUP, SOURCE)) == []
    assert _told(shared) == []  # somebody is asking already


def test_it_holds_when_nobody_reports(shared: Target) -> None:
    shared.send(2, join(GROUP, SOURCE))
    shared.send(2, leave(GROUP, SOURCE))
    shared.digests()
    assert _last(shared, 2, leave(GROUP, SOURCE)) == [("block", GROUP, SOURCE)]
    assert _told(shared) == [("leave", [2], [])]
    assert _ports(shared) == []


def test_a_report_in_between_keeps_the_port(shared: Target) -> None:
    shared.send(2, join(GROUP, SOURCE))
    shared.send(2, leave(GROUP, SOURCE))
    shared.send(2, join(GROUP, SOURCE))
    shared.digests()
    assert _last(shared, 2, leave(GROUP, SOURCE)) == []
    assert _told(shared) == []
    assert _ports(shared) == [2]
    # The next one to leave is heard anew.
    shared.send(2, leave(GROUP, SOURCE))
    assert _told(shared) == [("leaving", [2], [2])]
    assert len(_last(shared, 2, leave(GROUP, SOURCE))) == 1


def test_ports_are_asked_apart_from_each_other(shared: Target) -> None:
    for port in (2, 3, 5):
        shared.send(port, join(GROUP, SOURCE))
    for port in (5, 2):
        shared.send(port, leave(GROUP, SOURCE))
    shared.send(5, join(GROUP, SOURCE))
    for port in (2, 5):
        _last(shared, port, leave(GROUP, SOURCE))
    assert _ports(shared) == [3, 5]
    shared.send(3, leave(GROUP, SOURCE))  # not shared: at once
    assert _ports(shared) == [5]


def test_a_leave_of_no_member_is_not_told(shared: Target) -> None:
    shared.send(3, join(GROUP, SOURCE))
    shared.digests()
    shared.send(2, leave(GROUP, SOURCE))
    _last(shared, 2, leave(GROUP, SOURCE))
    assert _told(shared) == []
    assert _ports(shared) == [3]


def test_version_2_and_any_source(shared: Target) -> None:
    route_group(shared, "239.1.1.1", 9, accept=[1])
    shared.send(2, report_v2("239.1.1.1"))
    shared.digests()
    shared.send(2, leave_v2("239.1.1.1"))
    assert _told(shared) == [("leaving", [2], [2])]
    _last(shared, 2, leave("239.1.1.1"))
    assert _told(shared) == [("leave", [2], [])]


@pytest.mark.parametrize("seed", range(6))
def test_a_random_history_never_cuts_off_who_is_there(shared: Target, seed: int) -> None:
    """Hosts behind the shared ports join, leave, answer the controller's queries; some queries are lost."""
    random_source = random.Random(seed)
    hosts: dict[int, set[str]] = {2: set(), 5: set()}
    for _ in range(60):
        port = random_source.choice(SHARED)
        host = random_source.choice("abc")
        if host not in hosts[port]:
            hosts[port].add(host)
            shared.send(port, join(GROUP, SOURCE))
        else:
            hosts[port].discard(host)
            shared.send(port, leave(GROUP, SOURCE))
        for kind, asked, _members in _told(shared):
            if kind == "leaving" and random_source.random() < 0.8:
                (there,) = asked
                for _host in hosts[there]:
                    shared.send(there, join(GROUP, SOURCE))
                _last(shared, there, leave(GROUP, SOURCE))
                assert (there in _ports(shared)) == bool(hosts[there])
        assert {port for port in SHARED if hosts[port]} <= set(_ports(shared))
