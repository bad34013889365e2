"""What reports can do to a session by today's rules: forged ones nothing, lying and dying receivers little."""

from random import Random

import pytest

from hosts.endpoint import Address, Datagram, Send
from hosts.protocol import Session
from hosts.protocols.tfmcc.options import TfmccOptions
from hosts.protocols.tfmcc.packets import (
    FLAG_FROM_CLR,
    FLAG_HAVE_LOSS,
    FLAG_HAVE_RTT,
    FLAG_LEAVE,
    Join,
    JoinAck,
    Report,
    encode_join,
    encode_report,
    parse,
)
from hosts.protocols.tfmcc.rate_float import encode_rate, encode_rtt
from hosts.protocols.tfmcc.receiver import TfmccReceiver
from hosts.protocols.tfmcc.sender import TfmccSender
from tests.hosts.protocols.tfmcc.talk import GROUP, OWN, Talk
from tests.hosts.protocols.tfmcc.world import World

BOTTLENECK = {"rate_bps": 2e6, "delay_us": 20_000, "limit_packets": 20}
BELIEVED_S = 10.0


class Crowd(World):
    """Three receivers at 2 Mbit/s in the steady state, and a stranger who reports."""

    def __init__(self) -> None:
        super().__init__([{"delay_us": 1000 * number} for number in range(3)], bottleneck=BOTTLENECK)
        self.run(BELIEVED_S)

    def forge(self, receiver: int, source: Address, bps: float = 0.0, flags: int = 0) -> list[object]:
        """A report that is fresh in all respects reaches the sender."""
        now = self.sim.now
        report = Report(
            7,
            FLAG_HAVE_RTT | FLAG_HAVE_LOSS | flags,
            receiver,
            self.sender.steering.rounds.number & 0xFFFF,
            encode_rate(bps),
            encode_rtt(0.05),
            9000,
            encode_rate(bps),
            int((now - 0.045) * 1e6),
            0,
            int(now * 1e6),
        )
        return list(self.sender.receive(Datagram(encode_report(report), source, OWN), now=now))


def test_a_stranger_is_asked_and_changes_nothing() -> None:
    world = Crowd()
    stranger = Address("10.9.9.9", 1234)
    before = world.rate(0, BELIEVED_S, 20.0)
    for number in range(100):
        effects = world.forge(77, stranger)
        asked = [effect for effect in effects if isinstance(effect, Send)]
        assert [effect.destination for effect in asked] == [stranger]  # what it sends comes back, and no more of it
        world.run(20.0 + number * 0.1)
    assert world.sender.counters["drop_stranger"] >= 100
    assert world.rate(0, 30.0, 40.0) > 0.9 * before


def test_a_member_that_does_not_answer_as_the_clr_costs_a_moment() -> None:
    world = Crowd()
    liar = Address("10.9.9.9", 1234)
    before = world.rate(0, BELIEVED_S, 20.0)
    (asked,) = world.forge(77, liar)
    assert isinstance(asked, Send)
    answer = parse(asked.data)
    assert isinstance(answer, JoinAck)
    join = encode_join(Join(7, 77, answer.time_us, 0, 1))
    world.sender.receive(Datagram(join, liar, OWN), now=world.sim.now)
    named = 0
    for number in range(200):
        world.forge(77, liar)
        clr = world.sender.steering.clr
        named += clr is not None and clr.receiver == 77
        world.run(20.0 + number * 0.1)
    assert world.sender.counters["clr_unanswering"] >= 1
    assert world.sender.counters["drop_unanswering"] > 100
    assert 0 < named < 60
    assert world.rate(0, 40.0, 50.0) > 0.8 * before


def test_a_stranger_cannot_make_another_receiver_leave() -> None:
    world = Crowd()
    clr = world.sender.steering.clr
    assert clr is not None
    world.forge(clr.receiver, Address("10.9.9.9", 1), flags=FLAG_LEAVE)
    assert world.sender.counters["drop_forged"] == 1
    assert world.sender.counters["leaves"] == 0


