"""The sender, packet by packet: a leader's acknowledgments, its silence, challenges good and bad."""

import pytest

from hosts.endpoint import DatagramRun, PeerDropped, SendRun, SessionEnded
from hosts.protocols.vlmcc.packets import (
    FLAG_ASSIST,
    FLAG_END,
    FLAG_SETTLING,
    FLAG_SLOW_START,
    Ack,
    Report,
    Start,
    encode_ack,
    encode_leave,
    encode_report,
)
from hosts.wire.farewell import Abort, Leave
from hosts.wire.reason import Reason
from tests.hosts.protocols.vlmcc.talk import OWN, RTT, Talk, address, steady


def test_without_a_receiver_there_is_a_packet_per_initial_rtt() -> None:
    talk = Talk()
    talk.run(5.0)
    assert len(talk.sent) == pytest.approx(10, abs=1)
    assert {packet.leader for packet in talk.sent} == {0}


def test_the_first_to_ask_leads_and_everybody_is_answered() -> None:
    talk = Talk()
    talk.run(1.0)
    talk.start(1)
    talk.start(2)
    first, second = (packet for packet in talk.other if isinstance(packet, Start))
    assert (first.receiver, first.leader, first.time_comp_us, first.time_us) == (1, 1, 5_000_000, 101_000_000)
    assert (second.receiver, second.leader) == (2, 1)
    talk.run(0.3)
    assert talk.sent[-1].leader == 1
    assert talk.sent[-1].flags & FLAG_SLOW_START
    assert talk.sent[-1].receivers == 2
    assert talk.sender.control.smoothed_rtt == pytest.approx(RTT, rel=1e-3)


def test_alone_the_window_grows_by_a_packet_a_round_trip_and_fills_it() -> None:
    talk = steady()
    before, seen, since = talk.cwnd, len(talk.sent), talk.now
    talk.run(2.0)
    assert talk.cwnd - before == pytest.approx(2.0 / RTT, abs=2)  # no queue: rtt is base_rtt
    assert (len(talk.sent) - seen) / (talk.now - since) == pytest.approx((before + talk.cwnd) / 2 / RTT, rel=0.1)
    assert talk.sent[-1].rate / 1000 == pytest.approx(talk.cwnd / RTT, rel=0.1)


def test_no_burst_is_longer_than_two() -> None:
    talk = steady()
    talk.challenge(2, 100.0)  # all under way counts as acknowledged: a whole window may go
    talk.run(1.0)
    for first, third in zip(talk.times[-200:], talk.times[-198:], strict=False):
        assert third > first


def test_a_queue_shrinks_the_window_until_vegas_is_content() -> None:
    talk = steady()
    talk.rtt = 0.2
    talk.run(30)
    assert 2 <= talk.cwnd * (1 - RTT / 0.2) <= 4 + 0.5


def test_a_loss_halves_the_window_once_a_round_trip() -> None:
    talk = steady()
    before = talk.cwnd
    first = talk.sender.seq
    talk.lose = lambda seq: seq in (first, first + 3, first + 5)
    talk.run(0.35)
    assert talk.sender.control.lost_packets == 3
    assert talk.sender.control.cuts == 1
    assert talk.cwnd == pytest.approx(before / 2 + 2, abs=2)


def test_a_silent_leader_is_given_up_and_the_rate_holds_and_grows() -> None:
    """2.4: more than a window without an acknowledgment; then one packet more a rtt."""
    talk = steady()
    talk.alive = False
    talk._due.clear()
    before = talk.cwnd
    talk.run(1.0)
    assert talk.sender.counters["leaders_lost"] == 1
    assert talk.sent[-1].leader == 0
    seen, cwnd = len(talk.sent), talk.cwnd
    assert cwnd >= before
    talk.run(2.0)
    assert talk.cwnd - cwnd == pytest.approx(2.0 / RTT, abs=2)
    assert (len(talk.sent) - seen) / 2.0 == pytest.approx((cwnd + talk.cwnd) / 2 / RTT, rel=0.1)
    assert talk.sender.control.cuts == 0
    talk.challenge(2, 80.0)
    talk.alive = True
    assert talk.sender.election.leader is not None
    assert talk.cwnd == pytest.approx(80 * 0.2)
    talk.run(1.0)
    assert talk.sent[-1].leader == 2


