"""The P4 program's filter of VLMCC's challenges: against the plain model packet for packet, and single rules."""

import random
from typing import Any

import pytest

from hosts.protocols.vlmcc.packets import (
    FLAG_ASSIST,
    FLAG_SETTLING,
    FLAG_SUPPRESSED,
    Challenge,
    Data,
    StartRequest,
    encode_challenge,
    encode_data,
    encode_leave,
    encode_start_request,
    parse,
)
from hosts.wire.farewell import Leave
from hosts.wire.reason import Reason
from tests.p4src.bench import suppression
from tests.p4src.bench.feedback import Bench
from tests.p4src.bench.runs import Modelled
from tests.p4src.bench.suppression import SENDER
from tests.p4src.bench.target import Embedded, Target
from tests.p4src.models.challenges import ChallengeModel

RTT_US = 200_000
LONG_RTT_US = 3_000_000
"""Longer than a test takes on a switch whose time is its own."""


def data(**changes: object) -> Data:
    """Of session 7; receiver 99 leads."""
    packet = Data(7, FLAG_ASSIST, 1, 99, 100_000, RTT_US, 0, 0, 50, b"x" * 50)
    return packet._replace(**changes)  # type: ignore[arg-type]


def challenge(receiver: int, rate: int, **changes: object) -> Challenge:
    """Of a receiver that would have a window of four."""
    made = Challenge(7, receiver, rate, 4000, LONG_RTT_US, 100_000, 1, 1000, may_suppress=True)
    return made._replace(**changes)  # type: ignore[arg-type]


CHALLENGES = suppression.Filter(encode_data, encode_challenge, parse)
down, up = CHALLENGES.down, CHALLENGES.up


class Run(suppression.Run[ChallengeModel]):
    """The same steps through a switch and the model."""

    WEIGHTS = (30, 55)
    SHORT_US = (100, 5000, 49_999, 1, 50_000)
    LONG_US = (1_000_000, 4_000_000, 5_000_000)

    def __init__(self, target: Target, chooser: random.Random) -> None:
        super().__init__(target, ChallengeModel(), chooser)
        self.seq = 0
        self.leader = 99
        self.settling = False

    def data(self) -> None:
        chooser = self.chooser
        if chooser.random() < 0.3:
            self.leader = chooser.choice((99, 98, 0))
            self.settling = self.leader != 0 and chooser.random() < 0.5
        elif chooser.random() < 0.2:
            self.settling = False
        self.seq += 1
        late = chooser.random() < 0.1
        flags = FLAG_ASSIST * (chooser.random() < 0.98) | FLAG_SETTLING * self.settling
        packet = data(
            seq=max(0, self.seq - late * chooser.randrange(1, 4)),
            leader=chooser.choice((99, 98, 0)) if late else self.leader,
            flags=flags,
        )
        self.histories.compare(lambda model, now: model.data(SENDER, packet, now), lambda: down(self.bench, packet))

    def feedback(self) -> None:
        chooser = self.chooser
        packet = challenge(
            chooser.randrange(1, 40),
            max(1, chooser.choice((1000, 50_000, 2**32 - 100)) + chooser.randrange(-20, 20)),
            rtt_us=chooser.choice((1, 50_000, RTT_US, 3_000_000, 2**32 - 1)),
            may_suppress=chooser.random() < 0.98,
            session=chooser.choice((7, 7, 7, 7, 7, 8)),
        )
        port = chooser.randrange(2, 9)
        self.histories.compare(
            lambda model, now: model.challenge(SENDER, packet, now), lambda: up(self.bench, port, packet)
        )


MODELLED = Modelled(Run, {"lower", "suppressed", "no_slot"}, 3, 300)


def test_of_many_at_once_only_worse_ones_pass(bench: Bench) -> None:
    assert down(bench, data()).flags == FLAG_ASSIST | FLAG_SUPPRESSED
    first = challenge(3, 50_000)
    assert up(bench, 3, first) == first
    for port, rate in ((4, 50_000), (5, 60_000), (6, 50_001)):
        assert up(bench, port, challenge(port, rate)) is None
    worse = challenge(7, 49_999)
    assert up(bench, 7, worse) == worse
    assert bench.outcomes() == {"lower": 2, "suppressed": 3}


