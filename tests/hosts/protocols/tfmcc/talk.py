"""A sender alone, what it sent, and a hand on its clock and on receivers' reports."""

from random import Random
from typing import Any

import pytest

from hosts.endpoint import Address, Datagram, Send, SessionStarted
from hosts.protocol import Session
from hosts.protocols.tfmcc.options import TfmccOptions
from hosts.protocols.tfmcc.packets import (
    FLAG_HAVE_LOSS,
    FLAG_HAVE_RTT,
    Data,
    Join,
    JoinAck,
    Report,
    encode_join,
    encode_report,
    parse,
)
from hosts.protocols.tfmcc.rate_float import encode_rate, encode_rtt
from hosts.protocols.tfmcc.sender import TfmccSender

GROUP = Address("232.1.1.1", 5000)
OWN = Address("10.0.0.1", 40000)


class Talk:
    """A sender that always has data, and what it sent; by the paper's rules unless `options` say otherwise."""

    def __init__(self, **options: Any) -> None:
        self.now = 100.0
        given = TfmccOptions(**{"rules": "paper", **options})
        self.sender = TfmccSender(Session(GROUP, session=7, realtime=True), given, Random(1))
        assert self.sender.start(now=self.now) == (SessionStarted(),)
        self.sent: list[Data] = []
        self.other: list[object] = []
        self._clock = 0
        self._fill()

    def _fill(self) -> None:
        while self.sender.send_space:
            self._take(self.sender.write(bytes(self.sender.send_space), now=self.now))

    def _take(self, effects: Any) -> None:
        for effect in effects:
            packet = parse(effect.data) if isinstance(effect, Send) else None
            if isinstance(packet, Data):
                self.sent.append(packet)
            else:
                self.other.append(effect if packet is None else packet)

    def run(self, seconds: float) -> None:
        end = self.now + seconds
        while (wake := self.sender.wake_at) is not None and wake <= end:
            self.now = max(self.now, wake)
            self._take(self.sender.handle_timer(now=self.now))
            self._fill()
        self.now = end

    def report(self, receiver: int, bps: float, *, rtt: float | None = 0.1, loss: float = 0.01, **fields: int) -> None:
        """A report that came 50 ms after the last data left; without an RTT it was made with the initial one."""
        self._clock += 1
        flags = (FLAG_HAVE_RTT if rtt is not None else 0) | (FLAG_HAVE_LOSS if loss else 0)
        given = {
            "session": 7,
            "flags": flags,
            "receiver": receiver,
            "round": self.sender.steering.rounds.number,
            "rate": encode_rate(bps),
            "rtt": encode_rtt(rtt or 0.5),
            "loss_rate": int(loss * 65535),
            "receive_rate": encode_rate(bps),
            "echo_time_us": self.sent[-1].send_time_us,
            "held_us": 0,
            "time_us": self._clock,
        }
        source = Address(f"10.0.1.{receiver}", 40000)
        data = encode_report(Report(**{**given, **fields}))
        self._take(self.sender.receive(Datagram(data, source, OWN), now=self.now))
        self._fill()

    def admit(self, receiver: int) -> None:
        """A receiver has answered what it was asked; its reports are believed then."""
        self.report(receiver, 1e6, rtt=None, loss=0.0)
        question = [packet for packet in self.other if isinstance(packet, JoinAck)][-1]
        join = encode_join(Join(7, receiver, question.time_us, 0, 5))
        self.sender.receive(Datagram(join, Address(f"10.0.1.{receiver}", 40000), OWN), now=self.now)

    @property
    def bps(self) -> float:
        return self.sender.steering.control.at(self.now) * 8


def in_steady_state(**options: Any) -> Talk:
    """Receiver 1 is the CLR at 1 Mbit/s."""
    talk = Talk(**options)
    talk.run(2.0)
    talk.report(1, 1e6)
    talk.run(0.2)
    talk.report(1, 1e6)
    talk.run(0.2)
    assert talk.bps == pytest.approx(1e6, rel=0.01)
    return talk
