"""Who keeps a session below its least rate for long is sent away."""

from math import inf

import pytest

from hosts.endpoint import Address, CongestionSignal
from hosts.parts.least_rate import LOOK_S, MEMORY_S, LeastRate

A, B = Address("10.0.0.2", 1), Address("10.0.0.3", 1)
LEAST_BPS = 800_000.0
PATIENCE_S = 4.0


class Session:
    """One that gets on at a rate, and waits for somebody."""

    def __init__(self, least_bps: float = LEAST_BPS) -> None:
        self.least = LeastRate(least_bps, PATIENCE_S)
        self.now = 100.0
        self.done = 0.0
        self.least.begin(self.now)

    def run(
        self, seconds: float, bps: float, waited_for: Address | None = A, signals: tuple[Address, ...] = ()
    ) -> tuple[Address, float] | None:
        """Who is sent away, and after how many seconds. `signals`: who makes the window smaller, by turns."""
        began = self.now
        while self.now < began + seconds - 1e-9:
            self.now = self.least.at
            self.done += bps / 8 * LOOK_S
            if signals:
                peer = signals[round((self.now - began) / LOOK_S) % len(signals)]
                self.least.note([CongestionSignal("loss", peer)], self.now)
            slowest = self.least.look(int(self.done), waited_for, self.now)
            if slowest is not None:
                return slowest, self.now - began
        return None


def test_without_a_least_rate_nothing_is_looked_at() -> None:
    assert Session(0.0).least.at == inf


@pytest.mark.parametrize(("bps", "after"), [(0.0, PATIENCE_S), (LEAST_BPS / 2, 2 * PATIENCE_S)])
def test_who_is_waited_for_goes_when_as_much_is_owed_as_comes_in_its_patience(bps: float, after: float) -> None:
    found = Session().run(60, bps)
    assert found is not None
    assert found[0] == A
    assert found[1] == pytest.approx(after, abs=LOOK_S)


def test_at_the_least_rate_nobody_goes() -> None:
    assert Session().run(60, LEAST_BPS) is None


def test_what_was_owed_is_paid_back() -> None:
    session = Session()
    for _ in range(5):
        assert session.run(0.9 * PATIENCE_S, 0.0) is None
        assert session.run(PATIENCE_S, 2 * LEAST_BPS) is None


def test_who_is_slow_by_turns_goes_in_the_end() -> None:
    session = Session()
    found = None
    for _ in range(9):
        found = session.run(0.5 * PATIENCE_S, 0.0) or session.run(0.25 * PATIENCE_S, LEAST_BPS)
        if found is not None:
            break
    assert found is not None


def test_a_sender_that_waits_for_nobody_is_owed_nothing() -> None:
    assert Session().run(60, 0.0, waited_for=None) is None


def test_who_had_the_window_made_smaller_goes_not_who_is_waited_for() -> None:
    found = Session().run(60, 0.0, waited_for=A, signals=(B,))
    assert found is not None
    assert found[0] == B


def test_a_signal_is_forgotten() -> None:
    session = Session()
    session.run(LOOK_S, 10 * LEAST_BPS, signals=(B,))
    session.run(MEMORY_S, 10 * LEAST_BPS)
    found = session.run(60, 0.0)
    assert found is not None
    assert found[0] == A


def test_who_is_left_has_time_to_get_on() -> None:
    session = Session()
    assert session.run(60, 0.0) is not None
    found = session.run(60, 0.0, waited_for=B)
    assert found is not None
    assert found[0] == B
    assert found[1] == pytest.approx(PATIENCE_S, abs=LOOK_S)
