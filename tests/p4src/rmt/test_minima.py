"""minima.p4: summaries of acknowledgments without holes are the whole program's; whoever comes and goes, they are
true."""

import random
from dataclasses import dataclass, field

import pytest

from hosts.protocols.rla.packets import Ack, Data, encode_abort, encode_ack, encode_data, parse
from hosts.wire.reason import Reason
from hosts.wire.seq import MASK
from tests.p4src.bench.both import Both, reduced
from tests.p4src.bench.feedback import Bench
from tests.p4src.bench.setup import bitmap
from tests.p4src.bench.target import Embedded, Target

SESSION = 7
SWITCH_PORT = 6
REACH = 400
"""Packets in flight; the program merges those up to 512."""


@dataclass
class History:
    """Data that pass down, and receivers who have all of them up to some place."""

    target: Target
    chooser: random.Random
    start: int
    received: dict[int, int] = field(init=False)
    windows: dict[int, int] = field(init=False)

    def __post_init__(self) -> None:
        self.bench = Bench(self.target)
        self.bench.assist(frozenset({SWITCH_PORT}))
        self.target.advance(10_000)
        self.passed = self.start
        self.received = dict.fromkeys(range(2, 8), self.start)
        self.windows = dict.fromkeys(range(2, 8), 9000)

    def step(self, *, departures: bool) -> None:
        """One, of a random kind."""
        chooser, port = self.chooser, self.chooser.choice(sorted(self.received))
        kind = chooser.choices(range(7), (20, 40, 6, 3, 3, 2, 2))[0]
        if kind == 0:
            self.data(chooser.choice((1, 2, 30)))
        elif kind in (1, 2):
            self.received[port] = chooser.randint(self.received[port], self.passed)
            self.windows[port] = chooser.choice((0, 1000, 9000, 1 << 20))
            self.up(port, self.ack(port, passes=kind == 2 and port != SWITCH_PORT))
        elif kind == 3:
            old = self.ack(port)
            self.received[port] = self.passed
            self.up(port, self.ack(port))
            self.up(port, old)  # overtaken
        elif kind == 4:
            self.target.advance(chooser.choice((1000, 15_000, 25_000, *([600_000] if departures else []))))
        elif kind == 5 and departures and port != SWITCH_PORT:
            self.up(port, self.ack(port)._replace(merge=False, children=0, sack=0b110, passes=True))
        elif kind == 6 and departures:
            self.bench.up(port, encode_abort(SESSION, Reason.INTERRUPTED))
        self.target.advance(chooser.choice((0, 50, 3000)))

    def data(self, count: int) -> None:
        for _ in range(count):
            if self.passed - min(self.received.values()) < REACH:
                self.bench.down(encode_data(Data(SESSION, False, False, self.passed & MASK, 40, 1, 2, b"x" * 50, True)))
                self.passed += 1

    def ack(self, port: int, *, passes: bool = False) -> Ack:
        """What the port's receiver says, or what a switch says for three."""
        merged = port == SWITCH_PORT
        children = bitmap((port + 1, 21, 22) if merged else (port + 1,))
        place = self.received[port] & MASK
        return Ack(SESSION, merged, True, False, place, self.windows[port], 5, port, children, 0, passes)

    def up(self, port: int, packet: Ack) -> None:
        """What leaves is the packet as it is, and what is true of all whom it names."""
        for payload in self.bench.up(port, encode_ack(packet)):
            left = parse(payload)
            assert isinstance(left, Ack)
            if left == packet:
                continue
            those = [each for each in self.received if left.children >> each & 1]
            assert those
            assert min(self.received[each] for each in those) - left.cumulative & MASK <= REACH
            assert left.window == min(self.windows[each] for each in those)


STARTS = pytest.mark.parametrize("start", [0, (1 << 32) - 60])


@STARTS
@pytest.mark.parametrize("seed", range(8))
def test_any_history_leaves_as_the_whole_program_says(seed: int, start: int) -> None:
    history = History(Both(), random.Random(seed), start)
    for _ in range(300):
        history.step(departures=False)
    assert set(history.bench.outcomes()) >= {"summary", "absorbed", "sample", "stale"}


@STARTS
@pytest.mark.parametrize("seed", range(8))
def test_whoever_comes_and_goes(seed: int, start: int) -> None:
    history = History(Embedded(reduced()), random.Random(seed), start)
    for _ in range(300):
        history.step(departures=True)
    assert set(history.bench.outcomes()) >= {"summary", "absorbed", "hole"}
