"""What receivers' reports make of the rate, and of the CLR."""

import pytest

from hosts.endpoint import CongestionSignal, PeerDropped
from hosts.protocols.tfmcc.packets import FLAG_ECHO, FLAG_LEAVE, FLAG_SLOWSTART, packet_bytes
from hosts.protocols.tfmcc.rate_float import encode_rate, encode_rtt
from hosts.wire.farewell import Abort
from tests.hosts.protocols.tfmcc.talk import Talk, in_steady_state


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
