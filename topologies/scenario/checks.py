"""What a scenario's parts must be to each other: names that exist, ports, groups and ids used once, one connected
network, protocols that know their options, logical trees that are trees; and what one way of running them cannot give.
"""

from collections import Counter
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network
from typing import Literal, TypeAlias

from controller.network import MAX_HOSTS, MAX_PORT, MAX_SWITCHES
from hosts import protocols
from hosts.security.secured import lacks_help
from topologies.scenario import activity, congestion, logical_tree
from topologies.scenario.errors import FieldPath, Finding
from topologies.scenario.network import HOST_NETWORK, AnyQueue, Link, Red, connected_parts
from topologies.scenario.quantity import format_duration
from topologies.scenario.scenario import Scenario
from topologies.scenario.session import DEFAULT_FAN_OUT, Session

Purpose: TypeAlias = Literal["emulate", "simulate"]

SOURCE_SPECIFIC = IPv4Network("232.0.0.0/8")
"""RFC 4607: groups here have no any-source members."""
LOCAL_CONTROL = IPv4Network("224.0.0.0/24")
"""RFC 5771: never forwarded by a router."""
MAX_INTERFACE_NAME = 15
"""IFNAMSIZ - 1."""
MAX_UDP_PAYLOAD = 65507
"""An IPv4 packet's 65,535 bytes less its header and UDP's."""
LEAST_MEAN_S = 1e-4
"""Between the beginnings of a flow's transfers, or of its times on: more than ten thousand a second no run gets through
(ours)."""
LEAST_CONTROL_DELAY_S = 1e-4
"""Of a simulation: switches are looked after once in so long."""
LEAST_SAMPLE_S = 1e-3


def check_scenario(scenario: Scenario) -> Iterator[Finding]:
    """Every mistake that is not one of a single field: its path and what is wrong."""
    yield from _check_nodes(scenario)
    for index, link in enumerate(scenario.links):
        yield from _check_link(scenario, ("links", index), link)
    yield from _check_link_pairs(scenario)
    yield from _check_attachment(scenario)
    yield from _check_sessions(scenario)
    yield from _check_traffic(scenario)
    yield from _check_faults(scenario)
    if scenario.duration == 0:
        yield ("duration",), "must be above zero"


def find_doubts(scenario: Scenario) -> Iterator[Finding]:
    """What can be run, but hardly does what its author means: its path and what will happen.

    A file's sender begins when all have joined that are to join until `start`."""
    for index, session in enumerate(scenario.sessions):
        if not session.has_file or protocols.get(session.protocol).admits_late:
            continue
        for number, receiver in enumerate(session.receivers):
            if receiver.join > session.start:
                yield (
                    ("sessions", index, "receivers", number, "join"),
                    f"`{receiver.host}` joins after the session's `start` ({format_duration(session.start)}): "
                    f"{session.protocol} refuses who comes when a file's beginning is gone",
                )


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


def _check_queue(path: FieldPath, queue: AnyQueue) -> Iterator[Finding]:
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
    highest: dict[str, int] = {}
    for link in scenario.links:
        for name, port in link.ports.items():
            highest[name] = max(port, highest.get(name, 1))
    for name in scenario.nodes:
        if degree[name] == 0:
            yield ("nodes", name), "is connected to nothing"
        elif name in scenario.hosts and degree[name] > 1:
            yield ("nodes", name), f"is a host with {degree[name]} links; a host has one"
        elif name in scenario.switches and degree[name] > MAX_PORT:
            yield ("nodes", name), f"has {degree[name]} links; a switch has {MAX_PORT} ports"
        interface = f"{name}-eth{max(degree[name], highest.get(name, 1))}"
        if name in scenario.switches and len(interface) > MAX_INTERFACE_NAME:
            yield ("nodes", name), f"too long for a switch: interface names such as {interface} have 15 bytes"
    parts = sorted(connected_parts(link.between for link in scenario.links), key=len, reverse=True)
    for part in parts[1:]:
        name = next(name for name in [*scenario.nodes, *sorted(part)] if name in part)
        if name in scenario.nodes:
            yield ("nodes", name), f"cannot be reached from the rest of the network ({', '.join(sorted(part))})"


