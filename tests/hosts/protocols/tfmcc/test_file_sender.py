"""With which round trip time a file begins, whoever has joined."""

import random

import pytest

from hosts import protocols
from hosts.endpoint import Address, Datagram
from hosts.protocol import Session
from hosts.protocols.tfmcc.file_sender import TfmccFileSender
from hosts.protocols.tfmcc.packets import Join, encode_join

SENDER = Address("10.0.0.1", 5000)
UNKNOWN_S = 0.512
"""The initial RTT, as a packet says it."""
NONE = -1.0
"""Of who answers nothing that was said."""


class Bench:
    """A sender that has announced itself for a while; its time is 100 s and more."""

    def __init__(self, receivers: int) -> None:
        session = Session(Address("239.1.1.1", 5000), session=7, receivers=receivers)
        core = protocols.get("tfmcc").sender(session, random.Random(1), None)
        assert isinstance(core, TfmccFileSender)
        self.core = core
        core.start(now=100.0)
        self.joined = 0

    def join(self, rtt_s: float, now: float = 110.0) -> float:
        """Of somebody so far away. What is the largest RTT now."""
        self.joined += 1
        echo_us = 0 if rtt_s == NONE else int((now - rtt_s) * 1e6)
        packet = encode_join(Join(7, self.joined, echo_us, 0, 0))
        self.core.receive(Datagram(packet, Address("10.0.1.1", self.joined), SENDER), now=now)
        return self.core.steering.rounds.max_rtt


@pytest.mark.parametrize(
    ("rtts", "expected"),
    [
        ([0.01, 0.03], 0.03),
        ([0.02, 0.3, 0.4], 0.4),  # most are far away
        ([0.01, 0.01, 0.3], 0.3),
        ([0.01, 0.01, 3.0], UNKNOWN_S),  # its answer is late, or it is far away and will say so
        ([NONE, 0.02], 0.02),
        ([NONE, NONE], UNKNOWN_S),
        ([11.0, 11.0], UNKNOWN_S),  # before anything was said
    ],
)
def test_the_largest_is_of_those_who_answer(rtts: list[float], expected: float) -> None:
    bench = Bench(len(rtts))
    found = [bench.join(rtt) for rtt in rtts][-1]
    assert bench.core.state == "sending"
    assert found == pytest.approx(expected, abs=0.003)


def test_who_comes_when_strangers_have_begun_a_file_makes_it_as_fast_as_it_can_be() -> None:
    bench = Bench(2)
    bench.join(NONE)
    assert bench.join(NONE) == pytest.approx(UNKNOWN_S, abs=0.003)
    slow, number = bench.core.steering.control.at(110.0), bench.core.steering.rounds.number
    assert bench.join(0.02, 110.1) == pytest.approx(0.02, abs=0.003)
    assert bench.core.steering.control.at(110.1) > 20 * slow
    assert bench.core.steering.rounds.number == number + 1


def test_a_stranger_that_comes_then_makes_it_no_slower() -> None:
    bench = Bench(1)
    bench.join(0.02)
    rate = bench.core.steering.control.at(110.0)
    for rtt in (NONE, 1.0):
        assert bench.join(rtt, 110.01) == pytest.approx(0.02, abs=0.003)
    assert bench.core.steering.control.at(110.01) == rate