def test_a_clr_that_dies_at_a_low_rate_is_missed_within_seconds() -> None:
    talk = today()
    answer_as_clr(talk, 1, 1e6)
    talk.report(2, 5e3)
    talk.run(0.1)
    answer_as_clr(talk, 2, 5e3)
    talk.run(7.0)  # at 5 kbit/s a packet takes 2.4 s
    assert talk.sent[-1].clr == 0
    assert talk.bps > 100e3


def test_a_clr_that_reports_often_raises_the_rate_no_faster() -> None:
    talk = today()
    answer_as_clr(talk, 1, 1e6)
    before = talk.bps
    for _ in range(6):
        answer_as_clr(talk, 1, 1e9)
        talk.run(0.001)
    assert talk.bps < 1.1 * before
    talk.run(0.1)
    assert talk.bps < 2.2 * before


def test_a_new_clr_raises_the_rate_no_faster_either() -> None:
    talk = today()
    answer_as_clr(talk, 1, 1e6)
    talk.report(1, 1e6, flags=FLAG_LEAVE)
    before = talk.bps
    talk.report(2, 1e9, receive_rate=encode_rate(1e9))
    talk.run(0.1)
    assert talk.bps < 2.1 * before


def test_who_is_far_and_has_lost_nothing_does_not_stop_the_rate() -> None:
    talk = today()
    answer_as_clr(talk, 1, 1e6)
    answer_as_clr(talk, 1, 1.5e6)
    talk.report(2, 1e6, rtt=0.3, loss=0)
    talk.run(0.3)
    answer_as_clr(talk, 1, 1.5e6)
    talk.run(0.5)
    assert talk.bps == pytest.approx(1.5e6, rel=0.02)


def today() -> Talk:
    """Receivers 1 and 2 are known; the first has ended slowstart at 1 Mbit/s."""
    talk = Talk(rules="today")
    talk.run(2.0)
    for receiver in (1, 2):
        talk.report(receiver, 1e6)
        asked = next(packet for packet in reversed(talk.other) if isinstance(packet, JoinAck))
        join = encode_join(Join(7, receiver, asked.time_us, 0, 1))
        talk.sender.receive(Datagram(join, Address(f"10.0.1.{receiver}", 40000), OWN), now=talk.now)
    talk.report(1, 1e6)
    for _ in range(100):
        talk.run(0.1)
        answer_as_clr(talk, 1, 1e6)
    assert talk.bps == pytest.approx(1e6, rel=0.02)
    return talk


def answer_as_clr(talk: Talk, receiver: int, bps: float) -> None:
    talk.report(receiver, bps, flags=FLAG_HAVE_RTT | FLAG_HAVE_LOSS | FLAG_FROM_CLR)


def test_a_receiver_says_what_it_had_to_say_when_it_is_asked() -> None:
    session = Session(GROUP, session=7, realtime=True)
    sender = TfmccSender(session, TfmccOptions(), Random(1))
    receiver = TfmccReceiver(session, TfmccOptions(), Random(2))
    at = Address("10.0.0.2", 40000)
    receiver.start(now=0.0)
    sender.start(now=0.0)
    reports: list[float] = []
    now = 0.0
    while now < 4.0:
        now += 0.01
        while sender.send_space:
            sender.write(bytes(sender.send_space), now=now)
        down = [effect.data for effect in sender.handle_timer(now=now) if isinstance(effect, Send)]
        up = [effect for effect in receiver.handle_timer(now=now) if isinstance(effect, Send)]
        while down or up:
            for data in down:
                effects = receiver.receive(Datagram(data, OWN, GROUP), now=now)
                up += [effect for effect in effects if isinstance(effect, Send)]
            down = []
            for effect in up:
                reports += [now] if isinstance(parse(effect.data), Report) else []
                effects = sender.receive(Datagram(effect.data, at, OWN), now=now)
                down += [effect.data for effect in effects if isinstance(effect, Send)]
            up = []
    assert sender.counters["joins"] == 1
    assert reports[0] == reports[1]
    assert receiver.path.round_trip.has_measurement
    assert sender.steering.clr is not None
