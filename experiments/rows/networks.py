"""Networks that several rows use, as scenario documents."""

from collections.abc import Mapping, Sequence
from typing import Any


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
