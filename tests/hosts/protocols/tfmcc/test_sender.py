from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hosts.endpoint import Address, CongestionSignal, Datagram, PeerDropped, Send, SendRun, SessionEnded, SessionStarted
from hosts.parts.realtime import MOST_UNSENT
from hosts.protocol import Session
from hosts.protocols.tfmcc.options import TfmccOptions
from hosts.protocols.tfmcc.packets import (
    FLAG_ECHO,
    FLAG_END,
    FLAG_HAVE_LOSS,
    FLAG_HAVE_RTT,
    FLAG_LEAVE,
    FLAG_SLOWSTART,
    Data,
    Join,
    JoinAck,
    Report,
    encode_join,
    encode_report,
    packet_bytes,
    parse,
)
from hosts.protocols.tfmcc.rate_float import NO_RATE, decode_rate, encode_rate, encode_rtt
from hosts.protocols.tfmcc.sender import RUNS_TOGETHER, TfmccSender
from hosts.wire.farewell import Abort
from tests.hosts.protocols.tfmcc.test_packets import reports

GROUP = Address("232.1.1.1", 5000)
OWN = Address("10.0.0.1", 40000)


class Talk:
    """A sender that always has data, and what it sent; by the paper's rules unless `options` say otherwise."""

    def __init__(self, **options: Any) -> None:
        self.now = 100.0
        given = TfmccOptions(**{"rules": "paper", **options})
        self.sender = TfmccSender(Session(GROUP, session=7, realtime=True), given, Random(1))
        assert self.sender.start(now=self.now) == (SessionStarted(),)
        self.sent: list[Data] = []
        self.other: list[object] = []
        self._clock = 0
        self._fill()

    def _fill(self) -> None:
        while self.sender.send_space:
            self._take(self.sender.write(bytes(self.sender.send_space), now=self.now))

    def _take(self, effects: Any) -> None:
        for effect in effects:
            packet = parse(effect.data) if isinstance(effect, Send) else None
            if isinstance(packet, Data):
                self.sent.append(packet)
            else:
                self.other.append(effect if packet is None else packet)

    def run(self, seconds: float) -> None:
        end = self.now + seconds
        while (wake := self.sender.wake_at) is not None and wake <= end:
            self.now = max(self.now, wake)
            self._take(self.sender.handle_timer(now=self.now))
            self._fill()
        self.now = end

    def report(self, receiver: int, bps: float, *, rtt: float | None = 0.1, loss: float = 0.01, **fields: int) -> None:
        """A report that came 50 ms after the last data left; without an RTT it was made with the initial one."""
        self._clock += 1
        flags = (FLAG_HAVE_RTT if rtt is not None else 0) | (FLAG_HAVE_LOSS if loss else 0)
        given = {
            "session": 7,
            "flags": flags,
            "receiver": receiver,
            "round": self.sender.steering.rounds.number,
            "rate": encode_rate(bps),
            "rtt": encode_rtt(rtt or 0.5),
            "loss_rate": int(loss * 65535),
            "receive_rate": encode_rate(bps),
            "echo_time_us": self.sent[-1].send_time_us,
            "held_us": 0,
            "time_us": self._clock,
        }
        source = Address(f"10.0.1.{receiver}", 40000)
        data = encode_report(Report(**{**given, **fields}))
        self._take(self.sender.receive(Datagram(data, source, OWN), now=self.now))
        self._fill()

    def admit(self, receiver: int) -> None:
        """A receiver has answered what it was asked; its reports are believed then."""
        self.report(receiver, 1e6, rtt=None, loss=0.0)
        question = [packet for packet in self.other if isinstance(packet, JoinAck)][-1]
        join = encode_join(Join(7, receiver, question.time_us, 0, 5))
        self.sender.receive(Datagram(join, Address(f"10.0.1.{receiver}", 40000), OWN), now=self.now)

    @property
    def bps(self) -> float:
        return self.sender.steering.control.at(self.now) * 8


def in_steady_state(**options: Any) -> Talk:
    """Receiver 1 is the CLR at 1 Mbit/s."""
    talk = Talk(**options)
    talk.run(2.0)
    talk.report(1, 1e6)
    talk.run(0.2)
    talk.report(1, 1e6)
    talk.run(0.2)
    assert talk.bps == pytest.approx(1e6, rel=0.01)
    return talk


