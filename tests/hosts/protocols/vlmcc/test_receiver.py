"""The receiver, packet by packet: acknowledgments, the Start handshake, challenges, and what it does not believe."""

from itertools import pairwise
from math import inf
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hosts.endpoint import (
    Address,
    Datagram,
    DatagramRun,
    DeliverDatagram,
    Effect,
    JoinGroup,
    Send,
    SessionEnded,
    StreamEnded,
)
from hosts.parts.doubt import SILENCE_S
from hosts.protocol import Session
from hosts.protocols.vlmcc.options import VlmccOptions
from hosts.protocols.vlmcc.packets import (
    FLAG_ASSIST,
    FLAG_END,
    FLAG_SETTLING,
    FLAG_SUPPRESSED,
    Ack,
    Challenge,
    Data,
    Packet,
    Report,
    Start,
    StartRequest,
    encode_abort,
    encode_data,
    encode_run,
    encode_start,
    parse,
)
from hosts.protocols.vlmcc.receiver import VlmccReceiver
from hosts.wire.farewell import Leave
from hosts.wire.reason import Reason

GROUP = Address("232.1.1.1", 5000)
SENDER = Address("10.0.0.1", 40000)
OWN = Address("10.0.1.1", 40000)
ELSE = 99
"""Another receiver."""


class Ear:
    """A receiver 20 ms from its sender, whose clock shows 1,000 s less."""

    def __init__(self, rules: str = "paper", **options: Any) -> None:
        self.now = 2000.0
        self.receiver = VlmccReceiver(Session(GROUP, SENDER.host), VlmccOptions(rules=rules, **options), Random(1))
        assert self.receiver.start(now=self.now) == (JoinGroup(GROUP, SENDER.host),)
        self.said: list[Packet] = []
        self.events: list[Effect] = []
        self.seq = 0

    def take(self, effects: Any) -> None:
        for effect in effects:
            if isinstance(effect, Send):
                assert effect.destination == SENDER
                self.said.append(parse(effect.data))
            else:
                self.events.append(effect)

    def data(
        self, *, leader: int = ELSE, rate: float = 100.0, delay: float = 0.02, waited: float = 0.0, **more: Any
    ) -> None:
        """A packet of the sender's that left `delay` ago, and waited here."""
        sent_us = int((self.now - 1000 - delay - waited) * 1e6)
        packet = Data(7, 0, self.seq, leader, int(rate * 1000), 40_000, sent_us, self.seq * 3, 1, b"abc")._replace(
            **more
        )
        self.seq = packet.seq + 1
        datagram = Datagram(encode_data(packet), SENDER, GROUP, self.now - waited)
        self.take(self.receiver.receive(datagram, now=self.now))

    def run(self, seconds: float, **more: Any) -> None:
        """Packets at 100 a second; START_REQUESTs are answered after 40 ms."""
        for _ in range(round(seconds * 100)):
            self.now += 0.01
            self.data(**more)
            if (wake := self.receiver.wake_at) is not None and wake <= self.now:
                before = len(self.said)
                self.take(self.receiver.handle_timer(now=self.now))
                for said in self.said[before:]:
                    if isinstance(said, StartRequest):
                        self.answer(said)

    def answer(self, request: StartRequest, **fields: int) -> None:
        self.now += 0.04
        sender_us = int((self.now - 1000 - 0.02) * 1e6)
        start = Start(7, self.receiver.id, self.seq, ELSE, 100_000, 4_000, 40_000, request.time_us, sender_us)
        datagram = Datagram(encode_start(start._replace(**fields)), SENDER, OWN)
        self.take(self.receiver.receive(datagram, now=self.now))

    def challenges(self) -> list[Challenge]:
        return [said for said in self.said if isinstance(said, Challenge)]


def test_it_measures_its_rtt_first() -> None:
    ear = Ear()
    ear.run(0.5)
    assert isinstance(ear.said[0], StartRequest)
    assert ear.receiver.path.is_known
    assert ear.receiver.following.rtt.mean == pytest.approx(0.04, abs=1e-3)


def test_an_unanswered_request_is_repeated_ever_more_rarely() -> None:
    ear = Ear()
    ear.data()
    times = []
    while ear.now < 2025:
        wake = ear.receiver.wake_at
        assert wake is not None
        ear.now = wake
        ear.take(ear.receiver.handle_timer(now=ear.now))
        times.append(ear.now)
    assert len(ear.said) == pytest.approx(5, abs=1)
    assert times[-1] - times[-2] > 4 * (times[1] - times[0])


def test_who_loses_packets_goes_on_asking() -> None:
    """The answer was probably lost as well; but thousands that lose the same do not ask all at once."""
    for receivers, gap in ((3, 1.0), (2000, 4.0)):
        ear = Ear()
        times = []
        while ear.now < 2030:
            ear.now += 0.01
            ear.data(seq=ear.seq + (ear.seq % 10 == 0), receivers=receivers)
            before = len(ear.said)
            ear.take(ear.receiver.handle_timer(now=ear.now))
            times += [ear.now] * (len(ear.said) - before)
        gaps = [later - earlier for earlier, later in pairwise(times)]
        assert all(0.74 * gap <= one <= 1.27 * gap for one in gaps)


