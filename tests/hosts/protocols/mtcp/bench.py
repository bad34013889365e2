"""A receiver alone, with a hand on its clock."""

import random
from typing import Any

from hosts.endpoint import Address, Datagram, Deliver, Effect, Send
from hosts.protocol import Session
from hosts.protocols.mtcp.options import MtcpOptions
from hosts.protocols.mtcp.packets import Feedback, encode_data, encode_repair, parse
from hosts.protocols.mtcp.receiver import MtcpReceiver
from hosts.protocols.mtcp.tree_packets import JoinAck, encode_announce, encode_join_ack
from hosts.wire.reason import Reason

GROUP = Address("232.1.1.1", 5000)
SENDER = Address("10.0.0.1", 4000)
ME = Address("10.0.0.2", 4001)
STRANGER = Address("10.0.0.9", 4000)


def join_ack(reason: Reason = Reason.NONE, *, merge: bool = False, number: int = 0) -> bytes:
    """The sender's answer to the first join."""
    return encode_join_ack(JoinAck(7, merge, reason, 1, child=ME, number=number))


class Bench:
    """A receiver and a hand on its clock."""

    def __init__(self, *, member: bool = True, source: str | None = SENDER.host, **options: float | str) -> None:
        self.now = 100.0
        parameters: dict[str, Any] = {"parent": "sender", **options}
        self.core = MtcpReceiver(Session(GROUP, source), MtcpOptions(**parameters), random.Random(1))
        self.started = self.core.start(now=self.now)
        if member:
            self.get(encode_announce(7, 1400), to=GROUP)
            self.get(join_ack(Reason.NONE))

    def get(self, data: bytes, *, source: Address = SENDER, to: Address = ME) -> list[Effect]:
        return list(self.core.receive(Datagram(data, source, to), now=self.now))

    def data(self, seq: int, *, end: bool = False, size: int = 10) -> list[Effect]:
        return self.get(self.packet(seq, end=end, size=size), to=GROUP)

    def repair(self, seq: int, *, to: Address = ME) -> list[Effect]:
        return self.get(encode_repair(self.packet(seq), 555), to=to)

    @staticmethod
    def packet(seq: int, *, end: bool = False, size: int = 10) -> bytes:
        return encode_data(7, end, seq, 1_000_000 + seq, seq * size, bytes([seq % 256]) * size)

    def wake(self) -> list[Effect]:
        assert self.core.wake_at is not None
        self.now = self.core.wake_at
        return list(self.core.handle_timer(now=self.now))


def feedback(effects: list[Effect]) -> list[Feedback]:
    sent = [parse(effect.data) for effect in effects if isinstance(effect, Send)]
    return [packet for packet in sent if isinstance(packet, Feedback)]


def delivered(effects: list[Effect]) -> bytes:
    return b"".join(effect.data for effect in effects if isinstance(effect, Deliver))
