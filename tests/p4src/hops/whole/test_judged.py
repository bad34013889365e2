"""Sealed feedback that switches let pass or drop, of each protocol that has such: neighbours vouch for it, and it is
judged as open feedback is, but not together with that."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from scapy.layers.inet import UDP
from scapy.layers.l2 import Ether

from hosts import protocols
from hosts.parts.fec.pieces import Need
from hosts.protocols.arbor import packets as arbor
from hosts.protocols.tfmcc import packets as tfmcc
from hosts.protocols.tfmcc.rate_float import NO_RATE
from hosts.protocols.vlmcc import packets as vlmcc
from hosts.wire.header import VERSION
from hosts.wire.sealed import HOP
from tests.p4src.bench.feedback import GROUP
from tests.p4src.bench.packets import host_ip, join
from tests.p4src.bench.sealed import SWITCH_PORT, Sealed
from tests.p4src.bench.setup import route_source
from tests.p4src.bench.target import Target

RTT_US = 3_000_000
"""Longer than a test takes on a switch whose time is its own."""


@dataclass(frozen=True)
class Judged:
    """How a protocol's receivers ask for something."""

    protocol: str
    data: bytes
    """The sender's, which say that switches may help."""
    ask: Callable[[int, int], bytes]
    """Of a receiver, for how much: the more, the more it asks for."""

    def plain(self, packet: bytes | None) -> bytes | None:
        """Without what switches say in it of those that ended."""
        if packet is None:
            return None
        left = bytearray(packet)
        for place in protocols.get(self.protocol).open_heads[packet[2]].changed:
            left[place] = bytes(place.stop - place.start)
        return bytes(left)

    def down(self, sealed: Sealed) -> bytes:
        """Data pass; how their open part leaves."""
        return sealed.data(self.data, protocols.get(self.protocol).open_heads[self.data[2]])


def _arbor_report(receiver: int, much: int) -> bytes:
    report = arbor.Report(7, receiver, 4000, RTT_US, 100_000 - much, 1, 1 << 40, may_suppress=True)
    return arbor.encode_report(report)


def _arbor_blocks(receiver: int, much: int) -> bytes:
    return arbor.encode_blocks(arbor.Blocks(7, receiver, 1, 3, (Need(5, much),), may_suppress=True))


ARBOR_DATA = arbor.encode_told_data(
    arbor.Data(7, arbor.FLAG_ASSIST | arbor.FLAG_FILE, 1, 99, 100_000, RTT_US, 0, 0, 50, b"x" * 50)
)


def _tfmcc(receiver: int, much: int) -> bytes:
    flags = tfmcc.FLAG_MAY_SUPPRESS | tfmcc.FLAG_HAVE_LOSS | tfmcc.FLAG_HAVE_RTT
    return tfmcc.encode_report(tfmcc.Report(7, flags, receiver, 5, 2000 - 8 * much, 0x60, 100, 9, 1000, 10, 1 << 40))


TFMCC_DATA = tfmcc.encode_data(
    tfmcc.Data(7, tfmcc.FLAG_ASSIST, 1, 5, 3000, NO_RATE, NO_RATE, 0x70, 99, 0, 0, 0, 1000, 0, b"x" * 50, 0xF0, 65535)
)


def _vlmcc(receiver: int, much: int) -> bytes:
    rate = 100_000 - much
    return vlmcc.encode_challenge(vlmcc.Challenge(7, receiver, rate, 4000, RTT_US, 1000, 1, 1 << 40, may_suppress=True))


VLMCC_DATA = vlmcc.encode_data(vlmcc.Data(7, vlmcc.FLAG_ASSIST, 1, 99, 100_000, 1000, 0, 0, 50, b"x" * 50))
ALL = {
    "arbor's reports": Judged("arbor", ARBOR_DATA, _arbor_report),
    "arbor's blocks": Judged("arbor", ARBOR_DATA, _arbor_blocks),
    "tfmcc": Judged("tfmcc", TFMCC_DATA, _tfmcc),
    "vlmcc": Judged("vlmcc", VLMCC_DATA, _vlmcc),
}
SUPPRESSED = arbor.FLAG_SUPPRESSED
"""The same of all three."""


