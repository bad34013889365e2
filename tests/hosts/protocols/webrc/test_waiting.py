"""How long packets wait, from packets of the sender's schedule."""

import pytest

from hosts.protocols.webrc.schedule import Schedule
from hosts.protocols.webrc.turns import Turns
from hosts.protocols.webrc.waiting import LATEST, MOST_S, REMEMBERED_SLOTS, Waiting
from hosts.protocols.webrc.waves import Waves

JOINED = 11
SLOT = 40
"""Of the session: not its first one."""
WAVES = Waves(2000.0, 4.0)


@pytest.mark.parametrize("wait", [0.0, 0.03, 0.2])
def test_a_queue_shows_by_how_much_later_packets_come_than_the_earliest(wait: float) -> None:
    turns, schedule = Turns(WAVES, 0.25), Schedule(WAVES)
    first = SLOT * WAVES.slot_packets
    gap = WAVES.base_rate**-1 * WAVES.p ** (JOINED - 5)  # of the slowest wave that tells
    for number in range(first, first + int(2 * WAVES.session_rate)):
        at, channel, slot_index, psn = schedule.packet(number)
        place = -1 if channel == WAVES.t else (channel - slot_index) % WAVES.t
        at -= SLOT * WAVES.slot_s
        if place < JOINED:
            turns.packet(place, JOINED, psn, 7.0 + at + (wait if at > 1.0 else 0.0))
    assert max(0.0, wait - 2 * gap) <= turns.waiting.least_s <= wait
    assert wait < 0.1 or turns.waiting.least_s > 0.5 * wait


def test_few_packets_tell_nothing_and_old_ones_are_forgotten() -> None:
    waiting = Waiting()
    waiting.packet(0.0, 0.001)
    for _ in range(1, LATEST):
        assert waiting.least_s == 0.0
        waiting.packet(0.05, 0.001)
    assert waiting.least_s == 0.0  # the first one is among the latest
    waiting.packet(0.05, 0.001)
    assert waiting.least_s == pytest.approx(0.049)
    for _ in range(REMEMBERED_SLOTS):
        waiting.slot_changed()
    assert waiting.least_s == pytest.approx(0.049)
    waiting.packet(0.05, 0.001)  # a way that has become longer
    for _ in range(REMEMBERED_SLOTS):
        waiting.slot_changed()
    waiting.packet(0.05, 0.001)
    assert waiting.least_s == 0.0


def test_a_forged_number_makes_no_long_queue() -> None:
    waiting = Waiting()
    for late in (-60.0, *[0.0] * LATEST):
        waiting.packet(late, 0.001)
    assert waiting.least_s == MOST_S
