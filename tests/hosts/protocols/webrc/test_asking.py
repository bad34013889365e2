"""When a receiver asks whether others have more."""

from itertools import pairwise

from hosts.protocols.webrc.asking import EVERY, MOST_DOUBLINGS, Asking

PSNS = range(1, 40 * EVERY)


def moments(asking: Asking) -> list[int]:
    """Of the packets of the base channel."""
    found = []
    for psn in PSNS:
        asking.lost()
        if asking.is_moment(psn):
            found.append(psn)
            asking.ask(1.0)
            asking.end(answered=False)
    return found


def test_who_loses_nothing_does_not_ask() -> None:
    asking = Asking()
    assert not any(asking.is_moment(psn) for psn in PSNS)
    asking.lost()
    assert asking.is_moment(EVERY)
    asking.ask(1.0)
    assert asking.until == 1.0
    asking.end(answered=True)
    assert not asking.is_on
    assert not asking.is_moment(EVERY)


def test_all_ask_at_the_same_moments_and_seldom_in_vain() -> None:
    found = moments(Asking())
    late = moments(Asking())[MOST_DOUBLINGS:]
    longest = EVERY << MOST_DOUBLINGS
    assert found[:2] == [EVERY, 2 * EVERY]
    assert all(psn % longest == 0 for psn in late)
    assert [later - before for before, later in pairwise(late)] == [longest] * (len(late) - 1)
    answered = Asking()
    for _ in range(5):
        answered.lost()
        answered.ask(1.0)
        answered.end(answered=False)
    answered.end(answered=True)
    answered.lost()
    assert answered.is_moment(EVERY)
