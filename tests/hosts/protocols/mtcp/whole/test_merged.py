"""A parent whose children's feedback a switch merges: the same packets with and without it."""

import heapq
import random
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial

import pytest

from hosts.endpoint import Address, CongestionSignal, Effect, Send
from hosts.parts.sack import ReceivedSet
from hosts.parts.vegas import VegasOptions, VegasWindow
from hosts.protocols.mtcp.agent import Agent
from hosts.protocols.mtcp.children import Child
from hosts.protocols.mtcp.options import MtcpOptions
from hosts.protocols.mtcp.packets import SACK_BITS, Feedback, Repair, parse
from hosts.protocols.mtcp.paper_control import PaperControl
from hosts.protocols.mtcp.wire import UNLIMITED
from tests.hosts.protocols.mtcp.parent import make_agent, multicast
from tests.p4src.models.mtcp.aggregation import AggregationModel

OPTIONS = MtcpOptions(rules="paper")
PARENT = "10.0.0.1"
SWITCH_S = 0.001
"""From the switch to the parent."""
START = 100.0
GAP_S = 0.004
"""Between data packets."""


@cache
def chance(of: str) -> float:
    """0 to 1, always the same of the same."""
    return random.Random(of).random()


@dataclass
class Leaf:
    """A child: what it has, and the feedback that it owes (3.1)."""

    number: int
    delay_s: float  # between switch and child, either way
    record: Child
    has: ReceivedSet = field(default_factory=ReceivedSet)
    echo: float = 0.0
    echo_at: float = 0.0
    repair_echo_us: int = 0
    waiting: int = 0
    ack_at: float | None = None
    free_at: float = 0.0  # when the last packet left its queue


class RecordingWindow(VegasWindow):
    """Keeps what it was told of queues, one number a round trip."""

    def __init__(self, options: VegasOptions, maximum: float) -> None:
        super().__init__(options, maximum)
        self.backlogs: list[float] = []

    def round_trip_ended(self, backlog: float, used: bool) -> None:
        self.backlogs.append(backlog)
        super().round_trip_ended(backlog, used)


