"""Packet by packet: which of a receiver's answers may be merged, and which packets have one of their own."""

import random

import pytest

from hosts.endpoint import Address, Datagram, Effect, Send
from hosts.protocol import Session
from hosts.protocols.rla import PROTOCOL
from hosts.protocols.rla.acknowledging import ALONE_WAIT_S, SAMPLED_PACKETS
from hosts.protocols.rla.packets import (
    SACK_BITS,
    Ack,
    Data,
    JoinAck,
    encode_announce,
    encode_data,
    encode_join_ack,
    parse,
)
from hosts.protocols.rla.receiver import RlaReceiver
from hosts.wire.header import CE, ECT_0, NOT_ECT
from hosts.wire.reason import Reason

GROUP = Address("232.1.4.1", 5000)
SENDER = Address("10.0.0.1", 5000)
SESSION = 7
PAYLOAD = 100
SRTT_S = 0.3
STEP_S = 0.01


class Member:
    """A receiver that was admitted, and what it is sent: packet `seq` at `seq` hundredths of a second."""

    def __init__(self, merge: bool, **parameters: float | bool) -> None:
        session = Session(GROUP, SENDER.host, session=SESSION)
        core = PROTOCOL.receiver(session, random.Random(1), {"sample_s": 1000.0, **parameters})
        assert isinstance(core, RlaReceiver)
        self.core = core
        self._merge = merge
        core.start(now=0.0)
        self._receive(encode_announce(SESSION, PAYLOAD), 0.0)
        self._receive(encode_join_ack(JoinAck(SESSION, merge, Reason.NONE, 3, 0, 0)), 0.0)
        self.data(0)  # the first answer is a sample

    def _receive(self, data: bytes, now: float, ecn: int = NOT_ECT) -> list[Ack]:
        return acks(self.core.receive(Datagram(data, SENDER, GROUP, ecn=ecn), now=now))

    def data(
        self,
        seq: int,
        *,
        at: int | None = None,
        again: bool = False,
        ecn: int = NOT_ECT,
        ratio: int = 0,
        waits: bool = False,
        assist: bool = True,
    ) -> list[Ack]:
        """The answers to a packet that comes in its time, or in that of packet `at`."""
        srtt_ms, offset, assist = int(SRTT_S * 1e3), seq * PAYLOAD, self._merge and assist
        packet = Data(SESSION, False, again, seq, srtt_ms, 1 + seq, offset, bytes(PAYLOAD), assist, ratio, waits)
        return self._receive(encode_data(packet), STEP_S * (seq if at is None else at), ecn)


def acks(effects: object) -> list[Ack]:
    assert isinstance(effects, (list, tuple))
    packets: list[Effect] = list(effects)
    parsed = [parse(effect.data) for effect in packets if isinstance(effect, Send)]
    return [packet for packet in parsed if isinstance(packet, Ack)]


def test_data_that_ask_for_no_help_end_it_for_good() -> None:
    member = Member(merge=True)
    assert [ack.merge for ack in member.data(1)] == [True]
    for seq, assist in ((2, False), (3, True), (4, True)):
        (ack,) = member.data(seq, assist=assist)
        assert not ack.merge
        assert not ack.passes
        assert ack.children == 0


@pytest.mark.parametrize("watched", [False, True])
def test_where_switches_are_watched_one_in_so_many_passes(watched: bool) -> None:
    member = Member(merge=True, watch_switches=watched)
    passed = [seq for seq in range(1, 2 * SAMPLED_PACKETS + 3) for ack in member.data(seq) if ack.passes]
    assert passed == ([SAMPLED_PACKETS, 2 * SAMPLED_PACKETS] if watched else [])


def test_receivers_share_the_answering_when_the_sender_wants_it() -> None:
    """Of four packets the one is answered that the others do not answer; what nothing follows is answered as well."""
    member = Member(merge=False)
    answered = [seq for seq in range(1, 13) if member.data(seq, ratio=4)]
    assert answered == [1, 5, 9]  # its number is 3
    assert member.data(14, ratio=4) == []
    assert member.core.wake_at is not None
    assert member.core.wake_at <= 12 * STEP_S + ALONE_WAIT_S  # not later than the first that waits
    at = 14.5 * STEP_S
    (answer,) = acks(member.core.handle_timer(now=at))
    assert (answer.cumulative, answer.sack) == (13, 1)
    # Its wait is no part of the round trip.
    assert answer.echo_time_us == pytest.approx(15 + 0.5 * STEP_S * 1e6, abs=1)