def _check_host(scenario: Scenario, path: FieldPath, name: str) -> Iterator[Finding]:
    if name in scenario.switches or name in scenario.routers:
        yield path, f"`{name}` is a {'switch' if name in scenario.switches else 'router'}; this needs a host"
    elif name not in scenario.hosts:
        yield path, f"no host is called `{name}`"


def _check_sessions(scenario: Scenario) -> Iterator[Finding]:
    for index, session in enumerate(scenario.sessions):
        path = ("sessions", index)
        yield from _check_members(scenario, path, session)
        yield from _check_group(path, session)
        what = {"file": session.file, "size": session.size, "realtime": session.realtime, "endless": session.endless}
        given = [name for name, value in what.items() if value not in (None, False)]
        if not given:
            yield path, "needs something to send: one of `file`, `size`, `realtime: true` and `endless: true`"
        elif len(given) > 1:
            yield path, f"has {' and '.join(f'`{name}`' for name in given)}, and can send only one of them"
        yield from _check_tree(path, session)
        yield from _check_protocol(path, session)
    yield from _check_conflicts(scenario)


def _check_members(scenario: Scenario, path: FieldPath, session: Session) -> Iterator[Finding]:
    yield from _check_host(scenario, (*path, "sender"), session.sender)
    seen: set[str] = set()
    for index, receiver in enumerate(session.receivers):
        here = (*path, "receivers", index)
        yield from _check_host(scenario, here, receiver.host)
        if receiver.host == session.sender:
            yield here, f"`{receiver.host}` is the sender"
        if receiver.host in seen:
            yield here, f"`{receiver.host}` is listed twice"
        seen.add(receiver.host)
        if receiver.leave is not None and receiver.leave <= receiver.join:
            yield (*here, "leave"), "must come after `join`"
        if receiver.agent and session.tree == "one-level":
            yield (*here, "agent"), "nobody has an agent for a parent in a tree of one level (see `tree`)"


def _check_group(path: FieldPath, session: Session) -> Iterator[Finding]:
    if not session.group.is_multicast:
        yield (*path, "group"), f"{session.group} is not a multicast address (224.0.0.0 to 239.255.255.255)"
    elif session.group in LOCAL_CONTROL:
        yield (*path, "group"), f"{session.group} is in {LOCAL_CONTROL}, which routers do not forward"
    elif not (last := session.group + _group_count(session) - 1).is_multicast:
        yield (*path, "group"), f"the session takes the groups up to {last}, which is not a multicast address"
    elif session.group in SOURCE_SPECIFIC and session.membership == "any-source":
        yield (*path, "membership"), f"groups in {SOURCE_SPECIFIC} are source-specific (RFC 4607)"


def _check_protocol(path: FieldPath, session: Session) -> Iterator[Finding]:
    try:
        protocol = protocols.get(session.protocol)
    except ValueError as error:
        yield (*path, "protocol"), str(error)
        return
    if session.realtime and not protocol.carries_realtime:
        yield (*path, "realtime"), f"{protocol.name} carries no real-time data"
    if not session.realtime and not protocol.carries_files:
        yield (*path, "protocol"), f"{protocol.name} carries real-time data only (`realtime: true`)"
    if session.tree != "one-level" and "parent" not in protocol.option_names:
        yield (*path, "tree"), f"{protocol.name} has no logical tree"
    if session.assist != "none" and "assist" not in protocol.option_names:
        yield (*path, "assist"), f"{protocol.name} has no help by switches"
    is_sealed = session.security != "none"
    if is_sealed and session.is_helped and (lack := lacks_help(protocol, is_signed=session.security == "signed")):
        yield (*path, "security"), lack
    if session.security == "signed" and session.agents:
        yield (*path, "security"), "an agent speaks for itself: a session that its sender signs has one level"
    policy = {} if session.slow_receivers is None else session.slow_receivers.parameters
    for field, parameters in (("parameters", session.parameters), ("slow_receivers", {**session.parameters, **policy})):
        try:
            protocol.parse_options(parameters)
        except ValueError as error:
            yield (*path, field), str(error)
            return