def test_the_leader_acknowledges_every_packet_and_adds_what_it_waited() -> None:
    ear = Ear()
    ear.data(leader=ear.receiver.id, waited=0.005)
    ear.data(leader=ear.receiver.id)
    ear.data(leader=ELSE)
    first, second = ear.said
    assert isinstance(first, Ack)
    assert isinstance(second, Ack)
    assert (first.seq, second.seq) == (0, 1)
    assert first.time_comp_us == pytest.approx(1_000_000_000 - 20_000, abs=2)  # as if it had not waited
    assert second.time_comp_us == pytest.approx(1_000_000_000 - 20_000, abs=2)


def test_a_duplicate_is_neither_acknowledged_nor_delivered() -> None:
    ear = Ear()
    ear.data(leader=ear.receiver.id)
    ear.data(leader=ear.receiver.id, seq=0)
    assert len(ear.said) == 1
    assert sum(isinstance(event, DeliverDatagram) for event in ear.events) == 1
    assert ear.receiver.counters["drop_duplicate"] == 1


def test_a_follower_in_good_condition_says_nothing() -> None:
    ear = Ear()
    ear.run(20)
    assert all(isinstance(said, StartRequest) for said in ear.said)
    assert len(ear.said) <= 3


def test_a_queue_makes_a_follower_challenge() -> None:
    ear = Ear()
    ear.run(3)
    ear.run(2, delay=0.2)
    assert ear.challenges()
    challenge = ear.challenges()[-1]
    following = ear.receiver.following
    assert challenge.receiver == ear.receiver.id
    assert challenge.rtt_us == pytest.approx(220_000, rel=0.05)
    assert challenge.base_rtt_us == pytest.approx(40_000, abs=1000)
    assert challenge.rate == pytest.approx(challenge.cwnd / challenge.rtt_us * 1e6, rel=0.01)
    assert challenge.rate / 1000 + following._options.n_extra / following.rtt.mean < 100


def test_a_follower_is_silent_while_a_new_leader_settles() -> None:
    """Also one that was about to speak; afterwards it speaks."""
    ear = Ear(challenges_per_rtt=1.1)
    ear.run(3)
    ear.run(1, delay=0.2, receivers=1000)
    assert not ear.challenges()
    assert ear.receiver._wait.at < inf
    ear.run(0.01, delay=0.2, flags=FLAG_SETTLING)
    assert ear.receiver._wait.at == inf
    ear.run(20, delay=0.2, flags=FLAG_SETTLING)
    assert not ear.challenges()
    ear.run(2, delay=0.2, rate=110.0)
    assert ear.challenges()


def test_behind_a_switch_that_lets_one_through_nobody_waits() -> None:
    """That it may judge a challenge, the sender says."""
    ear = Ear(challenges_per_rtt=1.1)
    ear.run(3)
    ear.run(2, delay=0.2, receivers=1000, flags=FLAG_ASSIST)
    assert not ear.challenges()
    ear = Ear(challenges_per_rtt=1.1)
    ear.run(3)
    ear.run(2, delay=0.2, receivers=1000, flags=FLAG_ASSIST | FLAG_SUPPRESSED)
    assert ear.challenges()
    assert all(challenge.may_suppress for challenge in ear.challenges())
    ear = Ear()
    ear.run(3)
    ear.run(2, delay=0.2)
    assert not any(challenge.may_suppress for challenge in ear.challenges())


def test_the_leader_does_not_challenge() -> None:
    ear = Ear()
    ear.run(3)
    ear.run(2, delay=0.2, leader=ear.receiver.id)
    assert not ear.challenges()


def test_a_follower_below_the_least_rate_leaves() -> None:
    ear = Ear(least_rate_bps=5e5)
    ear.run(3)
    ear.run(8, delay=0.4)
    assert not ear.challenges()[1:]
    assert isinstance(ear.events[-1], SessionEnded)
    assert ear.events[-1].reason == Reason.TOO_SLOW.text
    assert not ear.receiver.closed or ear.receiver.wake_at is None


def test_only_a_leader_says_that_it_leaves() -> None:
    ear = Ear()
    ear.run(1)
    ear.take(ear.receiver.close(now=ear.now, reason="interrupted"))
    assert not any(isinstance(said, Leave) for said in ear.said)
    ear = Ear()
    ear.run(1, leader=ear.receiver.id)
    ear.take(ear.receiver.close(now=ear.now, reason="interrupted"))
    assert sum(isinstance(said, Leave) for said in ear.said) == 3
    assert ear.events[-1] == SessionEnded(False, "interrupted")


