from collections import Counter
from itertools import pairwise
from math import inf
from random import Random

import pytest

from hosts.protocols.arbor.joining import (
    AGAIN_PER_RTT,
    COUNTED,
    FEW,
    FIRST_LOOP_S,
    FIRST_PER_RTT,
    LOST_PACKETS,
    MOST,
    SECOND_JOIN_S,
    SWITCH_RETRY_S,
    Crowd,
    Gathering,
    Joining,
)
from hosts.protocols.arbor.options import ArborOptions
from hosts.protocols.arbor.packets import FLAG_FILE, FLAG_GATHERING, FLAG_SUPPRESSED, Data

OPTIONS = ArborOptions()
RTT = 0.1


def data(receivers: int, flags: int = 0, rtt_us: int = int(RTT * 1e6)) -> Data:
    return Data(1, flags, 0, 0, 0, rtt_us, 0, 0, receivers, b"")


def firsts(count: int, packet: Data) -> list[float]:
    """When receivers that have heard this packet at 1 s join."""
    found = []
    for number in range(count):
        joining = Joining(OPTIONS, Random(number))
        joining.heard(packet, 1.0)
        found.append(joining.at)
    return found


def test_the_first_join_at_once_and_who_is_not_alone_soon() -> None:
    assert firsts(3, data(0)) == [1.0] * 3
    soon = firsts(50, data(50))
    assert len(set(soon)) == 50
    assert 1 <= min(soon) <= max(soon) <= 1 + OPTIONS.join_spread_s


def test_many_who_are_awaited_join_some_in_a_round_trip() -> None:
    at = firsts(1000, data(1000, FLAG_GATHERING))
    counts = Counter(int((one - 1) / RTT) for one in at)
    assert 0.99 * 1000 / FIRST_PER_RTT <= max(counts) <= 1000 / FIRST_PER_RTT
    assert max(counts.values()) <= 2.5 * FIRST_PER_RTT


def test_a_place_is_where_the_newest_data_put_it() -> None:
    joining = Joining(OPTIONS, Random(1))
    joining.heard(data(1000, FLAG_GATHERING, 0), 1.0)
    before = joining.at - 1
    joining.waits(data(1000, FLAG_GATHERING))
    assert joining.at - 1 == pytest.approx(before * RTT / FIRST_LOOP_S)
    joining.waits(data(2000, FLAG_GATHERING))
    assert joining.at - 1 == pytest.approx(2 * before * RTT / FIRST_LOOP_S)


def test_who_suffers_does_not_wait_for_its_place() -> None:
    at = []
    for number in range(200):
        joining = Joining(OPTIONS, Random(number))
        packet = data(10_000, FLAG_GATHERING)
        joining.heard(packet, 1.0)
        place = joining.at
        joining.suffers(packet, LOST_PACKETS, 1000, 2.0)  # not so much
        joining.suffers(packet, LOST_PACKETS - 1, 8, 2.0)
        assert joining.at == place
        joining.suffers(packet, 20, 100, 2.0)
        joining.suffers(packet, 30, 110, 2.1)
        joining.waits(packet)
        at.append(joining.at)
    assert max(at) < 4  # of 125 s
    assert len(set(at)) == 200


def test_who_has_joined_says_so_again_the_less_often_the_more_there_are() -> None:
    for receivers, least in ((10, SECOND_JOIN_S), (1000, 1000 * RTT / AGAIN_PER_RTT), (10_000, 500.0)):
        joining = Joining(OPTIONS, Random(1))
        packet = data(receivers)
        joining.heard(packet, 0.0)
        joining.asks(packet, False, 1.0)
        assert joining.asked_us == 1_000_000
        joining.answered(packet, True, RTT, 1.1)
        assert joining.asked_us is None
        assert 1.1 + 0.75 * least <= joining.at <= 1.1 + least


def test_an_answer_that_does_not_come_is_waited_for_twice_as_long_each_time() -> None:
    joining = Joining(OPTIONS, Random(1))
    joining.heard(data(0), 0.0)
    gaps = []
    for _ in range(8):
        joining.asks(data(0), False, 0.0)
        gaps.append(joining.at)
    assert all(0.75 * 2**number <= gap <= 1.25 * 2**number for number, gap in enumerate(gaps[:5]))
    assert max(gaps) <= 1.25 * OPTIONS.join_interval_s


