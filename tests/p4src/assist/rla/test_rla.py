"""The P4 program's merging of RLA's acknowledgments: against the plain model packet for packet, and single rules."""

import random
from dataclasses import dataclass

import pytest

from hosts.protocols.rla.packets import CHILD_BITS, SACK_BITS, Ack, Data, encode_abort, encode_ack, encode_data, parse
from hosts.wire.reason import Reason
from hosts.wire.seq import MASK
from tests.p4src.bench import runs
from tests.p4src.bench.feedback import PARENT_PORT, Bench
from tests.p4src.bench.members import SWITCH_PORTS, Member, lies, make_members
from tests.p4src.bench.packets import host_ip
from tests.p4src.bench.runs import STARTS, Modelled
from tests.p4src.bench.target import Target
from tests.p4src.models.acknowledgments import AcknowledgmentModel

SENDER = host_ip(PARENT_PORT)


def ack(number: int, cumulative: int, **changes: object) -> Ack:
    """A receiver's, that may be merged."""
    packet = Ack(7, False, True, False, cumulative & MASK, 9000, 5, number, 1 << number, 0)
    return packet._replace(**changes)  # type: ignore[arg-type]


def hole(number: int, cumulative: int, sack: int) -> Ack:
    """A receiver's that tells of a new hole."""
    return ack(number, cumulative, merge=False, passes=True, children=0, sack=sack)


def down(bench: Bench, seq: int, *, assist: bool = True) -> None:
    packet = encode_data(Data(bench.session, False, False, seq & MASK, 40, 1, 2, b"x" * 50, assist))
    assert bench.down(packet) == packet


def up(bench: Bench, port: int, packet: Ack) -> list[Ack]:
    left = [parse(payload) for payload in bench.up(port, encode_ack(packet))]
    assert all(isinstance(one, Ack) for one in left)
    return [one for one in left if isinstance(one, Ack)]


def begin(target: Target, packets: int = 10) -> Bench:
    """Merging on, data passed, and an acknowledgment of each of two receivers."""
    bench = Bench(target)
    bench.assist(SWITCH_PORTS)
    for seq in range(packets):
        down(bench, seq)
    assert up(bench, 2, ack(2, 1)) == [ack(2, 1)]  # alone
    (first,) = up(bench, 3, ack(3, 1))
    assert (first.merged, first.children, first.cumulative) == (True, 0b1100, 1)
    return bench


@dataclass
class Receiver(Member):
    """One, or a merging switch below with several."""

    window: int = 9000

    def ack(self, **changes: object) -> Ack:
        """What it sends."""
        packet = ack(
            self.number,
            self.cumulative,
            sack=self.sack(SACK_BITS),
            window=self.window,
            children=self.children,
            merged=bool(self.others),
        )
        return packet._replace(**changes)  # type: ignore[arg-type]


class Run(runs.Run[AcknowledgmentModel]):
    """The same steps through a switch and the model."""

    def __init__(self, target: Target, chooser: random.Random, start: int = 0) -> None:
        super().__init__(target, AcknowledgmentModel(SWITCH_PORTS), chooser, SWITCH_PORTS)
        self.start = self.next = start
        self.receivers = make_members(Receiver, start)

    def data(self, count: int, loss: float) -> None:
        for _ in range(count):
            if self.next - min(one.cumulative for one in self.receivers) >= SACK_BITS and self.chooser.random() < 0.99:
                return
            seq, self.next = self.next, self.next + 1
            self.histories.told(lambda model, now, seq=seq: model.data(7, SENDER, seq & MASK, now))  # type: ignore[misc]
            down(self.bench, seq)
            for one in self.receivers:
                if self.chooser.random() >= loss and seq - one.cumulative <= SACK_BITS:
                    one.has.add(seq)
            self.target.advance(self.chooser.choice((0, 100, 1000)))

    def send(self, port: int, packet: Ack) -> None:
        self.histories.compare(
            lambda model, now: sorted(model.acknowledge(SENDER, port, packet, now)),
            lambda: sorted(up(self.bench, port, packet)),
        )

    def step(self) -> None:
        chooser, one = self.chooser, self.chooser.choice(self.receivers)
        kind = chooser.choices(range(8), (25, 40, 12, 5, 6, 3, 4, 5))[0]
        if kind == 0:
            self.data(chooser.choice((1, 1, 2, 4, 40, 300)), chooser.choice((0, 0, 0.05, 0.3)))
        elif kind == 1:
            for each in chooser.sample(self.receivers, chooser.choice((1, 3, len(self.receivers)))):
                if chooser.random() < 0.8:
                    self.send(each.port, each.ack())
                elif chooser.random() < 0.5:
                    self.send(each.port, each.ack(passes=True, merged=False, children=1 << each.number))
                else:
                    self.send(each.port, each.ack(passes=True, merge=False, merged=False, children=0))
                self.target.advance(chooser.choice((0, 50, 3000)))
        elif kind == 2:
            missing = [seq for seq in range(one.cumulative, self.next) if seq not in one.has]
            one.has.update(chooser.sample(missing, min(len(missing), chooser.choice((1, 3, 500)))))
            self.send(one.port, one.ack())
        elif kind == 3 and self.target.exact_time:
            self.target.advance(chooser.choice((1000, 15_000, 25_000, 400_000, 600_000, 5_000_000)))
        elif kind == 4:
            one.window = chooser.choice((0, 1000, 9000, 1 << 20))
        elif kind == 5:
            self.histories.told(lambda model, now: model.abort(7, SENDER, one.port, now))
            packet = encode_abort(7, Reason.INTERRUPTED)
            assert self.bench.up(one.port, packet) == [packet]
        elif kind == 6:
            old = one.ack()
            self.data(3, 0)
            self.send(one.port, one.ack())
            self.send(one.port, old)  # overtaken
        else:
            self.send(one.port, self.hostile(one))

    def hostile(self, one: Receiver) -> Ack:
        """With a field or a few that nobody honest would send."""
        told = lies(self.chooser, self.next, sack_bits=SACK_BITS, child_bits=CHILD_BITS, hurry=True)
        return one.ack(**told)


