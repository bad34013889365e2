"""What strangers, members and parents may say without harm: nothing raises, stalls for good, or grows without bound."""

import random

import pytest

from hosts.endpoint import Address, Datagram, Send
from hosts.protocol import Session
from hosts.protocols.mtcp import roster
from hosts.protocols.mtcp.delays import MAX_TIMEOUT_S
from hosts.protocols.mtcp.options import MtcpOptions
from hosts.protocols.mtcp.packets import MERGE_CHILDREN, SACK_BITS, encode_data, encode_feedback, encode_repair, parse
from hosts.protocols.mtcp.receiver import MtcpReceiver
from hosts.protocols.mtcp.store import PacketStore, StoredPacket
from hosts.protocols.mtcp.tree_packets import (
    Join,
    JoinAck,
    ProbeAck,
    encode_abort,
    encode_announce,
    encode_join,
    encode_join_ack,
    encode_probe,
    encode_probe_ack,
)
from hosts.protocols.mtcp.wire import UNLIMITED
from hosts.wire.header import PacketError
from hosts.wire.reason import Reason
from tests.hosts.protocols.mtcp.sender_bench import GROUP, ME, ONE, STRANGER, TWO, SenderBench, join, packets

CHILD = Address("10.0.0.7", 4001)
NEXT = Address("10.0.0.2", 4001)


def test_a_child_s_word_on_its_buffer_does_not_make_the_sender_keep_everything() -> None:
    bench = SenderBench(buffer_bytes=64 * 1400)
    bench.get(join(UNLIMITED))
    most = 0
    for seq in range(3000):
        bench.write(1400)
        bench.now += 0.01
        bench.ack(seq + 1, window=0)  # it has it all, and has used nothing of its four gigabytes
        bench.ack(seq + 1, window=64 * 1400)
        most = max(most, len(bench.core.agent.store.packets))
    assert bench.core.agent.end == 3000
    assert most <= 17 * 64


def test_who_comes_and_goes_is_remembered_as_long_as_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roster, "MAX_MEMBERS", 100)
    bench = SenderBench(receivers=1000)
    for index in range(400):
        source = Address(f"10.1.{index >> 8}.{index & 255}", 4001)
        bench.get(join(1 << 20), source)
        bench.get(encode_abort(7, Reason.MOVED if index % 2 else Reason.INTERRUPTED), source)
        assert source not in bench.core.agent.children
    family = bench.core.family
    assert len(bench.core.roster.members) == 100
    assert len(family.former) + len(family._elsewhere) <= 100


def test_a_member_that_has_what_was_never_sent_is_not_taken() -> None:
    """As one of a session before, of the same number, that the sender knows nothing of."""
    bench = SenderBench()
    bench.get(join(1 << 20))
    bench.write(1400)
    for cumulative, reason in ((5, Reason.NOT_HELD), (SACK_BITS, Reason.NOT_HELD), (1, Reason.NONE)):
        source = Address("10.0.0.20", 4000 + cumulative)
        message = encode_join(Join(7, False, False, True, True, 1, 1 << 20, cumulative))
        answer = packets(bench.get(message, source), source)[0]
        assert isinstance(answer, JoinAck)
        assert answer.reason is reason


def test_an_echo_older_than_any_round_trip_does_not_put_the_others_repairs_off() -> None:
    bench = SenderBench(receivers=2)
    bench.get(join(1 << 20), ONE)
    bench.get(join(1 << 20), TWO)
    bench.write(1400)
    for source, echo in ((ONE, int(bench.now * 1e6)), (TWO, 1)):
        bench.now += 0.01
        bench.get(encode_feedback(7, False, 1, echo, 0, 0, UNLIMITED, 0, 1 << 20, 0), source)
    assert bench.core.counters["drop_echo_too_old"] == 1
    rto = bench.core.agent.delays.rto_rtd
    assert rto is None or rto < MAX_TIMEOUT_S


def test_where_the_first_packet_lies_is_known_though_the_one_before_is_not_kept() -> None:
    """Somebody who joins an agent that waits for a packet itself is told the right place in the stream."""
    store = PacketStore(0, 0, 4)
    for seq in (0, 1, 2, 4, 5, 6, 7, 8, 9):
        store.put(seq, StoredPacket(b"", seq * 10, 10))
    store.trim(3, float("inf"))
    assert store.first == 3
    assert store.offset_of(3) == 30


