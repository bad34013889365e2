"""The P4 program's suppression of TFMCC's reports: against the plain model packet for packet, and single rules."""

import random

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from hosts.protocols.tfmcc.packets import (
    FLAG_ANSWER,
    FLAG_ASSIST,
    FLAG_ECHO,
    FLAG_HAVE_LOSS,
    FLAG_HAVE_RTT,
    FLAG_LEAVE,
    FLAG_MAY_SUPPRESS,
    FLAG_SUPPRESSED,
    FLAG_SUPPRESSION_LOSS,
    PATH_UNIT_US,
    Data,
    JoinAck,
    Report,
    encode_data,
    encode_join_ack,
    encode_report,
    encode_share,
    parse,
)
from hosts.protocols.tfmcc.rate_float import NO_RATE, encode_rate
from hosts.wire.reason import Reason
from tests.p4src.bench import suppression
from tests.p4src.bench.feedback import GROUP, PARENT_PORT, Bench
from tests.p4src.bench.packets import UDP_PORT, group_mac, host_ip, host_mac, unicast
from tests.p4src.bench.runs import Modelled
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
PLAIN = FLAG_MAY_SUPPRESS | FLAG_HAVE_LOSS
"""A report's flags without a round trip time."""


def around(bench: Bench, port: int, packet: Report) -> tuple[str, Report] | None:
    """Where a receiver's report leaves, and how."""
    left = bench.up_or_back(port, encode_report(packet))
    if not left:
        return None
    ((out, payload),) = left
    parsed = parse(payload)
    assert isinstance(parsed, Report)
    return "up" if out == PARENT_PORT else "back", parsed


def measured(target: Embedded) -> Bench:
    """A switch that is 30 ms from the sender, and knows it."""
    bench = Bench(target)
    bench.assist()
    down(bench, data())
    assert up(bench, 3, report(99, 1000, time_us=70)) is not None
    target.advance(40_000)
    left = down(bench, data(flags=FLAG_ASSIST | FLAG_ECHO, echo_receiver=99, echo_time_us=70, echo_held_us=10_000))
    assert left.path_rtt == 30_000 // PATH_UNIT_US + 1
    return bench


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
        self.times = 0
        self.sent: list[Report] = []

    def data(self) -> None:
        chooser = self.chooser
        if chooser.random() < 0.3:
            self.round += chooser.choice((1, 1, 1, 2))
            self.heard = {True: NO_RATE, False: NO_RATE}
            self.loss = False
        # Where time is not ours, nothing is measured: what is measured leaves.
        echoed = chooser.choice(self.sent[-6:]) if self.sent and self.target.exact_time else None
        packet = data(
            round=self.round - (chooser.random() < 0.05),
            flags=FLAG_ASSIST * (chooser.random() < 0.98)
            | FLAG_SUPPRESSION_LOSS * self.loss
            | FLAG_ECHO * (echoed is not None),
            echo_receiver=0 if echoed is None else echoed.receiver,
            echo_time_us=0 if echoed is None else echoed.time_us,
            echo_held_us=chooser.choice((0, 50, 200_000)),
            path_rtt=chooser.choice((0, 0, 7)),
            suppression=self.heard[True],
            suppression_no_rtt=self.heard[False],
            max_rtt=chooser.choice((0x40, 0x55, 0x70)),
            patience=chooser.choice((0, 0x2F, 0x50, 0x7A)),
            clr=chooser.choice((1, 2, 0)),
            least_share=chooser.choice((SHARE, SHARE, 32768, 65535, encode_share(0.7), 32767)),
        )
        self.histories.compare(lambda model, now: model.data(SENDER, packet, now), lambda: down(self.bench, packet))

    def answer(self, answered: Report) -> None:
        """Of the sender, or of a switch nearer to it."""
        chooser = self.chooser
        if chooser.random() < 0.5:
            asked = JoinAck(7, Reason.NONE, answered.receiver, answered.time_us, 5)
            self.histories.told(lambda model, now: model.join_ack(SENDER, asked, now))
            self.bench.parent_sends(3, encode_join_ack(asked))
        else:
            turned = answered._replace(flags=answered.flags | FLAG_ANSWER | FLAG_MAY_SUPPRESS, echo_time_us=20_000)
            self.histories.told(lambda model, now: model.answer(SENDER, turned, now))
            self.bench.parent_sends(4, encode_report(turned))

    def feedback(self) -> None:
        chooser = self.chooser
        if self.sent and self.target.exact_time and chooser.random() < 0.1:
            self.answer(chooser.choice(self.sent[-6:]))
            return
        self.times += 1
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
            time_us=self.times + (1 << 33),
            stands_for=chooser.choice((0, 0, 3)),
            far_rtt=chooser.choice((0, 0x30)),
        )
        port = chooser.randrange(2, 9)
        left: list[tuple[str, Report] | None] = []

        def really() -> tuple[str, Report] | None:
            left.append(around(self.bench, port, packet))
            return left[0]

        self.histories.compare(lambda model, now: model.report(SENDER, port, packet, now), really)
        if left[0] is not None and packet.session == 7:
            self.sent.append(packet)
        has_loss, has_rtt = bool(flags & FLAG_HAVE_LOSS), bool(flags & FLAG_HAVE_RTT)
        if left[0] is None or packet.round != self.round or chooser.random() < 0.3:
            return  # lost on the way, or of no use
        if has_loss and not self.loss:
            self.heard, self.loss = {True: NO_RATE, False: NO_RATE}, True
        if has_loss == self.loss:
            self.heard[has_rtt] = min(self.heard[has_rtt], rate)