@pytest.fixture(params=list(ALL.values()), ids=list(ALL))
def judged(request: pytest.FixtureRequest) -> Judged:
    found: Judged = request.param
    return found


def test_only_who_asks_for_more_passes(target: Target, judged: Judged) -> None:
    sealed = Sealed(target)
    judged.down(sealed)
    assert sealed.up(2, judged.ask(2, 10)) == judged.ask(2, 10)
    assert [sealed.up(port, judged.ask(port, much)) for port, much in ((3, 10), (4, 9))] == [None, None]
    assert judged.plain(sealed.up(SWITCH_PORT, judged.ask(5, 11))) == judged.ask(5, 11)
    assert sealed.bench.outcomes() == {"lower": 2, "suppressed": 2}
    assert target.drops() == {}


def test_data_are_told_that_it_helps_and_nothing_that_must_be_believed(target: Target, judged: Judged) -> None:
    sealed = Sealed(target)
    left = judged.down(sealed)
    changed = [place for place, byte in enumerate(left) if byte != judged.data[place]]
    assert changed == [3]
    assert left[3] ^ judged.data[3] == SUPPRESSED


def test_what_a_neighbour_did_not_tag_is_dropped_whatever_was_changed(target: Target, judged: Judged) -> None:
    """At the first switch, and it silences nobody."""
    sealed = Sealed(target)
    judged.down(sealed)
    drops, sent = sealed.drops_what_is_changed(2, judged.ask(2, 50))
    assert drops["hop_tag"] >= sent - 2  # nobody is at the other addresses
    assert sum(drops.values()) == sent
    assert sealed.up(3, judged.ask(3, 10)) == judged.ask(3, 10)
    assert sealed.bench.outcomes() == {"lower": 1}


def test_what_has_come_before_is_dropped(target: Target, judged: Judged) -> None:
    sealed = Sealed(target)
    judged.down(sealed)
    first, second = sealed.frame_of(2, judged.ask(2, 10)), sealed.frame_of(2, judged.ask(2, 20))
    sealed.drops_what_has_come_before(first, second)


def test_what_nobody_vouches_for_passes_and_silences_nobody(target: Target, judged: Judged) -> None:
    sealed = Sealed(target, without=frozenset({4}))
    judged.down(sealed)
    for port, counter in ((4, None), (3, 0)):
        for much in (100, 90):
            frame = sealed.frame_of(port, judged.ask(port, much), counter)
            assert sealed.sends(port, frame, vouched=False) == judged.ask(port, much)
    assert sealed.bench.outcomes() == {}
    assert sealed.up(2, judged.ask(2, 10)) == judged.ask(2, 10)


def test_what_is_open_is_not_judged_in_a_sealed_session_nor_the_other_way_round(target: Target, judged: Judged) -> None:
    sealed = Sealed(target)
    judged.down(sealed)
    for much in (100, 90):
        assert sealed.bench.up(3, judged.ask(3, much)) == [judged.ask(3, much)]
    assert sealed.up(2, judged.ask(2, 10)) == judged.ask(2, 10)
    assert sealed.up(4, judged.ask(4, 10)) is None
    assert sealed.bench.down(judged.data) is not None  # the session goes on open
    for much in (100, 90):
        assert sealed.up(2, judged.ask(2, much)) == judged.ask(2, much)
    assert sealed.bench.outcomes() == {"lower": 1, "suppressed": 1, "no_slot": 4}


def test_it_goes_to_one_sender(target: Target, judged: Judged) -> None:
    sealed = Sealed(target)
    judged.down(sealed)
    route_source(target, host_ip(2), GROUP, 2, accept=[2])
    target.send(3, join(GROUP, host_ip(2)))
    assert target.send(2, sealed.frame_of(2, judged.ask(2, 10), to=GROUP)) == []
    assert target.drops() == {"forged_feedback": 1}


def test_of_another_length_it_is_not_taken_apart(target: Target, judged: Judged) -> None:
    sealed = Sealed(target)
    judged.down(sealed)
    payload = bytes(Ether(sealed.frame_of(2, judged.ask(2, 10)))[UDP].payload)
    for wrong in (payload[:-1], payload + b"x", payload[: -HOP.size], bytes([VERSION]) + payload[1:]):
        assert sealed.bench.up(2, wrong) == [wrong]
    assert sealed.bench.outcomes() == {}
