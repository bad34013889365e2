"""Requests that are said twice, and what a sender makes of those that were heard once."""

from hosts.endpoint import Address, PeerMisquoted
from hosts.parts.twins import IN_VAIN, MISSES, MOST_PEERS, REQUESTS, Audit, Twins

ONE, TWO = Address("10.0.0.1", 1), Address("10.0.0.2", 2)
RTT = 0.1


REQUEST, TWIN = "request", "its twin"


def twins(period_s: float = 1.0, assist: str = "switch") -> Twins[str]:
    return Twins(assist, period_s, lambda one: TWIN if one == REQUEST else one)


def test_who_asks_in_vain_has_a_twin_once_in_a_period() -> None:
    one = twins()
    said = [one.request(REQUEST, tick * 0.125) for tick in range(13)]
    assert [len(words) for words in said] == [1] * IN_VAIN + [2] + [1] * 7 + [2, 1, 1]
    assert said[IN_VAIN] == [REQUEST, TWIN]
    one.answered()
    assert [len(one.request(REQUEST, 9.0 + tick)) for tick in range(3)] == [1] * IN_VAIN + [2]


def test_without_a_period_or_without_switches_nothing_is_said_twice() -> None:
    for one in (twins(0.0), twins(1.0, "none")):
        assert [one.request(REQUEST, now) for now in (0.0, 5.0, 6.0, 7.0)] == [[REQUEST]] * 4
        assert one.request(REQUEST, 9.0, passes=True) == [REQUEST]
        assert one.checks(REQUEST, 9.0) == []


def test_what_must_pass_has_a_twin_at_once() -> None:
    one = twins()
    assert [len(one.request(REQUEST, tick * 0.5, passes=True)) for tick in range(4)] == [2, 1, 2, 1]


def test_who_limits_the_rate_asks_several_times_for_each_twin() -> None:
    one = twins()
    said = [one.checks(REQUEST, tick * 0.0625) for tick in range(48)]
    assert sum(words[:1] == [REQUEST] for words in said) == 3 * REQUESTS
    assert sum(words[1:] == [TWIN] for words in said) == 3


def test_three_twins_whose_brothers_do_not_come_show_a_switch_that_drops_them() -> None:
    audit = Audit()
    found = [audit.is_alone("rate", 0, 5, ONE, RTT, float(now)) for now in range(MISSES)]
    assert found == [[]] * (MISSES - 1) + [[PeerMisquoted(ONE)]]
    assert audit.misquoted == [ONE]
    assert audit.row == {"misquoted": [str(ONE)]}
    assert [audit.is_alone("rate", 0, 5, TWO, RTT, 9.0) for _ in range(4)] == [[]] * 4, "it is known"


def test_a_brother_or_who_asks_for_more_is_a_reason() -> None:
    for rate in (5, 4):
        audit = Audit()
        for now in range(9):
            audit.heard("rate", 0, rate, now - 0.1)
            assert audit.is_alone("rate", 0, 5, ONE, RTT, float(now)) == []
        assert audit.row == {}


def test_who_asks_for_less_or_long_ago_or_for_something_else_is_none() -> None:
    for kind, about, rate, before in (
        ("rate", 0, 6, 0.1),
        ("rate", 0, 5, 0.8),
        ("blocks", 0, 5, 0.1),
        ("rate", 1, 5, 0),
    ):
        audit = Audit()
        for now in range(1, MISSES + 1):
            audit.heard(kind, about, rate, now - before)
            audit.is_alone("rate", 0, 5, ONE, RTT, float(now))
        assert audit.misquoted == [ONE], (kind, about, rate, before)


def test_twins_that_are_alone_now_and_then_show_nothing() -> None:
    """Packets are lost."""
    audit = Audit()
    for now in range(100):
        if now % 3 == 0:
            audit.heard("rate", 0, 5, now - 0.01)
        assert audit.is_alone("rate", 0, 5, ONE, RTT, float(now)) == []
        assert audit.is_alone("rate", 0, 5, TWO, RTT, now + 0.01) == []


def test_what_is_kept_is_bounded() -> None:
    audit = Audit()
    for number in range(2 * MOST_PEERS):
        audit.heard("blocks", number, -1, 0.0)
        audit.is_alone("rate", 0, 5, Address("10.0.0.1", number), RTT, 0.0)
    for number in range(1000):
        audit.heard("rate", 0, number, number * 1e-3)
    assert len(audit._heard) <= 256
    assert len(audit._alone) <= MOST_PEERS
    assert max(map(len, audit._heard.values())) <= 64