def _check_tree(path: FieldPath, session: Session) -> Iterator[Finding]:
    most = DEFAULT_FAN_OUT if session.fan_out is None else session.fan_out
    if isinstance(session.tree, dict):
        receivers = [receiver.host for receiver in session.receivers]
        yield from logical_tree.check((*path, "tree"), session.tree, session.sender, receivers, most)
    elif session.tree == "one-level" and session.fan_out is not None and len(session.receivers) > most:
        yield (*path, "fan_out"), f"{len(session.receivers)} receivers are the sender's children in one level"


def _check_conflicts(scenario: Scenario) -> Iterator[Finding]:
    ids: dict[int, int] = {}
    groups: dict[tuple[int, int], int] = {}
    for index, session in enumerate(scenario.sessions):
        if session.id in ids:
            yield ("sessions", index, "id"), f"also the id of sessions[{ids[session.id]}]"
        ids.setdefault(session.id, index)
        first = int(session.group)
        keys = [(group, session.port) for group in range(first, first + _group_count(session))]
        taken = next((key for key in keys if key in groups), None)
        if taken is not None:
            yield (
                ("sessions", index, "port"),
                f"{IPv4Address(taken[0])} port {session.port} is used by sessions[{groups[taken]}]",
            )
        for key in keys:
            groups.setdefault(key, index)


def _group_count(session: Session) -> int:
    """Groups from the session's own on; 1 where its protocol or parameters are wrong, which is said elsewhere."""
    try:
        return session.group_count
    except ValueError:
        return 1


def _check_traffic(scenario: Scenario) -> Iterator[Finding]:
    for index, flow in enumerate(scenario.traffic):
        path = ("traffic", index)
        yield from _check_packets(path, flow)
        yield from _check_host(scenario, (*path, "source"), flow.source)
        yield from _check_host(scenario, (*path, "destination"), flow.destination)
        if flow.source == flow.destination:
            yield (*path, "destination"), f"is the source, `{flow.source}`"
        if flow.stop is not None and flow.stop <= flow.start:
            yield (*path, "stop"), "must come after `start`"


def _check_packets(path: FieldPath, flow: activity.Flow) -> Iterator[Finding]:
    match flow:
        case activity.UdpFlow() | activity.OnOffFlow() if flow.packet > MAX_UDP_PAYLOAD:
            yield (*path, "packet"), f"{flow.packet} bytes do not fit a UDP datagram ({MAX_UDP_PAYLOAD})"
        case activity.TcpFlow() | activity.WebFlow():
            yield from congestion.check_tcp(
                path,
                flow.congestion_control,
                packet=flow.simulated.packet,
                ecn=flow.simulated.ecn,
                limited_transmit=flow.simulated.limited_transmit,
                paces=isinstance(flow, activity.TcpFlow) and flow.pacing,
            )
    if isinstance(flow, activity.OnOffFlow):
        yield from _check_mean((*path, "on"), flow.on)
    if isinstance(flow, activity.WebFlow):
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
            case (
                activity.LinkDown(link=(one, other))
                | activity.LinkDelay(link=(one, other))
                | activity.LinkRate(link=(one, other))
            ):
                if scenario.link_between(one, other) is None:
                    yield (*path, "link"), f"no link joins `{one}` and `{other}`"
            case activity.SwitchRestart(switch=name):
                if name in scenario.routers:
                    yield (*path, "switch"), f"`{name}` is a router, which has no state to lose"
                elif name not in scenario.switches:
                    yield (*path, "switch"), f"no switch is called `{name}`"
            case activity.ReceiverDies(session=session, host=host):
                if session not in sessions:
                    yield (*path, "session"), f"no session has the id {session}"
                elif host not in {receiver.host for receiver in sessions[session].receivers}:
                    yield (*path, "host"), f"`{host}` is not a receiver of session {session}"
            case activity.Attack(session=session, host=host):
                if session not in sessions:
                    yield (*path, "session"), f"no session has the id {session}"
                if host is not None:
                    yield from _check_host(scenario, (*path, "host"), host)
        if fault.at > scenario.duration:
            yield (*path, "at"), "comes after the end of the scenario"


