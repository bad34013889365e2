"""The sender by its default rules, packet by packet: reports, marks, silence, and what is sent before any answer."""

import pytest

from hosts.endpoint import Datagram, Send
from hosts.parts.adaptive import AdaptiveWindow
from hosts.protocols.vlmcc.adaptive_control import HOLD_RTTS
from hosts.protocols.vlmcc.packets import (
    FLAG_BESIDE_OTHERS,
    FLAG_DRAINING,
    Ack,
    Report,
    encode_ack,
    encode_report,
    parse,
)
from hosts.wire.header import ECT_0
from tests.hosts.protocols.vlmcc.talk import OWN, RTT, Talk, address, steady


def test_what_a_later_report_says_has_arrived_is_not_lost() -> None:
    """Half of the reports are lost on their way."""
    talk = steady(rules="adaptive")
    before = talk.cwnd
    heard = talk.hear
    talk.hear = lambda data, source: None if parse(data).seq % 2 else heard(data, source)  # type: ignore[union-attr, method-assign]
    talk.run(2.0)
    assert talk.sender.control.lost_packets == 0
    assert talk.cwnd >= before


def test_a_loss_is_known_from_the_third_later_report_and_cuts_once_a_round_trip() -> None:
    talk = steady(rules="adaptive")
    talk.rtt = 0.15  # a queue, which is what makes it CUBIC's cut
    talk.run(0.5)
    first = talk.sender.seq
    cuts, lost = talk.sender.control.cuts, talk.sender.control.lost_packets
    talk.lose = lambda seq: seq in (first, first + 3)
    talk.run(1.5 * talk.rtt)
    assert talk.sender.control.lost_packets - lost == 2
    assert talk.sender.control.cuts - cuts == 1


def test_a_mark_counts_as_a_loss_and_data_may_be_marked() -> None:
    talk = steady(rules="adaptive")
    cuts, before = talk.sender.control.cuts, talk.cwnd
    talk.marked = 3
    talk.run(RTT / 4)
    assert talk.sender.control.cuts - cuts == 1
    assert talk.sender.control.lost_packets == 0
    assert talk.cwnd < before
    talk.now += 2.0
    effects = talk.sender.handle_timer(now=talk.now)
    assert {effect.ecn for effect in effects if isinstance(effect, Send)} == {ECT_0}


def test_acknowledgments_of_the_other_rules_are_not_heard() -> None:
    talk = steady(rules="adaptive")
    last = talk.sent[-1]
    talk.sender.receive(Datagram(encode_ack(Ack(7, 1, last.seq, last.send_time_us)), address(1), OWN), now=talk.now)
    assert talk.sender.counters["drop_unexpected"] == 1


def test_a_queue_on_the_way_back_does_not_shrink_the_window() -> None:
    talk = steady(rules="adaptive")
    before = talk.cwnd
    talk.rtt = talk.base = 3 * RTT
    talk.run(3.0)
    assert talk.cwnd >= before
    assert talk.sender.control.cuts == 0


@pytest.mark.parametrize("rules", ["adaptive", "paper"])
def test_no_initial_round_trip_time_floods_a_long_path(rules: str) -> None:
    """1 ms on a path of 200 ms: nothing goes out faster than it has been acknowledged."""
    talk = Talk(rules, initial_rtt_s=1e-3)
    talk.rtt = talk.base = 0.2
    talk.run(1.0)
    assert len(talk.sent) < 12
    talk.start(1)
    seen = len(talk.sent)
    talk.run(0.19)
    assert len(talk.sent) - seen <= 2
    talk.run(1.0)
    assert talk.sender.control.lost_packets == 0
    assert talk.sender.counters["leaders_lost"] == 0
    assert len(talk.sent) - seen <= 2**7


@pytest.mark.parametrize("rules", ["adaptive", "paper"])
def test_a_first_leader_that_never_answers_starts_nothing(rules: str) -> None:
    talk = Talk(rules, initial_rtt_s=1e-3)
    talk.alive = False
    talk.run(1.0)
    talk.start(1)
    talk.run(20.0)
    assert len(talk.sent) < 60


def test_without_a_leader_the_rate_holds_and_then_falls() -> None:
    talk = steady(rules="adaptive")
    talk.alive = False
    talk._due.clear()
    before = talk.cwnd
    talk.run(2 * RTT + 0.2)
    assert talk.sender.counters["leaders_lost"] == 1
    assert talk.cwnd == pytest.approx(before, rel=0.1)
    talk.run(3.1 * HOLD_RTTS * RTT)
    assert talk.cwnd == pytest.approx(before / 8, rel=0.3)


