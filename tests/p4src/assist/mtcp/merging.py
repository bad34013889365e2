"""MTCP feedback at random, through a switch that merges it and through the plain model."""

import random
from dataclasses import dataclass, replace

from hosts.protocols.mtcp.packets import SACK_BITS, Feedback
from hosts.protocols.mtcp.wire import UNLIMITED
from hosts.wire.seq import MASK
from tests.p4src.bench import runs
from tests.p4src.bench.feedback import PARENT_PORT
from tests.p4src.bench.members import SWITCH_PORTS, Member, lies, make_members
from tests.p4src.bench.packets import host_ip
from tests.p4src.bench.program import program
from tests.p4src.bench.runs import STARTS, Modelled
from tests.p4src.bench.target import Target
from tests.p4src.models.mtcp.aggregation import AggregationModel

PARENT = host_ip(PARENT_PORT)


@dataclass
class Child(Member):
    """A receiver, an agent or a merging switch below."""

    cwnd: int = UNLIMITED
    twnd: int = 0
    window: int = 100_000
    echo: int = 0
    repair_echo: int = 0
    queue: int = 0
    bound: int = 0
    repaired: bool = False  # of a switch: the one that it speaks through answers a repair
    relearn: bool = False

    def feedback(self, session: int, nack: bool, held: int) -> Feedback:
        """What it would send."""
        return Feedback(
            session,
            nack,
            self.cumulative & MASK,
            self.echo,
            held,
            self.repair_echo,
            self.cwnd,
            self.twnd,
            self.window,
            self.sack(SACK_BITS),
            True,
            self.number,
            self.children,
            self.children if not self.others else 1 << self.number,
            bool(self.others),
            self.queue,
            self.bound,
            0,
            self.repaired,
            self.relearn,
        )


