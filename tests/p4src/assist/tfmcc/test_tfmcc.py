"""The P4 program's suppression of TFMCC's reports: against the plain model packet for packet, and single rules."""

import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from hosts.protocols.tfmcc.packets import (
    FLAG_ASSIST,
    FLAG_HAVE_LOSS,
    FLAG_HAVE_RTT,
    FLAG_LEAVE,
    FLAG_MAY_SUPPRESS,
    FLAG_SUPPRESSED,
    FLAG_SUPPRESSION_LOSS,
    Data,
    Report,
    encode_data,
    encode_report,
    encode_share,
    parse,
)
from hosts.protocols.tfmcc.rate_float import NO_RATE, encode_rate
from tests.p4src.bench import suppression
from tests.p4src.bench.feedback import GROUP, PARENT_PORT, Bench
from tests.p4src.bench.packets import UDP_PORT, group_mac, host_ip, host_mac, unicast
from tests.p4src.bench.runs import RANDOM_STEPS, agree_on_any, agree_on_embedded, outcomes_of
from tests.p4src.bench.suppression import SENDER
from tests.p4src.bench.target import Embedded, Target
from tests.p4src.models.suppression import SuppressionModel

SHARE = encode_share(0.9)
PATIENCE = 0xA0
"""1.024 s."""


def data(**changes: object) -> Data:
    """Of session 7, round 5; nothing is confirmed."""
    packet = Data(7, FLAG_ASSIST, 1, 5, encode_rate(1e6), NO_RATE, NO_RATE, 0x70, 99, 0, 0, 0, 1000, 0, b"x" * 50)
    return packet._replace(patience=PATIENCE, least_share=SHARE)._replace(**changes)  # type: ignore[arg-type]


def report(receiver: int, rate: int, **changes: object) -> Report:
    """Of a loss, with a round trip time, in round 5."""
    flags = FLAG_MAY_SUPPRESS | FLAG_HAVE_LOSS | FLAG_HAVE_RTT
    return Report(7, flags, receiver, 5, rate, 0x60, 100, rate, 1000, 10, 2000)._replace(**changes)  # type: ignore[arg-type]


REPORTS = suppression.Filter(encode_data, encode_report, parse)
down, up = REPORTS.down, REPORTS.up


class Run(suppression.Run[SuppressionModel]):
    """The same steps through a switch and the model."""

    WEIGHTS = (25, 60)
    SHORT_US = (100, 5000, 31_999, 1, 100_000)
    LONG_US = (1_000_000, 5_000_000)

    def __init__(self, target: Target, chooser: random.Random) -> None:
        super().__init__(target, SuppressionModel(), chooser)
        self.round = 1
        self.heard = {True: NO_RATE, False: NO_RATE}
        self.loss = False

    def data(self) -> None:
        chooser = self.chooser
        if chooser.random() < 0.3:
            self.round += chooser.choice((1, 1, 1, 2))
            self.heard = {True: NO_RATE, False: NO_RATE}
            self.loss = False
        packet = data(
            round=self.round - (chooser.random() < 0.05),
            flags=FLAG_ASSIST * (chooser.random() < 0.98) | FLAG_SUPPRESSION_LOSS * self.loss,
            suppression=self.heard[True],
            suppression_no_rtt=self.heard[False],
            max_rtt=chooser.choice((0x40, 0x55, 0x70)),
            patience=chooser.choice((0, 0x2F, 0x50, 0x7A)),
            clr=chooser.choice((1, 2, 0)),
            least_share=chooser.choice((SHARE, SHARE, 32768, 65535, encode_share(0.7), 32767)),
        )
        self.histories.compare(lambda model, now: model.data(SENDER, packet, now), lambda: down(self.bench, packet))

    def feedback(self) -> None:
        chooser = self.chooser
        base = chooser.choice((encode_rate(1e6), 3, 130, NO_RATE - 5))
        rate = min(max(0, base + chooser.randrange(-60, 60)), NO_RATE - 1)
        flags = FLAG_MAY_SUPPRESS * (chooser.random() < 0.98) | FLAG_LEAVE * (chooser.random() < 0.02)
        flags |= FLAG_HAVE_RTT * (chooser.random() < 0.6) | FLAG_HAVE_LOSS * (chooser.random() < 0.6)
        packet = report(
            chooser.randrange(1, 40),
            rate,
            flags=flags,
            round=max(0, self.round - chooser.choice((0, 0, 0, 0, 1, 1, 2, -1))),
            rtt=chooser.choice((0x20, 0x41, 0x56, 0x72, 0x7F)),
            session=chooser.choice((7, 7, 7, 7, 8)),
        )
        port = chooser.randrange(2, 9)
        left: list[Report | None] = []

        def really() -> Report | None:
            left.append(up(self.bench, port, packet))
            return left[0]

        self.histories.compare(lambda model, now: model.report(SENDER, packet, now), really)
        has_loss, has_rtt = bool(flags & FLAG_HAVE_LOSS), bool(flags & FLAG_HAVE_RTT)
        if left[0] is None or packet.round != self.round or chooser.random() < 0.3:
            return  # lost on the way, or of no use
        if has_loss and not self.loss:
            self.heard, self.loss = {True: NO_RATE, False: NO_RATE}, True
        if has_loss == self.loss:
            self.heard[has_rtt] = min(self.heard[has_rtt], rate)


@RANDOM_STEPS
@given(st.integers(0, 2**32), st.integers(1, 200))
@example(1, 400)
@example(2, 400)
def test_every_packet_leaves_as_the_model_says(seed: int, steps: int) -> None:
    agree_on_embedded(Run, seed, steps)


