"""What a controller leaves to the next one in its state directory, for switches cannot be asked for it: the links that
are down, and who is a member where.

Switches have their members in registers, and tell of one that goes on being one once in an epoch, which is half a
minute. Until then a controller that has just started could not give a switch that comes back empty its members again,
nor move them to another tree. What is remembered of members may be a second old, or as old as the controller was away:
it is believed as what was just heard, corrected by the first that a switch says of the group, and forgotten after two
epochs.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Collection, Iterable
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any, Final

from controller.groups import GroupKey
from controller.members import MemberTable, Place
from controller.network import Network
from controller.statedir import DOWN_LINKS_NAME, MEMBERS_NAME
from engine.command.whole import write_whole

LOG = logging.getLogger("canopy.controller")

KEPT_EVERY_S: Final = 1.0
"""Members are kept at most so often (ours)."""
MOST_SHARE: Final = 0.05
"""Of the controller's time, for keeping them (ours): 100,000 take a third of a second."""


class Remembered:
    """Of the controllers of one state directory. What cannot be read, or does not belong to the network, is left out
    with a warning; what cannot be written is a warning."""

    def __init__(self, state_dir: Path, network: Network) -> None:
        self._down_links = state_dir / DOWN_LINKS_NAME
        self._members = state_dir / MEMBERS_NAME
        self._network = network
        self._kept_changes = 0
        self._next_at = 0.0

    def down_links(self) -> list[str]:
        """The names of links that are down."""
        names = _read(self._down_links, "all links are taken to be up")
        return [link.name for link in self._network.links if isinstance(names, list) and link.name in names]

    def keep_down_links(self, names: Collection[str]) -> None:
        """For the next controller."""
        _write(self._down_links, sorted(names))

    def members(self) -> list[Place]:
        """Who is a member where."""
        rows = _read(self._members, "members are not known before they report")
        if not isinstance(rows, list):
            return []
        places = [self._place(row) for row in rows]
        unknown = places.count(None)
        if unknown:
            LOG.warning("%s: %d members that this network does not have are left out", self._members, unknown)
        return [place for place in places if place is not None]

    def members_at(self, members: MemberTable, now: float) -> None:
        """At any time, seconds: keep who is a member where, if that has changed and it is time."""
        if members.changes == self._kept_changes or now < self._next_at:
            return
        begun = time.perf_counter()
        self.keep_members(members)
        self._next_at = now + max(KEPT_EVERY_S, (time.perf_counter() - begun) / MOST_SHARE)

    def keep_members(self, members: MemberTable) -> None:
        """For the next controller."""
        self._kept_changes = members.changes
        _write(self._members, [_row(place) for place in members.places()])

    def _place(self, row: Any) -> Place | None:
        """Of a row; None: it is none, or not of this network."""
        if not (isinstance(row, list) and len(row) == 4):
            return None
        source, group, switch, port = row
        spec = self._network.switch_by_name.get(switch) if isinstance(switch, str) else None
        if spec is None or not isinstance(port, int) or port not in spec.ports:
            return None
        try:
            key = GroupKey(None if source is None else IPv4Address(source), IPv4Address(group))
        except ValueError:
            return None
        return (key, (switch, port)) if key.group.is_multicast else None


def _row(place: Place) -> list[Any]:
    key, (switch, port) = place
    return [None if key.source is None else str(key.source), str(key.group), switch, port]


def _read(path: Path, otherwise: str) -> Any:
    """What was kept; None: nothing. `otherwise` says what follows when it cannot be read."""
    try:
        return json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        LOG.warning("%s: %s; %s", path, error, otherwise)
        return None


def _write(path: Path, value: Iterable[Any]) -> None:
    try:
        write_whole(path, json.dumps(value))
    except OSError as error:
        LOG.warning("%s: %s; a restarted controller would not know", path, error)
