"""What a scenario becomes on this machine: addresses, MACs, ports, links, and the files that its sessions send."""

import hashlib
import itertools
import random
import shutil
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from pathlib import Path

from controller.hop_keys import SECRET_BYTES
from controller.hop_keys import HopKeys as NetworkKeys
from controller.network import HostSpec, LinkSpec, Network, SessionSpec, SwitchSpec
from hosts.security.hop import HopKeys
from topologies.scenario.network import HOST_NETWORK, DirectedLink, Host, ProcessingTime
from topologies.scenario.scenario import Scenario
from topologies.scenario.session import Session

P4RUNTIME_PORT = 9559
"""IANA's port of P4Runtime; the first switch's, on the run's own loopback."""
FIRST_SESSION_PORT = 10000
"""UDP port of the endpoints of the first session; each session has its own, on every host. Kernels give those from
32768 on to programs that do not care, the simulator those from 20000 on."""
FIRST_FLOW_PORT = 6001
"""Port of the first flow's sink; each flow has its own."""
_CHUNK = 1 << 20
"""Bytes of a file that are made at a time."""


@dataclass(frozen=True, slots=True)
class HostPlan:
    """A host and the one port it hangs on."""

    name: str
    address: IPv4Address
    mac: str
    switch: str
    port: int
    settings: Host
    """What the scenario says of it, and what sealing takes of its time."""

    @property
    def interface(self) -> str:
        """Its name in the host's own namespace."""
        return f"{self.name}-eth0"


@dataclass(frozen=True, slots=True)
class PortPlan:
    """A switch port: its interface, what is at the other end, and the directed links that this port emulates."""

    number: int
    interface: str
    neighbour: str
    tx: DirectedLink
    """Towards the neighbour."""
    rx: DirectedLink | None
    """From the neighbour: only when that is a host, as a switch does it itself."""


@dataclass(frozen=True, slots=True)
class SwitchPlan:
    """A switch, or a simulation's plain router, and its ports."""

    name: str
    device_id: int
    mac: str
    grpc_address: str
    ports: dict[int, PortPlan] = field(default_factory=dict)
    number_to: dict[str, int] = field(default_factory=dict)
    """Neighbour -> port."""

    def add(self, port: PortPlan) -> None:
        """Add a port."""
        self.ports[port.number] = port
        self.number_to[port.neighbour] = port.number

    def port_to(self, neighbour: str) -> PortPlan:
        """The port that leads to `neighbour`. KeyError if none does."""
        return self.ports[self.number_to[neighbour]]


@dataclass(frozen=True, slots=True)
class Cable:
    """A link, by (node, port number) of its ends; a host's port is 0."""

    one: tuple[str, int]
    other: tuple[str, int]
    forth: DirectedLink
    """From `one` to `other`."""
    back: DirectedLink


@dataclass(frozen=True, slots=True)
class Plan:
    """The whole network."""

    seed: int
    """The scenario's."""
    hosts: dict[str, HostPlan]
    switches: dict[str, SwitchPlan]
    cables: tuple[Cable, ...]

    def hosts_by_address(self) -> dict[str, str]:
        """Address -> the host's name."""
        return {str(host.address): host.name for host in self.hosts.values()}

    def port_towards(self, one: str, other: str) -> tuple[SwitchPlan, PortPlan]:
        """The switch and its port that emulate the direction from `one` to `other`."""
        name, neighbour = (one, other) if one in self.switches else (other, one)
        switch = self.switches[name]
        return switch, switch.port_to(neighbour)


class SourceError(Exception):
    """There is nothing to send; one line for the user."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file to be sent."""

    path: Path
    bytes: int
    sha256: str
    is_made: bool = False

    @property
    def name(self) -> str:
        """For a person: what is made is removed when it has been compared with what came."""
        return "made from the seed" if self.is_made else str(self.path)


REALTIME = Source(Path("real-time data"), 0, "")
ENDLESS = Source(Path("a stream"), 0, "")
"""Nothing that could be read: data without end."""