class Run(runs.Run[AggregationModel]):
    """The same steps through a switch and the model."""

    def __init__(self, target: Target, chooser: random.Random, start: int = 0) -> None:
        super().__init__(target, AggregationModel(SWITCH_PORTS), chooser, SWITCH_PORTS)
        self.children = make_members(Child, start)
        self.next = start
        self.start = start
        self.parents_clock = (1 << 32) - 20_000

    def now(self) -> int:
        return self.histories.now()

    def wait(self, microseconds: int) -> None:
        self.bench.target.advance(microseconds)

    def pass_data(self, count: int, loss: float) -> None:
        """New data; each child loses some of it."""
        for _ in range(count):
            seq, self.next = self.next, self.next + 1
            self.histories.told(
                lambda model, now, seq=seq: model.data(self.bench.session, PARENT, seq & MASK, now)  # type: ignore[misc]
            )
            self.bench.data(seq & MASK)
            for child in self.children:
                if self.chooser.random() >= loss and seq - child.cumulative <= SACK_BITS:
                    child.has.add(seq)
                    child.echo = self.now() - 3000 * child.number % 100 + 5_000_000
            self.wait(self.chooser.choice((0, 100, 1000)))

    def report(self, child: Child, nack: bool) -> None:
        if child.others and self.chooser.random() < 0.1:  # what the switch below passes of one child
            child = replace(child, others=frozenset(), queue=0, bound=0, repaired=False)
        self.send(child.port, child.feedback(self.bench.session, nack, self.chooser.randrange(3000)))

    def send(self, port: int, packet: Feedback) -> None:
        exact = self.bench.target.exact_time

        def left(feedback: Feedback | None) -> Feedback | None:
            """Delays are times of the switch, which may be its own."""
            return feedback if exact or feedback is None else feedback._replace(queue_us=0, bound_us=0)

        self.histories.compare(
            lambda model, now: left(model.feedback(PARENT, port, packet, now)),
            lambda: left(self.bench.feedback(port, packet)),
        )

    def step(self) -> None:
        chooser, child = self.chooser, self.chooser.choice(self.children)
        kind = chooser.choices(range(11), (20, 40, 6, 6, 8, 8, 4, 2, 3, 3, 16))[0]
        if kind == 0:
            self.pass_data(chooser.choice((1, 1, 2, 4, 40)), chooser.choice((0, 0, 0.1, 0.5)))
        elif kind == 1:
            for one in chooser.sample(self.children, chooser.choice((1, 3, len(self.children)))):
                has_gap = one.feedback(1, False, 0).sack != 0
                self.report(one, has_gap and chooser.random() < 0.8)
                self.wait(chooser.choice((0, 50, 3000)))
        elif kind == 2 and self.next > self.start:
            missing = [seq for seq in range(child.cumulative, self.next) if seq not in child.has]
            if missing:  # a repair that went another way
                child.has.add(chooser.choice(missing[:3]))
                child.repair_echo += chooser.randrange(1, 1000)
                self.report(replace(child, repaired=bool(child.others) and chooser.random() < 0.5), False)
        elif kind == 3 and self.bench.target.exact_time:
            self.wait(chooser.choice((1000, 15_000, 25_000, 260_000, 600_000, 1_100_000, 5_000_000)))
        elif kind == 4:
            child.relearn = chooser.random() < 0.8
            child.cwnd = chooser.choice((UNLIMITED, 1400, 14_000, chooser.randrange(1 << 20)))
            child.twnd = chooser.choice((0, 1400, chooser.randrange(1 << 20)))
            child.window = chooser.choice((0, 1400, 3000, 100_000))
            self.report(child, False)
        elif kind == 5:
            rtt = chooser.choice((0, 10_000, 100_000))
            self.histories.told(lambda model, _: model.probe(self.bench.session, PARENT, child.port, rtt))
            self.bench.probe(child.port, rtt)
        elif kind == 6:
            self.histories.told(lambda model, _: model.abort(self.bench.session, PARENT, child.port))
            self.bench.abort(child.port)
        elif kind == 7:
            child.queue, child.bound = chooser.randrange(100_000), chooser.randrange(500_000)
            if not child.others:
                child.queue = child.bound = 0
        elif kind == 8:
            old = child.feedback(self.bench.session, False, 0)
            self.pass_data(3, 0)
            self.report(child, False)
            self.send(child.port, old)  # overtaken
        elif kind == 10 and self.next > self.start:
            self.repair(child)
        else:
            self.send(child.port, self.hostile(child))

    def repair(self, child: Child) -> None:
        """What the child lacks, or another packet, is sent to it; and who gets it answers, mostly."""
        chooser = self.chooser
        seq = chooser.choice((child.cumulative, chooser.randrange(self.start, self.next)))
        self.parents_clock += chooser.randrange(1, 5000)
        time_us = self.parents_clock
        session = self.bench.session
        ports: list[int] = []

        def really() -> frozenset[int]:
            ports.extend(self.bench.repair(child.port, seq & MASK, time_us))
            return frozenset(ports)

        self.histories.compare(lambda model, _: model.repair(session, PARENT, child.port, seq, time_us), really)
        for one in self.children:
            if one.port in ports and chooser.random() < 0.8:
                one.has.add(seq)
                one.repair_echo = time_us
                if chooser.random() < 0.7:
                    repaired = bool(one.others) and chooser.random() < 0.5
                    has_gap = one.feedback(1, False, 0).sack != 0
                    self.report(replace(one, repaired=repaired), has_gap)

    def hostile(self, child: Child) -> Feedback:
        """Feedback with one field or a few that nobody honest would send."""
        only_here = {"holders": self.chooser.choice((0, 1, self.chooser.getrandbits(128))), "repaired": True}
        windows = {"min_cwnd": 0, "max_twnd": UNLIMITED}
        told = lies(self.chooser, self.next, sack_bits=SACK_BITS, child_bits=128, **only_here, **windows)
        return child.feedback(self.bench.session, self.chooser.random() < 0.3, 0)._replace(**told)  # type: ignore[arg-type]


OUTCOMES = program().constants.enums["feedback"]
MERGING = {name for name, index in OUTCOMES.items() if index < OUTCOMES["hole"]} - {"none", "no_slot"}
MODELLED = Modelled(Run, MERGING, 12, 150, STARTS)
