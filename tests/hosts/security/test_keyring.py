from hosts.security.keyring import KeyRing
from hosts.security.schedule import LEAD_S, Epoch, Schedule

ONE, TWO = bytes(32), bytes([1] * 32)


def test_it_follows_a_schedule_and_counts_changes() -> None:
    ring, schedule = KeyRing(), Schedule([Epoch(1, ONE, 0.0)])
    ring.follow(schedule, 1.0)
    ring.follow(schedule, 2.0)
    assert (ring.version, ring.epochs) == (1, ((1, ONE),))
    rolled = schedule.rolled(TWO, 10.0)
    ring.follow(rolled, 10.0)
    assert (ring.version, ring.epochs[-1]) == (2, (1, ONE))
    ring.follow(rolled, 10.0 + LEAD_S)
    assert (ring.version, ring.epochs[-1]) == (3, (2, TWO))


def test_it_never_goes_back() -> None:
    ring, schedule = KeyRing(), Schedule([Epoch(1, ONE, 0.0)])
    ring.follow(schedule.rolled(TWO, 10.0), 100.0)
    ring.follow(schedule, 100.0)
    assert ring.epochs == ((2, TWO),)


def test_it_shows_no_secret() -> None:
    ring = KeyRing()
    ring.follow(Schedule([Epoch(7, ONE, 0.0)]), 1.0)
    assert repr(ring) == "KeyRing(epochs [7])"
