"""Mininet's nodes as Canopy needs them: hosts that see one subnet, and switches that speak P4Runtime."""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mininet.node import Node, Switch

from topologies.emulation.child import Child, accepts_connections
from topologies.plan import HostPlan, SwitchPlan

NAMESPACE_SETTINGS = (
    "net.ipv6.conf.all.disable_ipv6=1",
    "net.ipv6.conf.default.disable_ipv6=1",
    "net.ipv4.conf.all.rp_filter=0",
    "net.ipv4.conf.default.rp_filter=0",
    "net.ipv4.conf.all.force_igmp_version=3",
    "net.ipv4.conf.default.force_igmp_version=3",
    "net.ipv4.igmp_max_memberships=512",
    "net.ipv4.igmp_max_msf=64",
)
"""sysctl settings of every namespace, made before it has interfaces. Reverse path filtering would drop what proxy ARP
makes look wrong; IPv6 would send its own multicast; the last two raise the limits of joins a socket may make."""

OFFLOADS = ("tx", "rx", "tso", "gso", "gro")
"""Off at hosts: a frame that a switch takes from a veth must be complete, with its checksums, and fit the MTU."""
TCP_OFFLOADS = ("tso", "gso", "gro")
"""Those that are off where switches cut large frames themselves: what TCP sends leaves it in packets, as without, so
that its bursts stay what they are; of UDP only who asks for it (UDP_SEGMENT) sends more at once."""


class NodeError(Exception):
    """A node cannot be set up; one line for the user."""


def run_in(pid: int | None, *command: str) -> None:
    """Run a command, in the network namespace of `pid` if given. NodeError tells what it said."""
    prefix = () if pid is None else ("mnexec", "-a", str(pid))
    result = subprocess.run([*prefix, *command], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        said = (result.stderr or result.stdout).strip().replace("\n", " | ")
        raise NodeError(f"`{' '.join(command)}` failed: {said or f'status {result.returncode}'}")


def prepare_namespace(pid: int | None = None) -> None:
    """Settings that a namespace must have before its first interface; a kernel without IPv6 lacks some."""
    run_in(pid, "sysctl", "-q", "-e", "-w", *NAMESPACE_SETTINGS)
    run_in(pid, "ip", "link", "set", "lo", "up")


class EmulatedHost(Node):  # type: ignore[misc]
    """An end system in a namespace of its own."""

    def __init__(self, name: str, *, plan: HostPlan, cuts: bool = False, **params: Any) -> None:
        """`cuts`: the switches take frames of many datagrams, and what has no checksum yet."""
        self.plan = plan
        self._off = TCP_OFFLOADS if cuts else OFFLOADS
        super().__init__(name, inNamespace=True, **params)
        prepare_namespace(self.pid)

    def config(self, **_params: Any) -> dict[str, Any]:
        """Called by Mininet once the links are there. All of 10/8 is on the link: the switch answers every ARP."""
        interface = self.plan.interface
        run_in(self.pid, "ethtool", "-K", interface, *(word for name in self._off for word in (name, "off")))
        run_in(self.pid, "ip", "address", "add", f"{self.plan.address}/8", "dev", interface)
        run_in(self.pid, "ip", "link", "set", interface, "up")
        run_in(self.pid, "ip", "route", "add", "224.0.0.0/4", "dev", interface)
        return {}


class P4Switch(Switch):  # type: ignore[misc]
    """A switch process that serves P4Runtime. It shares the run's namespace with the other switches."""

    def __init__(self, name: str, *, plan: SwitchPlan, logs: Path, **params: Any) -> None:
        self.plan = plan
        self.log_file = logs / f"{name}.log"
        self.child: Child | None = None
        super().__init__(name, dpid=f"{plan.device_id:x}", **params)

    def command(self) -> list[str]:
        """The program and its arguments."""
        raise TypeError(f"{type(self).__name__} is not a kind of switch")

    def start(self, _controllers: Any) -> None:
        """Start the process; it is ready when `connected` says so."""
        for port in self.plan.ports.values():
            run_in(None, "ip", "link", "set", port.interface, "up")
        self.child = Child(self.name, self.command(), self.log_file)

    def connected(self) -> bool:
        """Whether it accepts P4Runtime connections."""
        return accepts_connections(self.plan.grpc_address)

    def kill_process(self) -> None:
        """kill -9: its tables, groups and registers are gone."""
        if self.child is not None:
            self.child.kill()

    def stop(self, deleteIntfs: bool = True) -> None:  # noqa: N803 (Mininet's name)
        """End the process; the interfaces go with the namespace."""
        if self.child is not None:
            self.child.stop()

    def change_link(self, neighbour: str, change: Mapping[str, float]) -> None:
        """Give the link to a neighbour other values of DirectedLink's fields. NodeError when this kind cannot."""
        raise NodeError(f"{self.name}: the link to {neighbour} cannot be changed; only embedded switches emulate links")

    def interface_arguments(self) -> list[str]:
        """`-i port@interface` for each port."""
        ports = sorted(self.plan.ports.values(), key=lambda port: port.number)
        return [word for port in ports for word in ("-i", f"{port.number}@{port.interface}")]