def test_places_beyond_64_bits_are_none() -> None:
    for offset, right in ((2**64 - 5, True), (2**64 - 4, False)):
        data = encode_data(7, False, 0, 1, offset, b"1234")
        for datagram in (data, encode_repair(data, 1)):
            if right:
                assert parse(datagram)
            else:
                with pytest.raises(PacketError, match="value"):
                    parse(datagram)


def member(buffer_bytes: int = 1 << 20) -> MtcpReceiver:
    """An agent whose parent is ME, the sender."""
    core = MtcpReceiver(
        Session(GROUP, None, 7), MtcpOptions(parent="sender", agent=True, buffer_bytes=buffer_bytes), random.Random(1)
    )
    core.start(now=0.0)
    sent = core.receive(Datagram(encode_announce(7, 1400), ME, GROUP), now=0.0)
    asked = next(parse(effect.data) for effect in sent if isinstance(effect, Send))
    assert isinstance(asked, Join)
    answer = encode_join_ack(JoinAck(7, False, Reason.NONE, asked.epoch, child=NEXT))
    core.receive(Datagram(answer, ME, NEXT), now=0.0)
    assert core.state == "member"
    return core


def test_a_parent_s_clock_may_show_anything() -> None:
    core = member()
    core.receive(Datagram(encode_join(Join(7, False, False, False, True, 0, 1 << 20, 0)), CHILD, NEXT), now=1.0)
    core.receive(Datagram(encode_probe_ack(7, 0, 2**64 - 1), ME, NEXT), now=1.0)
    effects = core.receive(Datagram(encode_probe(7, 5), CHILD, NEXT), now=100.0)
    answer = next(parse(effect.data) for effect in effects if isinstance(effect, Send))
    assert isinstance(answer, ProbeAck)
    assert answer.clock_us == 2**64 - 1


def test_a_child_s_word_on_its_buffer_does_not_close_an_agent_s() -> None:
    core = member(buffer_bytes=64 * 1400)
    core.receive(Datagram(encode_join(Join(7, False, False, False, True, 0, UNLIMITED, 0)), CHILD, NEXT), now=1.0)
    now = 1.0
    for seq in range(300):
        now += 0.01
        data = encode_data(7, False, seq, int(now * 1e6), seq * 1400, bytes(1400))
        core.receive(Datagram(data, ME, GROUP), now=now)
        assert core.reception.delivered == (seq + 1) * 1400
        core.consumed(1400, now=now)
        said = encode_feedback(7, False, seq + 1, 0, 0, 0, UNLIMITED, 0, 0, 0)  # it has it, and says it used nothing
        core.receive(Datagram(said, CHILD, NEXT), now=now)
        assert core.feedback.advertised_end >= core.reception.delivered


def test_only_what_is_said_to_the_group_begins_a_session() -> None:
    core = MtcpReceiver(Session(GROUP, None, 7), MtcpOptions(), random.Random(1))
    core.start(now=0.0)
    for data in (encode_announce(7, 1400), encode_data(7, False, 0, 1, 0, b"1234")):
        assert core.receive(Datagram(data, STRANGER, NEXT), now=0.0) == ()
    assert core.state == "listening"
    assert core.counters["drop_stranger"] == 2


def test_children_beyond_16_bits_of_numbers_are_admitted_and_never_merged() -> None:
    """Numbers grow with everybody who ever joined; switches know the first 128 only, and 2^16 is told as 0."""
    bench = SenderBench(receivers=1000, assist="switch", fan_out=1000)

    def admit(index: int) -> JoinAck:
        source = Address(f"10.1.{index >> 8}.{index & 255}", 4001)
        answer = packets(bench.get(join(1 << 20), source), source)[0]
        assert isinstance(answer, JoinAck)
        assert answer.reason is Reason.NONE
        return answer

    first = [admit(index) for index in range(MERGE_CHILDREN)]
    assert [(ack.number, ack.merge) for ack in first] == [(number, True) for number in range(MERGE_CHILDREN)]
    bench.core.agent._numbers._next = (1 << 16) - 1
    later = [admit(MERGE_CHILDREN + index) for index in range(3)]
    assert [(ack.number, ack.merge) for ack in later] == [((1 << 16) - 1, False), (0, False), (1, False)]
    assert len(bench.core.agent.by_number) == MERGE_CHILDREN + 3
    assert (1 << 16) + 1 in bench.core.agent.by_number
