"""The kinds of switch: the embedded one, which emulates its links itself; BMv2, and the kernel's bridge, with tc
links."""

import json
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from controller.network import CPU_PORT
from engine.command.programs import module_command
from engine.command.whole import write_whole
from topologies.emulation.network import SWITCH_START_S, SwitchKind
from topologies.emulation.nodes import P4Switch, run_in
from topologies.emulation.traffic_control import describe_lacks, tc_plan, traffic_control_kinds
from topologies.link_spec import link_spec
from topologies.plan import Plan, SwitchPlan, derive_seed
from topologies.scenario.network import DirectedLink

MULTICAST_SIZE = "65536"
"""Of BMv2's multicast tables: its defaults are too small for a switch of 12 ports (p4src/README.md)."""
THRIFT_PORT = 9090
"""BMv2's default, for the first switch: where it has Thrift at all, two switches cannot share a port."""


class EmbeddedSwitch(P4Switch):
    """`canopy switch`: its ports emulate their links."""

    def __init__(self, name: str, *, seed: int, state: Path, **params: Any) -> None:
        self._seed = seed
        self._state = state
        super().__init__(name, **params)

    def command(self) -> list[str]:
        """Written first: the links of its ports, for `--links`."""
        folder = self._state / "switches"
        folder.mkdir(exist_ok=True)
        links = self._write_links()
        return [
            *module_command("engine.switch.cli"),
            *self.interface_arguments(),
            *("--device-id", str(self.plan.device_id)),
            *("--grpc-server-addr", self.plan.grpc_address),
            *("--cpu-port", str(CPU_PORT)),
            *("--links", str(links)),
            *("--stats", str(folder / f"{self.name}.json")),
            *("--seed", str(derive_seed(self._seed, f"switch {self.name}"))),
        ]

    def change_link(self, neighbour: str, change: Mapping[str, float]) -> None:
        """The switch reads its links anew. One that is starting is waited for; one that is away reads them then."""
        port = self.plan.port_to(neighbour)
        rx = None if port.rx is None else port.rx.model_copy(update=change)
        changed = replace(port, tx=port.tx.model_copy(update=change), rx=rx)
        self.plan = replace(self.plan, ports={**self.plan.ports, port.number: changed})
        self._write_links()
        if self.child is not None and self.child.returncode is None:
            self.child.wait_until(self.connected, SWITCH_START_S, "serving P4Runtime")
            self.child.signal(signal.SIGHUP)

    def _write_links(self) -> Path:
        """As a whole, for the switch may read it at any time."""
        path = self._state / "switches" / f"{self.name}.links.json"
        write_whole(path, json.dumps(port_links(self.plan, self._seed), indent=2) + "\n")
        return path


class Bmv2Switch(P4Switch):
    """`simple_switch_grpc`, behind links that Linux's traffic control shapes as far as it can."""

    def command(self) -> list[str]:
        """BMv2 takes P4Runtime's options behind `--`."""
        return [
            *("simple_switch_grpc", "--no-p4"),
            *self.interface_arguments(),
            *("--device-id", str(self.plan.device_id)),
            *("--thrift-port", str(THRIFT_PORT + self.plan.device_id - 1)),
            *("--log-level", "warn", "--log-console"),
            "--",
            *("--grpc-server-addr", self.plan.grpc_address),
            *("--cpu-port", str(CPU_PORT)),
            *(
                "--max-mc-groups",
                MULTICAST_SIZE,
                "--max-l1-entries",
                MULTICAST_SIZE,
                "--max-l2-entries",
                MULTICAST_SIZE,
            ),
        ]


class EmbeddedKind:
    """Embedded switches. Every property of a link can be had."""

    notes: Sequence[str] = ()
    cuts = True

    def __init__(self, seed: int, state: Path) -> None:
        self._seed = seed
        self._state = state

    def make(self, name: str, **params: Any) -> P4Switch:
        """A switch; `params` are Mininet's and P4Switch's."""
        return EmbeddedSwitch(name, seed=self._seed, state=self._state, **params)

    def shape_links(self, pid_of_host: Callable[[str], int]) -> None:
        """Nothing to do: the switches emulate their links themselves."""


class Bridge(P4Switch):
    """No P4 switch at all but Linux's bridge, as a hub: it sends everything to everybody, so that whoever is on the
    network hears all that passes. It checks no source, knows no groups, and decrements no TTL."""

    def start(self, _controllers: Any) -> None:
        """It is there at once. NodeError."""
        options = ("ageing_time", "0", "mcast_snooping", "0")
        run_in(None, "ip", "link", "add", self.name, "type", "bridge", *options)
        for port in self.plan.ports.values():
            run_in(None, "ip", "link", "set", port.interface, "master", self.name, "up")
        run_in(None, "ip", "link", "set", self.name, "up")


class TcKind:
    """Switches whose links are tc's. `notes` says which property of which link this kernel cannot give."""

    cuts = False

    def __init__(self, plan: Plan, switch: type[P4Switch]) -> None:
        self._switch = switch
        kinds = traffic_control_kinds()
        self._plans = {
            (name, interface): tc_plan(link, interface, kinds) for name, interface, link in sending_interfaces(plan)
        }
        self._hosts = frozenset(plan.hosts)
        self.notes: Sequence[str] = describe_lacks(lack for shaped in self._plans.values() for lack in shaped.missing)

    def make(self, name: str, **params: Any) -> P4Switch:
        """A switch; `params` are Mininet's and P4Switch's."""
        return self._switch(name, **params)

    def shape_links(self, pid_of_host: Callable[[str], int]) -> None:
        """Run the tc commands at both ends of every link. NodeError when one fails."""
        for (name, _), shaped in self._plans.items():
            for command in shaped.commands:
                run_in(pid_of_host(name) if name in self._hosts else None, *command)


def make_switch_kind(kind: str, plan: Plan, state: Path) -> SwitchKind:
    """One of SWITCHES; to be called in the run's own namespace."""
    tc_switches: dict[str, type[P4Switch]] = {"bmv2": Bmv2Switch, "bridge": Bridge}
    return TcKind(plan, tc_switches[kind]) if kind in tc_switches else EmbeddedKind(plan.seed, state)


def sending_interfaces(plan: Plan) -> list[tuple[str, str, DirectedLink]]:
    """(node, interface, link) for every directed link."""
    found = []
    for switch in plan.switches.values():
        for port in switch.ports.values():
            found.append((switch.name, port.interface, port.tx))
            if port.rx is not None:
                found.append((port.neighbour, plan.hosts[port.neighbour].interface, port.rx))
    return found


def port_links(plan: SwitchPlan, seed: int) -> dict[str, Any]:
    """Port -> the links it emulates, as `canopy switch --links` reads them."""
    links: dict[str, Any] = {}
    for port in plan.ports.values():
        links[str(port.number)] = {"tx": link_spec(port.tx, seed)}
        if port.rx is not None:
            links[str(port.number)]["rx"] = link_spec(port.rx, seed)
    return links