def test_where_a_switch_answers_all_may_join_at_once_and_again_soon() -> None:
    packet = data(10_000, FLAG_GATHERING | FLAG_SUPPRESSED)
    assert max(firsts(100, packet)) <= 1 + OPTIONS.join_spread_s
    joining = Joining(OPTIONS, Random(1))
    joining.heard(packet, 1.0)
    joining.asks(packet, False, 1.0)
    assert joining.at <= 1 + 2.5 * SWITCH_RETRY_S
    joining.answered(packet, True, RTT, 1.1)
    assert joining.at <= 1.1 + SECOND_JOIN_S
    # Of a file all must be known.
    assert max(firsts(100, data(10_000, FLAG_GATHERING | FLAG_SUPPRESSED | FLAG_FILE))) > 100


def test_a_receiver_counts_once_in_a_while() -> None:
    joining = Joining(OPTIONS, Random(1))
    packet = data(100, FLAG_SUPPRESSED)
    joining.heard(packet, 0.0)
    counted: list[float] = []
    now = 0.0
    while now < 1000:
        joining.asks(packet, bool(counted), now)
        if joining.counts:
            counted.append(now)
        joining.answered(packet, len(counted) == 1 and now == 0, RTT, now)
        now = joining.at
    gaps = [later - earlier for earlier, later in pairwise(counted)]
    assert COUNTED * OPTIONS.join_interval_s <= min(gaps) <= max(gaps) <= 1.25 * OPTIONS.join_interval_s
    joining.end()
    assert joining.at == inf


def test_a_few_are_not_waited_for_and_many_no_longer_than_they_take() -> None:
    assert Gathering(FEW, 10.0).awaited(0, None, 0.0) == 0
    gathering = Gathering(1000, 10.0)
    assert gathering.awaited(0, None, 0.0) == 1000
    assert gathering.awaited(900, RTT, 20.0) == 1000
    assert gathering.awaited(1000 - FEW, RTT, 20.0) == 0
    assert gathering.awaited(900, RTT, 10 + 2 * 1000 * RTT / FIRST_PER_RTT + 0.1) == 0


def test_when_more_come_than_were_awaited_it_may_be_twice_as_many() -> None:
    gathering = Gathering(1, 10.0)
    now = 1.0
    for known in range(1, 2 * FIRST_PER_RTT + 1):
        assert gathering.awaited(known, RTT, now) == 0
        gathering.joined(RTT, now)
        now += RTT / 100
    gathering.joined(RTT, now)
    assert gathering.awaited(40, RTT, now) == 80
    assert gathering.awaited(40, RTT, now + 2.1 * RTT) == 0  # no more have come
    slowly = Gathering(1, 10.0)
    for number in range(100):
        slowly.joined(RTT, number * RTT / FIRST_PER_RTT)
    assert slowly.awaited(100, RTT, 100 * RTT / FIRST_PER_RTT) == 0


def test_a_crowd_is_those_of_late_and_bounded() -> None:
    crowd = Crowd(60.0)
    crowd.told(3, 0.0)
    crowd.told(5, 50.0)
    assert crowd.count == 8
    crowd.expire(60.1)
    assert crowd.count == 5
    crowd.told(2**32 - 1, 70.0)
    crowd.told(2**32 - 1, 70.0)
    assert crowd.count == MOST
    crowd.expire(131.0)
    assert crowd.count == 0


def test_an_answer_to_the_first_of_several_is_as_good() -> None:
    joining = Joining(OPTIONS, Random(1))
    joining.heard(data(0), 0.0)
    joining.asks(data(0), False, 1.0)
    joining.asks(data(0), False, 2.0)
    assert joining.asked_us == 1_000_000
    joining.answered(data(0), True, RTT, 2.1)
    joining.asks(data(0), True, 20.0)
    assert joining.asked_us == 20_000_000
