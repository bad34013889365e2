"""The P4 program's filter of what Arbor's receivers ask for: against the plain model packet for packet, and single
rules."""

import random
from collections.abc import Callable

import pytest

from hosts.parts.fec.pieces import Need
from hosts.protocols.arbor.packets import (
    FLAG_ASSIST,
    FLAG_FILE,
    FLAG_SUPPRESSED,
    JOIN,
    TOLD_DATA,
    WELCOME,
    Blocks,
    Join,
    Report,
    ToldData,
    Welcome,
    encode_blocks,
    encode_report,
    parse,
)
from hosts.wire.reason import Reason
from tests.p4src.bench import suppression
from tests.p4src.bench.feedback import PARENT_PORT, Bench
from tests.p4src.bench.runs import Modelled
from tests.p4src.bench.suppression import SENDER
from tests.p4src.bench.target import Embedded, Target
from tests.p4src.models.requests import Request, RequestModel

RTT_US = 200_000
LONG_RTT_US = 3_000_000
"""Longer than a test takes on a switch whose time is its own."""


def data(**changes: object) -> ToldData:
    """Of session 7; receiver 99 limits the rate."""
    packet = ToldData(7, FLAG_ASSIST | FLAG_FILE, 1, 99, 100_000, LONG_RTT_US, 0, 0, 50, b"x" * 50)
    return packet._replace(**changes)  # type: ignore[arg-type]


def report(receiver: int, rate: int, **changes: object) -> Report:
    """Of a receiver that would have a window of four."""
    made = Report(7, receiver, 4000, LONG_RTT_US, rate, 1, 1000, may_suppress=True)
    return made._replace(**changes)  # type: ignore[arg-type]


def lacks(receiver: int, block: int, packets: int, **changes: object) -> Blocks:
    made = Blocks(7, receiver, 1, block, (Need(block, packets),), may_suppress=True)
    return made._replace(**changes)  # type: ignore[arg-type]


def join(receiver: int, time_us: int, **changes: object) -> Join:
    return Join(7, receiver, time_us, 0, may_suppress=True)._replace(**changes)  # type: ignore[arg-type]


def encode(request: Request) -> bytes:
    return encode_report(request) if isinstance(request, Report) else encode_blocks(request)


REQUESTS: suppression.Filter[ToldData, Request] = suppression.Filter(TOLD_DATA.encode, encode, parse)
up = REQUESTS.up


def down(bench: Bench, packet: ToldData) -> ToldData:
    """How data leave, but for the time that a real switch's queue took (test_queues.py)."""
    left = REQUESTS.down(bench, packet)
    return left._replace(waited_us=packet.waited_us, longest_us=packet.longest_us, gap_us=0, gap_bytes=0, at=0)


def joined(bench: Bench, port: int, packet: Join) -> Join | Welcome | None:
    """What becomes of a JOIN: it passes, is answered, or ends."""
    left = bench.up_or_back(port, JOIN.encode(packet))
    if not left:
        return None
    ((out, payload),) = left
    answer = parse(payload)
    assert isinstance(answer, Join | Welcome)
    assert (out == PARENT_PORT) == isinstance(answer, Join)
    return answer


