"""What a scenario's parts must be to each other: names that exist, ports used once, one connected network."""

from collections import Counter
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network

import networkx

from controller.network import MAX_HOSTS, MAX_PORT, MAX_SWITCHES
from topologies.scenario.activity import (
    ControllerRestart,
    Flow,
    LinkDelay,
    LinkDown,
    OnOffFlow,
    ReceiverDies,
    SwitchRestart,
    TcpFlow,
    UdpFlow,
    WebFlow,
)
from topologies.scenario.errors import FieldPath, Finding
from topologies.scenario.network import DropTail, Link, Red
from topologies.scenario.quantity import format_duration
from topologies.scenario.scenario import Scenario
from topologies.scenario.session_checks import check_host, check_sessions

HOST_NETWORK = IPv4Network("10.0.0.0/8")
"""Where hosts live; every switch routes it and answers ARP for it."""
MAX_INTERFACE_NAME = 15
"""IFNAMSIZ - 1."""
MAX_UDP_PAYLOAD = 65507
"""An IPv4 packet's 65,535 bytes less its header and UDP's."""
TCP_HEADERS = 54
"""Of Ethernet, IPv4 and TCP, without options."""
LEAST_MEAN_S = 1e-4
"""Between the beginnings of a flow's transfers, or of its times on: more than ten thousand a second no run gets through
(ours)."""
MAX_FRAME = 65549
"""Ethernet's header and the largest IPv4 packet."""


def check_scenario(scenario: Scenario) -> Iterator[Finding]:
    """Every mistake that is not one of a single field: its path and what is wrong."""
    yield from _check_nodes(scenario)
    for index, link in enumerate(scenario.links):
        yield from _check_link(scenario, ("links", index), link)
    yield from _check_link_pairs(scenario)
    yield from _check_attachment(scenario)
    yield from check_sessions(scenario)
    yield from _check_traffic(scenario)
    yield from _check_faults(scenario)
    if scenario.duration == 0:
        yield ("duration",), "must be above zero"


def _check_nodes(scenario: Scenario) -> Iterator[Finding]:
    if not scenario.switches and not scenario.routers:
        yield ("nodes",), "no switch (a node with `kind: p4`)"
    if len(scenario.switches) > MAX_SWITCHES:
        yield ("nodes",), f"{len(scenario.switches)} P4 switches, and a controller has {MAX_SWITCHES} at most"
    if scenario.switches and len(scenario.hosts) > MAX_HOSTS:
        yield ("nodes",), f"{len(scenario.hosts)} hosts, and a controller knows {MAX_HOSTS} at most"
    taken: dict[IPv4Address, str] = {}
    for name, host in scenario.hosts.items():
        path = ("nodes", name, "address")
        if host.address is None:
            continue
        if host.address not in HOST_NETWORK:
            yield path, f"{host.address} is not in {HOST_NETWORK}"
        if host.address in (HOST_NETWORK.network_address, HOST_NETWORK.broadcast_address):
            yield path, f"{host.address} is not a host's address"
        if host.address in taken:
            yield path, f"{host.address} is also {taken[host.address]}'s"
        taken.setdefault(host.address, name)


def _check_link(scenario: Scenario, path: FieldPath, link: Link) -> Iterator[Finding]:
    for end, name in enumerate(link.between):
        if name not in scenario.nodes:
            yield (*path, "between", end), f"no node is called `{name}`"
    if link.between[0] == link.between[1]:
        yield (*path, "between"), f"joins `{link.between[0]}` to itself"
    elif all(name in scenario.hosts for name in link.between):
        yield (*path, "between"), "joins two hosts; one end must be a switch or router"
    for name in link.ports:
        if name not in link.between:
            yield (*path, "ports", name), f"`{name}` is not an end of this link"
        elif name in scenario.hosts:
            yield (*path, "ports", name), f"`{name}` is a host; only switches and routers have port numbers"
    yield from _check_queue((*path, "queue"), link.queue)
    for name, direction in link.toward.items():
        if name not in link.between:
            yield (*path, "toward", name), f"`{name}` is not an end of this link"
        if direction.queue is not None:
            yield from _check_queue((*path, "toward", name, "queue"), direction.queue)


def _check_queue(path: FieldPath, queue: DropTail | Red) -> Iterator[Finding]:
    if (queue.packets is None) == (queue.bytes is None):
        yield path, "needs a limit: either `packets` or `bytes`"
    if isinstance(queue, Red):
        limit = queue.bytes if queue.packets is None else queue.packets
        if queue.min_threshold >= queue.max_threshold:
            yield (*path, "min_threshold"), "must be below max_threshold"
        if limit is not None and queue.max_threshold > limit:
            yield (*path, "max_threshold"), f"must not exceed the queue's limit of {limit}"


