"""What merging costs: acknowledgments of MTCP and RLA from two children, of which the one that lags moves on with each
packet, so that each makes the switch compute a summary and send it up. And requests of Arbor's receivers, of which each
asks for less than the one before, so that it passes. All also with tags to check and to make."""

from collections.abc import Callable
from ipaddress import IPv4Address

import canopy_engine

from engine.switch.backend import Backend
from experiments.bench.figure import BenchError
from experiments.bench.switch.replication import (
    ENTRIES,
    PROGRAM_JSON,
    PROGRAM_P4INFO,
    SOURCE_PORT,
    group_frame,
    join_frame,
)
from experiments.bench.switch.workload import Entry, Workload, embedded_switch, ipv4_packet
from experiments.figures.bench import Figure
from hosts.endpoint import Address
from hosts.protocols.arbor import packets as arbor
from hosts.protocols.mtcp.packets import encode_data as encode_mtcp_data
from hosts.protocols.mtcp.packets import encode_feedback
from hosts.protocols.mtcp.wire import UNLIMITED
from hosts.protocols.rla import packets as rla
from hosts.protocols.rla.packets import Ack, Data, encode_ack
from hosts.protocols.rla.packets import encode_data as encode_rla_data
from hosts.security.hop import message_of
from hosts.wire.header import HEADED_VERSION
from hosts.wire.sealed import HEADED, HOP, SEAL, TAG_BYTES, Hop

MOST_NS = 3_000.0
"""A packet of feedback should take no longer."""

_LAGGING, _LEADING = 2, 3
_PORTS = (SOURCE_PORT, _LAGGING, _LEADING)
_UDP_PORT = 5000
_IP_PROTOCOL_UDP = 17
_SWITCH_MAC = bytes.fromhex("02ca00000001")
_SESSION = 7
_WINDOW = 100_000
_PACKETS = 500
"""Data packets, and acknowledgments of each; more would leave RLA's bitmaps."""

_PART = 50
"""The best of parts of so many acknowledgments counts."""

_ROUNDS = 6
_HOP_KEY = 0x0123456789ABCDEF


def _host(port: int) -> IPv4Address:
    return IPv4Address("10.0.0.0") + port


WORKLOAD = Workload(
    name="feedback",
    title="Canopy, feedback",
    program_json=PROGRAM_JSON,
    p4info=PROGRAM_P4INFO,
    input_port=_LAGGING,
    output_ports=(SOURCE_PORT,),
    frame=b"",
    entries=(
        *ENTRIES,
        Entry("assist", None, "set_assist", {"switch_ports": 0}),
        *(Entry("hop_in", {"port": port}, "set_hop_key", {"key": _HOP_KEY, "from_switch": 0}) for port in _PORTS),
        *(Entry("hop_out", {"port": port}, "set_hop_out", {"key": _HOP_KEY, "since": 0}) for port in _PORTS),
        *(
            Entry("ipv4_lpm", {"destination": (int(_host(port)), 32)}, "forward", {"port": port, "mac": port})
            for port in _PORTS
        ),
    ),
    groups={1 << _LAGGING - 1: (_LAGGING,)},
    joins={_LAGGING: join_frame(_LAGGING)},
)


def _udp(payload: bytes) -> bytes:
    ports = _UDP_PORT.to_bytes(2, "big") * 2
    return ports + (8 + len(payload)).to_bytes(2, "big") + b"\x00\x00" + payload


def _down(payload: bytes) -> bytes:
    group = IPv4Address("232.1.1.1")
    return group_frame(_host(SOURCE_PORT), group, ipv4_packet(_host(SOURCE_PORT), group, 64, 17, _udp(payload)))


def _up(port: int, payload: bytes) -> bytes:
    packet = ipv4_packet(_host(port), _host(SOURCE_PORT), 64, _IP_PROTOCOL_UDP, _udp(payload))
    return _SWITCH_MAC + b"\x02\x00" + _host(port).packed + b"\x08\x00" + packet


def _mtcp_data(seq: int) -> bytes:
    return encode_mtcp_data(_SESSION, False, seq, 1, 0, b"x" * 100)


def _mtcp_ack(child: int, cumulative: int) -> bytes:
    return encode_feedback(_SESSION, False, cumulative, 0, 0, 0, UNLIMITED, 0, _WINDOW, 0, merge=True, number=child)


def _sealed_ack(child: int, cumulative: int) -> bytes:
    return _vouched(child, cumulative, _mtcp_ack(child, cumulative))