def test_answers_wait_as_long_as_the_sender_says() -> None:
    """Two round trips at most, and half of that at least; each tells of the newest packet."""
    member = Member(merge=False)
    waits = []
    for first in range(1, 400, 40):
        began = STEP_S * first
        assert member.data(first, ratio=16, waits=True) == []
        at = member.core.wake_at
        assert at is not None
        waits.append(at - began)
        assert member.data(first + 1, ratio=16, waits=True) == []
        assert member.core.wake_at == at
        assert len(acks(member.core.handle_timer(now=at))) == 1
    assert SRTT_S <= min(waits) < max(waits) <= 2 * SRTT_S


def test_without_merging_every_packet_has_an_answer() -> None:
    member = Member(merge=False)
    answers = [member.data(seq) for seq in range(1, 40) if seq != 5]
    assert [len(answer) for answer in answers] == [1] * 38


def test_a_new_hole_is_told_alone_and_at_once_and_then_with_every_second_packet_for_one_srtt() -> None:
    member = Member(merge=True)
    alone, answered = {}, []
    for seq in (seq for seq in range(1, 60) if seq != 5):
        for ack in member.data(seq):
            answered.append(seq)
            alone[seq] = not ack.merge
            assert ack.passes is not ack.merge
    # Three higher ones than packet 5 are packets 6, 7 and 8.
    told = [seq for seq in answered if alone[seq]]
    assert told == list(range(8, 8 + int(SRTT_S / STEP_S), 2))
    assert [seq for seq in answered if not alone[seq]] == [1, 2, 3, 4, 6, 7, *range(38, 60)]


def test_what_waits_for_its_answer_has_it_in_time() -> None:
    member = Member(merge=True)
    for seq in (1, 2, 4, 5, 6):
        assert len(member.data(seq)) == 1
    assert member.data(7) == []
    assert member.core.wake_at == pytest.approx(7 * STEP_S + ALONE_WAIT_S)
    (ack,) = acks(member.core.handle_timer(now=7 * STEP_S + ALONE_WAIT_S))
    assert (ack.cumulative, ack.echo_time_us, ack.merge) == (3, 8, False)
    assert acks(member.core.handle_timer(now=7 * STEP_S + ALONE_WAIT_S)) == []


def test_a_repair_and_another_hole_do_not_wait() -> None:
    member = Member(merge=True)
    for seq in (1, 2, 4, 5, 6):
        member.data(seq)
    assert [len(member.data(seq)) for seq in (7, 8, 9)] == [0, 1, 0]
    (ack,) = member.data(3, at=10, again=True)
    assert ack.cumulative == 10
    assert [len(member.data(seq)) for seq in (11, 12)] == [0, 1]
    (ack,) = member.data(13)  # packet 10 is lost now
    assert ack.cumulative == 10
    assert not ack.merge
    assert member.data(14) == []


@pytest.mark.parametrize("merge", [False, True])
def test_a_mark_is_told_once_and_by_itself(merge: bool) -> None:
    member = Member(merge=merge)
    answers = [member.data(seq, ecn=CE if seq == 5 else ECT_0)[0] for seq in range(1, 10)]
    assert [ack.marked for ack in answers] == [seq == 5 for seq in range(1, 10)]
    assert (answers[4].merge, answers[4].passes) == (False, merge)
    assert answers[5].merge is merge


@pytest.mark.parametrize("merge", [False, True])
def test_a_bitmap_stands_where_it_tells_of_what_is_answered(merge: bool) -> None:
    """Packet 1 is missing and 2,000 follow; 1,500 is sent again. Switches cannot tell what lies so far."""
    member = Member(merge=merge)
    for seq in range(2, 2001):
        if seq != 1500:
            answers = member.data(seq)
    ack = answers[-1]
    assert (ack.cumulative, ack.sack_start) == (1, 2001 - 2 - SACK_BITS)
    assert ack.sack == (1 << SACK_BITS) - 1 - (1 << 1500 - 2 - ack.sack_start)
    assert not ack.merge
    assert not ack.passes
    (ack,) = member.data(600, at=2001, again=True)
    assert ack.sack >> 600 - 2 - ack.sack_start & 1
    (ack,) = acks(member.core.handle_timer(now=21.5))  # it answers no packet
    assert (ack.cumulative, ack.sack_start, ack.sack) == (1, 0, (1 << SACK_BITS) - 1)
