"""What the controller knows and decides: trees, slots and members (from which `wanted.py` makes what switches have).

No I/O: switches are reached through `SwitchApp`s, which call back; time comes from a clock that is given. Every method
runs in one event loop's thread and returns at once.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from ipaddress import IPv4Address
from typing import Any, Protocol

import finsy as fy

from controller import igmp
from controller.events import EventLog
from controller.groups import NUM_SLOTS, GroupKey, Slot, SlotRefused, SlotTable
from controller.hop_keys import HopKeys
from controller.last_member import LastMembers
from controller.members import MemberTable, Place
from controller.network import Network, SwitchSpec
from controller.program import MembersChanged, Program, UnknownGroup
from controller.querier import Querier
from controller.state import Difference, Entry
from controller.trees import Attachment, Trees
from controller.wanted import Wanted

LOG = logging.getLogger("canopy.controller")

ADOPTION_S = 2.0  # how long a new controller waits for switches to say which slots they have
REFUSAL_EVENT_S = 5.0  # refusals of one port are told once in so many seconds
MIN_QUOTA, MAX_QUOTA = 16, 256  # slots that one port may ask for
MIN_EPOCH_SHIFT, MAX_EPOCH_SHIFT = 18, 40  # p4src/README.md
NO_ADDRESS = IPv4Address("0.0.0.0")  # RFC 3376, section 4.2.13: a sender without an address of its own


class Outlet(Protocol):
    """What the core asks of a switch's app."""

    def touch(self) -> None:
        """What the switch should have may have changed."""

    def send(self, packets: Iterable[fy.P4PacketOut]) -> None:
        """Send packets once the switch has what it should have."""


