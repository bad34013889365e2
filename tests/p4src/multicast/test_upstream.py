"""upstream.p4: the neighbour upstream hears of the first member, of the last one's leave, and once per tick."""

import pytest

from tests.p4src.bench.packets import Record, data, join, leave, leave_v2, parse_report, report, report_v2
from tests.p4src.bench.program import enum
from tests.p4src.bench.setup import EPOCH_SHIFT, install, route_group, route_source
from tests.p4src.bench.target import Embedded, Target
from tests.p4src.conftest import TargetFactory

SOURCE = "10.0.1.1"
GROUP = "239.1.1.1"
TICK_US = 1 << EPOCH_SHIFT - 2

ParsedReport = tuple[int, tuple[str, str, str | None]]


def _reports(target: Target, port: int, packet: bytes) -> list[ParsedReport]:
    return [(out, parse_report(sent)) for out, sent in target.send(port, packet)]


def test_first_join_and_last_leave_only(switch: Target) -> None:
    route_source(switch, SOURCE, GROUP, 1, upstream=[1])
    assert _reports(switch, 2, join(GROUP, SOURCE)) == [(1, ("allow", GROUP, SOURCE))]
    assert _reports(switch, 3, join(GROUP, SOURCE)) == []
    assert _reports(switch, 4, join(GROUP, SOURCE)) == []
    assert _reports(switch, 2, leave(GROUP, SOURCE)) == []
    assert _reports(switch, 4, leave(GROUP, SOURCE)) == []
    assert _reports(switch, 3, leave(GROUP, SOURCE)) == [(1, ("block", GROUP, SOURCE))]
    assert _reports(switch, 3, join(GROUP, SOURCE)) == [(1, ("allow", GROUP, SOURCE))]


def test_own_source_has_nobody_to_tell(switch: Target) -> None:
    route_source(switch, SOURCE, GROUP, 1, accept=[4])
    assert _reports(switch, 2, join(GROUP, SOURCE)) == []
    assert _reports(switch, 2, leave(GROUP, SOURCE)) == []


def test_any_source_reports(switch: Target) -> None:
    route_group(switch, GROUP, 1, upstream=[1], accept=[1, 2])
    assert _reports(switch, 2, report_v2(GROUP)) == [(1, ("to_ex", GROUP, None))]
    assert _reports(switch, 2, leave_v2(GROUP)) == [(1, ("to_in", GROUP, None))]


def test_any_source_group_is_told_in_every_direction_that_needs_it(switch: Target) -> None:
    """Switches at 1, 2 and 3. Each must hear of members that are not behind its own port."""
    route_group(switch, GROUP, 1, upstream=[1, 2, 3], accept=range(1, 9))
    to_ex, to_in = ("to_ex", GROUP, None), ("to_in", GROUP, None)
    assert _reports(switch, 1, join(GROUP)) == [(2, to_ex), (3, to_ex)]
    assert _reports(switch, 2, join(GROUP)) == [(1, to_ex)]
    assert _reports(switch, 8, join(GROUP)) == []
    assert _reports(switch, 2, leave(GROUP)) == []
    assert _reports(switch, 1, leave(GROUP)) == []
    assert _reports(switch, 8, leave(GROUP)) == [(1, to_in), (2, to_in), (3, to_in)]


def test_only_member_behind_an_upstream_port_is_not_told_of_itself(switch: Target) -> None:
    route_group(switch, GROUP, 1, upstream=[1], accept=range(1, 9))
    assert _reports(switch, 1, join(GROUP)) == []
    assert _reports(switch, 4, join(GROUP)) == [(1, ("to_ex", GROUP, None))]
    assert _reports(switch, 4, leave(GROUP)) == [(1, ("to_in", GROUP, None))]
    assert _reports(switch, 1, leave(GROUP)) == []


@pytest.mark.parametrize("ports", [12, 16, 256])
def test_every_port_can_be_upstream(target: Target, ports: int) -> None:
    """All at once: one pass for each, and none twice."""
    install(target, ports=ports)
    route_group(target, GROUP, 1, upstream=range(1, ports + 1), accept=range(1, ports + 1))
    others = [port for port in range(1, ports + 1) if port != 3]
    assert _reports(target, 3, join(GROUP)) == [(port, ("to_ex", GROUP, None)) for port in others]
    assert _reports(target, 3, leave(GROUP)) == [(port, ("to_in", GROUP, None)) for port in others]
    # The same by the older messages, which are one pass otherwise.
    assert _reports(target, 3, report_v2(GROUP)) == [(port, ("to_ex", GROUP, None)) for port in others]
    assert _reports(target, 3, leave_v2(GROUP)) == [(port, ("to_in", GROUP, None)) for port in others]


