"""A sender's packets, when they leave, and what it does not believe."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hosts.endpoint import Address, Datagram, SendRun, SessionEnded
from hosts.parts.realtime import MOST_UNSENT
from hosts.protocols.tfmcc.packets import FLAG_END, FLAG_SLOWSTART, Report, encode_report, packet_bytes
from hosts.protocols.tfmcc.rate_float import NO_RATE, decode_rate
from hosts.protocols.tfmcc.sender import RUNS_TOGETHER
from tests.hosts.protocols.tfmcc.talk import OWN, Talk, in_steady_state
from tests.hosts.protocols.tfmcc.test_packets import reports


def test_it_begins_with_a_packet_per_maximum_rtt_and_says_what_receivers_need() -> None:
    talk = Talk()
    talk.run(5.0)
    assert len(talk.sent) == pytest.approx(5 / 0.512, abs=2)
    first = talk.sent[0]
    assert first.flags & FLAG_SLOWSTART
    assert (first.seq, first.round, first.clr, first.suppression) == (0, 1, 0, NO_RATE)
    assert [packet.seq for packet in talk.sent] == list(range(len(talk.sent)))


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