def test_it_begins_with_a_packet_per_maximum_rtt_and_says_what_receivers_need() -> None:
    talk = Talk()
    talk.run(5.0)
    assert len(talk.sent) == pytest.approx(5 / 0.512, abs=2)
    first = talk.sent[0]
    assert first.flags & FLAG_SLOWSTART
    assert (first.seq, first.round, first.clr, first.suppression) == (0, 1, 0, NO_RATE)
    assert [packet.seq for packet in talk.sent] == list(range(len(talk.sent)))


def test_slowstart_doubles_what_arrives_once_a_round() -> None:
    talk = Talk()
    talk.run(3.0)
    before = talk.bps
    talk.report(1, before, loss=0)
    talk.report(2, before / 2, loss=0)  # the slower one counts
    talk.run(1.0)
    assert talk.bps == pytest.approx(before, rel=0.02)
    assert talk.sent[-1].clr == 2
    talk.run(10.0)  # another round
    talk.report(2, talk.bps, loss=0)
    talk.report(1, talk.bps, loss=0)
    talk.run(1.0)
    assert talk.bps == pytest.approx(2 * before, rel=0.02)


def test_nobody_drives_the_rate_up_by_claiming_to_receive_more_than_is_sent() -> None:
    talk = Talk()
    talk.run(3.0)
    before = talk.bps
    talk.report(1, 1e10, loss=0)
    talk.run(1.0)
    assert talk.bps <= 2.01 * before


def test_a_first_loss_ends_slowstart() -> None:
    talk = Talk()
    talk.run(3.0)
    talk.report(1, 8e3)
    talk.run(3.0)
    assert any(isinstance(effect, CongestionSignal) for effect in talk.other)
    assert not talk.sent[-1].flags & FLAG_SLOWSTART
    assert talk.bps == pytest.approx(8e3, rel=0.01)


def test_who_answers_our_question_has_its_first_round_trip_time_by_it() -> None:
    talk = Talk(rules="today")
    talk.run(1.0)
    assert talk.sender.steering.first_rtts == 0
    talk.admit(3)
    assert talk.sender.steering.first_rtts == 1


def test_switches_may_wait_for_a_confirmation_as_long_as_strangers_need() -> None:
    for rules, rtts in (("paper", 1), ("today", 2)):
        talk = Talk(rules=rules, assist="switch")
        talk.run(5.0)
        steering = talk.sender.steering
        trip = steering.feedback_delay(talk.now) / 4
        assert steering.unconfirmed_for(talk.now) == pytest.approx(trip + (rtts - 1) * steering.rounds.max_rtt)
        assert talk.sent[-1].patience == encode_rtt(steering.unconfirmed_for(talk.now))


def test_what_passes_a_switch_counts_what_ended_there() -> None:
    talk = in_steady_state()
    talk.report(2, 2e6, stands_for=7, far_rtt=encode_rtt(3.0))
    assert talk.sender.counters["ended_reports"] == 7
    assert talk.sender.steering.rounds.max_rtt < 1.0


def test_a_lower_rate_counts_at_once_and_makes_the_clr() -> None:
    talk = in_steady_state()
    talk.report(2, 400e3)
    assert talk.bps == pytest.approx(400e3, rel=0.01)
    talk.run(0.1)
    assert talk.sent[-1].clr == 2
    assert talk.sent[-1].flags & FLAG_ECHO
    assert any(packet.echo_receiver == 2 for packet in talk.sent[-3:])


def test_what_cut_the_rate_is_told_when_the_next_packet_was_due_anyway() -> None:
    """Timers run on the rate that the last packet told: were the next one to wait for the new rate's interval, all of a
    thousand receivers behind a bottleneck would have reported by then."""
    talk = in_steady_state()
    before = len(talk.sent)
    talk.report(2, 2000.0)
    talk.run(10.0)
    told, following = talk.sent[before : before + 2]
    sizes_bits = 8 * packet_bytes(len(told.payload))
    assert (told.send_time_us - talk.sent[before - 1].send_time_us) / 1e6 == pytest.approx(sizes_bits / 1e6, rel=0.05)
    assert decode_rate(told.suppression) == decode_rate(told.rate) == pytest.approx(2000.0, rel=0.01)
    assert (following.send_time_us - told.send_time_us) / 1e6 == pytest.approx(sizes_bits / 2000.0, rel=0.05)


