"""What leaders, challengers and senders may claim: no rate beyond what there is, no memory without bound, no error."""

from itertools import pairwise

import pytest

from hosts.parts.realtime import MOST_UNSENT
from hosts.protocols.vlmcc.control import Clocking
from hosts.protocols.vlmcc.packets import Ack, Challenge, encode_ack, encode_challenge, parse
from hosts.protocols.vlmcc.sender import LEAST_RTT_S
from tests.hosts.protocols.vlmcc.talk import RTT, address, steady


def test_no_challenge_raises_the_rate_however_short_its_round_trip() -> None:
    talk = steady()
    talk.greedy = False
    talk.alive = False
    talk.run(20 * RTT)  # the leader is lost
    talk.sender._lose_leader(talk.now)
    before = talk.sender.control.rate
    assert talk.sender.control.clocking is Clocking.LOST
    talk.challenge(2, before / 2, rtt=1e-6, base=1e-6, cwnd=10_000)
    assert talk.sender.election.leader is not None
    assert talk.sender.election.leader.receiver == 2
    assert talk.sender.control.rate <= before * (1 + 1e-9)


def test_a_leader_that_claims_no_round_trip_at_all_makes_no_flood() -> None:
    talk = steady()
    talk.alive = talk.greedy = False
    control = talk.sender.control
    for _ in range(300):
        last = talk.sent[-1]
        talk.hear(encode_ack(Ack(7, 1, last.seq, int(talk.now * 1e6) - 1)), address(1))
        talk.now += 0.001
    assert control.rate <= control.window.cwnd / (0.999 * LEAST_RTT_S)
    control.window.continue_from(10_000)
    assert talk.sender.send_space <= MOST_UNSENT


def test_a_leader_that_claims_a_round_trip_of_a_minute_does_not_silence_the_sender() -> None:
    talk = steady()
    talk.alive = False
    for _ in range(100):
        talk.sender.control.window.continue_from(2)
        late = Ack(7, 1, talk.sent[-1].seq, int((talk.now - 59) * 1e6))
        talk.hear(encode_ack(late), address(1))
        talk.run(0.1)
    talk.run(100.0)
    assert max(after - before for before, after in pairwise(talk.times)) < talk.sender.options.silence_s


def test_a_leader_that_repeats_an_old_acknowledgment_is_gone() -> None:
    talk = steady()
    talk.alive = False
    for _ in range(2000):
        talk.run(RTT / 20)
        talk.hear(encode_ack(Ack(7, 1, 0, int((talk.now - RTT) * 1e6))), address(1))
        assert len(talk.sender.control._undecided) < 1000
    assert talk.sender.counters["leaders_lost"] > 0


@pytest.mark.parametrize("late_s", [0.0, 0.5])
def test_a_sender_s_clock_may_show_anything(late_s: float) -> None:
    most = 2**64 - 1
    time_us = most + int(late_s * 1e6)
    ack = parse(encode_ack(Ack(7, 1, 2, time_us)))
    challenge = parse(encode_challenge(Challenge(7, 1, 1, 1, 1, 1, 2, time_us)))
    assert isinstance(ack, Ack)
    assert isinstance(challenge, Challenge)
    assert ack.time_comp_us == challenge.time_comp_us == most