class Run(suppression.Run[RequestModel]):
    """The same steps through a switch and the model."""

    WEIGHTS = (25, 60)
    SHORT_US = (100, 5000, 49_999, 1, 50_000)
    LONG_US = (1_000_000, 4_000_000, 5_000_000)

    def __init__(self, target: Target, chooser: random.Random) -> None:
        super().__init__(target, RequestModel(), chooser)

    def data(self) -> None:
        chooser = self.chooser
        packet = data(
            flags=FLAG_ASSIST * (chooser.random() < 0.98),
            rtt_us=chooser.choice((0, 1, 50_000, RTT_US, 3_000_000, 2**32 - 1)),
        )
        self.histories.compare(lambda model, now: model.data(SENDER, packet, now), lambda: down(self.bench, packet))

    def feedback(self) -> None:
        chooser = self.chooser
        may = chooser.random() < 0.98
        session = chooser.choice((7, 7, 7, 7, 7, 8))
        packet: Request
        if self.target.exact_time and chooser.random() < 0.5:  # an answer's time is the switch's
            self.joins(session, may=may)
            return
        if chooser.random() < 0.5:
            rate = chooser.choice((1000, 50_000, 2**32 - 100)) + chooser.randrange(-20, 20)
            packet = report(chooser.randrange(1, 40), rate, may_suppress=may, session=session)
        else:
            needs = [Need(chooser.choice((3, 4, 65_539)), chooser.randrange(1, 6))]
            needs += [Need(70, 1)] * (chooser.random() < 0.1)
            packet = lacks(chooser.randrange(1, 40), 3, 1, needs=tuple(needs), may_suppress=may, session=session)
        port = chooser.randrange(2, 9)
        self.histories.compare(
            lambda model, now: model.request(SENDER, packet, now), lambda: up(self.bench, port, packet)
        )

    def joins(self, session: int, *, may: bool) -> None:
        """Somebody does, or the sender's answer passes."""
        chooser = self.chooser
        receiver, time_us = chooser.randrange(1, 5), chooser.choice((5, 2**32 + 7, 2**64 - 5))
        if chooser.random() < 0.5:
            packet = join(receiver, time_us, stands_for=chooser.choice((0, 1, 5, 2**31)), session=session)
            packet = packet._replace(may_suppress=may)
            self.histories.compare(
                lambda model, now: model.join(SENDER, packet, now), lambda: joined(self.bench, receiver + 1, packet)
            )
            return
        answer = Welcome(session, receiver, (time_us + chooser.choice((0, 100))) % 2**64, 10**9, may_suppress=may)
        answer = answer._replace(reason=chooser.choice((Reason.NONE, Reason.NONE, Reason.INTERRUPTED)))
        self.histories.told(lambda model, now: model.welcome(SENDER, answer, now))
        self.bench.parent_sends(receiver + 1, WELCOME.encode(answer))


MODELLED = Modelled(Run, {"lower", "suppressed", "no_slot", "request", "answered"}, 3, 300)


def test_of_many_at_once_only_worse_ones_pass(bench: Bench) -> None:
    assert down(bench, data()) == data(flags=FLAG_ASSIST | FLAG_FILE | FLAG_SUPPRESSED, hops=1)
    assert up(bench, 3, report(3, 50_000)) == report(3, 50_000)
    assert [up(bench, port, report(port, rate)) for port, rate in ((4, 50_000), (5, 60_000))] == [None, None]
    assert up(bench, 7, report(7, 49_999)) == report(7, 49_999)
    assert up(bench, 3, lacks(3, 5, 2)) == lacks(3, 5, 2)
    assert [up(bench, port, lacks(port, 5, packets)) for port, packets in ((4, 2), (5, 1))] == [None, None]
    assert up(bench, 6, lacks(6, 5, 3)) == lacks(6, 5, 3)
    assert bench.outcomes() == {"lower": 4, "suppressed": 4}


def test_another_block_is_another_matter(bench: Bench) -> None:
    down(bench, data())
    for block in (5, 4, 6):
        assert up(bench, 3, lacks(3, block, 2)) is not None
        assert up(bench, 4, lacks(4, block, 2)) is None


def test_who_lacks_something_of_several_blocks_is_not_judged(bench: Bench) -> None:
    down(bench, data())
    for port in (3, 4):
        assert up(bench, port, lacks(port, 5, 2, needs=(Need(5, 2), Need(6, 2)))) is not None
    assert bench.outcomes() == {}


@pytest.mark.parametrize("request_of", [lambda port: report(port, 50_000), lambda port: lacks(port, 5, 2)])
def test_one_may_be_lost_so_another_passes_after_a_round_trip(
    embedded: Embedded, request_of: Callable[[int], Request]
) -> None:
    target, bench = embedded, Bench(embedded)
    bench.assist()
    down(bench, data(rtt_us=RTT_US))
    assert up(bench, 3, request_of(3)) is not None
    target.advance(RTT_US - 2048)
    assert up(bench, 4, request_of(4)) is None
    target.advance(4096)
    assert up(bench, 5, request_of(5)) is not None


