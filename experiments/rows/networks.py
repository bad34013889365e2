"""What networks of several papers' rows are made of, as parts of scenario documents."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

PACKET_BYTES: Final = 1000
"""On the link, of TFMCC's, VLMCC's and the comparison's packets and of TCP's beside them."""
TCP: Final[Mapping[str, Any]] = {
    "packet": f"{PACKET_BYTES} B",
    "delayed_ack": "0 s",
    "initial_window": 2,
    "limited_transmit": False,
}
"""As of 2001: an acknowledgment a packet, and no limited transmit (ours)."""
DELAY_MS: Final = 1.0
"""VLMCC's Fig. 5: "1 ms delay"."""
ACCESS_BPS: Final = 10e6
"""The same figure's links beside the bottlenecks."""
BOTTLENECK_BPS: Final = 1e6
"""The same: "the links between the routers, that have 1 Mbps bandwidth"."""
QUEUE_PACKETS: Final = 15
"""Ours (docs/vlmcc.md)."""
FAN_OUT: Final = 14
"""Neighbours below a switch; with one above, and one to spare, sixteen ports (ours)."""


def document(
    name: str,
    seconds: float,
    nodes: Mapping[str, Any],
    links: Sequence[Mapping[str, Any]],
    session: Mapping[str, Any],
    traffic: Sequence[Mapping[str, Any]] = (),
    **more: Any,
) -> dict[str, Any]:
    """A scenario."""
    return {
        "name": name,
        "duration": f"{seconds:g} s",
        "nodes": dict(nodes),
        "links": list(links),
        "sessions": [session],
        "traffic": list(traffic),
        **more,
    }


def tcp(source: str, destination: str, start: float = 0.0, stop: float | None = None) -> dict[str, Any]:
    """A bulk transfer by NewReno, the commonest of 2001 (ours)."""
    flow: dict[str, Any] = {"kind": "tcp", "source": source, "destination": destination, "start": f"{start:g} s"}
    flow |= {"congestion_control": "newreno", "simulated": TCP}
    return flow if stop is None else {**flow, "stop": f"{stop:g} s"}


def access(one: str, other: str, rate_bps: float = ACCESS_BPS, delay_ms: float = DELAY_MS) -> dict[str, Any]:
    """A host's link."""
    queue = {"kind": "droptail", "packets": 10_000}
    return {"between": [one, other], "rate": f"{rate_bps:g} bps", "delay": f"{delay_ms:g} ms", "queue": queue}


def bottleneck(
    one: str,
    other: str,
    rate_bps: float = BOTTLENECK_BPS,
    queue_packets: int = QUEUE_PACKETS,
    delay_ms: float = DELAY_MS,
) -> dict[str, Any]:
    """A link between two routers, with "simple FIFO queues"."""
    queue = {"kind": "droptail", "packets": queue_packets}
    return {"between": [one, other], "rate": f"{rate_bps:g} bps", "delay": f"{delay_ms:g} ms", "queue": queue}


def dumbbell(
    flows: Sequence[Mapping[str, Any]],
    *,
    name: str,
    duration: str,
    bottleneck: Mapping[str, Any],
    access: Mapping[str, Any],
    sending: Mapping[str, Any] | None = None,
    switch: str = "router",
) -> dict[str, Any]:
    """Sources a0, a1, ... and destinations b0, b1, ... on either side of one link, one pair a flow.

    The bottleneck is called `core` and leads from `left` to `right`; `switch` is what these are (`router`, `p4`)."""
    pairs = [(f"a{number}", f"b{number}") for number in range(len(flows))]
    nodes: dict[str, Any] = {"left": {"kind": switch}, "right": {"kind": switch}}
    links: list[dict[str, Any]] = [{"name": "core", "between": ["left", "right"], **bottleneck}]
    for source, destination in pairs:
        nodes[source] = {"kind": "host"} if sending is None else {"kind": "host", "sending": dict(sending)}
        nodes[destination] = {"kind": "host"}
        links += [{"between": [source, "left"], **access}, {"between": ["right", destination], **access}]
    traffic = [
        {**flow, "source": source, "destination": destination}
        for flow, (source, destination) in zip(flows, pairs, strict=True)
    ]
    return {"name": name, "duration": duration, "nodes": nodes, "links": links, "traffic": traffic}


def _switch_tree(hosts: Sequence[str], root: str) -> tuple[list[str], list[dict[str, Any]]]:
    """Switches between `root` and the hosts, so that none has more than `FAN_OUT` below it; and all links there."""
    switches: list[str] = []
    links = [
        access(f"e{index // FAN_OUT}", name, delay_ms=1 + index * 37 % 60)  # no two neighbours alike
        for index, name in enumerate(hosts)
    ]
    level = [f"e{index}" for index in range(-(-len(hosts) // FAN_OUT))]
    while len(level) > FAN_OUT:
        switches += level
        above = [f"m{len(switches)}x{index}" for index in range(-(-len(level) // FAN_OUT))]
        links += [access(above[index // FAN_OUT], name) for index, name in enumerate(level)]
        level = above
    switches += level
    return switches, links + [access(root, name) for name in level]


def crowd_network(count: int) -> tuple[list[str], dict[str, Any], list[dict[str, Any]]]:
    """Receivers r0, r1, ... in such a tree below `s1`: their names, all nodes, and the tree's links.

    How `s1` and `s0`, the session's hosts `s` and `lead`, and the cross traffic's `u` and `v` are joined is the row's.
    """
    names = [f"r{index}" for index in range(count)]
    switches, links = _switch_tree(names, "s1")
    nodes: dict[str, Any] = {name: {"kind": "p4"} for name in ("s0", "s1", *switches)}
    nodes |= {name: {"kind": "host"} for name in ("s", "lead", "u", "v", *names)}
    return names, nodes, links