def test_a_packet_that_is_late_is_not_lost() -> None:
    """One packet more in the window, on a slow link: its round trip is longer than four deviations allow for."""
    talk = steady()
    before, cuts = talk.cwnd, talk.sender.control.cuts
    talk.rtt = 3 * RTT
    talk.run(0.5)
    assert talk.sender.control.lost_packets == 0
    assert talk.sender.control.cuts == cuts
    assert talk.cwnd >= before - 3
    first = talk.sender.seq
    talk.lose = lambda seq: seq == first
    talk.run(2.0)
    assert talk.sender.control.lost_packets == 1


def test_a_new_leader_has_its_settling_time_to_be_heard() -> None:
    """Its first acknowledgment waits behind the queue that made it challenge."""
    talk = steady()
    talk.rtt = 0.55
    talk.challenge(2, 40.0, rtt=0.15, base=0.1)
    talk.run(1.0)
    assert talk.sender.counters["leaders_lost"] == 0
    assert talk.sent[-1].leader == 2


def test_a_leader_whose_acknowledgments_come_late_leads_again() -> None:
    talk = steady()
    talk.alive = False
    talk._due.clear()
    named = talk.sent[-1]
    talk.run(1.0)
    assert talk.sender.election.leader is None
    talk.hear(encode_ack(Ack(7, 1, named.seq, named.send_time_us)), address(1))
    assert talk.sender.counters["leaders_reinstated"] == 1
    talk.alive = True
    talk.run(0.5)
    assert talk.sent[-1].leader == 1


def test_two_losses_at_the_smallest_window_are_not_taken_for_the_leaders_death() -> None:
    talk = steady()
    talk.sender.control.window.continue_from(2)
    talk.rtt = 0.5  # keeps it small
    talk.run(10)
    first = talk.sender.seq
    losses, changes = talk.sender.control.lost_packets, talk.sender.counters["leaders_lost"]
    talk.lose = lambda seq: seq in (first, first + 1)
    talk.run(5)
    assert talk.sender.counters["leaders_lost"] == changes
    assert talk.sender.control.lost_packets == losses + 2


def test_a_challenge_takes_the_lead_with_its_window_and_its_base_rtt() -> None:
    talk = steady()
    talk.challenge(2, 50.0, rtt=0.3, base=0.25)
    control = talk.sender.control
    assert talk.cwnd == pytest.approx(15)
    assert len(control.transit) <= 2  # "assume all packets sent before ... have been acknowledged"
    assert (control.smoothed_rtt, control.base_rtt) == (0.3, 0.25)
    talk.rtt = 0.3
    seen = len(talk.sent)
    talk.run(0.5)
    assert {packet.leader for packet in talk.sent[seen:]} == {2}
    assert control.lost_packets == 0
    assert talk.sender.counters["drop_not_leader"] > 0  # of the old leader: packets that named it


def test_challenges_are_ignored_while_a_new_leader_settles() -> None:
    talk = steady(settling_rtts=4.0)
    talk.start(3)
    assert not talk.sent[-1].flags & FLAG_SETTLING
    talk.challenge(2, 100.0, rtt=0.1, base=0.1)
    talk.run(0.3)
    talk.challenge(3, 20.0)
    assert talk.sender.counters["challenges_while_settling"] == 1
    assert talk.sent[-1].flags & FLAG_SETTLING
    talk.run(0.2)
    assert not talk.sent[-1].flags & FLAG_SETTLING
    talk.challenge(3, 20.0)
    assert talk.sender.counters["challenges_accepted"] == 2
    talk.run(0.1)
    assert talk.sent[-1].leader == 3


def test_a_challenge_that_is_true_no_more_changes_nothing() -> None:
    talk = steady()
    talk.challenge(2, talk.sender.control.rate - 1.0 / 0.2)  # less than n_extra below
    assert talk.sender.counters["challenges_outdated"] == 1
    assert talk.sent[-1].leader == 1


def test_a_challenger_below_the_least_rate_is_refused_and_sent_away() -> None:
    talk = steady(least_rate_bps=500e3)
    talk.challenge(2, 30.0)
    assert Abort(7, Reason.TOO_SLOW) in talk.other
    assert any(isinstance(effect, PeerDropped) for effect in talk.other)
    assert talk.sent[-1].leader == 1
    assert talk.sender.counters["challenges_refused"] == 1


def test_a_leader_below_the_least_rate_is_sent_away_after_a_while() -> None:
    talk = steady(least_rate_bps=500e3, least_rate_rounds=5)
    packets = 500e3 / 8 / talk.sender.options.packet_bytes
    talk.rtt = 1.0
    talk.run(20)
    assert Abort(7, Reason.TOO_SLOW) in talk.other
    assert talk.sent[-1].leader != 1
    assert talk.sender.control.rate >= packets * 0.99


