"""What waits to be sent leaves in order, whatever pieces it came in."""

import random

from hosts.parts.unsent import Unsent


def test_what_is_taken_is_what_was_added_whatever_the_pieces() -> None:
    rng = random.Random(1)
    content = rng.randbytes(10_000)
    unsent, taken, at = Unsent(), b"", 0
    while len(taken) < len(content):
        if rng.random() < 0.5:
            piece = content[at : at + rng.randrange(300)]
            unsent.add(rng.choice([bytes, memoryview])(piece))
            at += len(piece)
        taken += unsent.take(rng.randrange(200))
        assert len(unsent) == at - len(taken)
        assert bool(unsent) == (at > len(taken))
    assert taken == content


def test_thousands_of_small_pieces_leave_at_once() -> None:
    unsent = Unsent()
    for number in range(5_000):
        unsent.add(bytes([number % 251]))
    assert unsent.take(10_000) == bytes(number % 251 for number in range(5_000))
    assert unsent.take(1) == b""


def test_nothing_waits_after_clearing() -> None:
    unsent = Unsent()
    unsent.add(b"abc")
    assert unsent.take(1) == b"a"
    unsent.clear()
    assert (len(unsent), unsent.take(5)) == (0, b"")
    unsent.add(b"de")
    assert unsent.take(5) == b"de"