def test_a_round_of_a_low_rate_ends_when_the_rate_has_risen() -> None:
    """At 4 kbit/s T is seconds long; whoever became congested meanwhile would have to wait for its end."""
    talk = in_steady_state()
    talk.report(2, 4000.0)
    talk.run(10.0)
    rounds = talk.sender.steering.rounds
    number, delay = rounds.number, rounds.delay
    assert delay is not None
    assert delay > 3.0
    began = rounds.started_at
    while rounds.number == number:
        talk.report(2, 64000.0)
        talk.run(0.1)
    assert talk.now - began < delay / 2
    assert rounds.delay is not None
    assert rounds.delay < delay / 4


def test_a_higher_rate_of_another_changes_nothing_but_is_echoed() -> None:
    talk = in_steady_state()
    seen = len(talk.sent)
    talk.report(2, 3e6)
    talk.run(0.1)
    assert talk.bps == pytest.approx(1e6, rel=0.01)
    assert {packet.echo_receiver for packet in talk.sent[seen:]} == {1, 2}
    assert talk.sent[-1].suppression == encode_rate(1e6)  # this round's, from before it was the CLR


def test_a_report_without_an_rtt_is_corrected_by_the_senders_measurement() -> None:
    talk = in_steady_state()
    talk.run(0.5)
    # Computed with 0.512 s where 0.05 s are measured: ten times as much is meant.
    sent_at = talk.sent[-1].send_time_us * 1e-6
    talk.now = sent_at + 0.05
    talk.report(2, 50e3, rtt=None)
    assert talk.bps == pytest.approx(50e3 * 0.512 / 0.05, rel=0.02)


def test_when_the_clr_leaves_the_rate_stays_and_rises_by_one_packet_per_rtt() -> None:
    talk = in_steady_state()
    number = talk.sender.steering.rounds.number
    talk.report(1, 1e6, flags=FLAG_LEAVE)
    talk.run(0.1)
    assert talk.sent[-1].clr == 0
    assert talk.sender.steering.rounds.number == number + 1
    talk.report(2, 4e6)
    assert talk.bps == pytest.approx(1e6, rel=0.01)
    before = talk.bps
    talk.run(1.0)
    packet_bits = talk.sender.packet_bytes * 8
    rtt = 0.1
    assert talk.bps - before == pytest.approx(packet_bits / rtt**2, rel=0.05)


def test_who_has_lost_nothing_takes_the_rate_no_lower_than_it_began() -> None:
    """A receiver on a busy host may have got nothing within the time that it measures."""
    talk = Talk(rules="today")
    talk.run(2.0)
    for receiver in (2, 3):
        talk.admit(receiver)
    steering = talk.sender.steering
    steering.slowstart = False
    assert steering.clr is None
    steering.control.restore(1e6 / 8, talk.now)
    begun = 4 * packet_bytes(talk.sender.options.payload_bytes) * 8 / steering.rounds.max_rtt
    assert begun < 0.9e6
    for _ in range(2):  # it becomes the CLR, and says so again
        talk.report(2, 100, loss=0.0)
        assert steering.clr is not None
        assert steering.clr.receiver == 2
        assert talk.bps == pytest.approx(begun, rel=0.01)
    talk.report(3, 0.1 * begun)  # with a loss it may
    assert talk.bps == pytest.approx(0.1 * begun, rel=0.05)


def test_a_silent_clr_is_given_up_after_ten_feedback_delays() -> None:
    talk = in_steady_state()
    patience = 10 * talk.sender.steering.feedback_delay(talk.now)
    talk.run(patience * 0.8)
    assert talk.sent[-1].clr == 1
    talk.run(patience * 0.4)
    assert talk.sent[-1].clr == 0
    before = talk.bps
    talk.run(patience * 5)  # nobody at all: down to the beginning
    assert talk.bps < before / 8


def test_the_previous_clr_comes_back_without_a_report() -> None:
    talk = in_steady_state(previous_clr_rtts=8)
    talk.report(2, 400e3)
    talk.run(0.1)
    assert talk.sent[-1].clr == 2
    talk.report(2, 3e6)  # it was only a short while
    talk.run(0.1)
    assert talk.sent[-1].clr == 1
    assert talk.bps == pytest.approx(1e6, rel=0.01)


def test_a_receiver_below_the_least_rate_is_sent_away() -> None:
    talk = in_steady_state(least_rate_bps=100e3)
    talk.report(2, 50e3)
    assert any(isinstance(effect, Abort) for effect in talk.other)
    assert any(isinstance(effect, PeerDropped) for effect in talk.other)
    assert talk.bps == pytest.approx(1e6, rel=0.01)


