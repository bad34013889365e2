"""A queue that serves each channel in turn, with packets of the sender's schedule."""

import math
from collections import deque

import pytest

from hosts.protocols.webrc.schedule import Schedule
from hosts.protocols.webrc.turns import HOLDS_SLOTS, LEAST_PACKETS, MOST_DOUBLINGS, SHARED_SLOTS, Turns
from hosts.protocols.webrc.waves import Waves, joined_rate

EPOCH = 0.25
JOINED = 11
SLOT = 40
"""Of the session: not its first one."""
WAVES = Waves(2000.0, 4.0)
ALL = joined_rate(JOINED, WAVES.base_rate, WAVES.p)
"""Of base channel and joined waves at the slot's beginning."""
FASTEST = WAVES.base_rate * WAVES.p**-JOINED
BUSY = ALL + 0.2 * FASTEST
"""Of a link, beside one flow: each has 0.6 of what the fastest wave has."""


def receive(turns: Turns, link: float, *, flows: int = 0, seconds: float = 1.0, now: float = 0.0) -> None:
    """What comes from `now` on, at the beginning of a slot, through a link of so many packets a second that serves the
    fastest wave, the slower ones together, which come first, and so many flows that always wait."""
    schedule = Schedule(WAVES)
    first = SLOT * WAVES.slot_packets
    fastest, slower = deque[tuple[float, int, int]](), deque[tuple[float, int, int]]()
    for number in range(first, first + int(seconds * WAVES.session_rate)):
        at, channel, slot_index, psn = schedule.packet(number)
        place = -1 if channel == WAVES.t else (channel - slot_index) % WAVES.t
        if place < JOINED:
            (fastest if place == JOINED - 1 else slower).append((at - SLOT * WAVES.slot_s, place, psn))
    turn = 0
    for tick in range(int(seconds * link)):
        at = tick / link
        if slower and slower[0][0] <= at:
            turns.packet(slower[0][1], JOINED, slower.popleft()[2], now + at)
            continue
        if turn == 0 and fastest and fastest[0][0] <= at:
            turns.packet(fastest[0][1], JOINED, fastest.popleft()[2], now + at)
        turn = (turn + 1) % (flows + 1)


@pytest.mark.parametrize("flows", [1, 2])
def test_what_the_fastest_wave_has_is_a_turn_and_the_rest_of_the_link_is_others(flows: int) -> None:
    link = ALL - FASTEST + (flows + 1) * 0.6 * FASTEST
    turns = Turns(WAVES, EPOCH)
    receive(turns, link, flows=flows)
    rate = turns.look(1.0)
    assert rate == turns.limit(1.0) == pytest.approx(link / (flows + 1), rel=0.1)


def known(turns: Turns) -> dict[str, object]:
    """All of a receiver's turns, but how long packets wait, of which it notes less where they are passed over."""
    return {name: value for name, value in vars(turns).items() if name != "waiting"}


@pytest.mark.parametrize("link", [0.9 * ALL, BUSY, 2 * ALL])
def test_what_came_together_counts_as_one_by_one(link: float) -> None:
    """Packets of one wave come in runs of up to 40, over their turn or not."""
    apart, together = Turns(WAVES, EPOCH), Turns(WAVES, EPOCH)
    receive(apart, link, flows=1, seconds=0.2)
    receive(together, link, flows=1, seconds=0.2)
    fastest = WAVES.psns - int(FASTEST * WAVES.slot_s * 2)
    for run in range(40):
        below, count, at = (0, 2, 3)[run % 3], 1 + run % 40, 0.2 + run * 0.02
        psn, until = fastest + 40 * run, at + (count > 1) * (0.01 if run % 4 else 0.001)
        gap = (until - at) / max(1, count - 1)
        for number in range(count):
            apart.packet(JOINED - 1 - below, JOINED, psn + number, at + number * gap)
        together.packets(JOINED - 1 - below, JOINED, psn, count, at, until)
        assert known(together) == known(apart)
        assert together.waiting.least_s == apart.waiting.least_s
    assert apart.look(1.0) == together.look(1.0)


def test_a_queue_that_all_channels_share_has_no_turns() -> None:
    """Here one that grows."""
    turns = Turns(WAVES, EPOCH)
    schedule = Schedule(WAVES)
    first = SLOT * WAVES.slot_packets
    for number in range(first, first + WAVES.slot_packets // 10):
        at, channel, slot_index, psn = schedule.packet(number)
        place = -1 if channel == WAVES.t else (channel - slot_index) % WAVES.t
        if place < JOINED:
            turns.packet(place, JOINED, psn, 1.3 * (at - SLOT * WAVES.slot_s))
    assert turns.look(1.3) is None
    assert turns.limit(1.3) == math.inf


def test_alone_the_channels_have_all_of_the_link() -> None:
    turns = Turns(WAVES, EPOCH)
    receive(turns, 0.9 * ALL)
    assert turns.look(1.0) is None
    assert turns.limit(1.0) == math.inf


def test_it_holds_for_a_while_and_twice_as_long_each_time_that_it_is_found_again() -> None:
    turns = Turns(WAVES, EPOCH)
    now = 0.0
    for doublings in (*range(MOST_DOUBLINGS + 1), MOST_DOUBLINGS):
        turns.begin()
        receive(turns, BUSY, flows=1, now=now)
        now += 1.0
        assert turns.look(now)
        holds = HOLDS_SLOTS * WAVES.slot_s * 2**doublings
        assert turns.limit(now + 0.99 * holds) < math.inf
        now += 1.01 * holds
        assert turns.limit(now) == math.inf


def test_what_waits_of_a_wave_that_was_left_is_no_other_s() -> None:
    turns = Turns(WAVES, EPOCH)
    receive(turns, BUSY, flows=1, seconds=0.5)
    turns.left(0.5, artt=0.1)
    assert turns.drained_at > 0.6 + 0.1  # it was over its turn
    drained_at = turns.drained_at
    receive(turns, BUSY, flows=1, seconds=0.5, now=drained_at - 0.5)
    assert turns.look(drained_at) is None
    receive(turns, BUSY, flows=1, now=drained_at + 0.1)
    assert turns.look(drained_at + 1.1)


def test_beside_receivers_of_the_same_session_nothing_holds() -> None:
    turns = Turns(WAVES, EPOCH)
    receive(turns, BUSY, flows=1)
    assert turns.look(1.0)
    turns.shared(1.0)
    assert turns.limit(1.0) == math.inf
    receive(turns, BUSY, flows=1, now=1.0)
    assert turns.look(2.0) is None
    over = 1.0 + SHARED_SLOTS * WAVES.slot_s
    receive(turns, BUSY, flows=1, now=over)
    assert turns.look(over + 1.0)


def test_too_few_packets_show_nothing() -> None:
    turns = Turns(WAVES, EPOCH)
    receive(turns, BUSY, flows=1, seconds=LEAST_PACKETS / FASTEST)
    assert turns.look(EPOCH) is None
