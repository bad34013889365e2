"""When a receiver reports: behind a switch that suppresses reports and not, and in slowstart."""

import itertools
import random

import pytest

from hosts.endpoint import Address, Datagram, Effect, Send
from hosts.protocol import Session
from hosts.protocols.tfmcc.options import TfmccOptions
from hosts.protocols.tfmcc.packets import (
    FLAG_ANSWER,
    FLAG_ASSIST,
    FLAG_HAVE_LOSS,
    FLAG_HAVE_RTT,
    FLAG_MAY_SUPPRESS,
    FLAG_SLOWSTART,
    FLAG_SUPPRESSED,
    FLAG_SUPPRESSION_LOSS,
    PATH_UNIT_US,
    Data,
    Report,
    encode_data,
    encode_report,
    parse,
)
from hosts.protocols.tfmcc.rate_float import NO_RATE, decode_rate, encode_rate, encode_rtt
from hosts.protocols.tfmcc.receiver import TfmccReceiver

GROUP = Address("239.1.1.1", 5000)
SENDER = Address("10.0.0.1", 40000)
MAX_RTT = 0.1
GAP = 0.01
HELPED = FLAG_ASSIST | FLAG_SUPPRESSED


class Listener:
    """A receiver whose sender never answers, unless `echo` says so."""

    def __init__(self, flags: int, seed: int) -> None:
        self.receiver = TfmccReceiver(
            Session(GROUP, session=7, realtime=True), TfmccOptions(initial_rtt_s=MAX_RTT), random.Random(seed)
        )
        self.flags = flags
        self.seq = 0
        self.now = 1.0
        self.gap = GAP
        self.echo = NO_RATE
        self.path_us = 0
        """What a switch on the way says of its round trip time to the sender."""
        self.reports: list[tuple[float, Report]] = []
        self.receiver.start(now=self.now)

    def _take(self, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Send):
                packet = parse(effect.data)
                assert isinstance(packet, Report)
                self.reports.append((self.now, packet))

    def answer(self, report: Report, **changes: int) -> list[Report]:
        """A switch sends a report back; what the receiver says to that."""
        turned = report._replace(flags=report.flags | FLAG_ANSWER, echo_time_us=self.path_us)._replace(**changes)
        before = len(self.reports)
        self._take(list(self.receiver.receive(Datagram(encode_report(turned), SENDER, GROUP), now=self.now)))
        return [report for _, report in self.reports[before:]]

    def hear(self, packets: int, *, round: int = 5, lose: int = 0) -> None:
        """Data every `gap` seconds; `lose` packets are missing before the first."""
        self.seq += lose
        for _ in range(packets):
            data = Data(
                7,
                self.flags | (FLAG_SUPPRESSION_LOSS if self.echo != NO_RATE else 0),
                self.seq,
                round,
                encode_rate(8e6),
                NO_RATE,
                self.echo,
                encode_rtt(MAX_RTT),
                99,
                *(0, 0, 0),
                int(self.now * 1e6),
                0,
                b"x" * 1400,
                encode_rtt(MAX_RTT),
                65535,
                self.path_us // PATH_UNIT_US,
            )
            self._take(list(self.receiver.receive(Datagram(encode_data(data), SENDER, GROUP), now=self.now)))
            self.seq += 1
            end = self.now + self.gap
            while (wake := self.receiver.wake_at) is not None and wake <= end:
                self.now = max(self.now, wake)
                self._take(list(self.receiver.handle_timer(now=self.now)))
            self.now = end


def congested(flags: int, seed: int) -> tuple[Listener, float]:
    """A receiver that has just seen losses; when."""
    listener = Listener(flags, seed)
    listener.hear(100)
    at = listener.now
    for _ in range(6):
        listener.hear(4, lose=1)
    return listener, at


@pytest.mark.parametrize("seed", range(8))
def test_behind_such_a_switch_a_report_comes_within_a_maximum_rtt(seed: int) -> None:
    listener, at = congested(HELPED, seed)
    listener.hear(100)
    assert listener.reports[0][0] - at < MAX_RTT + 5 * GAP  # a loss shows with the third later packet
    assert listener.reports[0][1].flags & FLAG_MAY_SUPPRESS


def test_it_is_repeated_until_the_sender_echoes_it() -> None:
    listener, _ = congested(HELPED, 1)
    listener.hear(50)
    unanswered = len(listener.reports)
    assert unanswered >= 3
    times = [at for at, _ in listener.reports]
    assert all(after - before >= MAX_RTT for before, after in itertools.pairwise(times[1:]))
    listener.echo = listener.reports[-1][1].rate
    listener.hear(100)
    assert len(listener.reports) == unanswered


