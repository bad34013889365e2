"""What the API shows: the controller's state as plain JSON values."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from controller.core import Core
from controller.groups import GroupKey, Slot
from controller.sessions import LimitingStatus, ReceiverStatus, SessionStatus, read_sessions
from controller.switch_app import SwitchApp
from engine.command.natural import natural

MAX_COUNTED_SLOTS = 256  # slots whose counters are read for one request: each cell is a read of its own

Json = dict[str, Any]


class Views:
    """Read-only views of one controller."""

    def __init__(self, core: Core, apps: Mapping[str, SwitchApp], sessions_dir: Path) -> None:
        self._core = core
        self._apps = apps
        self._sessions_dir = sessions_dir

    async def switches(self, counters: bool = True) -> list[Json]:
        """Each switch: its connection, how much state it has, why it dropped packets."""
        found = []
        program = self._core.program
        for spec in self._core.network.switches:
            app = self._apps[spec.name]
            since = app.connected_since
            drops = program.drop_reasons(await app.read_counter("drops")) if counters else {}
            feedback = program.feedback_outcomes(await app.read_counter("feedback")) if counters else {}
            found.append(
                {
                    "name": spec.name,
                    "device_id": spec.device_id,
                    "address": spec.address,
                    "status": app.status,
                    "problem": app.problem,
                    "connected_s": None if since is None else round(self._core.clock() - since, 3),
                    "connections": app.connections,
                    "entries": len(app.entries()),
                    "writes": app.writes,
                    "packets_lost": app.packets_lost,
                    "ports": {str(port): peer for port, peer in sorted(spec.ports.items())},
                    "drops": drops,
                    "feedback": feedback,
                }
            )
        return found

    async def groups(self, counters: bool = True) -> list[Json]:
        """Each slot: its group, whom it counts for, its members, packets sent per switch."""
        now = self._core.clock()
        slots = list(self._core.slots)
        counted = counters and len(slots) <= MAX_COUNTED_SLOTS
        sent = {name: await self._sent(name, slots) for name in self._apps} if counted else {}
        return [
            {
                **_key(slot.key),
                "slot": slot.index,
                "pinned": slot.pinned,
                "owner": None if slot.owner is None else {"switch": slot.owner[0], "port": slot.owner[1]},
                "idle_s": None if slot.idle_since is None else round(now - slot.idle_since, 3),
                "members": sorted(self._hosts(slot.key), key=natural),
                "packets_sent": {name: cells[slot.index] for name, cells in sent.items() if slot.index in cells},
            }
            for slot in slots
        ]

    async def members(self) -> list[Json]:
        """Each member port of each group."""
        now = self._core.clock()
        return [
            member.to_json(now) | {"peer": self._core.peer_name(member.switch, member.port)}
            for member in self._core.members
        ]

    async def trees(self) -> list[Json]:
        """Each group's tree: the upstream ports and the members of every switch."""
        core = self._core
        return [
            {
                **_key(slot.key),
                "slot": slot.index,
                "switches": {
                    spec.name: {
                        "upstream": self._ports(spec.name, core.trees.upstream_ports(spec.name, *slot.key)),
                        "members": self._ports(spec.name, core.members.ports_on(slot.key, spec.name)),
                    }
                    for spec in core.network.switches
                },
            }
            for slot in core.slots
        ]

    async def links(self) -> list[Json]:
        """Each link between switches, and whether it is up."""
        down = self._core.trees.down
        return [
            link.model_dump() | {"name": link.name, "up": link.name not in down} for link in self._core.network.links
        ]

    async def sessions(self) -> Json:
        """Each session: its sender's status file, with names for addresses and the members that the switches know."""
        now = time.time()
        found, problems = read_sessions(self._sessions_dir)
        shown = [self._session(status, now) for status in found]
        known = {status.session for status in found}
        shown += [
            {
                "session": session.session,
                "protocol": session.protocol,
                "group": str(session.group),
                "port": session.port,
                "source": None if session.source is None else str(session.source),
                "source_host": self._host(str(session.source)),
                "state": "expected",
                "members": self._session_members(GroupKey(session.source, session.group)),
            }
            for session in self._core.network.sessions
            if session.session not in known
        ]
        return {
            "sessions": sorted(shown, key=lambda session: int(session["session"])),
            "problems": [{"file": str(problem.path), "problem": problem.message} for problem in problems],
        }

    # ---------------------------------------------------------------- within

    def _session(self, status: SessionStatus, now: float) -> Json:
        shown: Json = status.model_dump(mode="json", exclude={"limiting", "receivers"})
        shown["stale"] = status.is_stale(now)
        shown["age_s"] = round(max(0.0, now - status.updated_at), 3)
        shown["source_host"] = self._host(str(status.source))
        shown["limiting"] = None if status.limiting is None else self._limiting(status.limiting)
        shown["receivers"] = {
            address: self._receiver(address, receiver) for address, receiver in status.receivers.items()
        }
        shown["members"] = self._session_members(GroupKey(status.source, status.group))
        return shown

    def _limiting(self, limiting: LimitingStatus) -> Json:
        return self._receiver(limiting.receiver, limiting)

    def _receiver(self, address: str, receiver: ReceiverStatus) -> Json:
        """A receiver's numbers, and where in the network it is."""
        shown: Json = receiver.model_dump(mode="json") | {"host": self._host(address)}
        host = self._core.network.host_by_name.get(shown["host"] or "")
        if host is not None:
            shown |= {"switch": host.switch, "port": host.port}
        return shown

    def _session_members(self, key: GroupKey) -> list[str]:
        """Hosts that are members of (source, group) or of (*, group)."""
        return sorted(self._hosts(key) | self._hosts(GroupKey(None, key.group)), key=natural)

    def _hosts(self, key: GroupKey) -> set[str]:
        """The hosts at member ports; at a shared one all that may be members."""
        ports = self._core.members.ports(key)
        return {host.name for host in self._core.network.hosts if (host.switch, host.port) in ports}

    def _host(self, address: str) -> str | None:
        by_ip = {str(host.ip): host.name for host in self._core.network.hosts}
        return by_ip.get(address)

    def _ports(self, switch: str, ports: set[int] | frozenset[int]) -> list[Json]:
        return [{"port": port, "peer": self._core.peer_name(switch, port)} for port in sorted(ports)]

    async def _sent(self, switch: str, slots: list[Slot]) -> dict[int, int]:
        """Packets that a switch sent per slot, all ports together."""
        program = self._core.program
        ports = self._core.network.switch_by_name[switch].ports
        cells = {program.slot_counter(slot.index, port): slot.index for slot in slots for port in ports}
        sent: dict[int, int] = {}
        counts = await self._apps[switch].read_counter("slot_port", cells) if cells else {}
        for cell, count in counts.items():
            sent[cells[cell]] = sent.get(cells[cell], 0) + count
        return sent


def _key(key: GroupKey) -> Json:
    return {"source": None if key.source is None else str(key.source), "group": str(key.group)}
