"""membership.p4 and upstream.p4: expiry by time, digests, and both against a plain model under random histories."""

import random

import pytest

from tests.p4src.bench.packets import address, data, join, leave, parse_report, report_v2
from tests.p4src.bench.program import enum, number
from tests.p4src.bench.setup import EPOCH_SHIFT, bitmap, install, ports_of, route_group, route_source
from tests.p4src.bench.target import Digest, Embedded, Target
from tests.p4src.models.membership import Change, SlotModel

SOURCE = "10.0.1.1"
GROUP = "232.1.1.1"
EPOCH_US = 1 << EPOCH_SHIFT
TICK_US = EPOCH_US // 4


def _ports(target: Target, port: int = 1) -> list[int]:
    return [out for out, _ in target.send(port, bytes(data(SOURCE, GROUP)))]


def _change(digest: Digest) -> Change:
    names = {value: name for name, value in _kinds().items()}
    return Change(names[digest["change"]], frozenset(ports_of(digest["ports"])), frozenset(ports_of(digest["members"])))


def _kinds() -> dict[str, int]:
    return {name: enum("change", name) for name in ("join", "leave", "expire", "refresh")}


def test_join_and_leave_take_effect_with_the_next_packet(switch: Target) -> None:
    route_source(switch, SOURCE, GROUP, 7, upstream=[1])
    assert _ports(switch) == []
    switch.send(2, join(GROUP, SOURCE))
    assert _ports(switch) == [2]
    switch.send(3, join(GROUP, SOURCE))
    assert _ports(switch) == [2, 3]
    switch.send(2, leave(GROUP, SOURCE))
    assert _ports(switch) == [3]
    switch.send(3, leave(GROUP, SOURCE))
    assert _ports(switch) == []


def test_changes_are_told_with_all_their_fields(switch: Target) -> None:
    route_source(switch, SOURCE, GROUP, 7, upstream=[1])
    switch.send(2, join(GROUP, SOURCE))
    switch.send(8, join(GROUP, SOURCE))
    switch.send(2, leave(GROUP, SOURCE))
    digests = switch.digests()
    assert {digest.name for digest in digests} == {"members_changed"}
    common = {"slot": 7, "source": address(SOURCE), "group": address(GROUP)}
    kinds = _kinds()
    expected = [(kinds["join"], [2], [2]), (kinds["join"], [8], [2, 8]), (kinds["leave"], [2], [8])]
    assert [{name: digest[name] for name in digest.fields if name != "timestamp"} for digest in digests] == [
        common | {"change": kind, "ports": bitmap(ports), "members": bitmap(members)}
        for kind, ports, members in expected
    ]
    times = [digest["timestamp"] for digest in digests]
    assert times == sorted(times)


def test_any_source_changes_have_no_source(switch: Target) -> None:
    route_group(switch, GROUP, 9, accept=[1])
    switch.send(2, report_v2(GROUP))
    (digest,) = switch.digests()
    assert (digest["source"], digest["group"], digest["slot"]) == (0, address(GROUP), 9)


def test_leave_of_no_member_changes_nothing(switch: Target) -> None:
    route_source(switch, SOURCE, GROUP, 7, upstream=[1])
    switch.send(3, join(GROUP, SOURCE))
    switch.digests()
    assert switch.send(2, leave(GROUP, SOURCE)) == []
    assert switch.digests() == []
    assert _ports(switch) == [3]


def test_repeated_joins_are_told_once_per_tick(timed: Embedded) -> None:
    route_source(timed, SOURCE, GROUP, 7, upstream=[1])
    told = []
    for _ in range(12):
        for _ in range(3):
            timed.send(2, join(GROUP, SOURCE))
            timed.send(3, join(GROUP, SOURCE))
        told.append([(_change(digest).kind, *_change(digest).ports) for digest in timed.digests()])
        timed.advance(TICK_US)
    assert told[0] == [("join", 2), ("join", 3)]
    assert told[1:] == [[("refresh", 2), ("refresh", 3)]] * 11


