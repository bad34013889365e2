"""The P4 program as the controller speaks to it: its tables, groups, digests and packet headers by name.

Everything that a switch can be told is built here, as `Entry`s that compare by text, and everything that it tells is
decoded here. The names are those of p4src/README.md; the P4Info gives them their numbers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import resources
from ipaddress import IPv4Address
from itertools import combinations
from pathlib import Path
from typing import Any

import finsy as fy
from google.protobuf import json_format, text_format

from controller.groups import GroupKey, Slot
from controller.state import Entity, Entry, describe
from controller.trees import Route

P4INFO_NAME = "canopy.p4info.txtpb"
BLOB_NAME = "canopy.json"
CONSTANTS_NAME = "canopy.constants.json"

# A host needs a few reports a tick, and one for each join or leave (p4src/README.md).
REPORTS_PER_S = 100
REPORT_BURST = 100
_METER = "report_meter"

MAX_BITMAP_PORTS = 12  # beyond, the groups of all bitmaps would be too many (2^12 - 1 = 4,095)

# Lists are sent at once, because a join of an unknown group waits with its list (BMv2 sweeps waiting ones five times a
# second). No acknowledgment is waited for: no two messages are equal (they have timestamps), and reports are repeated.
_DIGEST_CONFIG = {"max_list_size": 1, "max_timeout_ns": 0, "ack_timeout_ns": 0}

_CACHED = 1 << 16
_CACHED_SWITCHES = 256


class ProgramError(Exception):
    """The compiled program cannot be used. The message is one line for the user."""


@dataclass(frozen=True)
class UnknownGroup:
    """A port joins a group that has no slot."""

    key: GroupKey
    port: int


@dataclass(frozen=True)
class MembersChanged:
    """The members of a slot changed, or were refreshed; `change` is join, leave, expire, refresh or leaving."""

    change: str
    slot: int
    key: GroupKey
    ports: frozenset[int]
    members: frozenset[int]


class Program:
    """The compiled program, from a directory with p4c's output (by default the one of this project)."""

    def __init__(self, directory: Path | None = None) -> None:
        """Raises ProgramError when a file is missing or is not p4c's."""
        self.directory = directory if directory is not None else default_directory()
        self.p4info_path = self.directory / P4INFO_NAME
        self.blob_path = self.directory / BLOB_NAME
        self.digest_names = ("members_changed", "unknown_group")
        self.table_names = ("ipv4_lpm", "source_guard", "route_sg", "route_g", "slot_group", "hop_in", "hop_out")
        try:
            self.schema = fy.P4Schema(self.p4info_path, self.blob_path)
            for name in (*self.table_names, "switch_config", "assist", "lan", "shared"):
                self.schema.tables[name]
            for name in self.digest_names:
                self.schema.digests[name]
            self.schema.meters[_METER]
            self._constants: dict[str, Any] = json.loads((self.directory / CONSTANTS_NAME).read_text("utf-8"))
        except OSError as error:
            raise ProgramError(f"{error.filename}: {error.strerror}; `make setup` unpacks the program") from None
        except (ValueError, json_format.ParseError, text_format.ParseError) as error:
            raise ProgramError(f"{self.directory}: {str(error).splitlines()[0]}") from None
        # Entries are asked for again on every change; to make one goes through P4Runtime's messages and back.
        self._entry = lru_cache(maxsize=_CACHED)(self._make_entry)
        self._multicast_group = lru_cache(maxsize=_CACHED)(self._make_multicast_group)
        self._port_groups = lru_cache(maxsize=_CACHED_SWITCHES)(self._make_port_groups)

    # ---------------------------------------------------------------- what a switch is told

    def switch_config(self, mac: str, epoch_shift: int, *, bitmap_groups: bool) -> Entry:
        """The switch's own address, the length of an epoch (2^epoch_shift us), and which kind of groups it has."""
        action = fy.Action("set_config", mac=mac, epoch_shift=epoch_shift, bitmap_groups=int(bitmap_groups))
        return self.describe(fy.P4TableEntry("switch_config", is_default_action=True, action=action))

    def assist(self, switch_ports: Iterable[int]) -> Entry:
        """The switch merges feedback that may be merged (docs/assist.md); these ports have a switch behind them."""
        action = fy.Action("set_assist", switch_ports=bitmap(switch_ports))
        return self.describe(fy.P4TableEntry("assist", is_default_action=True, action=action))

    def hop_in(self, port: int, key: int, *, from_switch: bool) -> Entry:
        """The key under which feedback arrives at a port; `from_switch`: it may be merged there."""
        args = (("key", key), ("from_switch", int(from_switch)))
        return self._entry("hop_in", (("port", port),), "set_hop_key", args)

    def hop_out(self, port: int, key: int, since: int) -> Entry:
        """The key under which feedback leaves by a port, and what its counter begins above."""
        return self._entry("hop_out", (("port", port),), "set_hop_out", (("key", key), ("since", since)))

    def lan(self, host_ports: Iterable[int]) -> Entry:
        """The hosts at these ports are one LAN: what one sends to a group with a TTL of 1 reaches the others."""
        action = fy.Action("set_lan", lan_ports=bitmap(host_ports))
        return self.describe(fy.P4TableEntry("lan", is_default_action=True, action=action))

    def shared(self, ports: Iterable[int]) -> Entry:
        """The ports with several hosts behind a bridge: a leave there waits until the others had time to answer."""
        action = fy.Action("set_shared", shared_ports=bitmap(ports))
        return self.describe(fy.P4TableEntry("shared", is_default_action=True, action=action))

    def is_unconfigured(self, entry: Entry) -> bool:
        """Whether a switch's `switch_config` is what the program starts with."""
        return entry.key == "switch_config default" and entry.value.startswith("not_configured")

    def digests(self) -> list[Entry]:
        """The switch is to send both digests."""
        return [self.describe(fy.P4DigestEntry(name, **_DIGEST_CONFIG)) for name in self.digest_names]

    def read_requests(self) -> list[Entity]:
        """What to read of a switch, beside its tables, to learn all that this class can tell it."""
        return [
            fy.P4TableEntry("switch_config", is_default_action=True),
            fy.P4TableEntry("assist", is_default_action=True),
            fy.P4TableEntry("lan", is_default_action=True),
            fy.P4TableEntry("shared", is_default_action=True),
            fy.P4MulticastGroupEntry(),
            fy.P4CloneSessionEntry(),
            fy.P4MeterEntry(_METER),
            *(fy.P4DigestEntry(name) for name in self.digest_names),
        ]

    def route(self, route: Route) -> Entry:
        """A unicast route."""
        return self._entry(
            "ipv4_lpm", (("destination", str(route.destination)),), "forward", _args(route.port, route.mac)
        )

    def slot(self, slot: Slot, upstream: Iterable[int], accept: Iterable[int]) -> Entry:
        """A group's slot; the ports that its joins go up by, and those that its data may come from."""
        args = (("slot", slot.index), ("upstream", bitmap(upstream)), ("accept", bitmap(accept)))
        key = slot.key
        if key.source is None:
            return self._entry("route_g", (("group", int(key.group)),), "set_group_route", args)
        match = (("source", int(key.source)), ("group", int(key.group)))
        return self._entry("route_sg", match, "set_source_route", args)

    def slot_group(self, slot: int, group: int, members: Iterable[int]) -> Entry:
        """On a large switch: the multicast group of a slot, and the members that it is exact for."""
        args = (("multicast_group", group), ("ports", bitmap(members)))
        return self._entry("slot_group", (("slot", slot),), "set_slot_group", args)

    def multicast_group(self, group: int, ports: Iterable[int]) -> Entry:
        """A multicast group with one copy for each port."""
        return self._multicast_group(group, tuple(sorted(ports)))

    def port_groups(self, ports: Iterable[int]) -> tuple[Entry, ...]:
        """The multicast groups that a switch with these ports has from the start: one for each set of ports, numbered
        by its bitmap, or on a large switch one of all ports."""
        return self._port_groups(tuple(sorted(ports)))

    def report_sessions(self, ports: Iterable[int]) -> list[Entry]:
        """The clone sessions, one a port, that reports of the switch's own go upstream by."""
        return [self.describe(fy.P4CloneSessionEntry(port, replicas=[port])) for port in sorted(ports)]

    def report_limits(self, ports: Iterable[int]) -> list[Entry]:
        """How many IGMP reports a second the switch takes from each of these ports; the rest is dropped."""
        rate, burst = REPORTS_PER_S, REPORT_BURST
        config = fy.P4MeterConfig(cir=rate, cburst=burst, pir=rate, pburst=burst)
        return [self.describe(fy.P4MeterEntry(_METER, index=port, config=config)) for port in sorted(ports)]

    def source_guard(self, port: int, hosts: Iterable[IPv4Address]) -> list[Entry]:
        """A port takes packets from its own hosts' addresses only, and reports from none (RFC 3376, 4.2.13)."""
        return [
            *(self._entry("source_guard", (("port", port), ("source", f"{host}/32")), "permit", ()) for host in hosts),
            self._entry("source_guard", (("port", port), ("source", "0.0.0.0/32")), "permit", ()),
            self._entry("source_guard", (("port", port),), "deny", ()),
        ]

    @staticmethod
    def has_bitmap_groups(ports: Iterable[int]) -> bool:
        """Whether a switch with these ports has a group for each set of ports."""
        return max(ports, default=0) <= MAX_BITMAP_PORTS

    # ---------------------------------------------------------------- packets

    def send_out(self, frame: bytes, ports: Iterable[int]) -> fy.P4PacketOut:
        """A packet-out that leaves by these ports, unchanged."""
        return fy.P4PacketOut(frame, port=0, mode=self._enum("packet_out_mode", "ports"), ports=bitmap(ports))

    def receive_at(self, frame: bytes, port: int, *, last: bool = False) -> fy.P4PacketOut:
        """A packet-out that the switch takes as if it had arrived at a port. `last`: a leave in it holds at a shared
        port, unless somebody there has reported since it was told."""
        mode = self._enum("packet_out_mode", "last" if last else "receive")
        return fy.P4PacketOut(frame, port=port, mode=mode, ports=0)

    def packet_in_reason(self, packet: fy.P4PacketIn) -> tuple[str, int]:
        """Why a packet-in was sent, and the port it came from."""
        return self._name("packet_in_reason", int(packet["reason"])), int(packet["ingress_port"])

    # ---------------------------------------------------------------- what a switch tells

    def decode_digest(self, name: str, item: Any) -> UnknownGroup | MembersChanged:
        """A digest message as finsy gives it. Raises ValueError when it is none of the program's."""
        try:
            source = IPv4Address(int(item["source"])) if int(item["source"]) else None
            key = GroupKey(source, IPv4Address(int(item["group"])))
            if name == "unknown_group":
                return UnknownGroup(key, int(item["port"]))
            change = self._name("change", int(item["change"]))
            return MembersChanged(change, int(item["slot"]), key, ports(item["ports"]), ports(item["members"]))
        except (KeyError, TypeError) as error:
            raise ValueError(f"digest {name}: {error!r} in {item!r}") from None

    def slot_of(self, entry: Entry) -> tuple[int, GroupKey] | None:
        """The slot and group of an entry read from a switch; None when it is no group's route."""
        entity = entry.entity
        if not isinstance(entity, fy.P4TableEntry) or entity.table_id not in ("route_sg", "route_g"):
            return None
        assert entity.match is not None
        assert isinstance(entity.action, fy.P4TableAction)
        source = IPv4Address(entity.match["source"]) if entity.table_id == "route_sg" else None
        return int(entity.action.args["slot"]), GroupKey(source, IPv4Address(entity.match["group"]))

    def slot_group_of(self, entry: Entry) -> tuple[int, int, frozenset[int]] | None:
        """Slot, multicast group and members of a large switch's `slot_group` entry; None for other entries."""
        entity = entry.entity
        if not isinstance(entity, fy.P4TableEntry) or entity.table_id != "slot_group":
            return None
        assert entity.match is not None
        assert isinstance(entity.action, fy.P4TableAction)
        args = entity.action.args
        return int(entity.match["slot"]), int(args["multicast_group"]), ports(args["ports"])

    def bitmap_group_of(self, entry: Entry) -> tuple[int, frozenset[int]] | None:
        """Number and ports of a multicast group that `multicast_group` made on a large switch; None for others."""
        entity = entry.entity
        if not isinstance(entity, fy.P4MulticastGroupEntry) or entity.multicast_group_id <= self.flood_group:
            return None
        return entity.multicast_group_id, frozenset(decode_port(replica) for replica in entity.replicas)

    def slot_counter(self, slot: int, port: int) -> int:
        """The index of a slot's and port's cell in counter `slot_port`."""
        return slot * int(self._constants["numbers"]["MAX_PORTS"]) + port - 1

    def forget_counts(self, entry: Entry, ports: Iterable[int]) -> list[fy.P4CounterEntry]:
        """For a group's route that a switch has lost: what sets its slot's counters to zero for the next group; empty
        for other entries."""
        held = self.slot_of(entry)
        if held is None:
            return []
        cells = (self.slot_counter(held[0], port) for port in ports)
        return [fy.P4CounterEntry("slot_port", index=cell, data=fy.P4CounterData()) for cell in cells]

    def drop_reasons(self, counts: dict[int, int]) -> dict[str, int]:
        """The cells of counter `drops` by the reasons' names."""
        return {self._name("drop_reason", index): count for index, count in sorted(counts.items())}

    def feedback_outcomes(self, counts: dict[int, int]) -> dict[str, int]:
        """The cells of counter `feedback` by the outcomes' names."""
        return {self._name("feedback", index): count for index, count in sorted(counts.items())}

    def describe(self, entity: Entity) -> Entry:
        """An entity with its comparable texts."""
        return describe(entity, self.schema)

    @cached_property
    def flood_group(self) -> int:
        """The multicast group of all ports of a large switch; greater numbers are free for others."""
        return int(self._constants["numbers"]["FLOOD_GROUP"])

    # ---------------------------------------------------------------- within

    def _enum(self, enum: str, member: str) -> int:
        return int(self._constants["enums"][enum][member])

    def _name(self, enum: str, value: int) -> str:
        names = {number: name for name, number in self._constants["enums"][enum].items()}
        return str(names.get(value, value))

    def _make_entry(
        self, table: str, match: tuple[tuple[str, Any], ...], action: str, args: tuple[tuple[str, Any], ...]
    ) -> Entry:
        return self.describe(fy.P4TableEntry(table, match=fy.Match(match), action=fy.Action(action, **dict(args))))

    def _make_multicast_group(self, group: int, members: tuple[int, ...]) -> Entry:
        return self.describe(fy.P4MulticastGroupEntry(group, replicas=members))

    def _make_port_groups(self, ports: tuple[int, ...]) -> tuple[Entry, ...]:
        if not self.has_bitmap_groups(ports):
            return (self._multicast_group(self.flood_group, ports),)
        subsets = (subset for size in range(1, len(ports) + 1) for subset in combinations(ports, size))
        return tuple(self._multicast_group(bitmap(subset), subset) for subset in subsets)


def bitmap(ports: Iterable[int]) -> int:
    """Ports as the program's bitmap: port p is bit p - 1."""
    return sum(1 << (port - 1) for port in ports)


def ports(bits: int) -> frozenset[int]:
    """The ports of a bitmap."""
    return frozenset(port for port in range(1, int(bits).bit_length() + 1) if bits >> (port - 1) & 1)


def decode_port(replica: Any) -> int:
    """The port of a replica as finsy decodes it: a number, or (port, instance)."""
    return int(replica[0] if isinstance(replica, tuple) else replica)


def default_directory() -> Path:
    """p4src/ of this project: beside the package in a checkout."""
    return Path(str(resources.files("controller"))).parent / "p4src"


def _args(port: int, mac: str) -> tuple[tuple[str, Any], ...]:
    return (("port", port), ("mac", mac))
