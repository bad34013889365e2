"""Trees of switches with few ports above many receivers, for rows about help of switches."""

from collections.abc import Sequence
from typing import Any, Final

from experiments.rows.vlmcc.base import access

FAN_OUT: Final = 14
"""Neighbours below a switch; with one above, and one to spare, sixteen ports (ours)."""


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