@pytest.mark.parametrize("phase", [0, 1, TICK_US, EPOCH_US // 2, EPOCH_US - 1])
def test_silence_expires_after_one_to_two_epochs(timed: Embedded, phase: int) -> None:
    route_source(timed, SOURCE, GROUP, 7, upstream=[1])
    timed.advance(5 * EPOCH_US + phase)
    timed.send(2, join(GROUP, SOURCE))
    timed.advance(2 * EPOCH_US - phase - 1)
    assert _ports(timed) == [2]
    timed.advance(1)
    assert _ports(timed) == []


@pytest.mark.parametrize("silence", [2, 3, 4, 5, 100, 1 << 20])
def test_no_silence_is_too_long(timed: Embedded, silence: int) -> None:
    """Old words must never look young again, however long nothing was read or written."""
    route_source(timed, SOURCE, GROUP, 7, upstream=[1])
    timed.send(2, join(GROUP, SOURCE))
    timed.advance(silence * EPOCH_US)
    assert _ports(timed) == []


def test_refreshed_member_stays(timed: Embedded) -> None:
    route_source(timed, SOURCE, GROUP, 7, upstream=[1])
    for _ in range(10):
        timed.send(2, join(GROUP, SOURCE))
        timed.advance(EPOCH_US)
        assert _ports(timed) == [2]


def test_expiry_is_told_once_by_data(timed: Embedded) -> None:
    route_source(timed, SOURCE, GROUP, 7, upstream=[1])
    timed.send(2, join(GROUP, SOURCE))
    timed.advance(EPOCH_US)
    timed.send(3, join(GROUP, SOURCE))
    timed.digests()
    timed.advance(EPOCH_US)
    for _ in range(5):
        assert _ports(timed) == [3]
    assert [_change(digest) for digest in timed.digests()] == [Change("expire", frozenset({2}), frozenset({3}))]
    timed.advance(EPOCH_US)
    for _ in range(5):
        assert _ports(timed) == []
    assert [_change(digest) for digest in timed.digests()] == [Change("expire", frozenset({3}), frozenset())]


def test_expiry_of_both_slots_is_told_by_two_packets(timed: Embedded) -> None:
    route_source(timed, SOURCE, GROUP, 7, upstream=[1])
    route_group(timed, GROUP, 8, accept=[1])
    timed.send(2, join(GROUP, SOURCE))
    timed.send(3, join(GROUP))
    timed.digests()
    timed.advance(2 * EPOCH_US)
    for _ in range(3):
        assert _ports(timed) == []
    told = [(digest["slot"], digest["source"], *ports_of(digest["ports"])) for digest in timed.digests()]
    assert told == [(8, 0, 3), (7, address(SOURCE), 2)]


def test_expiry_on_either_switch(target: Target) -> None:
    """The one test that waits, on the switch whose time cannot be moved; an epoch is a quarter of a second."""
    epoch_shift = 18
    install(target, epoch_shift=epoch_shift)
    route_source(target, SOURCE, GROUP, 7, upstream=[1])
    target.send(2, join(GROUP, SOURCE))
    assert _ports(target) == [2]
    target.advance(2 << epoch_shift)
    assert _ports(target) == []
    target.send(2, join(GROUP, SOURCE))
    assert _ports(target) == [2]


def test_restarted_switch_is_right_after_the_next_reports(target: Target) -> None:
    for _ in range(2):
        install(target)
        route_source(target, SOURCE, GROUP, 7, upstream=[1])
        assert _ports(target) == []
        assert [parse_report(packet) for _, packet in target.send(2, join(GROUP, SOURCE))] == [("allow", GROUP, SOURCE)]
        assert _ports(target) == [2]
        target.reset()


HISTORIES: tuple[tuple[range, int, set[int]], ...] = (
    (range(12), 4, {1}),
    (range(100, 112), 5, {1, 2, 4}),
    (range(200, 204), 6, set()),
    (range(300, 304), 16, {1, 13, 16}),
    (range(400, 402), 12, {3, 12}),
    (range(500, 502), 256, {1, 16, 17, 64, 65, 130, 256}),
)
"""Seeds, how many ports, and which of them are upstream."""


@pytest.mark.parametrize(
    ("seed", "ports", "upstream"),
    [(seed, ports, frozenset(upstream)) for seeds, ports, upstream in HISTORIES for seed in seeds],
)
def test_random_history(target: Target, seed: int, ports: int, upstream: frozenset[int]) -> None:
    """Random joins, leaves, data and time, on the switch and on the model."""
    random_source = random.Random(seed)
    group_slot = random_source.randrange(number("MAX_SLOTS"))
    all_ports = list(range(1, ports + 1))
    shift = EPOCH_SHIFT if target.exact_time else 40
    install(target, ports=ports, epoch_shift=shift)
    any_source = random_source.random() < 0.5
    source = None if any_source else SOURCE
    if any_source:
        route_group(target, GROUP, group_slot, upstream=sorted(upstream), accept=all_ports)
    else:
        route_source(target, SOURCE, GROUP, group_slot, upstream=sorted(upstream), accept=all_ports)
    model = SlotModel(upstream=upstream, epoch_us=1 << shift)
    now_us = 0
    expected_changes: list[Change] = []
    reports = {"join": "to_ex" if any_source else "allow", "leave": "to_in" if any_source else "block"}
    for step in range(120):
        if target.exact_time:
            # Mostly within a tick, now and then over ticks and epochs.
            pause = random_source.choice([0, 1, TICK_US // 3, TICK_US, EPOCH_US, 3 * EPOCH_US])
            pause = pause if random_source.random() < 0.5 else 0
            target.advance(pause)
            now_us += pause
        port = random_source.choice(all_ports)
        kind = random_source.choices(["join", "leave", "data"], weights=[4, 3, 3])[0]
        where = f"seed {seed}, step {step}: {kind} at port {port}, {now_us} us"
        if kind == "data":
            change, outputs = model.data(port, now_us)
            assert [out for out, _ in target.send(port, bytes(data(SOURCE, GROUP)))] == sorted(outputs), where
        else:
            packet = join(GROUP, source) if kind == "join" else leave(GROUP, source)
            change, told = (model.join if kind == "join" else model.leave)(port, now_us)
            sent = target.send(port, packet)
            assert [out for out, _ in sent] == sorted(told), where
            assert {parse_report(sent_report) for _, sent_report in sent} <= {(reports[kind], GROUP, source)}, where
        if change is not None:
            expected_changes.append(change)
    assert [_change(digest) for digest in target.digests()] == expected_changes, f"seed {seed}"