def test_it_says_when_it_drains_and_that_there_are_others() -> None:
    """A queue that stays whatever the window does."""
    talk = steady(rules="adaptive")
    talk.run(1.0)
    talk.rtt = 2 * RTT
    talk.run(3.0)
    assert any(packet.flags & FLAG_DRAINING for packet in talk.sent)
    assert talk.sender.control.window.beside_others  # type: ignore[union-attr]
    talk.run(1.0)
    assert talk.sent[-1].flags & FLAG_BESIDE_OTHERS


def test_a_challenger_brings_its_company() -> None:
    talk = steady(rules="adaptive")
    talk.challenge(2, 50.0, beside_others=True)
    assert talk.sender.control.window.beside_others  # type: ignore[union-attr]


def test_a_challenger_that_never_acknowledges_costs_a_second_and_is_not_heard_again() -> None:
    talk = steady(rules="adaptive")
    before, since = talk.sender.control.rate, talk.now
    talk.lose = lambda seq: talk.sent[-1].leader == 2
    talk.challenge(2, 0.001, rtt=4.0, base=4.0)
    assert talk.sender.control.rate < 1
    talk.run(1.1)
    assert talk.sender.counters["leaders_unproven"] == 1
    assert talk.sent[-1].leader == 0
    assert talk.sender.control.rate == pytest.approx(before, rel=0.1)
    talk.challenge(2, 0.001, rtt=4.0, base=4.0)
    assert talk.sender.counters["challenges_distrusted"] == 1
    talk.challenge(1, before, rtt=RTT, base=RTT)
    talk.run(0.5)
    assert talk.sent[-1].leader == 1
    assert talk.sender.control.rate > 0.8 * before
    assert talk.now < since + 2


def test_losses_that_links_do_not_have_tell_of_others_and_few_do_not() -> None:
    """Behind a queue of few packets no wait shows the TCP that fills it."""
    talk = steady(rules="adaptive")
    talk.lose = lambda seq: seq % 200 == 0
    talk.run(20.0)
    assert not talk.sender.control.window.beside_others  # type: ignore[union-attr]
    talk.lose = lambda seq: seq % 25 == 0
    talk.run(10.0)
    assert talk.sender.control.window.beside_others  # type: ignore[union-attr]


def test_a_mark_tells_of_others() -> None:
    talk = steady(rules="adaptive")
    talk.marked = 3
    talk.run(RTT / 4)
    assert talk.sender.control.window.beside_others  # type: ignore[union-attr]


def test_a_queue_that_is_suddenly_longer_than_the_path_leaves_the_path_its_length(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The mean round trip time lags behind: less the wait it would be nothing, and a drain would stop the session."""
    talk = steady(rules="adaptive")
    bases: list[float] = []

    def ended(_: AdaptiveWindow, waiting_s: float, rate: float, rtt_s: float, used: bool, now: float) -> None:
        bases.append(rtt_s - waiting_s)

    monkeypatch.setattr(AdaptiveWindow, "round_trip_ended", ended)
    talk.rtt = talk.base + 5 * RTT
    talk.run(15 * RTT)
    assert len(bases) > 1
    assert min(bases) > 0.99 * talk.base


def test_what_a_challenger_says_of_packets_from_before_it_led_proves_nothing() -> None:
    """Anybody may have heard them."""
    talk = steady(rules="adaptive")
    talk.lose = lambda seq: talk.sent[-1].leader == 2
    last = talk.sent[-1]
    talk.challenge(2, 0.001, rtt=4.0, base=4.0)
    talk.hear(encode_report(Report(7, 2, last.seq, last.send_time_us, 0, 1, 0)), address(2))
    talk.run(1.1)
    assert talk.sender.counters["leaders_unproven"] == 1


def test_a_first_leader_that_never_acknowledges_costs_two_seconds() -> None:
    talk = Talk(rules="adaptive")
    talk.lose = lambda seq: talk.sent[-1].leader == 1
    talk.run(1.0)
    talk.start(1)
    last = talk.sent[-1]
    talk.hear(encode_report(Report(7, 1, last.seq, last.send_time_us, 0, 1, 0)), address(1))
    talk.run(1.9)
    assert talk.sent[-1].leader == 1
    talk.run(0.6)
    assert talk.sender.counters["leaders_unproven"] == 1
    assert talk.sent[-1].leader == 0
    talk.start(2)
    talk.run(1.0)  # no link slows it down: ten round trips, each of twice the packets
    assert talk.sent[-1].leader == 2
    assert talk.sender.control.rate > 20


def test_one_that_is_far_leads_at_the_second_time() -> None:
    talk = Talk(rules="adaptive")
    talk.rtt = talk.base = 3.0
    talk.run(1.0)
    talk.start(1)
    talk.run(2.5)
    assert talk.sent[-1].leader == 0
    talk.start(1)
    talk.run(8.0)
    assert talk.sent[-1].leader == 1
    assert talk.sender.counters["leaders_unproven"] == 1