def test_each_record_and_source_is_told_on_its_own(switch: Target) -> None:
    sources = ["10.0.1.1", "10.0.1.2", "10.0.1.3"]
    for slot, source in enumerate(sources):
        route_source(switch, source, GROUP, slot, upstream=[slot + 1])
    route_group(switch, "239.1.1.2", 10, upstream=[1, 2], accept=range(1, 9))
    told = _reports(switch, 5, report(Record("allow", GROUP, sources), Record("to_ex", "239.1.1.2")))
    assert told == [
        (1, ("allow", GROUP, sources[0])),
        (1, ("to_ex", "239.1.1.2", None)),
        (2, ("allow", GROUP, sources[1])),
        (2, ("to_ex", "239.1.1.2", None)),
        (3, ("allow", GROUP, sources[2])),
    ]
    told = _reports(switch, 5, report(Record("to_in", "239.1.1.2"), Record("block", GROUP, sources[1:])))
    assert told == [
        (1, ("to_in", "239.1.1.2", None)),
        (2, ("to_in", "239.1.1.2", None)),
        (2, ("block", GROUP, sources[1])),
        (3, ("block", GROUP, sources[2])),
    ]


def test_report_does_not_carry_the_report_that_caused_it(switch: Target) -> None:
    """parse_report checks length, checksum and every field; here the cause is long, has options and auxiliary data."""
    route_source(switch, SOURCE, GROUP, 1, upstream=[1])
    records = [Record("to_ex", f"239.5.5.{index}", [], bytes(40)) for index in range(20)]
    long = report(*records, Record("allow", GROUP, [SOURCE, "10.0.1.9"]), *records)
    assert _reports(switch, 2, long) == [(1, ("allow", GROUP, SOURCE))]


def test_report_of_a_replayed_report(switch: Target) -> None:
    route_source(switch, SOURCE, GROUP, 1, upstream=[1])
    sent = switch.packet_out(join(GROUP, SOURCE), port=6, mode=enum("packet_out_mode", "receive"))
    assert [(port, parse_report(packet)) for port, packet in sent] == [(1, ("allow", GROUP, SOURCE))]
    assert [port for port, _ in switch.send(1, bytes(data(SOURCE, GROUP)))] == [6]


def test_upstream_understands_what_it_is_told(targets: TargetFactory) -> None:
    """The canonical report of one switch is a report of the next."""
    near, far = targets(2)
    for target in (near, far):
        install(target)
    route_source(near, SOURCE, GROUP, 1, upstream=[1])
    route_source(far, SOURCE, GROUP, 1, accept=[8])
    ((_, sent),) = near.send(2, join(GROUP, SOURCE))
    assert far.send(4, sent) == []
    assert [port for port, _ in far.send(8, bytes(data(SOURCE, GROUP)))] == [4]
    ((_, sent),) = near.send(2, leave(GROUP, SOURCE))
    far.send(4, sent)
    assert far.send(8, bytes(data(SOURCE, GROUP))) == []


def test_one_refresh_per_tick_goes_up(timed: Embedded) -> None:
    route_source(timed, SOURCE, GROUP, 1, upstream=[1])
    for _ in range(10):
        told = []
        for _ in range(4):
            for port in (2, 3, 4):
                told += _reports(timed, port, join(GROUP, SOURCE))
        assert told == [(1, ("allow", GROUP, SOURCE))]
        timed.advance(TICK_US)


def test_member_that_flaps_does_not_stop_the_refreshes(timed: Embedded) -> None:
    route_source(timed, SOURCE, GROUP, 1, upstream=[1])
    timed.send(2, join(GROUP, SOURCE))
    for _ in range(10):
        timed.advance(TICK_US)
        assert _reports(timed, 3, leave(GROUP, SOURCE)) == []
        assert _reports(timed, 2, join(GROUP, SOURCE)) == [(1, ("allow", GROUP, SOURCE))]
        assert _reports(timed, 3, join(GROUP, SOURCE)) == []


def test_refreshes_in_all_directions(timed: Embedded) -> None:
    """With members behind two switches each must hear of the other, whoever reports first."""
    route_group(timed, GROUP, 1, upstream=[1, 2], accept=range(1, 9))
    to_ex = ("to_ex", GROUP, None)
    timed.send(1, join(GROUP))
    timed.send(2, join(GROUP))
    for first, second in ((1, 2), (2, 1), (1, 2)):
        timed.advance(TICK_US)
        assert _reports(timed, first, join(GROUP)) == [(second, to_ex)]
        assert _reports(timed, first, join(GROUP)) == []
        assert _reports(timed, second, join(GROUP)) == [(first, to_ex)]
        assert _reports(timed, second, join(GROUP)) == []
