"""A plan made real: Mininet's nodes, the cables between them, and what faults do to them."""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from mininet.log import setLogLevel
from mininet.net import Mininet

from topologies.emulation.nodes import EmulatedHost, P4Switch, prepare_namespace, run_in
from topologies.plan import Cable, Plan, interface_mac

SWITCH_START_S = 30.0
"""How long a switch may take until it serves P4Runtime, on a machine that is busy with other things."""


class SwitchKind(Protocol):
    """Makes the switches of a run, and the links if the switches do not emulate them."""

    @property
    def notes(self) -> Sequence[str]:
        """One line for each property of a link that will be missing."""

    @property
    def cuts(self) -> bool:
        """Whether they take frames of many datagrams from hosts, and cut them before anything else sees them."""

    def make(self, name: str, **params: Any) -> P4Switch:
        """A switch; `params` are Mininet's and P4Switch's."""

    def shape_links(self, pid_of_host: Callable[[str], int]) -> None:
        """Called once all interfaces are there."""


class EmulatedNetwork:
    """The nodes and links of one run, in the caller's network namespace (which must be the run's own)."""

    def __init__(self, plan: Plan, kind: SwitchKind, logs: Path) -> None:
        self.plan = plan
        self._kind = kind
        self._logs = logs
        # Mininet's own initialization would raise limits of the whole machine; nothing here needs that.
        Mininet.inited = True
        setLogLevel("critical")
        self._net = Mininet(topo=None, controller=None, build=False)

    def start(self) -> None:
        """Build everything and wait until every switch serves P4Runtime. NodeError or ChildError otherwise."""
        prepare_namespace()
        for host in self.plan.hosts.values():
            self._net.addHost(host.name, cls=EmulatedHost, plan=host, cuts=self._kind.cuts, ip=None)
        for switch in self.plan.switches.values():
            self._net.addSwitch(switch.name, cls=self._kind.make, plan=switch, logs=self._logs)
        for cable in self.plan.cables:
            self._add_cable(cable)
        self._kind.shape_links(self.pid)
        self._net.start()
        for name in self.plan.switches:
            self.wait_for_switch(name)

    def stop(self) -> None:
        """End every node's processes; with the last one its namespace goes, and its interfaces with that."""
        for switch in self._net.switches:
            switch.kill_process()
        for node in [*self._net.switches, *self._net.hosts]:
            with contextlib.suppress(OSError, AttributeError):  # it never came up, or has gone already
                node.terminate()

    def pid(self, node: str) -> int:
        """A process in the node's network namespace."""
        pid: int = self._net[node].pid
        return pid

    def switch(self, name: str) -> P4Switch:
        """The switch of that name."""
        switch: P4Switch = self._net[name]
        return switch

    def wait_for_switch(self, name: str) -> None:
        """Wait until a switch serves P4Runtime. ChildError when it does not."""
        switch = self.switch(name)
        if switch.child is not None:
            switch.child.wait_until(switch.connected, SWITCH_START_S, "serving P4Runtime")

    def set_link(self, one: str, other: str, *, up: bool) -> None:
        """Set a link up or down, at its switches' ends, so that hosts keep their addresses and routes."""
        state = "up" if up else "down"
        for name, neighbour in ((one, other), (other, one)):
            if name in self.plan.switches:
                run_in(None, "ip", "link", "set", self.plan.switches[name].port_to(neighbour).interface, state)

    def change_link(self, one: str, other: str, change: Mapping[str, float]) -> None:
        """Give a link other values of DirectedLink's fields, in both directions. NodeError: its switches cannot."""
        for name, neighbour in ((one, other), (other, one)):
            if name in self.plan.switches:
                self.switch(name).change_link(neighbour, change)

    def _add_cable(self, cable: Cable) -> None:
        (one, one_port), (other, other_port) = cable.one, cable.other
        self._net.addLink(
            one,
            other,
            port1=one_port,
            port2=other_port,
            intfName1=self._interface(one, one_port),
            intfName2=self._interface(other, other_port),
            addr1=self._mac(one, one_port),
            addr2=self._mac(other, other_port),
        )

    def _interface(self, node: str, port: int) -> str:
        if node in self.plan.hosts:
            return self.plan.hosts[node].interface
        return self.plan.switches[node].ports[port].interface

    def _mac(self, node: str, port: int) -> str:
        if node in self.plan.hosts:
            return self.plan.hosts[node].mac
        return interface_mac(self.plan.switches[node].device_id, port)
