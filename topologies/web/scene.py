"""What does not change in a run's picture: nodes and where they stand, links, sessions, flows, faults to come."""

from typing import Any

from topologies.plan import Plan
from topologies.results.layout import lay_out
from topologies.results.paths import paths_from
from topologies.results.run_folder import RunFolder
from topologies.scenario.network import QUEUE_NAMES, DirectedLink
from topologies.scenario.scenario import Scenario


def make_scene(scenario: Scenario, plan: Plan, folder: RunFolder) -> dict[str, Any]:
    """The scene, as the page takes it (JSON)."""
    ends = [link.between for link in scenario.links]
    root = scenario.sessions[0].sender if scenario.sessions else None
    places = lay_out(list(scenario.nodes), ends, root)
    return {
        "name": scenario.name,
        "description": scenario.description,
        "folder": str(folder.path),
        "duration": scenario.duration,
        "nodes": [
            {"name": name, "kind": node.kind, "x": place.x, "y": place.y, "address": _address(plan, name)}
            for name, node in scenario.nodes.items()
            if (place := places[name])
        ],
        "logical": any(session.tree != "one-level" for session in scenario.sessions),
        "ringed": any(place.x == place.y == 0.5 for place in places.values()),
        "links": [_link(scenario, link) for link in directed_links(scenario)],
        "sessions": [
            {
                "id": session.id,
                "protocol": session.protocol,
                "sender": session.sender,
                "group": str(session.group),
                "groups": [str(session.group + number) for number in range(session.group_count)],
                "whole": session.has_file,
                "assist": session.assist,
                "receivers": [
                    {"host": receiver.host, "join": receiver.join, "leave": receiver.leave}
                    for receiver in session.receivers
                ],
                "parameters": dict(session.parameters),
            }
            for session in scenario.sessions
        ],
        "flows": [
            {
                "kind": flow.kind,
                "source": flow.source,
                "destination": flow.destination,
                "start": flow.start,
                "stop": flow.stop,
                "path": paths_from(scenario.links, flow.destination).get(flow.source, [])[::-1],
            }
            for flow in scenario.traffic
        ],
    }


def directed_links(scenario: Scenario) -> list[DirectedLink]:
    """Both directions of each link, one after the other: places in this list are the page's numbers of links."""
    return [link.direction(end) for link in scenario.links for end in reversed(link.between)]


def counters_of_links(scenario: Scenario, plan: Plan) -> dict[tuple[str, int], tuple[int, int | None]]:
    """(switch, port) -> the numbers of the link out of it, and of the link into it where only this port counts that."""
    numbers = {(link.source, link.destination): number for number, link in enumerate(directed_links(scenario))}
    return {
        (switch.name, port.number): (
            numbers[switch.name, port.neighbour],
            numbers[port.neighbour, switch.name] if port.neighbour in plan.hosts else None,
        )
        for switch in plan.switches.values()
        for port in switch.ports.values()
    }


def _link(scenario: Scenario, link: DirectedLink) -> dict[str, Any]:
    changes = [
        [fault.at, fault.rate]
        for fault in scenario.faults
        if fault.kind == "link-rate" and frozenset(fault.link) == {link.source, link.destination}
    ]
    return {
        "from": link.source,
        "to": link.destination,
        "rate": link.rate_bps,
        "rates": changes,
        "delay": link.delay_s,
        "queue": QUEUE_NAMES[link.queue.kind],
        "packets": link.queue.packets,
        "bytes": link.queue.bytes,
    }


def _address(plan: Plan, name: str) -> str | None:
    host = plan.hosts.get(name)
    return None if host is None else str(host.address)
