"""A switch under test: what the tests need of it, and the embedded switch in process. bmv2.py has the other.

Time belongs to the target. On the embedded switch it is a number that the test moves; on simple_switch it passes.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from engine.switch.backend import Backend
from tests.p4src.bench.program import Program, number

Key = int | tuple[int, int]
"""A match field's value: exact, or (value, prefix length)."""

Output = tuple[int, bytes]
"""(egress port, packet)."""


@dataclass(frozen=True)
class Digest:
    """One digest message: its name and its fields by name."""

    name: str
    fields: Mapping[str, int]

    def __getitem__(self, name: str) -> int:
        return self.fields[name]


@dataclass(frozen=True)
class PacketIn:
    """A packet sent to the controller, and what its packet_in header says."""

    ingress_port: int
    reason: int
    packet: bytes


@dataclass(frozen=True)
class Rates:
    """A meter's configuration in packets per second and packets."""

    committed_rate: int
    committed_burst: int
    peak_rate: int
    peak_burst: int


@dataclass
class Target(ABC):
    """A switch that runs the program and nothing else: no entries, no groups, until a test installs them."""

    program: Program
    exact_time: bool = field(init=False, default=False)
    """Whether `advance` moves time by exactly what it is told, and nothing else moves it."""

    @abstractmethod
    def send(self, port: int, packet: bytes) -> list[Output]:
        """The packets that leave by other ports than the CPU port after one has arrived, ordered by port."""

    @abstractmethod
    def digests(self) -> list[Digest]:
        """Digests since the last call, in order."""

    @abstractmethod
    def packet_ins(self) -> list[PacketIn]:
        """Packets sent to the controller since the last call, in order."""

    @abstractmethod
    def advance(self, microseconds: int) -> None: ...

    @abstractmethod
    def reset(self) -> None:
        """What a restart does: everything is gone, time starts at zero."""

    @abstractmethod
    def set_default(self, table: str, action: str, params: Mapping[str, int]) -> None: ...

    @abstractmethod
    def insert(self, table: str, key: Mapping[str, Key], action: str, params: Mapping[str, int]) -> None: ...

    @abstractmethod
    def modify(self, table: str, key: Mapping[str, Key], action: str, params: Mapping[str, int]) -> None: ...

    @abstractmethod
    def delete(self, table: str, key: Mapping[str, Key]) -> None: ...

    @abstractmethod
    def set_groups(self, groups: Mapping[int, Sequence[int]]) -> None:
        """Adds multicast groups: group id -> ports, with instance 0."""

    @abstractmethod
    def change_group(self, group: int, ports: Sequence[int]) -> None: ...

    @abstractmethod
    def set_clone_session(self, session: int, port: int) -> None: ...

    @abstractmethod
    def counter(self, name: str, index: int) -> tuple[int, int]:
        """(packets, bytes)."""

    @abstractmethod
    def set_meter(self, name: str, index: int, rates: Rates) -> None: ...

    def packet_out(self, packet: bytes, *, port: int = 0, mode: int = 0, ports: int = 0) -> list[Output]:
        """As `send`, for a packet from the controller."""
        header = self.program.encode_header("packet_out", {"port": port, "mode": mode, "ports": ports})
        return self.send(number("CPU_PORT"), header + packet)

    def dropped(self, reason: str) -> int:
        """Packets dropped for a reason of drop_reason_t."""
        return self.counter("drops", self.program.constants.enums["drop_reason"][reason])[0]

    def drops(self) -> dict[str, int]:
        """All reasons that have dropped a packet."""
        counts = {reason: self.dropped(reason) for reason in self.program.constants.enums["drop_reason"]}
        return {reason: count for reason, count in counts.items() if count}


class Embedded(Target):
    """canopy_engine.Switch, in process, with time that only `advance` moves."""

    def __init__(self, program: Program, backend: Backend = "native") -> None:
        from canopy_engine import Switch

        super().__init__(program)
        self.exact_time = True
        self.now_us = 0
        self._switch = Switch(program.json, cpu_port=number("CPU_PORT"), backend=backend)
        self._packet_ins: list[PacketIn] = []

    def send(self, port: int, packet: bytes) -> list[Output]:
        outputs = []
        for egress_port, sent in self._switch.process(port, packet, self.now_us):
            if egress_port == number("CPU_PORT"):
                header, payload = self.program.decode_header("packet_in", sent)
                self._packet_ins.append(PacketIn(header["ingress_port"], header["reason"], payload))
            else:
                outputs.append((egress_port, sent))
        return sorted(outputs, key=lambda output: output[0])

    def packet_ins(self) -> list[PacketIn]:
        packets, self._packet_ins = self._packet_ins, []
        return packets

    def digests(self) -> list[Digest]:
        messages = []
        while events := self._switch.take_events():  # takes a part of them at a time
            for event in events:
                names = self.program.digest_fields(event["digest"])
                for values in event["values"]:
                    fields = {name: int.from_bytes(value, "big") for name, value in zip(names, values, strict=True)}
                    messages.append(Digest(event["digest"], fields))
        return messages

    def advance(self, microseconds: int) -> None:
        self.now_us += microseconds

    def reset(self) -> None:
        self._switch.reset()
        self._switch.take_events()
        self._packet_ins.clear()
        self.now_us = 0

    def set_default(self, table: str, action: str, params: Mapping[str, int]) -> None:
        call = self.program.action(action)
        self._switch.table_set_default(self.program.table(table).name, call.name, call.encode(params))

    def insert(self, table: str, key: Mapping[str, Key], action: str, params: Mapping[str, int]) -> None:
        call = self.program.action(action)
        self._switch.table_add(self.program.table(table).name, self._match(table, key), call.name, call.encode(params))

    def modify(self, table: str, key: Mapping[str, Key], action: str, params: Mapping[str, int]) -> None:
        call = self.program.action(action)
        self._switch.table_modify(
            self.program.table(table).name, self._match(table, key), call.name, call.encode(params)
        )

    def delete(self, table: str, key: Mapping[str, Key]) -> None:
        self._switch.table_delete(self.program.table(table).name, self._match(table, key))

    def set_groups(self, groups: Mapping[int, Sequence[int]]) -> None:
        for group, ports in groups.items():
            self._switch.mcast_group_add(group, [(port, 0) for port in ports])

    def change_group(self, group: int, ports: Sequence[int]) -> None:
        self._switch.mcast_group_modify(group, [(port, 0) for port in ports])

    def set_clone_session(self, session: int, port: int) -> None:
        self._switch.clone_session_set(session, [(port, 0)])

    def counter(self, name: str, index: int) -> tuple[int, int]:
        return self._switch.counter_read(name, index)

    def set_meter(self, name: str, index: int, rates: Rates) -> None:
        self._switch.meter_write(
            name,
            index,
            {
                "cir": rates.committed_rate,
                "cburst": rates.committed_burst,
                "pir": rates.peak_rate,
                "pburst": rates.peak_burst,
            },
        )

    def _match(self, table: str, key: Mapping[str, Key]) -> list[bytes | tuple[bytes, int]]:
        match: list[bytes | tuple[bytes, int]] = []
        for name, width, _ in self.program.table(table).fields:
            value = key[name]
            size = (width + 7) // 8
            if isinstance(value, tuple):
                match.append((value[0].to_bytes(size, "big"), value[1]))
            else:
                match.append(value.to_bytes(size, "big"))
        return match
