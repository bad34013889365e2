"""A network in this process: switches wired by links, hosts that keep what they receive, and a controller service. No
root, no interfaces; only gRPC on 127.0.0.1 and the API's Unix socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

from controller import igmp
from controller.network import Network, SwitchSpec
from controller.program import Program
from controller.service import Service
from controller.state import make_state
from controller.statedir import claim
from controller.trees import Trees
from tests.controller.nodes import Node, free_port

PATIENCE_S = 40.0  # before a test fails; nothing waits this long when all is well
STEP_S = 0.002
PROGRAM = Program()

MakeNode = Callable[[SwitchSpec], Node]


class World:
    """Switches that can be started and stopped, hosts that send and receive."""

    def __init__(self, network: Network, make_node: MakeNode) -> None:
        self.network = network
        self.nodes: dict[str, Node] = {}
        self.received: dict[str, list[bytes]] = {host.name: [] for host in network.hosts}
        self.cut: set[str] = set()  # names of links that lose everything
        self._make_node = make_node
        self._now_us = 1_000_000
        self._trees = Trees(network)
        self._marker = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[World]:
        """Start all switches; stop them at the end."""
        carrier = asyncio.create_task(self._carry())
        try:
            await asyncio.gather(*(self.start_switch(spec.name) for spec in self.network.switches))
            yield self
        finally:
            carrier.cancel()
            await asyncio.gather(*(self.stop_switch(name) for name in list(self.nodes)))

    async def start_switch(self, name: str) -> None:
        """Start a switch without any state, on its address."""
        node = self._make_node(self.network.switch_by_name[name])
        node.set_time(self._now_us)
        await node.start()
        self.nodes[name] = node

    async def stop_switch(self, name: str) -> None:
        """End a switch; its state is gone."""
        await self.nodes.pop(name).stop()

    def advance(self, seconds: float) -> None:
        """Move the switches' clocks on, where they are not the machine's."""
        self._now_us += round(seconds * 1e6)
        for node in self.nodes.values():
            node.set_time(self._now_us)

    def host_sends(self, name: str, frame: bytes) -> None:
        """A host's frame enters the network."""
        host = self.network.host_by_name[name]
        self._deliver(host.switch, host.port, frame)

    def join(self, name: str, group: str, source: str | None = None, *, join: bool = True) -> None:
        """A host reports that it joins (or leaves) a group."""
        self.report(name, [(IPv4Address(source) if source else None, IPv4Address(group))], join=join)

    def report(self, name: str, groups: Sequence[tuple[IPv4Address | None, IPv4Address]], *, join: bool = True) -> None:
        """A host reports several groups at once."""
        host = self.network.host_by_name[name]
        self.host_sends(name, igmp.report(host.mac, host.ip, groups, join=join))

    def send_data(self, name: str, group: str) -> bytes:
        """A host sends a datagram to a group. The payload, which is a new one each time, tells who received it."""
        host = self.network.host_by_name[name]
        self._marker += 1
        payload = b"datagram %06d" % self._marker
        self.host_sends(name, udp(host.mac, host.ip, IPv4Address(group), payload))
        return payload

    def receivers(self, payload: bytes) -> list[str]:
        """The hosts that received a payload, once for each copy."""
        return sorted(name for name, frames in self.received.items() for frame in frames if frame.endswith(payload))

    async def delivers(self, name: str, group: str, to: list[str]) -> None:
        """Wait until data that a host sends to a group reaches exactly these hosts, once each. Data is sent again and
        again, for the state that it needs may still be on its way."""

        async def reached() -> list[str]:
            payload = self.send_data(name, group)
            for _ in range(10):
                await asyncio.sleep(STEP_S)
                if self.receivers(payload) == to:
                    return to
            return self.receivers(payload)

        deadline = asyncio.get_running_loop().time() + PATIENCE_S
        while (found := await reached()) != to:
            assert asyncio.get_running_loop().time() < deadline, f"{group} reaches {found}, not {to}"

    async def _carry(self) -> None:
        """Take what switches send to where it arrives."""
        while True:
            for name, node in list(self.nodes.items()):
                for port, frame in node.take_sent():
                    self._leave(name, port, frame)
            await asyncio.sleep(STEP_S / 2)

    def _leave(self, switch: str, port: int, frame: bytes) -> None:
        far = self._trees.peer(switch, port)
        if far is None:
            peer = self.network.switch_by_name[switch].ports.get(port)
            if peer is not None:
                self.received[peer].append(frame)
        elif self.network.link_by_port[switch, port].name not in self.cut:
            self._deliver(*far, frame)

    def _deliver(self, switch: str, port: int, frame: bytes) -> None:
        if switch in self.nodes:
            self.nodes[switch].receive(port, frame)


@asynccontextmanager
async def controller(network: Network, state_dir: Path) -> AsyncIterator[Service]:
    """A running controller service."""
    with claim(state_dir):
        service = Service(network, PROGRAM, state_dir)
        async with service.running():
            yield service


async def eventually(condition: Callable[[], Any], what: Callable[[], Any] | None = None) -> None:
    """Wait until a condition holds; `what` describes the state when it does not in time."""
    deadline = asyncio.get_running_loop().time() + PATIENCE_S
    while not condition():
        now = asyncio.get_running_loop().time()
        assert now < deadline, f"not so after {PATIENCE_S} s: {what() if what else condition}"
        await asyncio.sleep(STEP_S)


async def all_ready(service: Service) -> None:
    """Wait until every switch has what it should have."""
    await eventually(
        lambda: all(app.ready for app in service.apps.values()),
        lambda: {name: (app.status, app.problem) for name, app in service.apps.items()},
    )


@asynccontextmanager
async def controlled(world: World, state_dir: Path) -> AsyncIterator[Service]:
    """A world that runs, and its controller, when every switch has what it should have."""
    async with world.running(), controller(world.network, state_dir) as service:
        await all_ready(service)
        yield service


async def all_settled(service: Service) -> None:
    """Wait until every switch has exactly what the controller wants of it by now."""

    def wanted(name: str) -> frozenset[str]:
        return frozenset(str(entry) for entry in make_state(service.core.wanted(name)).values())

    await eventually(lambda: all(app.entries() == wanted(name) for name, app in service.apps.items()))


def with_free_addresses(data: dict[str, Any]) -> Network:
    """The network with addresses that nobody listens on."""
    for switch in data["switches"]:
        switch["address"] = f"127.0.0.1:{free_port()}"
    return Network.model_validate(data)


def udp(mac: str, source: IPv4Address, destination: IPv4Address, payload: bytes) -> bytes:
    """A UDP datagram without UDP checksum (RFC 768 permits it) in a multicast frame."""
    datagram = (5000).to_bytes(2, "big") * 2 + (8 + len(payload)).to_bytes(2, "big") + b"\0\0" + payload
    length = (20 + len(datagram)).to_bytes(2, "big")
    header = b"\x45\0" + length + b"\0\0\0\0\x10\x11\0\0" + source.packed + destination.packed
    header = header[:10] + igmp.checksum(header).to_bytes(2, "big") + header[12:]
    return igmp.group_mac(destination) + igmp.parse_mac(mac) + b"\x08\x00" + header + datagram
