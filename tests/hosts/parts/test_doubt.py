"""Farewells, and what is heard after them."""

from math import inf

from hosts.parts.doubt import FORGOTTEN_S, GRACE_S, SILENCE_S, Doubt


def test_who_is_silent_after_it_has_gone() -> None:
    doubt = Doubt[str]()
    assert doubt.believed(0.0, 5.0) is None
    assert not doubt.said("over", 10.0, to_one=False)
    assert not doubt.said("over", 10.01, to_one=False), "its copies"
    assert doubt.wake_at == 10.0 + SILENCE_S
    assert doubt.believed(10.0, 10.0 + SILENCE_S / 2) is None
    assert doubt.believed(10.0 + GRACE_S, 10.0 + SILENCE_S) == "over", "what was under way came later"


def test_who_goes_on_has_not() -> None:
    doubt = Doubt[str]()
    doubt.said("over", 10.0, to_one=False)
    assert doubt.believed(10.0 + GRACE_S + 0.1, 10.0 + SILENCE_S) is None
    assert doubt.what is None
    assert doubt.wake_at == inf
    assert not doubt.said("over", 12.0, to_one=False), "and it may be said again"
    assert doubt.believed(10.5, 12.0 + SILENCE_S) == "over"


def test_what_is_said_to_one_is_said_again() -> None:
    doubt = Doubt[str]()
    assert not doubt.said("dropped", 10.0, to_one=True)
    assert not doubt.said("dropped", 10.1, to_one=True), "its copies"
    assert doubt.wake_at == 10.0 + GRACE_S
    assert doubt.believed(10.2, 10.0 + GRACE_S) is None
    assert doubt.is_open(10.3)
    assert doubt.said("no member", 10.3, to_one=True)
    assert doubt.what == "dropped"


def test_one_forged_word_is_forgotten() -> None:
    doubt = Doubt[str]()
    doubt.said("dropped", 10.0, to_one=True)
    assert doubt.believed(10.2, 10.0 + GRACE_S) is None
    assert doubt.wake_at == 10.0 + SILENCE_S
    assert doubt.believed(11.0, doubt.wake_at) is None
    later = 10.0 + FORGOTTEN_S + 1
    assert not doubt.is_open(later)
    assert not doubt.said("dropped", later, to_one=True)


def test_the_first_farewell_says_why() -> None:
    doubt = Doubt[str]()
    doubt.said("dropped", 10.0, to_one=True)
    assert doubt.said("no member", 10.0 + 2 * GRACE_S, to_one=True) == "dropped"
