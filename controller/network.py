"""The network that a controller is told: switches, hosts, links between switches, known sessions, timing.

The emulation runner writes it as one JSON file; docs/controller.md describes the fields. `load_network` either
returns a consistent `Network` or raises `NetworkError`, whose message names the file and the field.
"""

from __future__ import annotations

import json
from functools import cached_property
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

MULTICAST = IPv4Network("224.0.0.0/4")
SOURCE_SPECIFIC = IPv4Network("232.0.0.0/8")  # RFC 4607, section 1
LINK_LOCAL_MULTICAST = IPv4Network("224.0.0.0/24")  # RFC 5771, section 4: never forwarded

MAX_PORT = 256  # ports of the P4 program are 1..256: bit (port - 1) of a bitmap
CPU_PORT = 510  # where it has packet-in and packet-out
MAX_SWITCHES = 4096
MAX_HOSTS = 100_000

MAC_PATTERN = r"^([0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}$"
ADDRESS_PATTERN = r"^(\[[0-9a-fA-F:]+\]|[^\s:/\[\]]+):[0-9]{1,5}$"

_NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,31}$"
_PROTOCOL_PATTERN = r"^[a-z0-9_-]{1,16}$"
_FORMS = {
    MAC_PATTERN: "is no MAC address, as in 02:01:00:00:00:01",
    ADDRESS_PATTERN: "is no HOST:PORT, as in 127.0.0.1:9559",
    _NAME_PATTERN: "is no name: at most 32 letters, digits, and, behind the first, `_`, `.` and `-`",
    _PROTOCOL_PATTERN: "is no protocol's name: at most 16 small letters, digits, `_` and `-`",
}
"""Pattern -> what is said of a text that it does not match."""
Name = Annotated[str, Field(pattern=_NAME_PATTERN)]
Mac = Annotated[str, Field(pattern=MAC_PATTERN)]
Port = Annotated[int, Field(ge=1, le=MAX_PORT)]
Seconds = Annotated[float, Field(gt=0, le=3600, allow_inf_nan=False)]


class NetworkError(ValueError):
    """The network description cannot be used. The message is one line and names the file and the field."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SwitchSpec(_Model):
    """One switch. `ports` says which neighbour (a host or a switch, by name) each port has."""

    name: Name
    device_id: Annotated[int, Field(ge=0, lt=2**64)]
    address: Annotated[str, Field(pattern=ADDRESS_PATTERN)]
    mac: Mac
    ports: dict[Port, Name]
    assist: bool = True  # it helps sessions that ask for it (docs/assist.md)
    lan: bool = False  # its own hosts are one LAN: a TTL of 1 reaches them
    shared: frozenset[Port] = (
        frozenset()
    )  # ports to a bridge or an unmanaged switch: `ports` names it, hosts are behind

    @field_validator("address")
    @classmethod
    def _port_in_range(cls, address: str) -> str:
        if not 0 < int(address.rsplit(":", 1)[1]) < 65536:
            raise ValueError("the TCP port must be 1..65535")
        return address


class HostSpec(_Model):
    """One host, and the switch port it hangs on."""

    name: Name
    ip: IPv4Address
    mac: Mac
    switch: Name
    port: Port


class LinkSpec(_Model):
    """A link between two switches; `cost` is what the shortest paths add up."""

    a: Name
    a_port: Port
    b: Name
    b_port: Port
    cost: Annotated[float, Field(ge=1e-6, le=1e6)] = 1.0  # so that no sum of them loses one to rounding

    @property
    def name(self) -> str:
        """As the operator names it: `s1:2-s3:1`."""
        return f"{self.a}:{self.a_port}-{self.b}:{self.b_port}"

    def port_of(self, switch: str) -> int:
        """The port by which `switch`, one of its two ends, reaches this link."""
        return self.a_port if switch == self.a else self.b_port

    def other(self, switch: str) -> str:
        """The switch at the other end."""
        return self.b if switch == self.a else self.a


class SessionSpec(_Model):
    """A session known beforehand: its group gets a slot before anybody joins."""

    session: Annotated[int, Field(ge=0, lt=2**32)]
    protocol: Annotated[str, Field(pattern=_PROTOCOL_PATTERN)]
    group: IPv4Address
    groups: Annotated[int, Field(ge=1, le=65536)] = 1  # that the session has, one after the other from `group` on
    source: IPv4Address | None = None  # None: any source
    port: Annotated[int, Field(ge=1, le=65535)] | None = None
    assist: Literal["none", "switch"] = "none"  # whether its endpoints want switches to summarise feedback

    @field_validator("group")
    @classmethod
    def _is_multicast(cls, group: IPv4Address) -> IPv4Address:
        if group not in MULTICAST or group in LINK_LOCAL_MULTICAST:
            raise ValueError("not a multicast group that a router forwards")
        return group

    @model_validator(mode="after")
    def _groups_are_multicast(self) -> Self:
        if self.group + self.groups - 1 not in MULTICAST:
            raise ValueError(f"{self.groups} groups from {self.group} on are not all multicast groups")
        return self

    def all_groups(self) -> list[IPv4Address]:
        """The session's groups."""
        return [self.group + number for number in range(self.groups)]


class Timing(_Model):
    """IGMP's timers (RFC 3376, section 8), seconds. Shorter than the RFC's defaults: a run lasts minutes, not days."""

    query_interval_s: Seconds = 10.0
    query_response_s: Seconds = 2.0
    robustness: Annotated[int, Field(ge=1, le=7)] = 2  # the field has three bits (section 4.1.6)
    last_member_s: Seconds = 1.0  # section 8.8: to answer a query after a leave at a shared port
    slot_idle_s: Annotated[float, Field(gt=0, le=86400)] = 120.0

    @model_validator(mode="after")
    def _response_within_interval(self) -> Self:
        if self.query_response_s >= self.query_interval_s:
            raise ValueError("query_response_s must be below query_interval_s (RFC 3376, section 8.3)")
        return self

    @property
    def membership_interval_s(self) -> float:
        """Silence after which a member may be forgotten (section 8.4)."""
        return self.robustness * self.query_interval_s + self.query_response_s


