"""Multicast and mirroring statements, with simple_switch_CLI's numbering: node handles count from 0."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engine.switch.stf.errors import StfError

if TYPE_CHECKING:
    from canopy_engine import Switch


@dataclass(slots=True)
class Mirror:
    """A mirroring session goes to one port, to a multicast group, or to both."""

    port: int | None = None
    group: int | None = None


@dataclass(slots=True)
class Replication:
    """`nodes`: the replication id and the ports of each node, by handle. `groups`: each group's nodes."""

    switch: Switch
    nodes: list[tuple[int, list[int]]] = field(default_factory=list)
    groups: dict[int, list[int]] = field(default_factory=dict)
    mirrors: dict[int, Mirror] = field(default_factory=dict)

    def statements(self) -> dict[str, Callable[[list[int]], None]]:
        return {
            "mc_mgrp_create": self._group_create,
            "mc_mgrp_destroy": self._group_destroy,
            "mc_node_create": self._node_create,
            "mc_node_update": self._node_update,
            "mc_node_associate": self._node_associate,
            "mc_node_dissociate": self._node_dissociate,
            "mirroring_add": self._mirroring_add,
            "mirroring_add_mc": self._mirroring_add_mc,
            "mirroring_delete": self._mirroring_delete,
            "mirroring_get": self._mirroring_get,
        }

    def _group_create(self, args: list[int]) -> None:
        (group,) = args
        self.switch.mcast_group_add(group, [])
        self.groups[group] = []

    def _group_destroy(self, args: list[int]) -> None:
        (group,) = args
        self._nodes_of(group)
        self.switch.mcast_group_delete(group)
        del self.groups[group]

    def _node_create(self, args: list[int]) -> None:
        rid, *ports = args
        self.nodes.append((rid, ports))

    def _node_update(self, args: list[int]) -> None:
        handle, *ports = args
        rid, _ = self._node(handle)
        self.nodes[handle] = (rid, ports)
        for group, handles in self.groups.items():
            if handle in handles:
                self._write(group)

    def _node_associate(self, args: list[int]) -> None:
        group, handle = args
        self._node(handle)
        self._nodes_of(group).append(handle)
        self._write(group)

    def _node_dissociate(self, args: list[int]) -> None:
        group, handle = args
        handles = self._nodes_of(group)
        if handle not in handles:
            raise StfError(f"node {handle} is not in group {group}")
        handles.remove(handle)
        self._write(group)

    def _mirroring_add(self, args: list[int]) -> None:
        session, port = args
        self.mirrors.setdefault(session, Mirror()).port = port
        self._write_mirror(session)

    def _mirroring_add_mc(self, args: list[int]) -> None:
        session, group = args
        self.mirrors.setdefault(session, Mirror()).group = group
        self._write_mirror(session)

    def _mirroring_delete(self, args: list[int]) -> None:
        (session,) = args
        self._mirroring_get(args)
        del self.mirrors[session]
        self.switch.clone_session_delete(session)

    def _mirroring_get(self, args: list[int]) -> None:
        (session,) = args
        if session not in self.mirrors:
            raise StfError(f"there is no mirroring session {session}")

    def _node(self, handle: int) -> tuple[int, list[int]]:
        if not 0 <= handle < len(self.nodes):
            raise StfError(f"there is no multicast node {handle}")
        return self.nodes[handle]

    def _nodes_of(self, group: int) -> list[int]:
        if group not in self.groups:
            raise StfError(f"there is no multicast group {group}")
        return self.groups[group]

    def _replicas(self, group: int) -> list[tuple[int, int]]:
        return [
            (port, rid)
            for handle in self.groups.get(group, ())
            for rid, ports in [self.nodes[handle]]
            for port in ports
        ]

    def _write(self, group: int) -> None:
        """The group has changed, and with it the sessions that mirror to it."""
        self.switch.mcast_group_modify(group, self._replicas(group))
        for session, mirror in self.mirrors.items():
            if mirror.group == group:
                self._write_mirror(session)

    def _write_mirror(self, session: int) -> None:
        mirror = self.mirrors[session]
        replicas = [(mirror.port, 0)] if mirror.port is not None else []
        if mirror.group is not None:
            replicas += self._replicas(mirror.group)
        self.switch.clone_session_set(session, replicas)
