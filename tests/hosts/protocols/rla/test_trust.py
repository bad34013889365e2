"""A sender whose switches say of receivers what these did not."""

import random

import pytest

from hosts.endpoint import Address, Datagram, Effect, PeerMisquoted, Send
from hosts.protocol import Session
from hosts.protocols.rla import PROTOCOL
from hosts.protocols.rla.packets import Ack, Data, JoinAck, encode_ack, encode_join, parse
from hosts.protocols.rla.sender import RlaSender
from hosts.protocols.rla.trust import UNHEARD

GROUP = Address("232.1.4.1", 5000)
SENDER = Address("10.0.0.1", 5000)
RECEIVERS = [Address(f"10.0.0.{number}", 5000) for number in (2, 3)]
SESSION = 7
PAYLOAD = 1000
WINDOW = 1 << 20
SENT = 40
RTT_S = 0.04


class World:
    """A sender that has sent so many packets to two receivers, of whom each has said that it has the first two."""

    def __init__(self, *, watch: bool = True, **parameters: object) -> None:
        session = Session(GROUP, session=SESSION, receivers=len(RECEIVERS))
        options = {"payload_bytes": PAYLOAD, "assist": "switch", "watch_switches": watch, **parameters}
        options |= {"initial_cwnd": 10, "max_burst": 1000}
        core = PROTOCOL.sender(session, random.Random(1), options)
        assert isinstance(core, RlaSender)
        self.core = core
        core.start(now=0.0)
        for source in RECEIVERS:
            core.receive(Datagram(encode_join(SESSION, True, WINDOW), source, SENDER), now=0.0)
        core.write(bytes(SENT * PAYLOAD), now=0.0)
        for who in range(len(RECEIVERS)):
            self.own(who, 2, 0.05)

    def _receive(self, who: int, ack: Ack, now: float) -> list[Effect]:
        return list(self.core.receive(Datagram(encode_ack(ack), RECEIVERS[who], SENDER), now=now))

    def own(self, who: int, cumulative: int, now: float) -> list[Effect]:
        """What a receiver says itself."""
        echo = int((now - RTT_S) * 1e6) + 1
        ack = Ack(SESSION, False, True, False, cumulative, WINDOW, echo, who, 1 << who, 0, True)
        return self._receive(who, ack, now)

    def claim(self, cumulative: int, now: float) -> list[Effect]:
        """What a switch says of both."""
        return self._receive(0, Ack(SESSION, True, True, False, cumulative, WINDOW, 0, 0, 0b11, 0), now)

    def lie(self, cumulative: int = 8) -> tuple[float, list[Effect]]:
        """A switch says so, and receivers say once a second what is true: when it is found, and what is done."""
        for tenth in range(1, 50):
            now = tenth / 10
            effects = self.claim(cumulative, now)
            if tenth % 10 == 0:
                effects += self.own(0, 5, now) + self.own(1, 5, now)
            if any(isinstance(effect, PeerMisquoted) for effect in effects):
                return now, effects
        pytest.fail("it was not found")


def data(effects: list[Effect]) -> list[Data]:
    packets = [parse(effect.data) for effect in effects if isinstance(effect, Send)]
    return [packet for packet in packets if isinstance(packet, Data)]


@pytest.mark.parametrize(("claimed", "most_s", "of"), [(8, 3.1, 1), (5000, 0.7, 2)])
def test_who_lies_is_found_and_asked_for_nothing_more(claimed: int, most_s: float, of: int) -> None:
    """Whether it speaks of packets that were sent, or were not."""
    world = World()
    now, _ = world.lie(claimed)
    assert now < most_s
    core = world.core
    assert core.flow.trust.misquoted == RECEIVERS[:of]
    assert core.sample(now=now)["misquoted"] == ["10.0.0.2", "10.0.0.3"][:of]
    repeated = [packet for tenth in range(1, 30) for packet in data(list(core.handle_timer(now=now + tenth / 10)))]
    assert repeated
    assert not any(packet.assist for packet in repeated)
    answers = core.receive(Datagram(encode_join(SESSION, True, WINDOW), RECEIVERS[0], SENDER), now=now)
    (welcome,) = [parse(effect.data) for effect in answers if isinstance(effect, Send)]
    assert isinstance(welcome, JoinAck)
    assert not welcome.merge
    before = core.flow.base
    world.claim(SENT, now + 0.1)
    assert core.flow.base == before, "what switches say counts no longer"


def test_what_was_believed_is_taken_back_and_repaired() -> None:
    world = World()
    now, effects = world.lie()
    flow = world.core.flow
    assert flow.base == 5
    assert [branch.cumulative for branch in flow.branches.values()] == [5, 5]
    sent = data(effects)
    for tenth in range(1, 30):
        sent += data(list(world.core.handle_timer(now=now + tenth / 10)))
    assert {packet.seq for packet in sent if packet.again} >= {5}
    for who in (0, 1):
        world.own(who, 8, now + 3.0)
    assert flow.base == 8


def test_what_nobody_has_said_itself_to_have_is_kept_and_bounds_what_is_sent() -> None:
    world = World(kept_bytes=12 * PAYLOAD)
    flow = world.core.flow
    end = 0
    for hundredth in range(1, 80):
        world.claim(flow.end, hundredth / 100)
        end = max(end, flow.end)
    assert flow.base == end > 10
    assert end <= 2 + 12
    assert world.core.limit == "kept"
    world.own(0, end, 0.9)
    assert flow.end == end, "the other has not said so"
    world.own(1, end, 0.95)
    assert flow.end > end


@pytest.mark.parametrize("sample_s", [1.0, 1.5])
def test_who_keeps_back_what_receivers_say_is_found(sample_s: float) -> None:
    world = World(sample_s=sample_s)
    found_at = None
    for tenth in range(1, 80):
        if any(isinstance(effect, PeerMisquoted) for effect in world.claim(min(10, 2 + tenth), tenth / 10)):
            found_at = tenth / 10
            break
    assert found_at is not None
    assert UNHEARD * sample_s <= found_at < UNHEARD * sample_s + 0.3


def test_open_sessions_believe_what_switches_say() -> None:
    world = World(watch=False)
    for tenth in range(1, 80):
        effects = world.claim(8, tenth / 10) + (world.own(0, 5, tenth / 10) if tenth % 10 == 0 else [])
        assert not any(isinstance(effect, PeerMisquoted) for effect in effects)
    assert world.core.flow.base == 8