class Network(_Model):
    """The whole description. Names, addresses and ports are consistent with each other."""

    version: Annotated[int, Field(ge=1, le=1)] = 1
    name: Name = "network"
    switches: Annotated[list[SwitchSpec], Field(min_length=1, max_length=MAX_SWITCHES)]
    hosts: Annotated[list[HostSpec], Field(max_length=MAX_HOSTS)] = []
    links: list[LinkSpec] = []
    sessions: list[SessionSpec] = []
    timing: Timing = Timing()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        _check_unique(self)
        _check_ports(self)
        return self

    @cached_property
    def switch_by_name(self) -> dict[str, SwitchSpec]:
        """Switches by name."""
        return {switch.name: switch for switch in self.switches}

    @cached_property
    def host_by_name(self) -> dict[str, HostSpec]:
        """Hosts by name."""
        return {host.name: host for host in self.hosts}

    @cached_property
    def host_by_ip(self) -> dict[IPv4Address, HostSpec]:
        """Hosts by address."""
        return {host.ip: host for host in self.hosts}

    @cached_property
    def link_by_port(self) -> dict[tuple[str, int], LinkSpec]:
        """Links by either (switch, port) end."""
        ends = {(link.a, link.a_port): link for link in self.links}
        return ends | {(link.b, link.b_port): link for link in self.links}


def load_network(path: Path) -> Network:
    """Read and check a network description. Raises NetworkError."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise NetworkError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise NetworkError(f"{path}: not UTF-8 text") from None
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise NetworkError(f"{path}:{error.lineno}:{error.colno}: {error.msg}") from None
    except RecursionError:
        raise NetworkError(f"{path}: nested too deeply") from None
    except ValueError as error:  # a number of thousands of digits
        raise NetworkError(f"{path}: {str(error).split(';')[0]}") from None
    try:
        return Network.model_validate(data)
    except ValidationError as error:
        raise NetworkError(f"{path}: {first_error(error)}") from None


def first_error(error: ValidationError) -> str:
    """The first of pydantic's errors on one line, `switches[0].address: ...`, and how many more there are."""
    errors = error.errors(include_url=False, include_input=False)
    first = errors[0]
    place = ""
    for step in first["loc"]:
        if step != "[key]":
            place += f"[{step}]" if isinstance(step, int) else f".{step}"
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "string_pattern_mismatch":
        message = _FORMS.get(first["ctx"]["pattern"], "is not of the form that it must have (docs/controller.md)")
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return f"{place.lstrip('.')}: {message}{more}" if place else f"{message}{more}"


def _check_unique(network: Network) -> None:
    """Names, addresses and device ids mean one thing each."""
    seen: dict[tuple[str, object], str] = {}

    def claim(kind: str, value: object, place: str) -> None:
        previous = seen.setdefault((kind, value), place)
        if previous != place:
            raise ValueError(f"{place}: {value} is also {previous}")

    for i, switch in enumerate(network.switches):
        claim("name", switch.name, f"switches[{i}].name")
        claim("address", (switch.address, switch.device_id), f"switches[{i}].address")
        claim("mac", switch.mac.lower(), f"switches[{i}].mac")
    for i, host in enumerate(network.hosts):
        claim("name", host.name, f"hosts[{i}].name")
        claim("ip", host.ip, f"hosts[{i}].ip")
        claim("mac", host.mac.lower(), f"hosts[{i}].mac")
    for i, session in enumerate(network.sessions):
        claim("session", session.session, f"sessions[{i}].session")


def _check_ports(network: Network) -> None:
    """A switch port, the hosts or the link on it, and `ports` tell the same story."""
    shared = {(switch.name, port) for switch in network.switches for port in switch.shared}
    neighbours: dict[tuple[str, int], tuple[str, str]] = {}

    def attach(switch: str, port: int, neighbour: str, place: str) -> None:
        if switch not in network.switch_by_name:
            raise ValueError(f"{place}: there is no switch {switch}")
        listed = network.switch_by_name[switch].ports.get(port)
        if (switch, port) in shared and listed is not None:
            if neighbour in network.switch_by_name:
                raise ValueError(f"{place}: port {port} of {switch} is shared: only hosts may be there")
            neighbours[switch, port] = (listed, place)
            return
        if listed != neighbour:
            raise ValueError(f"{place}: port {port} of {switch} leads to {listed or 'nothing'}, not {neighbour}")
        _, previous = neighbours.setdefault((switch, port), (neighbour, place))
        if previous != place:
            raise ValueError(f"{place}: port {port} of {switch} is also {previous}")

    for i, host in enumerate(network.hosts):
        attach(host.switch, host.port, host.name, f"hosts[{i}]")
    for i, link in enumerate(network.links):
        if link.a == link.b:
            raise ValueError(f"links[{i}]: leads from {link.a} to itself")
        attach(link.a, link.a_port, link.b, f"links[{i}].a")
        attach(link.b, link.b_port, link.a, f"links[{i}].b")
    for i, switch in enumerate(network.switches):
        for port in sorted(switch.shared - switch.ports.keys()):
            raise ValueError(f"switches[{i}].shared: there is no port {port} in `ports`")
        for port, neighbour in switch.ports.items():
            if (switch.name, port) not in neighbours:
                raise ValueError(f"switches[{i}].ports.{port}: no host or link says that {neighbour} is there")
