"""Children that are set aside: what is kept for them, what is sent meanwhile, and when they are asked."""

from collections import Counter
from itertools import pairwise

from hosts.endpoint import Address
from hosts.protocols.mtcp.aside import CATCH_UP_SHARE, KEPT_BUFFERS, MAX_ASK_S, Aside
from hosts.protocols.mtcp.children import Child
from hosts.protocols.mtcp.delays import Delays
from hosts.protocols.mtcp.options import MtcpOptions
from hosts.protocols.mtcp.store import PacketStore, StoredPacket

OPTIONS = MtcpOptions(buffer_bytes=10_000, payload_bytes=1000)
SENT = 200


class Bench:
    """A child that had ten packets when it fell silent, and packet 12; of packets of 1,000 bytes."""

    def __init__(self) -> None:
        self.child = Child(3, Address("10.0.0.2", 1), OPTIONS, 0.0, first=0, first_offset=0, buffer_bytes=10_000)
        self.child.acknowledged(10, 10_000, 10_000, 13_000, 0.0)
        self.store = PacketStore(0, 0, 0)
        for seq in range(SENT):
            self.store.put(seq, StoredPacket(b"", seq * 1000, 1000))
        delays = Delays({self.child.address: self.child}, OPTIONS, Counter(), own_clock=True)
        self.aside = Aside(OPTIONS, self.store, delays)
        self.aside.put(self.child, 10, 0b10, 0.0)

    def speak(self, cumulative: int, sack: int, now: float) -> int:
        opened = self.child.acknowledged(cumulative, 10_000, cumulative * 1000, None, now)
        return self.aside.acknowledged(self.child, cumulative, sack, SENT, opened, now)


def test_what_is_kept_is_bounded() -> None:
    aside = Bench().aside
    assert (aside.kept_from, aside.keep_offset) == (10, 10_000)
    assert aside.end == 10_000 + KEPT_BUFFERS * OPTIONS.buffer_bytes


def test_one_that_speaks_comes_up_with_the_others() -> None:
    """Half as much is sent anew as it catches up with; repairs are of what it takes, and has not."""
    bench = Bench()
    assert bench.speak(10, 0b10, 1.0) == 10
    assert bench.aside.end == min(10_000 + KEPT_BUFFERS * OPTIONS.buffer_bytes, SENT * 1000)
    assert bench.child.repairs.pending() == [10, 11, *range(13, 20)]
    assert bench.speak(30, 0, 1.1) == 30
    assert bench.aside.end == min(30_000 + KEPT_BUFFERS * 10_000, SENT * 1000 + CATCH_UP_SHARE * 20_000)
    assert bench.aside.take(bench.child) == (30, 0)
    assert not bench.aside
    assert not bench.child.aside


def test_one_that_says_nothing_is_asked_for_its_first_packet() -> None:
    bench = Bench()
    times: list[float] = []
    while len(times) < 6:
        now = bench.aside.wake_at
        assert bench.aside.ask(now) == [bench.child]
        assert bench.child.repairs.pending() == [10]
        times.append(now)
    gaps = [after - before for before, after in pairwise(times)]
    assert max(gaps) <= max(MAX_ASK_S, 1.0)


def test_one_that_falls_silent_again_holds_nobody() -> None:
    bench = Bench()
    bench.speak(10, 0b10, 1.0)
    held = bench.aside.end
    bench.speak(50, 0, 1.1)
    for _ in range(2):
        bench.aside.ask(bench.aside.wake_at)
    assert bench.aside.end == 50_000 + KEPT_BUFFERS * OPTIONS.buffer_bytes > held


def test_who_is_silent_when_no_more_is_kept_is_given_up() -> None:
    bench = Bench()
    bench.store.end_offset = 10_000 + KEPT_BUFFERS * OPTIONS.buffer_bytes
    for _ in range(3):
        assert not bench.aside.given_up(bench.child, 100.0)
        bench.aside.ask(bench.aside.wake_at)
    assert bench.aside.given_up(bench.child, 100.0)
    assert not bench.aside.given_up(bench.child, bench.child.answered_at + 0.9)
    bench.store.end_offset -= OPTIONS.payload_bytes
    assert not bench.aside.given_up(bench.child, 100.0)
