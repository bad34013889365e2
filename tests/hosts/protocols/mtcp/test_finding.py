"""The search for a parent, step by step."""

import random

from hosts.endpoint import Address, Effect, Send
from hosts.protocols.mtcp.finding import TRIES, Search
from hosts.protocols.mtcp.options import MtcpOptions
from hosts.protocols.mtcp.tree_packets import Join, Offer
from hosts.protocols.mtcp.wire import Type

SENDER, NEAR, FAR = Address("10.0.0.1", 1), Address("10.0.0.2", 2), Address("10.0.0.3", 3)


def sent(effects: list[Effect]) -> list[tuple[int, Address]]:
    return [(effect.data[2], effect.destination) for effect in effects if isinstance(effect, Send)]


def offer(others: tuple[Address, ...] = ()) -> Offer:
    return Offer(1, True, True, 0, 0, 1, others)


def test_who_offered_a_place_and_does_not_answer_may_have_ended_and_the_others_too() -> None:
    """So the sender is asked anew who there is, before a second one of the old offers is waited for."""
    search = Search(MtcpOptions(), Join(1, False, False, True, True, 0, 1 << 20, 5), SENDER, rng=random.Random(1))
    assert sent(search.start(0.0)) == [(Type.QUERY, SENDER)]
    assert sent(search.offered(offer((NEAR, FAR)), SENDER, 3, 0.1)) == [(Type.QUERY, NEAR), (Type.QUERY, FAR)]
    assert search.offered(offer(), FAR, 2, 0.2) == []
    assert sent(search.offered(offer(), NEAR, 1, 0.2)) == [(Type.JOIN, NEAR)]
    for _ in range(TRIES - 1):
        assert search.wake_at is not None
        assert sent(search.handle_timer(search.wake_at)) == [(Type.JOIN, NEAR)]
    assert search.wake_at is not None
    assert sent(search.handle_timer(search.wake_at)) == [(Type.QUERY, SENDER)]


def test_an_orphan_that_has_become_patient_asks_nobody_for_longer() -> None:
    """The sender gives up on it after a while: who has died meanwhile is not asked for half of that."""
    search = Search(MtcpOptions(), Join(1, False, False, True, True, 0, 1 << 20, 5), SENDER, rng=random.Random(1))
    search.start(0.0)
    search.offered(offer((NEAR, FAR)), SENDER, 3, 0.1)
    for _ in range(2):  # queries that FAR answers too late, after NEAR was asked for a place
        assert search.wake_at is not None
        search.handle_timer(search.wake_at)
    search.offered(offer(), NEAR, 1, 1.0)
    assert search.wake_at is not None
    search.handle_timer(search.wake_at)
    search.offered(offer(), FAR, 1, 2.0)
    first = search.wake_at
    asked = 0
    while sent(search.handle_timer(search.wake_at or 0.0)) == [(Type.JOIN, NEAR)]:
        asked += 1
    assert first is not None
    assert search.wake_at is not None
    assert asked < TRIES
    assert search.wake_at - first <= 2 * TRIES * MtcpOptions().announce_s