def test_a_leader_that_leaves_is_replaced_at_once() -> None:
    talk = steady()
    talk.hear(encode_leave(Leave(7, 1, Reason.INTERRUPTED)), address(1))
    talk.run(0.1)
    assert talk.sent[-1].leader == 0
    assert talk.sender.control.rate >= 19 / RTT


def test_when_nobody_is_left_it_begins_anew() -> None:
    talk = steady(start_interval_s=2.0)
    talk.alive = False
    talk._due.clear()
    talk.run(20)
    assert len(talk.sender.members) == 0
    seen = len(talk.sent)
    talk.run(5)
    assert len(talk.sent) - seen == pytest.approx(10, abs=1)


def test_an_application_with_little_to_say_does_not_open_the_window() -> None:
    talk = steady()
    talk.greedy = False
    talk.run(3)
    for _ in range(100):
        talk.take(talk.sender.write(bytes(1400), now=talk.now))
        talk.run(0.05)
    assert talk.cwnd <= 2 + talk.sender.options.beta + 1  # two packets a rtt


def test_with_assistance_data_say_so() -> None:
    assert all(packet.flags & FLAG_ASSIST for packet in steady(assist="switch").sent)
    assert not any(packet.flags & FLAG_ASSIST for packet in steady().sent)


def test_a_limited_rate() -> None:
    talk = steady(rate_limit_bps=400e3)
    seen = len(talk.sent)
    talk.run(5)
    assert (len(talk.sent) - seen) * talk.sender.options.packet_bytes * 8 / 5 == pytest.approx(400e3, rel=0.03)


def test_the_end_is_said_more_than_once() -> None:
    talk = steady()
    talk.take(talk.sender.finish(now=talk.now))
    talk.run(5.0)
    assert talk.sender.closed
    assert sum(bool(packet.flags & FLAG_END) for packet in talk.sent) == 3
    assert talk.other[-1] == SessionEnded(True, "")
    assert talk.sender.wake_at is None


@pytest.mark.parametrize(
    ("fields", "counter"),
    [
        ({"session": 8}, "drop_other_session"),
        ({"receiver": 3}, "drop_stranger"),
        ({"seq": 2**31}, "drop_forged"),
        ({"time_comp_us": 2**60}, "drop_forged"),
        ({"time_comp_us": 5}, "drop_forged"),
        ({"rtt_us": 2**32 - 1}, "drop_forged"),
        ({"base_rtt_us": 1_000_000}, "drop_forged"),
        ({"rate": 0}, "drop_value"),
    ],
)
def test_a_hostile_challenge_is_counted_and_dropped(fields: dict[str, int], counter: str) -> None:
    talk = steady()
    talk.run(0.001)
    before = talk.cwnd
    talk.challenge(2, 10.0, **fields)
    assert talk.sender.counters[counter] == 1
    assert talk.sent[-1].leader == 1
    assert talk.cwnd == before


def test_hostile_acknowledgments_are_dropped() -> None:
    talk = steady()
    last = talk.sent[-1]
    rtt = talk.sender.control.smoothed_rtt
    for ack, source in (
        (Ack(7, 1, last.seq, last.send_time_us), address(9)),  # in the leader's name
        (Ack(7, 1, last.seq, 2**60), address(1)),  # from the future
        (Ack(7, 1, last.seq + 1000, last.send_time_us), address(1)),  # of what was never sent
    ):
        talk.now += 1e-6
        talk.hear(encode_ack(ack), source)
    assert talk.sender.counters["drop_forged"] == 3
    talk.hear(encode_ack(Ack(7, 2, last.seq, last.send_time_us)), address(2))
    assert talk.sender.counters["drop_not_leader"] == 1
    assert talk.sender.control.smoothed_rtt == rtt


def test_what_reports_let_go_that_came_together_leaves_as_a_run() -> None:
    """Where the runtime takes runs; with one head, and counted packet by packet."""
    talk = steady(rules="adaptive")
    sender = talk.sender
    sender.run_bytes = 65_507
    seq = sender.seq
    talk.now += 0.05
    last = talk.sent[-1]
    reports = b"".join(
        encode_report(Report(7, 1, number, last.send_time_us, 0, 2**32 - 1, 0)) for number in range(seq - 6, seq)
    )
    run = DatagramRun(reports, len(reports) // 6, address(1), OWN)
    runs = [one for one in sender.receive_run(run, now=talk.now) if isinstance(one, SendRun)]
    assert runs[0].packets > 2
    assert sender.seq - seq == sum(one.packets for one in runs)
    assert len(sender.control.transit) <= sender.control.window.cwnd
    assert sender.counters["acks"] >= 6
