"""Data that come together, taken together: as if they had come one by one."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.endpoint import Address, Datagram, DatagramRun, DeliverDatagram, Effect, Send
from hosts.parts.runs import singly
from hosts.protocol import Session
from hosts.protocols.arbor.options import ArborOptions
from hosts.protocols.arbor.packets import DATA_BYTES, WELCOME, Data, Welcome, encode_data, encode_run
from hosts.protocols.arbor.receiver import ArborReceiver
from hosts.protocols.arbor.window import Arrival, EmulatedWindow
from hosts.wire.units import to_units

SENDER, GROUP, OWN = Address("10.0.0.1", 5000), Address("239.1.2.3", 5001), Address("10.0.0.2", 40000)
PAYLOAD = 100


def data(seq: int, now: float, payload: bytes = bytes(PAYLOAD)) -> Data:
    return Data(1, 0, seq, 0, to_units(1000), 20_000, int(now * 1e6), seq * PAYLOAD, 1, payload)


class Member:
    """A receiver that has joined, 10 ms from its sender."""

    def __init__(self) -> None:
        session = Session(group=GROUP, source=None, session=None, receivers=1, deliver=True)
        self.core = ArborReceiver(session, ArborOptions(payload_bytes=PAYLOAD, join_spread_s=0.0), random.Random(1))
        self.core.start(now=0.0)
        self.one(0, 1.0)
        self.core.handle_timer(now=1.02)
        welcome = Welcome(1, self.core.id, int(1.03 * 1e6), int(1.03 * 1e6))
        self.core.receive(Datagram(WELCOME.encode(welcome), SENDER, OWN), now=1.04)
        self.one(1, 1.05)

    def one(self, seq: int, now: float) -> list[Effect]:
        return list(self.core.receive(Datagram(encode_data(data(seq, now)), SENDER, GROUP), now=now + 0.01))

    def run(self, seqs: list[int], now: float) -> list[Effect]:
        together = b"".join(encode_data(data(seq, now)) for seq in seqs)
        run = DatagramRun(together, DATA_BYTES + PAYLOAD, SENDER, GROUP)
        return list(self.core.receive_run(run, now=now + 0.01))

    @property
    def state(self) -> dict[str, Any]:
        core = self.core
        names = ("received_bytes", "data_packets")
        found = {name: getattr(core, name) for name in names}
        return {**found, "highest": core.gaps.highest, "lost": core.gaps.lost_packets, "cuts": core.window.cuts}


@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_a_run_leaves_what_its_packets_leave_one_by_one(there: list[bool]) -> None:
    """Whatever is missing: numbers, losses and payloads alike, and a window that differs by no packet."""
    seqs = [number + 2 for number, came in enumerate(there) if came] or [2]
    together, alone = Member(), Member()
    effects = together.run(seqs, 1.1)
    expected = [effect for seq in seqs for effect in alone.one(seq, 1.1)]
    assert together.state == alone.state
    assert together.core.window.cwnd == pytest.approx(alone.core.window.cwnd, abs=1)
    assert together.core.rtt == pytest.approx(alone.core.rtt, rel=0.01)
    delivered = [[one for one in some if isinstance(one, DeliverDatagram)] for some in (effects, expected)]
    assert delivered[0] == delivered[1]


def test_a_run_is_answered_once() -> None:
    member = Member()
    member.core.limits = True
    limiting = [data(seq, 1.1)._replace(limiting=member.core.id) for seq in range(2, 42)]
    together = b"".join(encode_data(one) for one in limiting)
    effects = member.core.receive_run(DatagramRun(together, DATA_BYTES + PAYLOAD, SENDER, GROUP), now=1.11)
    assert sum(isinstance(effect, Send) for effect in effects) == 1


@pytest.mark.parametrize("slow_start", [True, False])
def test_a_window_grows_by_packets_together_as_by_each(slow_start: bool) -> None:
    windows = [EmulatedWindow(20, 65_536) for _ in range(2)]
    for window in windows:
        window.slow_start = slow_start
    for turn in range(50):
        arrival = Arrival(turn * 0.01, turn * 10_000, 0.1, 0.1, 0.05, 0.0, False)
        windows[0].arrived(arrival, 1e9, 10)
        for _ in range(10):
            windows[1].arrived(arrival, 1e9)
    assert windows[0].cwnd == pytest.approx(windows[1].cwnd, rel=0.02)


def test_packets_of_a_run_are_told_apart() -> None:
    payload = bytes(range(2 * PAYLOAD))
    first = data(7, 1.0, payload[:PAYLOAD])
    assert [(before, one.offset, one.payload) for before, one in singly(first, payload)] == [
        (0, 7 * PAYLOAD, payload[:PAYLOAD]),
        (1, 8 * PAYLOAD, payload[PAYLOAD:]),
    ]
    encoded = encode_run(first._replace(payload=payload), PAYLOAD)
    second = first._replace(seq=8, offset=8 * PAYLOAD, payload=payload[PAYLOAD:])
    assert encoded == encode_data(first) + encode_data(second)
