"""A sender and its receivers, packet by packet, for tests of the sender."""

from collections.abc import Callable
from random import Random
from typing import Any

from hosts.endpoint import Address, Datagram, Send, SessionStarted
from hosts.protocol import Session
from hosts.protocols.vlmcc.options import VlmccOptions
from hosts.protocols.vlmcc.packets import (
    Ack,
    Challenge,
    Data,
    Report,
    StartRequest,
    encode_ack,
    encode_challenge,
    encode_report,
    encode_start_request,
    parse,
)
from hosts.protocols.vlmcc.sender import VlmccSender
from hosts.wire.units import to_units, to_us

GROUP = Address("232.1.1.1", 5000)
OWN = Address("10.0.0.1", 40000)
RTT = 0.1


def address(receiver: int) -> Address:
    return Address(f"10.0.1.{receiver}", 40000)


class Talk:
    """A sender that always has data, and receivers of which the leader answers after `rtt`; what of that is more than
    `base` waits in a queue.
    """

    def __init__(self, rules: str = "paper", **options: Any) -> None:
        self.now = 100.0
        self.sender = VlmccSender(
            Session(GROUP, session=7, realtime=True), VlmccOptions(rules=rules, **options), Random(1)
        )
        assert self.sender.start(now=self.now) == (SessionStarted(),)
        self.sent: list[Data] = []
        self.times: list[float] = []
        self.other: list[object] = []
        self.rtt = self.base = RTT
        self.marked = 0
        self.alive = True
        self.greedy = True
        self.lose: Callable[[int], bool] = lambda seq: False
        self._due: list[tuple[float, Data]] = []
        self.fill()

    def fill(self) -> None:
        while self.greedy and self.sender.send_space:
            self.take(self.sender.write(bytes(self.sender.send_space), now=self.now))

    def take(self, effects: Any) -> None:
        for effect in effects:
            packet = parse(effect.data) if isinstance(effect, Send) else None
            if isinstance(packet, Data):
                self.sent.append(packet)
                self.times.append(self.now)
                if packet.leader and self.alive and not self.lose(packet.seq):
                    self._due.append((self.now + self.rtt, packet))
            else:
                self.other.append(effect if packet is None else packet)

    def run(self, seconds: float) -> None:
        end = self.now + seconds
        while True:
            wake = self.sender.wake_at
            answer = self._due[0][0] if self._due else end + 1
            self.now = max(self.now, min(answer, end if wake is None else wake, end))
            if self.now >= end:
                self.now = end
                return
            if self._due and self.now >= answer:
                _, data = self._due.pop(0)
                self.hear(self._answer(data), address(data.leader))
            else:
                self.take(self.sender.handle_timer(now=self.now))
                self.fill()

    def _answer(self, data: Data) -> bytes:
        if not self.sender.options.adaptive:
            return encode_ack(Ack(7, data.leader, data.seq, data.send_time_us))
        have = sum(1 << back for back in range(32) if not self.lose(data.seq - 1 - back))
        waiting_us = round((self.rtt - self.base) * 1e6)
        return encode_report(Report(7, data.leader, data.seq, data.send_time_us, waiting_us, have, self.marked))

    def hear(self, data: bytes, source: Address) -> None:
        self.take(self.sender.receive(Datagram(data, source, OWN), now=self.now))
        self.fill()

    def start(self, receiver: int) -> None:
        self.hear(encode_start_request(StartRequest(7, receiver, 5_000_000)), address(receiver))

    def challenge(self, who: int, pps: float, *, rtt: float = 0.2, base: float = 0.15, **fields: Any) -> None:
        """A challenge that is made of the last packet."""
        last = self.sent[-1]
        made = Challenge(
            7, who, to_units(pps), to_units(pps * rtt), to_us(rtt), to_us(base), last.seq, last.send_time_us
        )
        self.hear(encode_challenge(made._replace(**fields)), address(who))

    @property
    def cwnd(self) -> float:
        return self.sender.control.window.cwnd


def steady(**options: Any) -> Talk:
    """Receiver 1 leads, with a window of about 20; receiver 2 is known."""
    talk = Talk(**options)
    talk.run(1.0)
    talk.start(1)
    talk.start(2)
    talk.run(1.0)
    talk.sender.control.window.continue_from(20)
    talk.run(0.5)
    assert talk.sent[-1].leader == 1
    return talk
