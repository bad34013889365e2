"""The receiver packet by packet: what begins a session, and what ends the stream."""

import random

import pytest

from hosts.endpoint import Address, Datagram, DatagramRun, Deliver, StreamEnded
from hosts.protocol import Session
from hosts.protocols.rla import PROTOCOL
from hosts.protocols.rla.packets import Data, encode_announce, encode_data
from tests.hosts.protocols.rla.test_acknowledging import GROUP, PAYLOAD, SENDER, SESSION, Member


@pytest.mark.parametrize(
    "beginning",
    [encode_announce(SESSION, PAYLOAD), encode_data(Data(SESSION, False, False, 0, 300, 1, 0, bytes(PAYLOAD)))],
    ids=["announce", "data"],
)
def test_only_what_came_to_the_group_begins_a_session(beginning: bytes) -> None:
    """By unicast anybody could, with the number of a session that is to come."""
    core = PROTOCOL.receiver(Session(GROUP), random.Random(1), {})
    core.start(now=0.0)
    own = Address("10.0.0.2", 40000)
    assert not core.receive(Datagram(beginning, SENDER, own), now=0.0)
    assert core.session_id is None
    assert core.counters["drop_stranger"] == 1
    elsewhere = Address(GROUP.host, GROUP.port + 1)
    assert not core.receive(Datagram(beginning, SENDER, elsewhere), now=0.1)
    assert core.session_id is None
    assert core.receive(Datagram(beginning, SENDER, GROUP), now=0.2)
    assert core.session_id == SESSION


def test_packets_that_come_together_and_fill_the_last_gap_end_the_stream() -> None:
    """Its last packet has overtaken them."""
    member = Member(merge=False)

    def packet(seq: int) -> bytes:
        return encode_data(Data(SESSION, seq == 4, False, seq, 300, 1, seq * PAYLOAD, bytes(PAYLOAD)))

    member.core.receive(Datagram(packet(4), SENDER, GROUP), now=0.1)
    together = b"".join(packet(seq) for seq in (1, 2, 3))
    effects = member.core.receive_run(DatagramRun(together, len(packet(1)), SENDER, GROUP), now=0.2)
    delivered = b"".join(effect.data for effect in effects if isinstance(effect, Deliver))
    assert len(delivered) == 4 * PAYLOAD
    assert [effect for effect in effects if isinstance(effect, StreamEnded)] == [StreamEnded(5 * PAYLOAD)]
