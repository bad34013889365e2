"""What receivers have already is not sent: in the tests' network, with every protocol that has files."""

import random
from collections.abc import Sequence

import pytest

from hosts import protocols
from hosts.endpoint import Address, Datagram, Effect, Offered, Send, SessionEnded, SessionStarted
from hosts.parts.offering import AGAIN_S, TRIES, AskingReceiver, OfferingSender, with_offers
from hosts.protocol import Session
from hosts.wire.offers import PADDING_BYTES, PIECE_BYTES, Ask, Held, Offer, offers
from tests.hosts.network import Network
from tests.hosts.recorder import GROUP, PEER, Recorder

OWN = Address("10.0.0.2", 40_001)
PACKETS = offers(1)
CONTENT = random.Random(1).randbytes(2 * PIECE_BYTES + 100)
NAMES = [
    name for name in protocols.names() if protocols.get(name).knows_receivers and protocols.get(name).carries_files
]


def started(protocol: str, held: Sequence[int | None], loss: float = 0.0) -> tuple[int, list[SessionEnded]]:
    """What the sender says that all have when each receiver has so much (None: it does not ask), and how it ends."""
    network = Network(1)
    session = Session(GROUP, receivers=len(held), wait=20.0)
    sender = with_offers(protocols.get(protocol), ask=False).sender(session, random.Random(1))
    sender.offer(CONTENT, 1000)
    hosts = [network.host("sender", sender, source=b"x" * 1000)]
    for index, size in enumerate(held):
        made_by = with_offers(protocols.get(protocol), ask=size is not None)
        receiver = made_by.receiver(Session(GROUP, network.address("sender").host), random.Random(index))
        if size is not None:
            answer_offers(receiver, size)
        hosts.append(network.host(f"r{index}", receiver))
        network.link("sender", f"r{index}", rate_bps=1e8, delay_s=0.001, limit_packets=100, loss=loss, back_loss=loss)
    network.run_until_ended(100.0)
    events = hosts[0].events_of(SessionStarted)
    return events[0].held, [host.end for host in hosts if host.end is not None]


def answer_offers(receiver: object, size: int) -> None:
    """Have an asking receiver's application say so much for the list that it is shown."""
    assert isinstance(receiver, AskingReceiver)
    plain = receiver.receive

    def receive(datagram: Datagram, *, now: float) -> Sequence[Effect]:
        effects = plain(datagram, now=now)
        for effect in effects:
            if isinstance(effect, Offered):
                assert effect.content == CONTENT
                return receiver.holds(size, now=now)
        return effects

    receiver.receive = receive  # type: ignore[method-assign]


@pytest.mark.parametrize("protocol", NAMES)
@pytest.mark.parametrize(("held", "least"), [((1000,), 1000), ((400, 700), 400), ((400, None), 0), ((None, None), 0)])
def test_the_sender_begins_where_somebody_lacks_something(
    protocol: str, held: tuple[int | None, ...], least: int
) -> None:
    said, ends = started(protocol, held)
    assert said == least
    assert ends == [SessionEnded(True, "")] * (len(held) + 1)


def test_words_that_are_lost_are_said_again() -> None:
    assert started("mtcp", (600, 700, 800), loss=0.2)[0] == 600


def ask(sender: OfferingSender, data: bytes, source: Address = PEER) -> list[bytes]:
    return [effect.data for effect in sender.receive(Datagram(data, source, OWN), now=0.0) if isinstance(effect, Send)]


def a_sender() -> OfferingSender:
    made = protocols.get("mtcp").sender(Session(GROUP, session=5), random.Random(1))
    sender = OfferingSender(made, PACKETS)
    sender.offer(CONTENT, 1000)
    return sender


def test_the_sender_answers_what_can_be_answered() -> None:
    sender = a_sender()
    assert ask(sender, PACKETS.ask.encode(Ask(5, 0))) == [
        PACKETS.offer.encode(Offer(5, 0, len(CONTENT), CONTENT[:PIECE_BYTES]))
    ]
    assert ask(sender, PACKETS.ask.encode(Ask(5, 0, bytes(PADDING_BYTES - 1)))) == []
    assert ask(sender, PACKETS.ask.encode(Ask(6, 0))) == []
    assert ask(sender, PACKETS.ask.encode(Ask(5, len(CONTENT)))) == []
    assert ask(sender, PACKETS.ask.encode(Ask(5, 0))[:-1]) == []
    assert ask(sender, PACKETS.held.encode(Held(5, 1001, False))) == []
    assert ask(sender, PACKETS.held.encode(Held(5, 1000, False))) == [PACKETS.held.encode(Held(5, 1000, True))]
    assert sender.counters["drop_truncated"] == 1


def a_receiver() -> tuple[AskingReceiver, Recorder]:
    core = Recorder()
    return AskingReceiver(core, Session(GROUP, PEER.host), PACKETS), core


ANNOUNCE = bytes((1, 1, 9, 0, 0, 0, 0, 5))


def test_a_sender_that_does_not_answer_is_joined_all_the_same() -> None:
    receiver, core = a_receiver()
    receiver.start(now=0.0)
    sent = list(receiver.receive(Datagram(ANNOUNCE, PEER, GROUP), now=0.0))
    for number in range(1, TRIES + 1):
        assert receiver.state == "asking"
        assert receiver.wake_at == pytest.approx(number * AGAIN_S)
        sent += receiver.handle_timer(now=number * AGAIN_S)
    assert sent == [Send(PACKETS.ask.encode(Ask(5, 0)), PEER)] * TRIES
    receiver.receive(Datagram(ANNOUNCE, PEER, GROUP), now=9.0)
    assert [datagram.data for datagram in core.datagrams] == [ANNOUNCE]


def test_strangers_words_are_not_taken() -> None:
    receiver, core = a_receiver()
    other = Address("10.9.9.9", 1)
    assert receiver.receive(Datagram(ANNOUNCE, other, GROUP), now=0.0) == ()
    assert receiver.receive(Datagram(ANNOUNCE, PEER, OWN), now=0.0) == ()
    receiver.receive(Datagram(ANNOUNCE, PEER, GROUP), now=0.0)
    piece = PACKETS.offer.encode(Offer(5, 0, 3, b"abc"))
    assert receiver.receive(Datagram(piece, other, OWN), now=0.0) == ()
    for wrong in (Offer(5, 1, 3, b"bc"), Offer(5, 0, 2, b"abc"), Offer(5, 0, 2**32 - 1, b"a"), Offer(6, 0, 3, b"abc")):
        assert receiver.receive(Datagram(PACKETS.offer.encode(wrong), PEER, OWN), now=0.0) == ()
    assert receiver.receive(Datagram(piece, PEER, OWN), now=0.0) == (Offered(b"abc"),)
    receiver.holds(2, now=0.0)
    for size, source, state in ((1, PEER, "telling"), (2, other, "telling"), (2, PEER, "through")):
        receiver.receive(Datagram(PACKETS.held.encode(Held(5, size, True)), source, OWN), now=0.0)
        assert receiver.state == state
    assert core.datagrams == []


def test_noise_ends_nothing() -> None:
    noise = random.Random(1)
    receiver, _ = a_receiver()
    sender = a_sender()
    receiver.receive(Datagram(ANNOUNCE, PEER, GROUP), now=0.0)
    for _ in range(3000):
        data = bytes((1, 1, noise.randint(0x70, 0x73), 0, 0, 0, 0, 5)) + noise.randbytes(noise.randint(0, 30))
        sender.receive(Datagram(data, PEER, OWN), now=0.0)
        receiver.receive(Datagram(data, PEER, OWN), now=0.0)