def _vouched(child: int, cumulative: int, packet: bytes) -> bytes:
    """The child vouches for it; its end-to-end seal is nothing that a switch looks at."""
    head = bytes([HEADED_VERSION]) + packet[1:]
    ends = Address(str(_host(child)), _UDP_PORT), Address(str(_host(SOURCE_PORT)), _UDP_PORT)
    tag = canopy_engine.hop_tag(_HOP_KEY, message_of(cumulative, head, *ends))
    return head + bytes(SEAL.size) + HOP.pack(Hop(cumulative, tag))


def _rla_data(seq: int) -> bytes:
    return encode_rla_data(Data(_SESSION, False, False, seq, 40, 1, 0, b"x" * 100, assist=True))


def _rla_ack(child: int, cumulative: int) -> bytes:
    return encode_ack(Ack(_SESSION, False, True, False, cumulative, _WINDOW, 1, child, 1 << child, 0))


def _sealed_rla_data(seq: int) -> bytes:
    return _headed(_rla_data(seq), rla.OPEN_HEADS[rla.Type.DATA].size)


def _sealed_rla_ack(child: int, cumulative: int) -> bytes:
    return _vouched(child, cumulative, _rla_ack(child, cumulative))


def _arbor_data(seq: int) -> bytes:
    return arbor.encode_told_data(arbor.Data(_SESSION, arbor.FLAG_ASSIST, seq, 1, 1, 1_000_000, 0, 0, 9, b"x" * 100))


def _sealed_data(seq: int) -> bytes:
    return _headed(_arbor_data(seq), arbor.OPEN_HEADS[arbor.Type.TOLD_DATA].size)


def _headed(data: bytes, head: int) -> bytes:
    return bytes([HEADED_VERSION]) + data[1:head] + bytes(HEADED.size) + data[head:] + bytes(TAG_BYTES)


def _request(child: int, cumulative: int) -> bytes:
    rate = 2 * _PACKETS if child == _LEADING else _PACKETS - cumulative
    return arbor.encode_report(arbor.Report(_SESSION, child, 1, 1, rate, 1, 0, may_suppress=True))


def _sealed_request(child: int, cumulative: int) -> bytes:
    return _vouched(child, cumulative, _request(child, cumulative))


def _nanoseconds(data: Callable[[int], bytes], ack: Callable[[int, int], bytes], backend: Backend) -> float:
    best = float("inf")
    frames = [_up(_LAGGING, ack(_LAGGING, number)) for number in range(2, _PACKETS)]
    for _ in range(_ROUNDS):
        switch = _begin(data, ack, backend)
        for start in range(0, len(frames) - _PART, _PART):
            result = canopy_engine.bench(switch, _LAGGING, frames[start : start + _PART], _PART)
            if result["packets_out"] != _PART:
                raise BenchError(f"{result['packets_out']:.0f} packets of {_PART} packets of feedback")
            best = min(best, result["seconds"] / _PART * 1e9)
    return best


def _begin(data: Callable[[int], bytes], ack: Callable[[int, int], bytes], backend: Backend) -> canopy_engine.Switch:
    """A switch that data has passed, which both children have acknowledged, the leading one all of it."""
    switch = embedded_switch(WORKLOAD, backend)
    for port, frame in WORKLOAD.joins.items():
        switch.process(port, frame, 1)
    for seq in range(_PACKETS):
        switch.process(SOURCE_PORT, _down(data(seq)), 1)
    for child, cumulative in ((_LAGGING, 1), (_LEADING, 1), (_LEADING, _PACKETS - 1)):
        switch.process(child, _up(child, ack(child, cumulative)), 1)
    return switch


def feedback(backend: Backend = "native") -> list[Figure]:
    """Nanoseconds a packet of feedback that is merged, or passes."""
    how = " interpreted," if backend == "interpreter" else ""
    most = MOST_NS if backend == "native" else None
    kinds = (
        ("MTCP's feedback,", "merged", _mtcp_data, _mtcp_ack, most),
        ("MTCP's sealed feedback,", "merged", _mtcp_data, _sealed_ack, None),
        ("RLA's feedback,", "merged", _rla_data, _rla_ack, most),
        ("RLA's sealed feedback,", "merged", _sealed_rla_data, _sealed_rla_ack, None),
        ("Arbor's requests,", "passed", _arbor_data, _request, most),
        ("Arbor's sealed requests,", "passed", _sealed_data, _sealed_request, None),
    )
    return [
        Figure(f"{name}{how} {what}", _nanoseconds(data, ack, backend), "ns a packet", target, at_most=True)
        for name, what, data, ack, target in kinds
    ]