class Core:
    """The controller's mind. `connect` gives it its switches' apps."""

    def __init__(
        self,
        network: Network,
        program: Program,
        events: EventLog,
        *,
        down_links: Iterable[str] = (),
        members: Iterable[Place] = (),
        clock: Callable[[], float] = time.monotonic,
        hop_keys: HopKeys | None = None,
        wall_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        """`down_links` and `members`: as a controller before this one knew them (`remembered.py`)."""
        timing = network.timing
        self.network = network
        self.program = program
        self.events = events
        self.clock = clock
        self.epoch_shift = epoch_shift(timing.membership_interval_s)
        epoch_s = 2**self.epoch_shift / 1e6
        self.trees = Trees(network, down_links)
        # The data plane forgets a silent member after two epochs at the latest.
        self.slots = SlotTable(quota=_quota(network), rest_s=2 * epoch_s, idle_s=timing.slot_idle_s)
        self.members = MemberTable(lifetime_s=2 * epoch_s)
        for key, where in members:
            self.members.seen(key, where, clock())
        self.querier = Querier(timing)
        self.last_members = LastMembers(timing)
        self._outlets: Mapping[str, Outlet] = {}
        self._wanted = Wanted(
            network, program, self.trees, self.slots, self.members, self.epoch_shift, hop_keys, wall_ns
        )
        self._host_ports = {(host.switch, host.port) for host in network.hosts}
        self._not_read = {switch.name for switch in network.switches}
        self._begun = asyncio.Event()  # slots were adopted, and known sessions have theirs
        self._refusals: dict[Attachment, tuple[float, int]] = {}

    def connect(self, outlets: Mapping[str, Outlet]) -> None:
        """Set the switches' apps."""
        self._outlets = outlets

    def wanted(self, switch: str) -> list[Entry]:
        """Everything that a switch should have now."""
        return self._wanted.of(switch)

    # ---------------------------------------------------------------- what switch apps tell

    async def adopt(self, switch: str, found: Sequence[Entry]) -> bool:
        """`take_over`, and wait, at the start, for the other switches to be read too."""
        if not self.take_over(switch, found):
            return False
        await self._begun.wait()
        return True

    def take_over(self, switch: str, found: Sequence[Entry]) -> bool:
        """A switch was read. Take over what it has from a controller before this one. False when it has a slot for a
        group whose slot here serves another one: its registers may have members of the wrong group."""
        now = self.clock()
        for entry in found:
            held = self.program.slot_of(entry)
            if held is not None:
                index, key = held
                here = self.slots.at(index)
                if here is not None and here.key != key:
                    return False
                if here is None and self.slots.get(key) is None:
                    self.slots.adopt(index, key, now)
            elif self._wanted.is_large(switch):
                self._adopt_large(switch, entry, now)
        self._not_read.discard(switch)
        if not self._not_read:
            self.begin()
        return True

    def _adopt_large(self, switch: str, entry: Entry, now: float) -> None:
        """A large switch's groups, and the members that its slots are exact for: else each would be flooded until the
        members are heard of again."""
        group = self.program.bitmap_group_of(entry)
        if group is not None:
            self._wanted.adopt(switch, *group)
        slot_group = self.program.slot_group_of(entry)
        slot = self.slots.at(slot_group[0]) if slot_group is not None else None
        if slot_group is not None and slot is not None:
            for port in slot_group[2]:
                self.members.seen(slot.key, (switch, port), now)
            self.slots.set_idle(slot, False, now)

    def begin(self) -> None:
        """The time to adopt is over: give slots to the known sessions."""
        if self._begun.is_set():
            return
        self._begun.set()
        for session in self.network.sessions:
            for group in session.all_groups():
                key = GroupKey(session.source, group)
                try:
                    self.slots.pin(key, self.clock())
                except SlotRefused as error:
                    self.events.add("refused", group=str(key), session=session.session, reason=str(error))
        self._released(self.slots.take_given_up())
        for key in {key for key, _ in self.members.places()}:
            slot = self.slots.get(key)
            if slot is None:
                self.members.drop_group(key)  # remembered, and no switch has it any more
            else:
                self._members_moved(slot, ())
        self._touch_all()

    def synchronised(self, switch: str, changes: Difference, *, fresh: bool) -> None:
        """A switch is ready: query it, and when it was empty, give it back the members that it had."""
        self.events.add("switch_ready", switch=switch, fresh=fresh, changes=str(changes))
        self.querier.start(switch, self.clock())
        if fresh:
            needed = [(slot.key, at) for slot in self.slots for at in sorted(self._needed(slot)) if at[0] == switch]
            for key, where in needed:
                self.members.gone(key, where)  # not so any more; the replayed reports make it so again
            self._replay(needed)

    def drifted(self, switch: str, repairs: Difference) -> None:
        """Somebody else changed a switch's state; it is repaired."""
        self.events.add("repaired", switch=switch, changes=str(repairs))

    def disconnected(self, switch: str) -> None:
        """The connection to a switch ended."""
        self._wanted.disconnected(switch)
        self.querier.stop(switch)
        self.events.add("switch_lost", switch=switch)

    def packet_in(self, switch: str, packet: fy.P4PacketIn) -> None:
        """Something the controller is shown."""
        reason, port = self.program.packet_in_reason(packet)
        if reason == "igmp_query":
            self.events.add("foreign_query", switch=switch, port=port, peer=self.peer_name(switch, port))

    def digests_lost(self, switch: str) -> None:
        """Digests were dropped: a query makes every member report, and so be told of, again."""
        self.events.add("digests_lost", switch=switch)
        self.querier.hurry(switch, self.clock())

    def digest(self, switch: str, name: str, item: Any) -> None:
        """A digest message."""
        try:
            message = self.program.decode_digest(name, item)
        except ValueError as error:
            LOG.warning("%s: %s", switch, error)
            return
        if isinstance(message, UnknownGroup):
            self._unknown_group(switch, message)
        else:
            self._members_changed(switch, message)

    # ---------------------------------------------------------------- groups and members

    def _unknown_group(self, switch: str, message: UnknownGroup) -> None:
        """Give the group a slot on every switch, and let the join happen again."""
        key, where = message.key, (switch, message.port)
        if message.port not in self.network.switch_by_name[switch].ports:
            self._refuse(where, key, "the port is not in the network's description")
            return
        if key.source is not None and key.source not in self.network.host_by_ip:
            self._refuse(where, key, f"no host has the source's address {key.source}")
            return
        known = self.slots.get(key)
        try:
            slot = known or self.slots.request(key, where, self.clock())
        except SlotRefused as error:
            self._refuse(where, key, str(error))
            return
        finally:
            self._released(self.slots.take_given_up())
        if known is None:
            self.events.add("group_added", group=str(key), slot=slot.index, switch=switch, port=message.port)
            self._touch_all()
        self._replay([(key, where)])

    def _released(self, slots: Sequence[Slot]) -> None:
        """These have been given back: switches take no more joins for them."""
        for slot in slots:
            self.members.drop_group(slot.key)
            self.events.add("group_removed", group=str(slot.key), slot=slot.index)
        if slots:
            self._touch_all()

    def _refuse(self, where: Attachment, key: GroupKey, reason: str) -> None:
        last, count = self._refusals.get(where, (-math.inf, 0))
        now = self.clock()
        if now - last >= REFUSAL_EVENT_S:
            self.events.add("refused", group=str(key), switch=where[0], port=where[1], reason=reason, unreported=count)
            self._refusals[where] = (now, 0)
        else:
            self._refusals[where] = (last, count + 1)

    def _members_changed(self, switch: str, message: MembersChanged) -> None:
        """Bring the picture of one slot's members on one switch in line with what the switch says."""
        slot = self.slots.get(message.key)
        if slot is None or slot.index != message.slot:
            return  # about a group whose slot was given back meanwhile
        now = self.clock()
        before = self.members.ports_on(slot.key, switch)
        for port in message.members & message.ports | message.members - before:
            if self.members.seen(slot.key, (switch, port), now):
                self._tell(message.change if port in message.ports else "join", slot.key, (switch, port))
            if (switch, port) in self._host_ports:
                self.slots.charge(slot, (switch, port))
        if message.change == "leaving":
            for port in message.ports:
                self.last_members.left(slot.key, (switch, port), now)
        for port in before - message.members:
            self.members.gone(slot.key, (switch, port))
            self._tell(message.change if port in message.ports else "leave", slot.key, (switch, port))
        self._members_moved(slot, {switch} if before != message.members else ())

    def _members_moved(self, slot: Slot, switches: Iterable[str]) -> None:
        """After a change of members: the slot's idle clock, and exact groups on the large switches among `switches`."""
        self.slots.set_idle(slot, not self.members.any_of(slot.key), self.clock())
        for switch in switches:
            if self._wanted.is_large(switch):
                self._outlets[switch].touch()

    def _tell(self, change: str, key: GroupKey, where: Attachment) -> None:
        event = "join" if change in ("refresh", "leaving") else change  # a member of which nothing was known
        self.events.add(event, group=str(key), switch=where[0], port=where[1], peer=self.peer_name(*where))

    def _needed(self, slot: Slot) -> set[Attachment]:
        """The ports that must be members for the hosts that are to be served."""
        hosts = self.members.ports(slot.key) & self._host_ports
        return self.trees.memberships(slot.key.source, slot.key.group, hosts)

    def _replay(self, members: Iterable[tuple[GroupKey, Attachment]], *, join: bool = True, last: bool = False) -> None:
        """Let reports happen (again): each switch takes them as if they had arrived at the port."""
        groups: dict[Attachment, list[GroupKey]] = {}
        for key, where in members:
            groups.setdefault(where, []).append(key)
        for (switch, port), keys in groups.items():
            mac = self.network.switch_by_name[switch].mac
            for begin in range(0, len(keys), igmp.MAX_RECORDS):
                frame = igmp.report(mac, NO_ADDRESS, keys[begin : begin + igmp.MAX_RECORDS], join=join)
                self._outlets[switch].send([self.program.receive_at(frame, port, last=last)])

    # ---------------------------------------------------------------- links, time

    def set_link(self, name: str, *, up: bool) -> bool:
        """A link went down or came up: new trees, and every member served along them. False when nothing changed.
        Raises KeyError when there is no such link."""
        moved = self.trees.set_link(name, up=up)
        if moved is None:
            return False
        self.events.add("link_up" if up else "link_down", link=self.trees.find_link(name).name)
        if moved.spanning_tree and len(self.slots):
            self._touch_all()
        else:
            for switch in sorted(moved.switches):
                self._outlets[switch].touch()
        joins, leaves = [], []
        for slot in self.slots:
            needed, present = self._needed(slot), self.members.ports(slot.key)
            joins += [(slot.key, where) for where in sorted(needed - present)]
            leaves += [(slot.key, where) for where in sorted(present - needed)]
        self._replay(joins)
        self._replay(leaves, join=False)
        self.query_now()  # brings members in that this controller has not heard of
        return True

    def tick(self) -> None:
        """Several times a second: forget silent members, give back idle slots, send the queries that are due."""
        now = self.clock()
        for member in self.members.expire(now):
            self._tell("expire", member.key, (member.switch, member.port))
            slot = self.slots.get(member.key)
            if slot is not None:
                self._members_moved(slot, {member.switch})
        self._released(self.slots.expire(now))
        self.send_queries(now)
        asked, left = self.last_members.due(now)
        for key, (switch, port) in asked:
            frame = self._query(switch, key, self.network.timing.last_member_s)
            self._outlets[switch].send([self.program.send_out(frame, [port])])
        self._replay(left, join=False, last=True)

    def send_queries(self, now: float) -> None:
        """Send the queries that are due: one packet-out a switch, to all its hosts' ports."""
        for switch, response_s in self.querier.due(now):
            spec = self.network.switch_by_name[switch]
            ports = [port for port in spec.ports if (switch, port) in self._host_ports]
            if ports:
                frame = self._query(switch, None, response_s)
                self._outlets[switch].send([self.program.send_out(frame, ports)])

    def _query(self, switch: str, key: GroupKey | None, response_s: float) -> bytes:
        """A query by a switch, of all groups or of one."""
        mac, timing = self.network.switch_by_name[switch].mac, self.network.timing
        interval_s, robustness = timing.query_interval_s, timing.robustness
        return igmp.query(mac, NO_ADDRESS, key, response_s=response_s, interval_s=interval_s, robustness=robustness)

    def query_now(self) -> None:
        """Query every switch, as soon as their spacing permits."""
        for switch in self.network.switch_by_name:
            self.querier.hurry(switch, self.clock())

    # ---------------------------------------------------------------- within

    def peer_name(self, switch: str, port: int) -> str | None:
        """Who is at a port."""
        spec: SwitchSpec = self.network.switch_by_name[switch]
        return spec.ports.get(port)

    def _touch_all(self) -> None:
        for outlet in self._outlets.values():
            outlet.touch()


def epoch_shift(membership_interval_s: float) -> int:
    """The shortest epoch, as a power of two of microseconds, in which a member that loses `robustness - 1` reports is
    still heard of."""
    shift = math.ceil(math.log2(membership_interval_s * 1e6))
    return min(max(shift, MIN_EPOCH_SHIFT), MAX_EPOCH_SHIFT)


def _quota(network: Network) -> int:
    """Slots a port may ask for: few enough that all host ports together leave room, within bounds."""
    ports = max(1, len(network.hosts))
    known = sum(session.groups for session in network.sessions)
    return min(max((NUM_SLOTS - known) // ports, MIN_QUOTA), MAX_QUOTA)