def test_a_new_leader_clears_the_filter_and_so_does_the_end_of_its_settling(bench: Bench) -> None:
    down(bench, data())
    assert up(bench, 3, challenge(3, 50_000)) is not None
    down(bench, data(seq=2))
    assert up(bench, 4, challenge(4, 60_000)) is None  # nothing new
    down(bench, data(seq=3, leader=98, flags=FLAG_ASSIST | FLAG_SETTLING))
    assert up(bench, 4, challenge(4, 60_000)) is not None
    assert up(bench, 5, challenge(5, 60_000)) is None
    down(bench, data(seq=4, leader=98))
    assert up(bench, 5, challenge(5, 70_000)) is not None
    down(bench, data(seq=2))  # has been overtaken
    assert up(bench, 6, challenge(6, 70_000)) is None


def test_a_challenge_may_be_lost_so_another_passes_after_a_round_trip(embedded: Embedded) -> None:
    target, bench = embedded, Bench(embedded)
    bench.assist()
    for leader in (99, 0):  # also while there is none
        down(bench, data(seq=leader == 0, leader=leader))
        assert up(bench, 3, challenge(3, 50_000, rtt_us=RTT_US)) is not None
        target.advance(RTT_US - 1)
        assert up(bench, 4, challenge(4, 50_000, rtt_us=RTT_US)) is None
        target.advance(1)
        assert up(bench, 5, challenge(5, 80_000, rtt_us=RTT_US)) is not None
        assert up(bench, 6, challenge(6, 80_000, rtt_us=RTT_US)) is None


def test_while_a_leader_settles_time_opens_nothing(embedded: Embedded) -> None:
    target, bench = embedded, Bench(embedded)
    bench.assist()
    down(bench, data(flags=FLAG_ASSIST | FLAG_SETTLING))
    assert up(bench, 3, challenge(3, 50_000, rtt_us=RTT_US)) is not None
    target.advance(3 * RTT_US)
    assert up(bench, 4, challenge(4, 50_000, rtt_us=RTT_US)) is None
    assert up(bench, 5, challenge(5, 40_000, rtt_us=RTT_US)) is not None


def test_nobody_makes_others_wait_for_longer_than_the_longest_round_trip(embedded: Embedded) -> None:
    target, bench = embedded, Bench(embedded)
    bench.assist()
    down(bench, data())
    assert up(bench, 3, challenge(3, 1, rtt_us=2**32 - 1)) is not None
    target.advance(3_900_000)
    down(bench, data(seq=2))
    assert up(bench, 4, challenge(4, 50_000)) is None
    target.advance(100_000)
    assert up(bench, 4, challenge(4, 50_000)) is not None


def test_start_requests_and_leaves_pass_and_silence_nobody(bench: Bench) -> None:
    down(bench, data())
    for port in (3, 4, 5):
        for packet in (
            encode_start_request(StartRequest(7, port, 1)),
            encode_leave(Leave(7, port, Reason.INTERRUPTED)),
        ):
            assert bench.up(port, packet) == [packet]
    assert bench.outcomes() == {}
    assert up(bench, 6, challenge(6, 50_000)) is not None


def test_who_does_not_ask_for_it_is_left_alone(bench: Bench) -> None:
    plain = [challenge(port, 50_000, may_suppress=False) for port in (3, 4, 5)]
    CHALLENGES.leaves_alone(bench, data(flags=0), data(), plain)


def test_a_switch_that_is_not_told_to_help_marks_nothing(target: Target) -> None:
    bench = Bench(target)
    assert down(bench, data()) == data()
    for port in (3, 4):
        assert up(bench, port, challenge(port, 50_000)) is not None


def test_a_restart_costs_a_challenge_or_two(bench: Bench) -> None:
    CHALLENGES.recovers(bench, data(), lambda port: challenge(port, 50_000))


def test_a_damaged_challenge_silences_nobody(bench: Bench) -> None:
    down(bench, data())
    CHALLENGES.refuses_damaged(bench, challenge(3, 50_000), 13)
    assert up(bench, 4, challenge(4, 60_000)) is not None


@pytest.mark.parametrize("field", ["rate", "rtt_us"])
def test_a_malformed_challenge_passes_and_silences_nobody(bench: Bench, field: str) -> None:
    """The sender refuses and counts it."""
    zero: dict[str, Any] = {field: 0}
    down(bench, data())
    assert len(bench.up(3, encode_challenge(challenge(3, 50_000)._replace(**zero)))) == 1
    assert bench.outcomes() == {"malformed": 1}
    assert up(bench, 4, challenge(4, 60_000)) is not None
