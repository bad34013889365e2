from __future__ import annotations

import contextlib
import random
from ipaddress import IPv4Address

import pytest

from controller.groups import GroupKey, SlotRefused, SlotTable

ALICE, MALLORY = ("s1", 1), ("s1", 2)
REST, IDLE = 60.0, 120.0


def key(number: int) -> GroupKey:
    return GroupKey(IPv4Address("10.0.0.1"), IPv4Address("232.0.0.0") + number)


def table(size: int = 64, quota: int = 8) -> SlotTable:
    return SlotTable(size=size, quota=quota, rest_s=REST, idle_s=IDLE)


def test_slots_are_the_lowest_free_and_stay() -> None:
    slots = table()
    assert [slots.pin(key(n), 0.0).index for n in range(3)] == [0, 1, 2]
    assert slots.request(key(1), ALICE, 0.0).index == 1
    assert slots.at(2) is slots.get(key(2))
    assert slots.at(3) is None


def test_a_port_fills_its_own_quota_only() -> None:
    slots = table()
    for n in range(8):
        slots.set_idle(slots.request(key(n), MALLORY, 0.0), False, 0.0)
    with pytest.raises(SlotRefused, match="port 2 of s1 holds 8 groups"):
        slots.request(key(8), MALLORY, 1e6)
    assert slots.request(key(8), ALICE, 0.0).owner == ALICE
    assert slots.request(key(0), ALICE, 0.0).owner == MALLORY
    assert (slots.held_by(ALICE), slots.held_by(MALLORY)) == (1, 8)


def test_a_full_quota_gives_up_what_nobody_uses_any_more() -> None:
    slots = table()
    for n in range(8):
        slots.request(key(n), MALLORY, float(n))
    with pytest.raises(SlotRefused):
        slots.request(key(8), MALLORY, REST - 1)
    assert slots.request(key(8), MALLORY, REST).index == 8
    assert slots.get(key(0)) is None
    assert slots.get(key(1)) is not None
    assert slots.held_by(MALLORY) == 8


def test_a_released_slot_rests_before_it_serves_another_group() -> None:
    slots = table(size=2)
    slots.request(key(0), ALICE, 0.0)
    assert [slot.key for slot in slots.expire(IDLE)] == [key(0)]
    assert slots.request(key(1), ALICE, IDLE).index == 1
    with pytest.raises(SlotRefused, match="all 2 group slots"):
        slots.request(key(2), ALICE, IDLE + REST - 1)
    assert slots.request(key(2), ALICE, IDLE + REST).index == 0


def test_only_idle_unpinned_slots_expire() -> None:
    slots = table()
    slots.pin(key(0), 0.0)
    busy = slots.request(key(1), ALICE, 0.0)
    slots.set_idle(busy, False, 0.0)
    slots.request(key(2), ALICE, 0.0)
    assert slots.expire(IDLE - 1) == []
    assert [slot.key for slot in slots.expire(1e9)] == [key(2)]
    slots.set_idle(busy, True, 1e9)
    slots.set_idle(busy, True, 2e9)
    assert [slot.key for slot in slots.expire(1e9 + IDLE)] == [key(1)]
    assert slots.held_by(ALICE) == 0


def test_adoption_keeps_numbers_and_tells_contradictions() -> None:
    slots = table()
    assert slots.adopt(5, key(0), 0.0)
    assert slots.adopt(5, key(0), 0.0)
    assert not slots.adopt(5, key(1), 0.0)
    assert not slots.adopt(6, key(0), 0.0)
    assert not slots.adopt(64, key(2), 0.0)
    assert slots.pin(key(0), 0.0).index == 5
    assert [slots.request(key(n), ALICE, 0.0).index for n in range(1, 7)] == [0, 1, 2, 3, 4, 6]
    assert slots.expire(1e9) != []
    assert not slots.adopt(0, key(9), 1e9)  # it rests


def test_an_adopted_slot_is_charged_to_who_uses_it() -> None:
    slots = table()
    slots.adopt(5, key(0), 0.0)
    slot = slots.get(key(0))
    assert slot is not None
    slots.charge(slot, MALLORY)
    slots.charge(slot, ALICE)
    assert (slots.held_by(ALICE), slots.held_by(MALLORY)) == (0, 1)
    slots.pin(key(0), 0.0)
    assert slots.held_by(MALLORY) == 0


@pytest.mark.parametrize("seed", range(5))
def test_random_use_keeps_the_books_right(seed: int) -> None:
    """No index twice, no index reused before its rest, quotas kept, sizes bounded."""
    rng = random.Random(seed)
    slots = table(size=32, quota=10)
    now, released = 0.0, dict[int, float]()
    before: dict[int, GroupKey] = {}
    for _ in range(3000):
        now += rng.expovariate(1.0)
        owner = ("s1", rng.randint(1, 5))
        match rng.randint(0, 3):
            case 0 | 1:
                with contextlib.suppress(SlotRefused):
                    slots.request(key(rng.randint(0, 100)), owner, now)
            case 2:
                for slot in slots:
                    if rng.random() < 0.3:
                        slots.set_idle(slot, rng.random() < 0.5, now)
            case _:
                slots.expire(now)
        after = {slot.index: slot.key for slot in slots}
        assert len(after) == len(slots) <= 32
        for index in before.keys() | after.keys():
            if before.get(index) != after.get(index):
                if index in before:
                    released[index] = now
                if index in after:
                    assert now - released.get(index, -1e9) >= REST
        before = after
        for port in range(1, 6):
            assert slots.held_by(("s1", port)) == sum(slot.owner == ("s1", port) for slot in slots) <= 10