OUTCOMES = {"lower", "suppressed", "request", "far", "stale", "limiting", "leave", "no_slot", "answered"}
MODELLED = Modelled(Run, OUTCOMES, 4, 300)


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
    assert up(bench, 7, lower) == lower._replace(stands_for=3, far_rtt=lower.rtt)
    assert bench.outcomes() == {"lower": 2, "suppressed": 3}


def test_of_reports_without_a_round_trip_time_one_passes_a_port_and_round(bench: Bench) -> None:
    down(bench, data())
    for port in (3, 4):
        assert up(bench, port, report(port, 900, flags=PLAIN)) is not None
        assert up(bench, port, report(port + 10, 400, flags=PLAIN)) is None
    down(bench, data(round=6))
    assert up(bench, 3, report(3, 900, flags=PLAIN, round=6)) is not None
    assert bench.outcomes() == {"request": 3, "suppressed": 2}


def test_who_asks_where_a_switch_nearer_to_the_sender_knows_passes_one_at_a_time(embedded: Embedded) -> None:
    bench = Bench(embedded)
    bench.assist()
    down(bench, data(path_rtt=100))
    assert up(bench, 3, report(3, 900, flags=PLAIN, time_us=50)) is not None
    assert up(bench, 3, report(4, 900, flags=PLAIN, time_us=60)) is None
    embedded.advance(2000)
    turned = report(3, 900, flags=PLAIN | FLAG_ANSWER, time_us=50, echo_time_us=6000)
    bench.parent_sends(3, encode_report(turned))
    left = around(bench, 3, report(4, 900, flags=PLAIN, time_us=70))
    assert left == ("back", report(4, 900, flags=PLAIN | FLAG_ANSWER, time_us=70, echo_time_us=8000))


def test_the_echo_of_a_report_tells_how_far_the_sender_is_and_data_and_answers_say_it(embedded: Embedded) -> None:
    bench = measured(embedded)
    left = around(bench, 5, report(5, 900, flags=PLAIN, time_us=80))
    assert left == ("back", report(5, 900, flags=PLAIN | FLAG_ANSWER, time_us=80, echo_time_us=30_000))
    embedded.advance(9_000_000)
    assert down(bench, data(path_rtt=11)).path_rtt == 11  # too long ago
    assert up(bench, 5, report(5, 900, flags=PLAIN)) is not None