class Trial:
    """Data at fixed times from a parent over one switch to children, with fixed losses of data and repairs.

    What the children say goes through a model of the switch, or past it; all else is the same.
    """

    def __init__(
        self,
        merge: bool,
        delays_s: list[float],
        lost: Callable[[int, int, int], bool],
        skew: float = 0.0,
        queue_s: Callable[[int, float], float] = lambda child, at: 0.0,
    ) -> None:
        """`lost(child, seq, copy)`: whether a child loses a packet (copy 0) or a repair of it (1, 2, ...). The switch's
        clock began 12,345 s before the parent's and gains `skew` seconds a second on it. `queue_s(child, at)`: how long
        data waits for a child that comes to its queue then; nothing overtakes.
        """
        self.skew = skew
        self.queue_s = queue_s
        self.merge = merge
        self.lost = lost
        self.model = AggregationModel()
        self.agent: Agent = make_agent(OPTIONS, own_clock=True)
        self.window = RecordingWindow(OPTIONS.vegas, SACK_BITS)
        control = self.agent.congestion.control
        assert isinstance(control, PaperControl)
        control.window = control._vegas = self.window
        self.leaves: list[Leaf] = []
        for number, delay in enumerate(delays_s):
            record = self.agent.add_child(Address(f"10.0.1.{number}", 1), 10**7, START)
            record.merge = merge
            self.leaves.append(Leaf(number, delay, record))
        self.events: list[tuple[float, int, Callable[[], None]]] = []
        self.now = START
        self._serial = 0
        self.arrived = 0
        self.cwnds: list[float] = []
        self.repairs: list[tuple[int, int]] = []
        self.signals: list[str] = []
        self.copies: dict[tuple[int, int], int] = {}

    def run(self, packets: int) -> "Trial":
        for index in range(packets):
            self._later(START + index * GAP_S, self.send_data)
        for index in range(10):
            self._later(START + 0.001 + index * 0.5, self.send_probes)
        end = START + packets * GAP_S + 3.0
        while self.events and self.events[0][0] <= end:
            wake = self.agent.wake_at
            if wake is not None and wake <= self.events[0][0]:
                self.now = max(self.now, wake)
                self.take(self.agent.handle_timer(self.now))
                continue
            self.now, _, action = heapq.heappop(self.events)
            action()
        return self

    def _later(self, time: float, action: Callable[[], None]) -> None:
        self._serial += 1
        heapq.heappush(self.events, (time, self._serial, action))

    def send_data(self) -> None:
        seq = self.agent.end
        multicast(self.agent, self.now, self.now)
        self.model.data(7, PARENT, seq, self.us(SWITCH_S))
        self.cwnds.append(self.agent.congestion.window.cwnd)
        for leaf in self.leaves:
            if not self.lost(leaf.number, seq, 0):
                at = self.now + SWITCH_S
                leaf.free_at = max(leaf.free_at, at + self.queue_s(leaf.number, at))
                self._later(leaf.free_at + leaf.delay_s, partial(self.deliver, leaf, seq, self.now))

    def send_probes(self) -> None:
        for leaf in self.leaves:
            rtt = 2 * (SWITCH_S + leaf.delay_s)
            self.model.probe(7, PARENT, leaf.number + 2, round(rtt * 1e6))
            self.agent.delays.probe_answered(leaf.record, round((self.now - rtt) * 1e6), self.now)

    def us(self, later_s: float = 0.0) -> int:
        now = self.now + later_s
        return round((now + (now - START) * self.skew + 12_345) * 1e6)

    def deliver(self, leaf: Leaf, seq: int, sent: float) -> None:
        gap = seq > leaf.has.end
        leaf.has.add(seq)
        leaf.echo, leaf.echo_at = sent, self.now
        leaf.waiting += 1
        if gap or leaf.waiting == 2:
            self.report(leaf)
        elif leaf.ack_at is None:
            leaf.ack_at = self.now + 0.02
            self._later(leaf.ack_at, lambda: self.report(leaf) if leaf.ack_at == self.now else None)

    def repair(self, leaf: Leaf, packet: Repair) -> None:
        leaf.has.add(packet.seq)
        leaf.repair_echo_us = packet.repair_time_us
        self.report(leaf)

    def report(self, leaf: Leaf) -> None:
        leaf.waiting, leaf.ack_at = 0, None
        has = leaf.has
        mine = 1 << leaf.number
        packet = Feedback(
            7,
            has.has_gap,
            has.cumulative,
            round(leaf.echo * 1e6),
            round((self.now - leaf.echo_at) * 1e6),
            leaf.repair_echo_us,
            UNLIMITED,
            0,
            10**6,
            has.sack,
            self.merge,
            leaf.number,
            mine,
            mine,
        )
        self._later(self.now + leaf.delay_s, lambda: self.switch(leaf, packet))

    def switch(self, leaf: Leaf, packet: Feedback) -> None:
        left = self.model.feedback(PARENT, leaf.number + 2, packet, self.us())
        if left is not None:
            self._later(self.now + SWITCH_S, lambda: self.hear(leaf.record, left))

    def hear(self, child: Child, packet: Feedback) -> None:
        self.arrived += 1
        self.agent.congestion.used = True
        if packet.merged:
            self.take(self.agent.feedback(child, packet, self.now, self.now))
        else:
            self.take(self.agent.feedback(child, packet, self.now))

    def take(self, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, CongestionSignal):
                self.signals.append(effect.kind)
            elif isinstance(effect, Send):
                packet = parse(effect.data)
                assert isinstance(packet, Repair)
                leaf = next(leaf for leaf in self.leaves if leaf.record.address == effect.destination)
                self.repairs.append((leaf.number, packet.seq))
                self._later(self.now + SWITCH_S, partial(self.pass_down, leaf, packet))

    def pass_down(self, to: Leaf, packet: Repair) -> None:
        """A repair comes to the switch, and leaves to its child and to those who asked for it."""
        ports = {to.number + 2}
        if packet.merge:
            ports |= self.model.repair(7, PARENT, to.number + 2, packet.seq, packet.repair_time_us)
        for leaf in self.leaves:
            if leaf.number + 2 in ports:
                key = (leaf.number, packet.seq)
                self.copies[key] = self.copies.get(key, 0) + 1
                if not self.lost(leaf.number, packet.seq, self.copies[key]):
                    self._later(self.now + leaf.delay_s, partial(self.repair, leaf, packet))


def compare(delays_s: list[float], lost: Callable[[int, int, int], bool], packets: int = 600) -> tuple[Trial, Trial]:
    return tuple(Trial(merge, delays_s, lost).run(packets) for merge in (False, True))  # type: ignore[return-value]


DELAYS_S = [0.005, 0.011, 0.017, 0.03, 0.031, 0.02, 0.008]