def _check_link_pairs(scenario: Scenario) -> Iterator[Finding]:
    first: dict[frozenset[str], int] = {}
    names: dict[str, int] = {}
    taken: dict[tuple[str, int], int] = {}
    for index, link in enumerate(scenario.links):
        pair = frozenset(link.between)
        if pair in first:
            yield ("links", index, "between"), f"the same two nodes are joined by links[{first[pair]}]"
        first.setdefault(pair, index)
        if link.name is not None:
            if link.name in names:
                yield ("links", index, "name"), f"also the name of links[{names[link.name]}]"
            names.setdefault(link.name, index)
        for name, port in link.ports.items():
            if (name, port) in taken:
                yield ("links", index, "ports", name), f"port {port} of {name} is taken by links[{taken[name, port]}]"
            taken.setdefault((name, port), index)
            if port > MAX_PORT and name in scenario.switches:
                yield ("links", index, "ports", name), f"a switch has ports 1 to {MAX_PORT}, not {port}"


def _check_attachment(scenario: Scenario) -> Iterator[Finding]:
    degree = Counter(name for link in scenario.links for name in link.between)
    for name in scenario.nodes:
        if degree[name] == 0:
            yield ("nodes", name), "is connected to nothing"
        elif name in scenario.hosts and degree[name] > 1:
            yield ("nodes", name), f"is a host with {degree[name]} links; a host has one"
        elif name in scenario.switches and degree[name] > MAX_PORT:
            yield ("nodes", name), f"has {degree[name]} links; a switch has {MAX_PORT} ports"
        if name in scenario.switches and len(f"{name}-eth{MAX_PORT}") > MAX_INTERFACE_NAME:
            yield ("nodes", name), f"too long for a switch: interface names such as {name}-eth{MAX_PORT} have 15 bytes"
    graph = networkx.Graph([link.between for link in scenario.links])
    parts = sorted(networkx.connected_components(graph), key=len, reverse=True)
    for part in parts[1:]:
        name = next(name for name in [*scenario.nodes, *sorted(part)] if name in part)
        if name in scenario.nodes:
            yield ("nodes", name), f"cannot be reached from the rest of the network ({', '.join(sorted(part))})"


def _check_traffic(scenario: Scenario) -> Iterator[Finding]:
    for index, flow in enumerate(scenario.traffic):
        path = ("traffic", index)
        yield from _check_packets(path, flow)
        yield from check_host(scenario, (*path, "source"), flow.source)
        yield from check_host(scenario, (*path, "destination"), flow.destination)
        if flow.source == flow.destination:
            yield (*path, "destination"), f"is the source, `{flow.source}`"
        if flow.stop is not None and flow.stop <= flow.start:
            yield (*path, "stop"), "must come after `start`"


def _check_packets(path: FieldPath, flow: Flow) -> Iterator[Finding]:
    match flow:
        case UdpFlow() | OnOffFlow() if flow.packet > MAX_UDP_PAYLOAD:
            yield (*path, "packet"), f"{flow.packet} bytes do not fit a UDP datagram ({MAX_UDP_PAYLOAD})"
        case TcpFlow() | WebFlow() if not TCP_HEADERS < flow.simulated.packet <= MAX_FRAME:
            bounds = f"{TCP_HEADERS + 1} to {MAX_FRAME}"
            yield (*path, "simulated", "packet"), f"a packet of TCP has {bounds} bytes, not {flow.simulated.packet}"
    if isinstance(flow, OnOffFlow):
        yield from _check_mean((*path, "on"), flow.on)
    if isinstance(flow, WebFlow):
        yield from _check_mean((*path, "gap"), flow.gap)


def _check_mean(path: FieldPath, mean: float) -> Iterator[Finding]:
    if mean == 0:
        yield path, "must be above zero"
    elif mean < LEAST_MEAN_S:
        yield path, f"must be at least {format_duration(LEAST_MEAN_S)}, not {format_duration(mean)}"


def _check_faults(scenario: Scenario) -> Iterator[Finding]:
    sessions = {session.id: session for session in scenario.sessions}
    for index, fault in enumerate(scenario.faults):
        path = ("faults", index)
        match fault:
            case LinkDown(link=(one, other)) | LinkDelay(link=(one, other)):
                if scenario.link_between(one, other) is None:
                    yield (*path, "link"), f"no link joins `{one}` and `{other}`"
            case SwitchRestart(switch=name):
                if name in scenario.routers:
                    yield (*path, "switch"), f"`{name}` is a router, which has no state to lose"
                elif name not in scenario.switches:
                    yield (*path, "switch"), f"no switch is called `{name}`"
            case ReceiverDies(session=session, host=host):
                if session not in sessions:
                    yield (*path, "session"), f"no session has the id {session}"
                elif host not in {receiver.host for receiver in sessions[session].receivers}:
                    yield (*path, "host"), f"`{host}` is not a receiver of session {session}"
            case ControllerRestart():
                pass
        if fault.at > scenario.duration:
            yield (*path, "at"), "comes after the end of the scenario"