def test_without_such_a_switch_one_report_a_round_after_up_to_t() -> None:
    """Whether or not switches are allowed to help."""
    for flags in (0, FLAG_ASSIST):
        delays = []
        for seed in range(8):
            listener, at = congested(flags, seed)
            listener.hear(100)
            assert len(listener.reports) == 1
            assert bool(listener.reports[0][1].flags & FLAG_MAY_SUPPRESS) == bool(flags)
            delays.append(listener.reports[0][0] - at)
        assert max(delays) > 2 * MAX_RTT


def test_a_lower_report_cancels_and_a_higher_one_does_not() -> None:
    for higher in (False, True):
        listener, _ = congested(HELPED, 1)
        rate = decode_rate(listener.reports[-1][1].rate)
        listener.echo = encode_rate(rate * (1.02 if higher else 0.98))
        before = len(listener.reports)
        listener.hear(60)
        assert (len(listener.reports) > before) == higher


@pytest.mark.parametrize("seed", range(8))
def test_in_slowstart_a_report_is_needless_once_as_much_arrives_as_another_said(seed: int) -> None:
    """The rate rises during a round: those who report first say more than the others wanted to at its start."""
    for faster in (False, True):
        listener = Listener(FLAG_SLOWSTART, seed)
        listener.hear(100)
        before = len(listener.reports)
        listener.echo = encode_rate(1.2 * listener.receiver.path.receive_bps(listener.now))
        listener.gap = GAP / 2 if faster else GAP
        listener.hear(100, round=6)
        assert (len(listener.reports) == before) == faster


def test_a_switch_that_knows_is_asked_with_the_first_packet_and_gives_the_round_trip_time() -> None:
    listener = Listener(HELPED, 1)
    listener.path_us = 64_000
    listener.hear(1)
    (_, asked), *_ = listener.reports
    assert not asked.flags & (FLAG_HAVE_RTT | FLAG_HAVE_LOSS)
    assert asked.flags & FLAG_MAY_SUPPRESS
    assert asked.time_us == int(1.0 * 1e6)
    assert listener.receiver.rtt == pytest.approx(0.064)  # what the packet said is the beginning
    assert listener.answer(asked) == []  # there is nothing else to say
    assert listener.receiver.path.round_trip.has_measurement
    assert listener.receiver.rtt == pytest.approx(0.064 + listener.now - 1.0)
    before = len(listener.reports)
    listener.hear(100)
    assert len(listener.reports) == before


def test_it_is_asked_less_and_less_often() -> None:
    listener = Listener(HELPED, 1)
    listener.path_us = 64_000
    listener.gap = 0.001
    listener.hear(6000)
    times = [at for at, _ in listener.reports]
    assert len(times) == 8
    gaps = [after - before for before, after in itertools.pairwise(times)]
    assert gaps == pytest.approx([0.02 * 2**number for number in range(1, 8)], abs=0.002)


def test_what_was_to_be_said_is_said_with_the_answer() -> None:
    """A congested receiver reports without a round trip time; the switch answers, and nobody else has heard it."""
    listener, _ = congested(HELPED, 1)
    listener.path_us = 64_000
    listener.hear(5)
    said = [report for _, report in listener.reports if report.flags & FLAG_HAVE_LOSS][-1]
    (again,) = listener.answer(said)
    assert again.flags & FLAG_HAVE_RTT
    assert again.flags & FLAG_HAVE_LOSS


def test_what_switches_do_not_answer_passes_unjudged() -> None:
    listener, _ = congested(HELPED, 1)
    listener.path_us = 64_000
    listener.hear(200)
    assert not listener.reports[-1][1].flags & FLAG_MAY_SUPPRESS


@pytest.mark.parametrize(
    "changes", [{"receiver": 1}, {"time_us": 17}, {"session": 8}, {"flags": FLAG_MAY_SUPPRESS}, {"echo_time_us": 2**63}]
)
def test_an_answer_to_nothing_we_said_tells_nothing(changes: dict[str, int]) -> None:
    listener = Listener(HELPED, 1)
    listener.path_us = 64_000
    listener.hear(1)
    assert listener.answer(listener.reports[0][1], **changes) == []
    trip = listener.receiver.path.round_trip
    assert not trip.has_measurement or trip.rtt <= TfmccOptions().largest_rtt_s
