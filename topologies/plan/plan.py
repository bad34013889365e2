"""What a scenario becomes on this machine: interfaces, addresses, MACs, ports and link specifications. No I/O."""

import itertools
from dataclasses import dataclass, field
from hashlib import blake2b
from ipaddress import IPv4Address

from controller.network import HostSpec, LinkSpec, Network, SessionSpec, SwitchSpec
from hosts import protocols
from topologies.scenario.checks import HOST_NETWORK
from topologies.scenario.network import DirectedLink
from topologies.scenario.scenario import Scenario

P4RUNTIME_PORT = 9559
"""IANA's port of P4Runtime; the first switch's, on the run's own loopback."""


@dataclass(frozen=True, slots=True)
class HostPlan:
    """A host and the one port it hangs on."""

    name: str
    address: IPv4Address
    mac: str
    switch: str
    port: int

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
    """A veth pair to be made, by (node, port number) of its ends; a host's port is 0."""

    one: tuple[str, int]
    other: tuple[str, int]


@dataclass(frozen=True, slots=True)
class Plan:
    """The whole network."""

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


def interface_mac(device_id: int, port: int) -> str:
    """The MAC of a switch's interface. Not the switch's own: frames to that are no business of the kernel's."""
    return f"02:02:00:{device_id >> 8 & 0xFF:02x}:{device_id & 0xFF:02x}:{port:02x}"


def make_plan(scenario: Scenario) -> Plan:
    """The plan of a checked scenario; the same scenario gives the same plan."""
    addresses = _host_addresses(scenario)
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
        for name, neighbour in ((one, other), (other, one)):
            port = numbers[index, name]
            if name in switches:
                switches[name].add(
                    PortPlan(
                        number=port,
                        interface=f"{name}-eth{port}",
                        neighbour=neighbour,
                        tx=link.direction(neighbour),
                        rx=link.direction(name) if neighbour in addresses else None,
                    )
                )
            else:
                hosts[name] = HostPlan(
                    name, addresses[name], _host_mac(addresses[name]), neighbour, numbers[index, neighbour]
                )
        cables.append(Cable((one, numbers[index, one]), (other, numbers[index, other])))
    return Plan({name: hosts[name] for name in scenario.hosts}, switches, tuple(cables))


def network_description(scenario: Scenario, plan: Plan) -> Network:
    """What the controller is told (docs/controller.md). A link's cost is its delay in seconds plus 1 ms a hop."""
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
                groups=protocols.get(session.protocol).group_count(session.parameters),
                source=plan.hosts[session.sender].address if session.membership == "source-specific" else None,
                port=session.port,
                assist=session.assist,
            )
            for session in scenario.sessions
            if session.announced
        ],
    )


def hosts_file(plan: Plan) -> str:
    """/etc/hosts of the emulated hosts."""
    lines = ["127.0.0.1 localhost", *(f"{host.address} {host.name}" for host in plan.hosts.values())]
    return "\n".join(lines) + "\n"


RESOLVER_FILE = "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n"
"""/etc/resolv.conf of the emulated hosts. No name server answers there, which is known at once; the machine's own may
have an address that the emulated network takes for one of its hosts, and programs would wait for it."""


def derive_seed(seed: int, purpose: str) -> int:
    """A 63-bit seed for one purpose of a run, so that no two random streams of it are the same."""
    return int.from_bytes(blake2b(f"{seed}/{purpose}".encode(), digest_size=8).digest()) >> 1


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