def interface_mac(device_id: int, port: int) -> str:
    """The MAC of a switch's interface. Not the switch's own: frames to that are no business of the kernel's."""
    return f"02:02:{port >> 8:02x}:{device_id >> 8 & 0xFF:02x}:{device_id & 0xFF:02x}:{port & 0xFF:02x}"


def make_plan(scenario: Scenario) -> Plan:
    """The plan of a checked scenario; the same scenario gives the same plan."""
    addresses = _host_addresses(scenario)
    settings = _host_settings(scenario)
    hosts: dict[str, HostPlan] = {}
    switches = {
        name: SwitchPlan(
            name=name,
            device_id=number,
            mac=f"02:01:00:00:{number >> 8:02x}:{number & 0xFF:02x}",
            grpc_address=f"127.0.0.1:{P4RUNTIME_PORT + number - 1}",
        )
        for number, name in enumerate([*scenario.switches, *scenario.routers], start=1)
    }
    numbers = _port_numbers(scenario)
    cables = []
    for index, link in enumerate(scenario.links):
        one, other = link.between
        forth, back = link.direction(other), link.direction(one)
        for name, neighbour, tx, rx in ((one, other, forth, back), (other, one, back, forth)):
            port = numbers[index, name]
            if name in switches:
                behind = rx if neighbour in addresses else None
                switches[name].add(PortPlan(port, f"{name}-eth{port}", neighbour, tx, behind))
            else:
                mac, at = _host_mac(addresses[name]), numbers[index, neighbour]
                hosts[name] = HostPlan(name, addresses[name], mac, neighbour, at, settings[name])
        cables.append(Cable((one, numbers[index, one]), (other, numbers[index, other]), forth, back))
    return Plan(scenario.seed, {name: hosts[name] for name in scenario.hosts}, switches, tuple(cables))


def _host_settings(scenario: Scenario) -> dict[str, Host]:
    """By name."""
    sealing = scenario.simulation.sealing
    if sealing is None:
        return dict(scenario.hosts)
    sealed = [session for session in scenario.sessions if session.security != "none"]
    busy = {session.sender for session in sealed} | {to.host for session in sealed for to in session.receivers}

    def longer(time: ProcessingTime | None, by: float) -> ProcessingTime:
        least, most = (0.0, 0.0) if time is None else (time.least, time.most)
        return ProcessingTime.model_construct(least=least + by, most=most + by)

    return {
        name: host.model_copy(
            update={"sending": longer(host.sending, sealing.seal), "receiving": longer(host.receiving, sealing.open)}
        )
        if name in busy
        else host
        for name, host in scenario.hosts.items()
    }


def network_description(scenario: Scenario, plan: Plan) -> Network:
    """What the controller is told (docs/controller.md). A link's cost is its delay in seconds plus 1 ms a hop."""
    helpless = {name for name, switch in scenario.switches.items() if not switch.assist}
    links = []
    for one, other in (link.between for link in scenario.links):
        if one in plan.switches and other in plan.switches:
            there, back = plan.switches[one].port_to(other), plan.switches[other].port_to(one)
            cost = 1e-3 + (there.tx.delay_s + back.tx.delay_s) / 2
            links.append(LinkSpec(a=one, a_port=there.number, b=other, b_port=back.number, cost=cost))
    return Network(
        name=scenario.name,
        switches=[
            SwitchSpec(
                name=switch.name,
                device_id=switch.device_id,
                address=switch.grpc_address,
                mac=switch.mac,
                ports={port.number: port.neighbour for port in switch.ports.values()},
                assist=switch.name not in helpless,
            )
            for switch in plan.switches.values()
        ],
        hosts=[
            HostSpec(name=host.name, ip=host.address, mac=host.mac, switch=host.switch, port=host.port)
            for host in plan.hosts.values()
        ],
        links=links,
        sessions=[
            SessionSpec(
                session=session.id,
                protocol=session.protocol,
                group=session.group,
                groups=session.group_count,
                source=plan.hosts[session.sender].address if session.membership == "source-specific" else None,
                port=session.port,
                assist=session.assist,
            )
            for session in scenario.sessions
            if session.announced
        ],
    )