def test_the_end_is_said_more_than_once() -> None:
    talk = in_steady_state()
    talk._take(talk.sender.finish(now=talk.now))
    talk.run(5.0)
    assert talk.sender.closed
    assert sum(bool(packet.flags & FLAG_END) for packet in talk.sent) == 3
    assert talk.other[-1] == SessionEnded(True, "")
    assert talk.sender.wake_at is None


@pytest.mark.parametrize(
    ("fields", "counter"),
    [
        ({"session": 8}, "drop_other_session"),
        ({"round": 9999}, "drop_stale"),
        ({"echo_time_us": 2**60}, "drop_future"),
        ({"echo_time_us": 5}, "drop_future"),
        ({"held_us": 2**32 - 1}, "drop_future"),
        ({"rtt": 255}, "drop_rtt"),
        ({"rate": NO_RATE}, "drop_value"),
        ({"receiver": 0}, "drop_value"),
    ],
)
def test_a_hostile_report_is_counted_and_dropped(fields: dict[str, int], counter: str) -> None:
    talk = in_steady_state()
    talk.report(fields.pop("receiver", 3), 100.0, **fields)
    assert talk.sender.counters[counter] == 1
    assert talk.bps == pytest.approx(1e6, rel=0.01)


def test_a_report_in_the_clrs_name_or_repeated_is_dropped() -> None:
    talk = in_steady_state()
    forged = Address("10.0.9.9", 1)
    report = Report(7, 3, 1, talk.sender.steering.rounds.number, 0, 30, 99, 0, talk.sent[-1].send_time_us, 0, 10**9)
    talk.sender.receive(Datagram(encode_report(report), forged, OWN), now=talk.now)
    assert talk.sender.counters["drop_forged"] == 1
    talk.report(2, 2e6)
    talk.report(2, 500.0, time_us=talk._clock)  # not newer
    assert talk.sender.counters["drop_replayed"] == 1
    assert talk.bps == pytest.approx(1e6, rel=0.01)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(reports, st.integers(0, 255), st.floats(0, 0.5)), max_size=30), st.binary(max_size=100))
def test_no_report_stops_the_sender(arrivals: list[tuple[Report, int, float]], garbage: bytes) -> None:
    talk = in_steady_state()
    for report, host, wait in arrivals:
        near = report._replace(  # such as may be believed
            session=7,
            round=talk.sender.steering.rounds.number - report.round % 2,
            echo_time_us=talk.sent[-1].send_time_us,
            held_us=0,
        )
        for one in (report, near):
            source = Address(f"10.0.2.{host}", 1)
            talk._take(talk.sender.receive(Datagram(encode_report(one), source, OWN), now=talk.now))
        talk._take(talk.sender.receive(Datagram(garbage, Address("10.0.3.3", 1), OWN), now=talk.now))
        talk.run(wait)
    seen = len(talk.sent)
    talk.run(2 * talk.sender.options.longest_gap_s)
    assert len(talk.sent) > seen
    assert decode_rate(talk.sent[-1].rate) >= 100


def test_what_waits_to_be_sent_is_bounded_whatever_rate_receivers_claim() -> None:
    talk = in_steady_state()
    control = talk.sender.steering.control
    control.allow(10e9, 0.1, talk.sender.packet_bytes, talk.now)
    assert control.at(talk.now) * talk.sender.options.send_buffer_s > 10 * MOST_UNSENT
    assert 0 < talk.sender.send_space <= MOST_UNSENT
    with pytest.raises(ValueError, match="send_space"):
        talk.sender.write(bytes(MOST_UNSENT + 1), now=talk.now)


def test_what_is_due_on_a_fast_network_leaves_in_turns() -> None:
    """Between which whoever runs the sender reads what has come."""
    talk = Talk(rules="today")
    sender = talk.sender
    sender.run_bytes = 65_507
    sender.steering.control.restore(4e9 / 8, talk.now)
    talk.run(0.001)
    talk._fill()
    turns = 0
    sent_before = sender.sent_bytes
    while turns == 0 or (sender.wake_at is not None and sender.wake_at <= talk.now):
        effects = sender.handle_timer(now=talk.now + 0.004 * (turns == 0))
        talk.now += 0.004 * (turns == 0)
        assert sum(isinstance(effect, SendRun) for effect in effects) <= RUNS_TOGETHER
        turns += 1
    assert turns > 2
    assert (sender.sent_bytes - sent_before) * 8 / 0.004 == pytest.approx(4e9, rel=0.2)