def test_all_outcomes_occur() -> None:
    expected = {"lower", "suppressed", "request", "far", "stale", "limiting", "leave", "no_slot"}
    assert outcomes_of(Run, seeds=4, steps=300) == expected


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_kind_of_switch_does_it(target: Target, seed: int) -> None:
    agree_on_any(Run, target, seed)


def test_a_report_passes_when_it_is_lower_by_theta(bench: Bench) -> None:
    left = down(bench, data())
    assert left.flags == FLAG_ASSIST | FLAG_SUPPRESSED
    least = encode_rate(1e6)
    enough = next(code for code in range(least, 0, -1) if code <= encode_rate(0.9e6))
    first = report(3, least)
    assert up(bench, 3, first) == first
    for port, code in ((4, least), (5, enough + 1), (6, least + 5)):
        assert up(bench, port, report(port, code)) is None
    lower = report(7, enough)
    assert up(bench, 7, lower) == lower
    assert bench.outcomes() == {"lower": 2, "suppressed": 3}


def test_reports_without_a_round_trip_time_are_apart_and_the_first_ten_pass(bench: Bench) -> None:
    down(bench, data())
    assert up(bench, 3, report(3, 500)) is not None
    unmeasured = report(4, 900, flags=FLAG_MAY_SUPPRESS | FLAG_HAVE_LOSS)
    passed = [up(bench, 4, unmeasured._replace(receiver=100 + number)) is not None for number in range(12)]
    assert passed == [True] * 10 + [False] * 2
    assert up(bench, 5, report(5, 600)) is None


def test_what_is_confirmed_silences_beyond_its_time_and_what_is_not_does_not(embedded: Embedded) -> None:
    target, bench = embedded, Bench(embedded)
    bench.assist()
    down(bench, data())
    assert up(bench, 3, report(3, 1000)) is not None
    assert up(bench, 4, report(4, 990)) is None
    target.advance(1_100_000)
    assert up(bench, 5, report(5, 990)) is not None  # nobody has confirmed 1000: it may be lost
    down(bench, data(suppression=990, flags=FLAG_ASSIST | FLAG_SUPPRESSION_LOSS))
    target.advance(1_100_000)
    assert up(bench, 6, report(6, 985)) is None
    down(bench, data(round=6))
    assert up(bench, 7, report(7, 985, round=6)) is not None


def test_the_first_loss_is_silenced_by_losses_only(bench: Bench) -> None:
    down(bench, data())
    assert up(bench, 3, report(3, 800, flags=FLAG_MAY_SUPPRESS | FLAG_HAVE_RTT)) is not None
    assert up(bench, 4, report(4, 900)) is not None
    assert up(bench, 5, report(5, 890)) is None


def test_who_does_not_ask_for_it_is_left_alone(bench: Bench) -> None:
    plain = [report(port, 1000, flags=FLAG_HAVE_LOSS | FLAG_HAVE_RTT) for port in (3, 4, 5)]
    REPORTS.leaves_alone(bench, data(flags=0), data(), plain)


def test_a_switch_that_is_not_told_to_help_marks_nothing(target: Target) -> None:
    bench = Bench(target)
    assert down(bench, data()) == data()
    for port in (3, 4):
        assert up(bench, port, report(port, 1000)) is not None


def test_reports_to_another_address_than_the_sender_pass(bench: Bench) -> None:
    down(bench, data())
    for port in (4, 5, 6):
        packet = unicast(host_ip(port), host_ip(7), size=0)
        packet[UDP].payload = Raw(encode_report(report(port, 1000)))
        del packet[UDP].len, packet[UDP].chksum, packet[IP].len, packet[IP].chksum
        assert [out for out, _ in bench.target.send(port, bytes(packet))] == [7]
    assert bench.outcomes() == {"no_slot": 3}


def test_a_restart_costs_a_report_or_two(bench: Bench) -> None:
    REPORTS.recovers(bench, data(), lambda port: report(port, 1000))


def test_a_damaged_report_silences_nobody(bench: Bench) -> None:
    down(bench, data())
    REPORTS.refuses_damaged(bench, report(3, 1000), 15)
    assert up(bench, 4, report(4, 1000)) is not None


@pytest.mark.parametrize("checksum", [0, 0x0020, 0x0021, 0xFFDF, 0xFFFF])
def test_the_mark_keeps_the_checksum_right(bench: Bench, checksum: int) -> None:
    """Whatever the payload sums up to; none at all stays none."""
    payload = bytearray(encode_data(data()))
    payload[-2:] = b"\0\0"
    head = IP(src=SENDER, dst=GROUP, ttl=8)
    if checksum:
        base = IP(bytes(head / UDP(sport=UDP_PORT, dport=UDP_PORT) / bytes(payload)))[UDP].chksum
        payload[-2:] = ((base - checksum) % 0xFFFF).to_bytes(2, "big")
    udp = UDP(sport=UDP_PORT, dport=UDP_PORT, chksum=None if checksum else 0) / bytes(payload)
    sent = Ether(src=host_mac(1), dst=group_mac(GROUP)) / head / udp
    if checksum:
        assert IP(bytes(sent)[14:])[UDP].chksum == checksum
    ((_, frame),) = bench.target.send(PARENT_PORT, bytes(sent))
    left = IP(frame[14:])
    assert left[UDP].payload.load[3] == FLAG_ASSIST | FLAG_SUPPRESSED
    found = left[UDP].chksum
    del left[UDP].chksum
    assert found == (IP(bytes(left))[UDP].chksum if checksum else 0)
