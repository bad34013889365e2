"""What members and strangers may do to a file's sender, and senders to a receiver: memory stays bounded."""

import random

import pytest

from hosts import protocols
from hosts.endpoint import Address, Compute, Datagram, Send
from hosts.parts import roster
from hosts.parts.fec.block import REPAIRS_AT_ONCE
from hosts.parts.fec.pieces import BlockStatus
from hosts.protocol import Session
from hosts.protocols.tfmcc.blocks import encode_status
from hosts.protocols.tfmcc.file_sender import TfmccFileSender
from hosts.protocols.tfmcc.loss_history import MOST_GAPS, LossHistory, interval_weights
from hosts.protocols.tfmcc.packets import Join, JoinAck, encode_fin, encode_join, parse
from hosts.wire.farewell import MemberFin
from hosts.wire.reason import Reason

GROUP = Address("232.1.1.1", 5000)
ME = Address("10.0.0.1", 4000)
ONE = Address("10.0.0.2", 4000)


def sender(receivers: int, **parameters: float) -> TfmccFileSender:
    session = Session(GROUP, session=7, receivers=receivers)
    core = protocols.get("tfmcc").sender(session, random.Random(1), parameters)
    assert isinstance(core, TfmccFileSender)
    core.start(now=100.0)
    return core


def test_who_comes_and_goes_is_refused_at_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roster, "MOST_RECEIVERS", 50)
    core = sender(1000)
    reasons = []
    for index in range(1, 101):
        source = Address(f"10.1.0.{index}", 4000)
        effects = core.receive(Datagram(encode_join(Join(7, index, 0, 0, 1)), source, ME), now=100.0)
        answer = next(parse(effect.data) for effect in effects if isinstance(effect, Send))
        assert isinstance(answer, JoinAck)
        reasons.append(answer.reason)
        core.receive(Datagram(encode_fin(MemberFin(7, False, False, Reason.NONE, index)), source, ME), now=100.0)
    assert reasons == [Reason.NONE] * 50 + [Reason.FULL] * 50
    assert len(core.roster.ended) == 50


def test_who_never_has_enough_of_a_block_does_not_fill_the_memory() -> None:
    core = sender(1, payload_bytes=200, least_rate_bps=1e6)
    core.receive(Datagram(encode_join(Join(7, 9, 0, 0, 1)), ONE, ME), now=100.0)
    core.write(bytes(2000), now=100.0)
    core.finish(now=100.0)
    now = 100.0
    while now < 120.0:
        now = max(now, core.wake_at or now)
        core.handle_timer(now=now)
        status = BlockStatus(7, 9, core.seq - 1, 0, ((0, 0xFFFF),))
        for effect in core.receive(Datagram(encode_status(status), ONE, ME), now=now):
            if isinstance(effect, Compute):
                effect.work()
                core.computed(now=now)
    block = core.blocks.open[0]
    assert core.blocks.repair_packets > 20 * block.encoder.source_symbols
    assert len(block.encoder._repairs) <= REPAIRS_AT_ONCE
    assert len(block.repairs) <= block.encoder.source_symbols


def test_late_packets_do_not_cut_a_gap_into_pieces_without_end() -> None:
    history = LossHistory(interval_weights(8), lambda: 100.0)
    history.arrived(0, 0.0, 0.1)
    history.arrived(1 << 20, 0.1, 0.1)
    new = sum(history.arrived(2 * index, 0.1, 0.1) for index in range(1, 5000))
    assert new == len(history._gaps) - 1 == MOST_GAPS - 1
    for seq in range((1 << 20) + 1, (1 << 20) + 5):
        assert history.arrived(seq, 0.2, 0.1)
    assert history.lost_packets == (1 << 20) - 1 - new
