"""What a switch is measured with: a program, its entries, one frame, and the ports it should leave at.

A workload is data. It is applied to the embedded switch through its own interface, and to any switch through P4Runtime.
"""

import asyncio
import struct
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from pathlib import Path

import canopy_engine
import finsy as fy

from controller.network import CPU_PORT
from engine.switch.backend import Backend

Value = int | tuple[int, int]
"""A match: a number, or for lpm a number and its prefix's length."""


@dataclass(frozen=True)
class Entry:
    """A table entry, or with match None the table's default entry. Values are numbers, names as in P4Info (aliases of
    tables and actions)."""

    table: str
    match: Mapping[str, Value] | None
    action: str
    params: Mapping[str, int]


@dataclass(frozen=True)
class Workload:
    """`frame` is sent into `input_port`, and a copy should leave at each of `output_ports`. Before that, the frames in
    `joins` are sent into the ports they are listed by."""

    name: str
    title: str
    program_json: Path
    p4info: Path
    input_port: int
    output_ports: tuple[int, ...]
    frame: bytes
    entries: tuple[Entry, ...]
    groups: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    joins: Mapping[int, bytes] = field(default_factory=dict)

    @property
    def ports(self) -> tuple[int, ...]:
        return (self.input_port, *self.output_ports)


def checksum(data: bytes) -> int:
    """The Internet checksum (RFC 1071) of an even number of bytes."""
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total >> 16) + (total & 0xFFFF)
    return ~total & 0xFFFF


def ipv4_packet(
    source: IPv4Address, destination: IPv4Address, ttl: int, protocol: int, payload: bytes, options: bytes = b""
) -> bytes:
    """An IPv4 packet with its header's checksum."""
    header_bytes = 20 + len(options)
    fields = (0x40 | header_bytes // 4, 0, header_bytes + len(payload), 0, 0, ttl, protocol)
    addresses = source.packed + destination.packed + options
    unfinished = struct.pack("!BBHHHBBH", *fields, 0) + addresses
    return struct.pack("!BBHHHBBH", *fields, checksum(unfinished)) + addresses + payload


def udp_datagram(length: int, source_port: int = 9000, destination_port: int = 9000) -> bytes:
    """`length` bytes of UDP, zeros behind its header, without a checksum."""
    return struct.pack("!HHHH", source_port, destination_port, length, 0) + bytes(length - 8)


def embedded_switch(workload: Workload, backend: Backend = "native") -> canopy_engine.Switch:
    """A configured embedded switch that nothing has been sent to yet."""
    switch = canopy_engine.Switch(workload.program_json.read_text(), cpu_port=CPU_PORT, backend=backend)
    for entry in workload.entries:
        _apply(switch, entry)
    for group, ports in workload.groups.items():
        switch.mcast_group_add(group, [(port, 0) for port in ports])
    return switch


def joined_switch(workload: Workload, backend: Backend = "native") -> canopy_engine.Switch:
    """A configured embedded switch whose members have joined, in process."""
    switch = embedded_switch(workload, backend)
    for port, frame in workload.joins.items():
        switch.process(port, frame)
    return switch


def _apply(switch: canopy_engine.Switch, entry: Entry) -> None:
    table = next(name for name in switch.tables() if name.rpartition(".")[2] == entry.table)
    info = switch.table_info(table)
    name, params = _find_action(info["actions"], entry.action)
    values = [_to_bytes(entry.params[param], bits) for param, bits in params]
    if entry.match is None:
        switch.table_set_default(table, name, values)
        return
    key = [_match(entry.match[field["name"]], field["bits"]) for field in info["key"]]
    switch.table_add(table, key, name, values)


def _find_action(actions: object, alias: str) -> tuple[str, Sequence[tuple[str, int]]]:
    assert isinstance(actions, list)
    return next((action["name"], action["params"]) for action in actions if action["name"].rpartition(".")[2] == alias)


def _match(value: Value, bits: int) -> bytes | tuple[bytes, int]:
    if isinstance(value, tuple):
        return _to_bytes(value[0], bits), value[1]
    return _to_bytes(value, bits)


def _to_bytes(value: int, bits: int) -> bytes:
    return value.to_bytes((bits + 7) // 8, "big")


async def configure(switch: fy.Switch, workload: Workload) -> None:
    """Installs the same over P4Runtime."""
    entities = [
        fy.P4TableEntry(
            entry.table,
            match=None if entry.match is None else fy.P4TableMatch(entry.match),
            action=fy.P4TableAction(entry.action, **entry.params),
            is_default_action=entry.match is None,
        )
        for entry in workload.entries
    ]
    # A default entry can only be modified.
    await switch.modify([entity for entity in entities if entity.is_default_action])
    await switch.insert([entity for entity in entities if not entity.is_default_action])
    groups = [
        fy.P4MulticastGroupEntry(group, replicas=[(port, 0) for port in ports])
        for group, ports in workload.groups.items()
    ]
    await switch.insert(groups)


async def configured(
    workload: Workload, address: str, body: Callable[[], Awaitable[dict[str, float]]]
) -> dict[str, float]:
    """Configures the switch that serves P4Runtime there, and runs the body while the connection lives."""
    result: asyncio.Future[dict[str, float]] = asyncio.get_running_loop().create_future()

    async def ready(switch: fy.Switch) -> None:
        try:
            await configure(switch, workload)
            result.set_result(await body())
        except Exception as error:
            result.set_exception(error)

    options = fy.SwitchOptions(p4info=workload.p4info, p4blob=workload.program_json, p4force=True, ready_handler=ready)
    switch = fy.Switch("bmv2", address, options)
    task = asyncio.create_task(switch.run())
    try:
        return await result
    finally:
        task.cancel()