def test_the_end_and_an_abort() -> None:
    ear = Ear()
    ear.run(1)
    ear.data(flags=FLAG_END)
    ear.run(2)
    assert not ear.receiver.closed, "data go on"
    ear.data(flags=FLAG_END)
    assert not ear.receiver.closed, "they may"
    ear.now += SILENCE_S
    ear.take(ear.receiver.handle_timer(now=ear.now))
    assert isinstance(ear.events[-3], StreamEnded)
    assert ear.events[-1] == SessionEnded(True, "")
    ear = Ear()
    ear.run(1)
    ear.take(ear.receiver.receive(Datagram(encode_abort(7, Reason.INTERRUPTED), SENDER, GROUP), now=ear.now))
    assert not ear.receiver.closed
    ear.now += SILENCE_S
    ear.take(ear.receiver.handle_timer(now=ear.now))
    assert ear.receiver.closed
    assert ear.receiver.wake_at is None


def test_a_silent_sender_is_given_up() -> None:
    ear = Ear(silence_s=5.0)
    ear.run(1)
    while (wake := ear.receiver.wake_at) is not None:
        ear.now = wake
        ear.take(ear.receiver.handle_timer(now=ear.now))
    assert ear.events[-1] == SessionEnded(False, "the sender was silent for 5 s")


def test_starts_that_answer_nothing_are_dropped() -> None:
    ear = Ear(start_spread_s=0.0)
    ear.data()
    ear.take(ear.receiver.handle_timer(now=ear.now))
    request = ear.said[0]
    assert isinstance(request, StartRequest)
    for fields in ({"receiver": 5}, {"time_comp_us": request.time_us - 1}, {"time_comp_us": 2**60}):
        ear.answer(request, **fields)
        assert not ear.receiver.path.is_known
    ear.answer(request)
    assert ear.receiver.path.is_known
    ear.answer(request)  # once more
    assert ear.receiver.counters["drop_forged"] == 4


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.binary(max_size=80), st.booleans(), st.booleans()), max_size=20))
def test_no_input_stops_it(inputs: list[tuple[bytes, bool, bool]]) -> None:
    ear = Ear()
    ear.run(0.5)
    for data, ours, framed in inputs:
        source = SENDER if ours else Address("10.9.9.9", 1)
        ear.take(ear.receiver.receive(Datagram(b"\x01\x05" + data if framed else data, source, GROUP), now=ear.now))
    ear.run(0.2)
    assert ear.receiver.data_packets >= 60 or ear.receiver.closed


def test_one_packet_far_ahead_of_all_others_is_no_beginning() -> None:
    ear = Ear()
    ear.data(seq=300)
    ear.seq = 0
    ear.run(1.0)
    assert ear.receiver.gaps.highest == ear.seq - 1 == 99
    assert (ear.receiver.gaps.lost_packets, ear.receiver.counters["drop_far_ahead"]) == (0, 1)
    ear.data(seq=0)
    assert ear.receiver.gaps.highest == 99, "but in the middle of a stream one far behind is old"


def test_a_run_is_acknowledged_once_and_delivered_packet_by_packet() -> None:
    ear = Ear("adaptive")
    ear.run(0.5)
    receiver = ear.receiver
    ear.data(leader=receiver.id)
    before, deliveries, received = len(ear.said), len(ear.events), receiver.data_packets
    first = Data(
        7, 0, ear.seq, receiver.id, 100_000, 40_000, int((ear.now - 1000.02) * 1e6), 3 * ear.seq, 1, b"abc" * 5
    )
    run = encode_run(first, 3)
    ear.take(receiver.receive_run(DatagramRun(run, len(run) // 5, SENDER, GROUP, ear.now, ear.now), now=ear.now))
    report = ear.said[before]
    assert isinstance(report, Report)
    assert (len(ear.said), report.seq, report.have & 0b11111) == (before + 1, ear.seq + 4, 0b11111)
    assert receiver.data_packets == received + 5
    delivered = [one for one in ear.events[deliveries:] if isinstance(one, DeliverDatagram)]
    assert [(one.seq, one.offset) for one in delivered] == [(ear.seq + n, 3 * (ear.seq + n)) for n in range(5)]


def test_a_run_behind_a_gap_is_taken_packet_by_packet() -> None:
    """So that what is lost is seen when it is."""
    ear = Ear("adaptive")
    ear.run(0.5)
    receiver = ear.receiver
    seq = ear.seq + 1
    first = Data(7, 0, seq, receiver.id, 100_000, 40_000, int((ear.now - 1000.02) * 1e6), 3 * seq, 1, b"abc" * 5)
    run = encode_run(first, 3)
    ear.take(receiver.receive_run(DatagramRun(run, len(run) // 5, SENDER, GROUP, ear.now, ear.now), now=ear.now))
    assert receiver.gaps.lost_packets == 1
    reports = [one for one in ear.said if isinstance(one, Report)]
    assert [one.seq for one in reports] == list(range(seq, seq + 5))