def test_no_round_trip_is_longer_than_the_longest(embedded: Embedded) -> None:
    target, bench = embedded, Bench(embedded)
    bench.assist()
    down(bench, data(rtt_us=2**32 - 1))
    assert up(bench, 3, report(3, 1)) is not None
    target.advance(4_010_000)
    assert up(bench, 4, report(4, 50_000)) is not None


def test_joins_pass_and_silence_nobody(bench: Bench) -> None:
    down(bench, data())
    for port in (3, 4):
        packet = JOIN.encode(Join(7, port, 1, 2))
        assert bench.up(port, packet) == [packet]
    assert bench.outcomes() == {}


def test_who_knows_the_sender_s_clock_answers_and_says_for_how_many(embedded: Embedded) -> None:
    target, bench = embedded, Bench(embedded)
    bench.assist()
    down(bench, data())
    began = target.now_us
    assert joined(bench, 3, join(3, 1000)) == join(3, 1000)
    assert joined(bench, 4, join(4, 2000)) is None  # nothing is known yet
    target.advance(50_000)
    # It came after 20 ms, and waited for 7 us.
    bench.parent_sends(3, WELCOME.encode(Welcome(7, 3, 1007, 5_000_000_007, may_suppress=True)))
    target.advance(100_000)
    for port in (4, 5, 6):
        then = 5_000_000_000 + target.now_us - began
        assert joined(bench, port, join(port, 2000)) == Welcome(7, port, 2000, then, may_suppress=True)
    target.advance(1_100_000)
    down(bench, data())
    assert joined(bench, 4, join(4, 2001, stands_for=0)) == join(4, 2001, stands_for=3)
    answer = joined(bench, 5, join(5, 2001, stands_for=0))  # by what is known of before
    assert isinstance(answer, Welcome)
    assert bench.outcomes() == {"request": 2, "suppressed": 1, "answered": 4}


@pytest.mark.parametrize(
    "answer",
    [
        Welcome(7, 4, 1000, 10**9, may_suppress=True),  # of another receiver
        Welcome(7, 3, 999, 10**9, may_suppress=True),  # to a JOIN of before
        Welcome(7, 3, 1000, 10**9, Reason.INTERRUPTED, may_suppress=True),  # it was refused
        Welcome(7, 3, 1000, 10**9),
    ],
)
def test_what_is_no_answer_tells_nothing(bench: Bench, answer: Welcome) -> None:
    down(bench, data())
    assert joined(bench, 3, join(3, 1000)) == join(3, 1000)
    bench.parent_sends(3, WELCOME.encode(answer))
    assert joined(bench, 4, join(4, 1000)) is None


def test_a_lost_join_costs_the_others_two_round_trips(embedded: Embedded) -> None:
    target, bench = embedded, Bench(embedded)
    bench.assist()
    down(bench, data(rtt_us=RTT_US))
    assert joined(bench, 3, join(3, 1000)) is not None
    target.advance(2 * RTT_US + 60_000)
    assert joined(bench, 4, join(4, 1000)) is None
    target.advance(10_000)
    assert joined(bench, 4, join(4, 1000)) == join(4, 1000)


def test_who_does_not_ask_for_it_is_left_alone(bench: Bench) -> None:
    plain: list[Request] = [report(port, 50_000, may_suppress=False) for port in (3, 4, 5)]
    REQUESTS.leaves_alone(bench, data(flags=0), data(), plain)


def test_a_restart_costs_a_report_or_two(bench: Bench) -> None:
    REQUESTS.recovers(bench, data(), lambda port: report(port, 50_000))


@pytest.mark.parametrize("request_of", [lambda port: report(port, 50_000), lambda port: lacks(port, 5, 2)])
def test_what_is_damaged_silences_nobody(bench: Bench, request_of: Callable[[int], Request]) -> None:
    down(bench, data())
    REQUESTS.refuses_damaged(bench, request_of(3), 13)
    assert up(bench, 4, request_of(4)) is not None
