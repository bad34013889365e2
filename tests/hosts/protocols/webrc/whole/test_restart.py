"""A switch that has forgotten all memberships: every channel is joined again, and the file becomes whole."""

from random import Random

import pytest

from hosts.endpoint import Address
from hosts.protocols.webrc.options import WebrcOptions
from tests.hosts.protocols.webrc.memory import GROUP, Member, packets

OPTIONS = WebrcOptions(session_rate_bps=1e6, slot_s=5.0, quiescence_s=50.0)


def test_after_a_switch_has_started_empty_all_channels_come_back() -> None:
    member = Member(OPTIONS, 0.0)
    gone: dict[Address, int] = {}  # group -> how often it had been joined when the switch forgot it
    began_again = 0.0
    for now, send in packets(OPTIONS, Random(3).randbytes(1_500_000), 120.0):
        member.wake(now)
        if member.ended is not None:
            break
        if began_again == 0.0 and now >= 7.0:
            began_again = now
            gone = {group: member.joins[group] for group in member.groups}
            assert len(gone) > 4
        if member.joins[send.destination] == gone.get(send.destination):
            continue
        member.take(send, now)
    assert member.ended is not None
    assert member.ended.complete
    assert member.endpoint.counters["joined_again"] >= len(gone) - 2


@pytest.mark.parametrize("seed", range(4))
def test_ten_kills_in_thirty_seconds_and_a_long_one_lose_no_receiver(seed: int) -> None:
    """A switch that comes back knows no members; before it does nothing passes, once for longer than the sender may be
    silent."""
    rng = Random(seed)
    kills = [*sorted((rng.uniform(0.0, 30.0), rng.uniform(0.3, 3.0)) for _ in range(10)), (45.0, 14.0)]
    member = Member(OPTIONS, 0.0)
    forgotten: dict[Address, int] = {}
    back_at = 0.0
    for now, send in packets(OPTIONS, Random(3).randbytes(3_000_000), 240.0):
        member.wake(now)
        if member.ended is not None:
            break
        while kills and kills[0][0] <= now:
            back_at = max(back_at, now + kills.pop(0)[1])
        if now < back_at:
            forgotten = dict(member.joins)
        elif member.joins[send.destination] > forgotten.get(send.destination, 0):
            member.take(send, now)
    assert member.ended is not None
    assert member.ended.complete
    assert member.endpoint.counters["begun_again"] >= 1


def test_a_receiver_of_whom_the_switch_knows_nothing_is_not_deaf_for_good() -> None:
    member = Member(OPTIONS, 0.0)
    for now in (0.5 * step for step in range(400)):
        member.wake(now)
    assert 3 < member.joins[GROUP] < 10


def test_a_sender_that_stays_silent_is_given_up() -> None:
    member = Member(OPTIONS, 0.0)
    for now, send in packets(OPTIONS, Random(3).randbytes(3_000_000), 5.0):
        member.wake(now)
        member.take(send, now)
    for step in range(200):
        member.wake(5.0 + 0.25 * step)
        if member.ended is not None:
            assert "silent" in member.ended.reason
            assert 25.0 < 0.25 * step < 35.0
            assert member.groups == set()
            break
    else:
        pytest.fail("it waits for ever")
