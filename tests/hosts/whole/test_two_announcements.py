"""Two sessions are announced in one group, and the sender of the first does not exist: receivers find the other."""

import random
from typing import Any

import pytest

from hosts import protocols
from hosts.endpoint import Address, Datagram, Send
from hosts.parts.receiving import UNANSWERED_S
from hosts.protocol import Session
from hosts.protocols.mtcp.tree_packets import encode_announce as mtcp
from hosts.protocols.rla.packets import encode_announce as rla
from hosts.protocols.tfmcc.packets import encode_announce as tfmcc

GROUP, FALSE, TRUE = Address("239.1.1.1", 5000), Address("10.0.0.66", 7000), Address("10.0.0.1", 10000)
ANNOUNCE: dict[str, Any] = {"mtcp": mtcp, "rla": rla, "tfmcc": tfmcc}


class Ear:
    """A receiver that hears announcements."""

    def __init__(self, name: str, **session: Any) -> None:
        self.announce = ANNOUNCE[name]
        self.core = protocols.get(name).receiver(Session(GROUP, **session), random.Random(1))
        self.core.start(now=0.0)
        self.asked: set[Address] = set()

    def hear(self, source: Address, number: int, now: float) -> None:
        effects = [*self.core.receive(Datagram(self.announce(number, 1400), source, GROUP), now=now)]
        wake = self.core.wake_at
        while wake is not None and wake <= now:
            effects += self.core.handle_timer(now=wake)
            wake = self.core.wake_at
        self.asked.update(effect.destination for effect in effects if isinstance(effect, Send))


@pytest.mark.parametrize("name", ANNOUNCE)
def test_the_one_that_answers_is_found(name: str) -> None:
    ear = Ear(name)
    ear.hear(FALSE, 7, 0.0)
    ear.hear(TRUE, 8, UNANSWERED_S / 2)
    assert ear.core.session_id == 7
    assert TRUE not in ear.asked, "the first may still answer"
    ear.hear(TRUE, 8, UNANSWERED_S + 0.01)
    assert ear.core.session_id == 8
    ear.hear(TRUE, 8, UNANSWERED_S + 1.0)
    assert TRUE in ear.asked
    assert ear.core.counters["changed_session"] == 1


@pytest.mark.parametrize("name", ANNOUNCE)
def test_who_was_told_which_waits_for_that(name: str) -> None:
    ear = Ear(name, session=7)
    ear.hear(FALSE, 7, 0.0)
    ear.hear(TRUE, 8, UNANSWERED_S + 1.0)
    assert ear.core.session_id == 7
    assert TRUE not in ear.asked