def needs_hop_keys(scenario: Scenario) -> bool:
    """Whether feedback of a session whose packets are sealed may be merged, so that neighbours must vouch for it."""
    return any(session.security != "none" and session.is_helped for session in scenario.sessions)


def simulated_hop_keys(scenario: Scenario, plan: Plan) -> NetworkKeys | None:
    """Of a simulation, which never leave it: the seed's. None: nobody needs them."""
    if not needs_hop_keys(scenario):
        return None
    seed = derive_seed(scenario.seed, "hop keys").to_bytes(8, "big")
    return NetworkKeys(hashlib.blake2b(seed, digest_size=SECRET_BYTES).digest(), network_description(scenario, plan))


def host_hop_keys(keys: NetworkKeys | None, plan: Plan, host: str) -> HopKeys | None:
    """What one of its hosts is told of a network's."""
    if keys is None:
        return None
    switch, port = plan.hosts[host].switch, plan.hosts[host].port
    return HopKeys(outward=keys.inward(switch, port), inward=keys.outward(switch, port))


def derive_seed(seed: int, purpose: str) -> int:
    """A 63-bit seed for one purpose of a run, so that no two random streams of it are the same."""
    return int.from_bytes(hashlib.blake2b(f"{seed}/{purpose}".encode(), digest_size=8).digest()) >> 1


def prepare_sources(scenario: Scenario, base: Path, override: Path | None, folder: Path) -> dict[int, Source]:
    """Session id -> source. Relative paths start at `base`; made ones are put into `folder`. SourceError."""
    sources = {}
    for session in scenario.sessions:
        if not session.has_file:
            sources[session.id] = REALTIME if session.realtime else ENDLESS
            continue
        if override is not None:
            path = override
        elif session.file is not None:
            path = base / session.file
        else:
            path = _make(scenario, session, folder)
        try:
            if not path.is_file():
                raise SourceError(f"{path}: {'not a regular file' if path.exists() else 'no such file'}")
            path = path.resolve()
            is_made = override is None and session.file is None
            sources[session.id] = Source(path, path.stat().st_size, file_sha256(path), is_made)
        except OSError as error:
            raise SourceError(f"{path}: {error.strerror or error}") from None
    return sources


def file_sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal. OSError when it cannot be read."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _make(scenario: Scenario, session: Session, folder: Path) -> Path:
    """A file of the session's size; the same seed and id give the same bytes."""
    path = folder / f"session-{session.id}.bin"
    rng = random.Random(derive_seed(scenario.seed, f"session {session.id} content"))
    left = session.size or 0
    try:
        folder.mkdir(exist_ok=True)
        if left > (free := shutil.disk_usage(folder).free):
            raise SourceError(f"{path}: {left} bytes are asked for, {free} are free")
        with path.open("wb") as file:
            while left > 0:
                left -= file.write(rng.randbytes(min(left, _CHUNK)))
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror or error}") from None
    return path


def _host_addresses(scenario: Scenario) -> dict[str, IPv4Address]:
    """Given ones as they are; the others take the lowest free ones from 10.0.0.1, in the file's order."""
    taken = {host.address for host in scenario.hosts.values()}
    free = (address for address in HOST_NETWORK.hosts() if address not in taken)
    return {name: host.address or next(free) for name, host in scenario.hosts.items()}


def _host_mac(address: IPv4Address) -> str:
    return "02:00:" + ":".join(f"{octet:02x}" for octet in address.packed)


def _port_numbers(scenario: Scenario) -> dict[tuple[int, str], int]:
    """(link's index, node) -> port: the given one, or the switch's lowest free one from 1; 0 at a host."""
    taken = {(name, port) for link in scenario.links for name, port in link.ports.items()}
    lowest: dict[str, int] = {}
    numbers = {}
    for index, link in enumerate(scenario.links):
        for name in link.between:
            if name in scenario.hosts:
                numbers[index, name] = 0
                continue
            port = link.ports.get(name)
            if port is None:
                port = next(number for number in itertools.count(lowest.get(name, 1)) if (name, number) not in taken)
                lowest[name] = port + 1
            numbers[index, name] = port
    return numbers