def test_without_loss_windows_are_the_same_and_feedback_is_a_part() -> None:
    plain, with_merging = compare(DELAYS_S, lambda child, seq, copy: False)
    assert plain.cwnds[-1] > 20
    for ours, theirs in zip(with_merging.cwnds, plain.cwnds, strict=True):
        assert abs(ours - theirs) <= 2 + 0.05 * theirs
    assert with_merging.repairs == plain.repairs == []
    assert with_merging.signals == plain.signals == []
    assert plain.arrived >= 0.5 * len(DELAYS_S) * 600
    assert with_merging.arrived <= 1.0 * 600


@pytest.mark.parametrize("skew", [0.01, -0.01])
def test_the_switchs_clock_does_not_matter(skew: float) -> None:
    """As much drift as 100 ppm give in four minutes: 24 ms, more than any queue that Vegas tolerates here."""

    def nothing_lost(child: int, seq: int, copy: int) -> bool:
        return False

    exact = Trial(True, DELAYS_S, nothing_lost).run(600)
    drifting = Trial(True, DELAYS_S, nothing_lost, skew).run(600)
    assert drifting.signals == []
    assert drifting.cwnds[-1] == pytest.approx(exact.cwnds[-1], rel=0.05)
    rtos = [trial.agent.delays.rto_rtd for trial in (exact, drifting)]
    assert rtos[1] == pytest.approx(rtos[0], abs=0.005)


@pytest.mark.parametrize("seed", range(6))
def test_with_independent_loss_the_same_repairs_are_sent(seed: int) -> None:
    def lost(child: int, seq: int, copy: int) -> bool:
        return copy == 0 and seq < 590 and child in (1, 4) and chance(f"{seed}/{child}/{seq}") < 0.02

    plain, with_merging = compare(DELAYS_S, lost)
    assert sorted(with_merging.repairs) == sorted(plain.repairs)
    assert len(plain.repairs) > 10
    assert with_merging.signals == plain.signals == []
    for ours, theirs in zip(with_merging.cwnds, plain.cwnds, strict=True):
        assert abs(ours - theirs) <= 2 + 0.1 * theirs
    assert with_merging.arrived < 0.5 * plain.arrived


@pytest.mark.parametrize("own_s", [0.001, 0.004])
def test_queues_are_the_same_to_vegas(own_s: float) -> None:
    """Behind one bottleneck whose queue comes and goes, each child with up to `own_s` of its own; packets are lost for
    all. Feedback that passes is a part of a child's, and the least delay of a part is more than the least of all.
    """

    def mean_backlog(merge: bool, seed: int) -> float:
        noise = random.Random(f"noise {seed}")
        own = [[noise.uniform(0.0, own_s) for _ in range(64)] for _ in DELAYS_S]
        trial = Trial(
            merge,
            DELAYS_S,
            lambda child, seq, copy: copy == 0 and seq < 1990 and chance(f"{seed}/{seq}") < 0.03,
            queue_s=lambda child, at: 0.02 + 0.04 * (at % 1.7) / 1.7 + own[child][int(at * 37) % 64],
        ).run(2000)
        assert trial.signals == []
        return statistics.mean(trial.window.backlogs[5:])

    plain, with_merging = (statistics.mean(mean_backlog(merge, seed) for seed in range(4)) for merge in (False, True))
    assert with_merging == pytest.approx(plain, rel=0.05)


def test_a_packet_that_all_lose_is_repaired_once_for_those_who_ask_in_time() -> None:
    delays_s = [0.02 + 0.0001 * number for number in range(7)]
    plain, with_merging = compare(delays_s, lambda child, seq, copy: copy == 0 and seq % 50 == 20)
    assert len(plain.repairs) == 12 * len(delays_s)
    assert len(with_merging.repairs) == 12
    for trial in (plain, with_merging):
        assert all(leaf.has.cumulative == 600 for leaf in trial.leaves)


def test_a_child_that_hears_nothing_more_times_out_in_both() -> None:
    plain, with_merging = compare(DELAYS_S, lambda child, seq, copy: child == 2 and seq >= 300)
    assert plain.signals[0] == with_merging.signals[0] == "timeout"
    # Only that child is repaired, with and without.
    assert {child for child, _ in plain.repairs} == {child for child, _ in with_merging.repairs} == {2}


def test_a_tail_that_all_lose_is_repaired_for_all_at_once() -> None:
    plain, with_merging = compare(DELAYS_S, lambda child, seq, copy: copy == 0 and seq >= 598)
    assert len(with_merging.repairs) <= len(plain.repairs)
    for trial in (plain, with_merging):
        assert all(leaf.has.cumulative == 600 for leaf in trial.leaves)