def test_a_question_of_the_senders_tells_it_too(embedded: Embedded) -> None:
    bench = Bench(embedded)
    bench.assist()
    down(bench, data())
    assert up(bench, 3, report(3, 900, flags=PLAIN, time_us=1 << 40 | 50)) is not None
    embedded.advance(5000)
    bench.parent_sends(3, encode_join_ack(JoinAck(7, Reason.NONE, 3, 1 << 40 | 50, 5)))
    assert down(bench, data()).path_rtt == 5000 // PATH_UNIT_US + 1


def test_answers_from_another_side_than_the_senders_tell_nothing(embedded: Embedded) -> None:
    bench = Bench(embedded)
    bench.assist()
    down(bench, data())
    assert up(bench, 3, report(3, 900, flags=PLAIN, time_us=50)) is not None
    forged = report(3, 900, flags=PLAIN | FLAG_ANSWER, time_us=50, echo_time_us=9_000_000)
    assert bench.up(4, encode_report(forged)) == [encode_report(forged)]
    assert down(bench, data()).path_rtt == 0


def test_what_passes_speaks_for_what_ended(bench: Bench) -> None:
    down(bench, data())
    assert up(bench, 3, report(3, 1000)) == report(3, 1000)
    assert up(bench, 4, report(4, 1000, rtt=0x65)) is None
    assert up(bench, 5, report(5, 1001, stands_for=4, far_rtt=0x62)) is None
    assert up(bench, 6, report(6, 500)) == report(6, 500, stands_for=6, far_rtt=0x65)
    assert up(bench, 7, report(99, 400)) == report(99, 400)


def test_at_low_rates_a_switch_remembers_what_the_last_packet_said(embedded: Embedded) -> None:
    bench = Bench(embedded)
    bench.assist()
    down(bench, data(suppression=500, flags=FLAG_ASSIST | FLAG_SUPPRESSION_LOSS))
    embedded.advance(16_000_000)  # two of the longest gaps
    assert up(bench, 3, report(3, 600)) is None
    embedded.advance(10_000_000)
    assert up(bench, 3, report(3, 600)) is not None


def test_longer_round_trip_times_pass_in_steps(bench: Bench) -> None:
    down(bench, data())
    assert up(bench, 3, report(3, 100)) is not None
    passed = [rtt for rtt in range(0x70, 0x80) if up(bench, 4, report(4, 500, rtt=rtt)) is not None]
    assert passed == [0x71, 0x75, 0x79, 0x7D]


def test_no_more_pass_in_a_round_than_half_as_many_as_there_are_ports(bench: Bench) -> None:
    down(bench, data())
    passed = [up(bench, 3 + number % 5, report(number, 2000 - 40 * number)) is not None for number in range(1, 25)]
    assert passed == [True] * 8 + [False] * 16
    assert up(bench, 3, report(99, 10)) is not None  # the CLR


def test_a_report_that_is_not_confirmed_silences_others_once(embedded: Embedded) -> None:
    """Somebody claims a rate of nothing again and again, and the sender does not believe it."""
    bench = Bench(embedded)
    bench.assist()
    heard = []
    for number in range(40):
        down(bench, data(round=5 + number))
        for _ in range(3):
            up(bench, 8, report(666, 0, round=5 + number))
            embedded.advance(300_000)
            heard.append(up(bench, 3, report(3, 500, round=5 + number)) is not None)
            embedded.advance(300_000)
    assert heard[:2] == [False, False]
    # Then once in a round, until the sender has had time to answer; it never does, so that this port is in doubt, too.
    assert sum(heard) > 0.9 * len(heard)


def test_confirmed_reports_put_no_port_in_doubt(embedded: Embedded) -> None:
    bench = Bench(embedded)
    bench.assist()
    for number in range(5):
        down(bench, data(round=5 + number))
        assert up(bench, 3, report(3, 700, round=5 + number)) is not None
        embedded.advance(1_100_000)
        down(bench, data(round=5 + number, suppression=700, flags=FLAG_ASSIST | FLAG_SUPPRESSION_LOSS))
        assert up(bench, 4, report(4, 600, round=5 + number)) is not None
        assert up(bench, 5, report(5, 650, round=5 + number)) is None


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
