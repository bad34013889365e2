"""A sender alone, with a hand on its clock."""

import random

from hosts.endpoint import Address, Datagram, Effect, Send
from hosts.protocol import Session
from hosts.protocols.mtcp.options import MtcpOptions
from hosts.protocols.mtcp.packets import Data, Packet, encode_feedback, parse
from hosts.protocols.mtcp.sender import MtcpSender
from hosts.protocols.mtcp.tree_packets import Join, encode_join
from hosts.protocols.mtcp.wire import UNLIMITED

GROUP = Address("232.1.1.1", 5000)
ME = Address("10.0.0.1", 4000)
ONE = Address("10.0.0.2", 4001)
TWO = Address("10.0.0.3", 4001)
STRANGER = Address("10.0.0.9", 4001)


def join(window: int) -> bytes:
    """A leaf's."""
    return encode_join(Join(7, False, False, False, True, 0, window, 0))


class SenderBench:
    """A sender and a hand on its clock."""

    def __init__(self, receivers: int = 1, **options: float | str) -> None:
        self.now = 100.0
        self.core = MtcpSender(
            Session(GROUP, None, 7, receivers, 10.0),
            MtcpOptions(**options),  # type: ignore[arg-type]
            random.Random(1),
        )
        self.started = list(self.core.start(now=self.now))

    def get(self, data: bytes, source: Address = ONE) -> list[Effect]:
        return list(self.core.receive(Datagram(data, source, ME), now=self.now))

    def ack(
        self, cumulative: int, *, window: int = 1 << 20, source: Address = ONE, min_cwnd: int = UNLIMITED
    ) -> list[Effect]:
        return self.get(encode_feedback(7, False, cumulative, 0, 0, 0, min_cwnd, 0, window, 0), source)

    def write(self, size: int) -> list[Effect]:
        return list(self.core.write(bytes(size), now=self.now))

    def wake(self) -> list[Effect]:
        assert self.core.wake_at is not None
        self.now = max(self.now, self.core.wake_at)
        return list(self.core.handle_timer(now=self.now))


def sending(**options: float | str) -> SenderBench:
    bench = SenderBench(1, **options)
    bench.get(join(1 << 20))
    return bench


def packets(effects: list[Effect], to: Address | None = None) -> list[Packet]:
    return [
        parse(effect.data)
        for effect in effects
        if isinstance(effect, Send) and (to is None or effect.destination == to)
    ]


def data(effects: list[Effect]) -> list[int]:
    """Sequence numbers of the DATA packets."""
    return [packet.seq for packet in packets(effects, GROUP) if isinstance(packet, Data)]