OUTCOMES = {"summary", "absorbed", "alone", "shared_port", "stale", "out_of_range", "malformed", "hole", "sample"}
MODELLED = Modelled(Run, OUTCOMES, 6, 150, STARTS)


def test_two_acknowledgments_become_one(target: Target) -> None:
    bench = begin(target)
    assert up(bench, 2, ack(2, 5, window=8000)) == []
    (merged,) = up(bench, 3, ack(3, 4, sack=0b101))
    assert (merged.merged, merged.passes, merged.echo_time_us) == (True, False, 0)
    assert (merged.cumulative, merged.window, merged.children, merged.sack) == (4, 8000, 0b1100, 0)
    (merged,) = up(bench, 2, ack(2, 9))
    assert (merged.cumulative, merged.sack) == (4, 0b101)


def test_a_receiver_with_a_new_hole_speaks_for_itself(target: Target) -> None:
    """And holds nobody's news up: what the others had told comes with it."""
    bench = begin(target)
    assert up(bench, 4, ack(4, 1)) != []
    assert up(bench, 2, ack(2, 5)) == []
    assert up(bench, 3, ack(3, 5)) == []
    left = up(bench, 4, hole(4, 1, 0b111))
    assert len(left) == 2
    assert hole(4, 1, 0b111) in left
    (news,) = [one for one in left if one.merged]
    assert (news.cumulative, news.children, news.sack) == (5, 0b1100, 0)
    assert up(bench, 4, hole(4, 1, 0b1111)) == [hole(4, 1, 0b1111)]
    assert up(bench, 2, ack(2, 6)) == []
    (merged,) = up(bench, 3, ack(3, 6))
    assert (merged.cumulative, merged.children) == (6, 0b1100)


def test_a_sample_passes_and_counts(target: Target) -> None:
    bench = begin(target)
    assert up(bench, 2, ack(2, 5)) == []
    left = up(bench, 3, ack(3, 4, passes=True))
    assert ack(3, 4, passes=True) in left
    (news,) = [one for one in left if one.merged]
    assert (news.cumulative, news.children) == (4, 0b1100)
    assert bench.outcomes()["sample"] == 1


def test_nothing_is_touched_that_does_not_ask_for_it(target: Target) -> None:
    bench = begin(target)
    for number in (2, 3):
        plain = ack(number, 5, merge=False, children=0)
        assert up(bench, number, plain) == [plain]


def test_data_that_does_not_ask_for_it_is_not_noted(target: Target) -> None:
    bench = Bench(target)
    bench.assist()
    for seq in range(10):
        down(bench, seq, assist=False)
    for number in (2, 3):
        assert up(bench, number, ack(number, 3)) == [ack(number, 3)]
    assert bench.outcomes() == {"out_of_range": 2}


@pytest.mark.parametrize("merge", [False, True])
def test_a_summary_from_a_host_is_dropped(target: Target, merge: bool) -> None:
    bench = begin(target)
    assert up(bench, 2, ack(2, 9, merged=True, merge=merge, children=0b1100)) == []
    assert target.drops() == {"forged_feedback": 1}


def test_who_leaves_no_longer_counts(target: Target) -> None:
    bench = begin(target)
    assert up(bench, 4, ack(4, 1)) != []
    bench.up(4, encode_abort(7, Reason.INTERRUPTED))
    assert up(bench, 2, ack(2, 5)) == []
    (merged,) = up(bench, 3, ack(3, 5))
    assert (merged.cumulative, merged.children) == (5, 0b1100)


def test_a_restart_costs_a_packet_or_two(target: Target) -> None:
    bench = begin(target)
    target.reset()
    bench = Bench(target)
    bench.assist()
    assert up(bench, 2, ack(2, 5)) == [ack(2, 5)]  # no data has passed yet
    down(bench, 10)
    assert up(bench, 2, ack(2, 5)) == [ack(2, 5)]
    (merged,) = up(bench, 3, ack(3, 5))
    assert merged.children == 0b1100
