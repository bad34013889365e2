"""What is read together counts as it does one by one: two receivers hear the same, each in its way."""

from collections.abc import Callable, Iterator
from itertools import groupby
from random import Random

import pytest

from hosts.endpoint import Address, Datagram, DatagramRun, Effect, JoinGroup, LeaveGroup
from hosts.protocols.webrc.options import WebrcOptions
from hosts.protocols.webrc.receiver import WebrcReceiver
from hosts.protocols.webrc.together import LONG_HEAD, SHORT_HEAD, TogetherReceiver
from tests.hosts.protocols.webrc.memory import SENDER, packets, session

MOST = 46
"""Packets of a run."""
MEANWHILE_S = 0.05


def runs(
    options: WebrcOptions, data: bytes, until: float, change: Callable[[bytes], bytes | None]
) -> Iterator[tuple[float, list[DatagramRun]]]:
    """What is sent, as it is read at times; `change`: what comes of a packet, None: it is lost."""
    for turn, sent in groupby(packets(options, data, until), lambda one: int(one[0] / MEANWHILE_S)):
        by_group: dict[Address, list[bytes]] = {}
        for _, send in sent:
            if (datagram := change(send.data)) is not None:
                by_group.setdefault(send.destination, []).append(datagram)
        now = (turn + 1) * MEANWHILE_S
        found = []
        for group, waiting in by_group.items():
            for size, alike in groupby(waiting, len):
                run = b"".join(list(alike)[:MOST])
                found.append(DatagramRun(run, size, SENDER, group, now - MEANWHILE_S, now))
        yield now, found


class Heard:
    """A receiver, and what it has wanted."""

    def __init__(self, receiver: WebrcReceiver) -> None:
        self.receiver = receiver
        self.groups: set[Address] = set()
        self.effects: list[Effect] = []
        self.do(receiver.start(now=0.0))

    def do(self, effects: object) -> None:
        assert isinstance(effects, list | tuple)
        self.effects += effects
        for effect in effects:
            if isinstance(effect, JoinGroup):
                self.groups.add(effect.group)
            elif isinstance(effect, LeaveGroup):
                self.groups.discard(effect.group)


def hear(options: WebrcOptions, data: bytes, until: float, change: Callable[[bytes], bytes | None]) -> tuple[int, bool]:
    """How many runs are the same to both, and whether they have the file then, at which they end."""
    apart = Heard(WebrcReceiver(session(), options, Random(1)))
    together = Heard(TogetherReceiver(session(), options, Random(1)))
    steps = 0
    for now, found in runs(options, data, until, change):
        for run in found:
            if run.destination not in apart.groups:
                continue
            for datagram in run.datagrams():
                apart.do(apart.receiver.receive(datagram, now=now))
            lone = run.packets == 1  # which a runtime hands over as a datagram
            receiver = together.receiver
            together.do(receiver.receive(run.datagram(0), now=now) if lone else receiver.receive_run(run, now=now))
            assert together.effects == apart.effects
            if apart.receiver.state == "confirming":
                return steps, together.receiver.state == "confirming"
            assert together.receiver.counters == apart.receiver.counters
            steps += 1
        for one in (apart, together):
            wake = one.receiver.wake_at
            if wake is not None and wake <= now:
                one.do(one.receiver.handle_timer(now=now))
        assert together.effects == apart.effects
        rows = [one.receiver.sample(now=now) for one in (together, apart)]
        assert rows[0].keys() == rows[1].keys()
        for name, value in rows[1].items():  # sums of as much in another order
            assert rows[0][name] == (pytest.approx(value, rel=1e-9) if isinstance(value, float) else value), name
    return steps, False


@pytest.mark.parametrize("fec", ["raptorq", "reed-solomon", "no-code"])
@pytest.mark.parametrize("rate", [2e6, 20e6])  # RFC 3738's short format and its long one
def test_packets_that_are_read_together_count_as_one_by_one(fec: str, rate: float) -> None:
    options = WebrcOptions(session_rate_bps=rate, slot_s=2.0, quiescence_s=10.0, fec=fec)
    lost = Random(2)
    steps, is_whole = hear(
        options, Random(1).randbytes(int(rate / 8)), 60, lambda data: data if lost.random() > 0.01 else None
    )
    assert steps > 50
    assert is_whole


def test_so_do_damaged_ones() -> None:
    options = WebrcOptions(session_rate_bps=20e6, slot_s=2.0, quiescence_s=10.0)
    rng = Random(3)

    def damage(data: bytes) -> bytes | None:
        if rng.random() < 0.98:
            return data
        if rng.random() < 0.2:
            return None
        at = rng.randrange(24)
        return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]

    steps, _ = hear(options, Random(1).randbytes(2_000_000), 9, damage)  # of which nothing whole can be made
    assert steps > 500


def test_heads_are_the_packets_own() -> None:
    assert SHORT_HEAD == (20, 6, 8)
    assert LONG_HEAD == (24, 8, 12)


def test_strangers_runs_are_counted_one_by_one() -> None:
    receiver = TogetherReceiver(session(), WebrcOptions(), Random(1))
    receiver.start(now=0.0)
    group = session().group
    run = DatagramRun(bytes(60), 20, Address("10.9.9.9", 1), group)
    receiver.receive_run(run, now=0.0)
    assert sum(receiver.counters.values()) == 3
    assert receiver.receive(Datagram(bytes(20), SENDER, group), now=0.0) == ()