def check_ability(scenario: Scenario, purpose: Purpose) -> Iterator[Finding]:
    """Every field that cannot be run in this way, and why."""
    yield from _check_emulation(scenario) if purpose == "emulate" else _check_simulation(scenario)


def _check_emulation(scenario: Scenario) -> Iterator[Finding]:
    for name in scenario.routers:
        yield ("nodes", name, "kind"), "a plain router is only simulated (canopy simulate)"
    for index, session in enumerate(scenario.sessions):
        if session.endless:
            yield ("sessions", index, "endless"), "a stream without end is only simulated (canopy simulate)"
    for index, fault in enumerate(scenario.faults):
        path = ("faults", index)
        if isinstance(fault, activity.Attack) and fault.host is None:
            yield (*path, "host"), "an attack of an emulation comes from a host"
        if isinstance(fault, activity.Attack) and not fault.spoofed:
            yield (*path, "spoofed"), "is only simulated: an emulation's switches drop what they do not let through"
    for index, flow in enumerate(scenario.traffic):
        if isinstance(flow, activity.WebFlow):
            yield ("traffic", index, "kind"), "web traffic is only simulated (canopy simulate)"
        if isinstance(flow, activity.TcpFlow):
            yield from congestion.check_emulated(("traffic", index), flow.congestion_control)
        if isinstance(flow, activity.UdpFlow):
            for field, kind in (("gaps", flow.gaps), ("sizes", flow.sizes)):
                if kind != "constant":
                    yield ("traffic", index, field), f"{kind} {field} are only simulated (canopy simulate)"


def _check_simulation(scenario: Scenario) -> Iterator[Finding]:
    if scenario.switches:
        mixed = "a network has either P4 switches or plain routers: no controller knows what lies behind a router"
        yield from ((("nodes", name, "kind"), mixed) for name in scenario.routers)
    for index, flow in enumerate(scenario.traffic):
        if isinstance(flow, activity.TcpFlow | activity.WebFlow):
            yield from congestion.check_simulated(("traffic", index), flow.congestion_control)
    for index, fault in enumerate(scenario.faults):
        if isinstance(fault, activity.ControllerRestart) and not scenario.switches:
            yield ("faults", index, "kind"), "there is no controller without P4 switches"
    for name, host in scenario.hosts.items():
        for field, processing in (("sending", host.sending), ("receiving", host.receiving)):
            if processing is not None and processing.least > processing.most:
                yield ("nodes", name, field, "least"), "must not exceed `most`"
    if scenario.simulation.control_delay < LEAST_CONTROL_DELAY_S:
        yield ("simulation", "control_delay"), f"must be at least {LEAST_CONTROL_DELAY_S * 1e6:g} us"
    if scenario.simulation.sealing is not None and all(session.security == "none" for session in scenario.sessions):
        yield ("simulation", "sealing"), "no session is sealed (security: group or signed)"
    for field, interval in (("sample", scenario.simulation.sample), ("trace", scenario.simulation.trace)):
        if interval < LEAST_SAMPLE_S:
            yield ("simulation", field), f"must be at least {LEAST_SAMPLE_S * 1e3:g} ms"
