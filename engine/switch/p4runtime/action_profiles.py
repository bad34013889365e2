"""Action profiles and selectors: members, groups and one-shot groups (specification, "ActionProfileMember &
ActionProfileGroup").

A group's members may depend on a watch port: while that port is down the data plane's group lacks them. What the
controller reads back never depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

from finsy.proto import p4r

from engine.switch.p4runtime import bytestrings
from engine.switch.p4runtime.actions import ActionCodec, BoundAction
from engine.switch.p4runtime.errors import (
    already_exists,
    failed_precondition,
    invalid_argument,
    not_found,
    resource_exhausted,
    unimplemented,
)
from engine.switch.p4runtime.p4info import ActionProfileInfo, P4InfoIndex
from engine.switch.p4runtime.undo import Undo

if TYPE_CHECKING:
    from canopy_engine import Switch

# One-shot groups and their members take ids from here on; a controller's own ids never meet them, because a profile is
# programmed in one style only.
FIRST_ONE_SHOT_ID = 1 << 31


@dataclass(slots=True)
class Member:
    action: BoundAction
    entries: int = 0
    groups: int = 0


@dataclass(frozen=True, slots=True)
class WeightedMember:
    """A group's share of one member; `watch` is the port it depends on, None for none."""

    member_id: int
    weight: int
    watch: int | None


@dataclass(slots=True)
class Group:
    message: p4r.ActionProfileGroup
    members: tuple[WeightedMember, ...]
    entries: int = 0


@dataclass(slots=True)
class OneShot:
    """A one-shot action set, as the data plane holds it."""

    group_id: int
    members: tuple[WeightedMember, ...]


@dataclass(frozen=True, slots=True)
class Ports:
    """Which ports exist, and which of them are up."""

    known: Callable[[int], bool]
    is_up: Callable[[int], bool]


@dataclass(slots=True)
class Profile:
    """One action profile or selector and all that it holds."""

    info: ActionProfileInfo
    switch: Switch
    actions: ActionCodec
    info_index: P4InfoIndex
    ports: Ports
    members: dict[int, Member] = field(default_factory=dict)
    groups: dict[int, Group] = field(default_factory=dict)
    one_shots: dict[int, OneShot] = field(default_factory=dict)
    _next_id: Iterator[int] = field(default_factory=lambda: count(FIRST_ONE_SHOT_ID))

    # Members.

    def parse_action(self, action: p4r.Action) -> BoundAction:
        """An action that every table of this profile may have in an entry."""
        bound = self.actions.parse(action)
        for table_id in self.info.table_ids:
            table = self.info_index.tables.get(table_id)
            if table is not None:
                self.actions.parse_for_table(action, table)
        return bound

    def member_insert(self, message: p4r.ActionProfileMember) -> Undo:
        id_ = self._member_id(message)
        self._check_style(one_shot=False)
        if id_ in self.members:
            raise already_exists(f"{self._what}: member {id_} exists")
        action = self._member_action(message)
        if 0 < self.info.size <= len(self.members):
            raise resource_exhausted(f"{self._what}: it has all of its {self.info.size} members")
        self.switch.member_add(self.info.name, id_, action.info.name, action.to_engine())
        self.members[id_] = Member(action)
        return lambda: self._remove_member(id_)

    def member_modify(self, message: p4r.ActionProfileMember) -> Undo:
        id_ = self._member_id(message)
        member = self._member(id_)
        action, old = self._member_action(message), member.action
        self._set_action(id_, action)
        return lambda: self._set_action(id_, old)

    def member_delete(self, message: p4r.ActionProfileMember) -> Undo:
        id_ = self._member_id(message)
        member = self._member(id_)
        if member.groups or member.entries:
            raise failed_precondition(
                f"{self._what}: member {id_} is used by {member.groups} groups and {member.entries} table entries"
            )
        self._remove_member(id_)

        def undo() -> None:
            self.switch.member_add(self.info.name, id_, member.action.info.name, member.action.to_engine())
            self.members[id_] = member

        return undo

    def member_message(self, id_: int) -> p4r.ActionProfileMember:
        return p4r.ActionProfileMember(
            action_profile_id=self.info.id, member_id=id_, action=self._member(id_).action.to_proto()
        )

    def _member(self, id_: int) -> Member:
        member = self.members.get(id_)
        if member is None:
            raise not_found(f"{self._what}: no member {id_}")
        return member

    def _member_id(self, message: p4r.ActionProfileMember) -> int:
        if message.member_id == 0:
            raise invalid_argument(f"{self._what}: a member id may not be 0")
        return message.member_id

    def _member_action(self, message: p4r.ActionProfileMember) -> BoundAction:
        if not message.HasField("action"):
            raise invalid_argument(f"{self._what}: member {message.member_id} has no action")
        return self.parse_action(message.action)

    def _set_action(self, id_: int, action: BoundAction) -> None:
        self.switch.member_modify(self.info.name, id_, action.info.name, action.to_engine())
        self.members[id_].action = action

    def _remove_member(self, id_: int) -> None:
        self.switch.member_delete(self.info.name, id_)
        del self.members[id_]

    # Groups.

    def group_insert(self, message: p4r.ActionProfileGroup) -> Undo:
        id_ = self._group_id(message)
        self._check_style(one_shot=False)
        if id_ in self.groups:
            raise already_exists(f"{self._what}: group {id_} exists")
        self._check_max_size(message.max_size)
        group = self._parse_group(message)
        self._set_group(id_, group)
        return lambda: self._remove_group(id_)

    def group_modify(self, message: p4r.ActionProfileGroup) -> Undo:
        id_ = self._group_id(message)
        old = self._group(id_)
        if message.max_size != old.message.max_size:
            raise invalid_argument(f"{self._what}: group {id_} was made with max_size {old.message.max_size}")
        group = self._parse_group(message)
        group.entries = old.entries
        self._set_group(id_, group)

        def undo() -> None:
            old.entries = self.groups[id_].entries
            self._set_group(id_, old)

        return undo

    def group_delete(self, message: p4r.ActionProfileGroup) -> Undo:
        id_ = self._group_id(message)
        group = self._group(id_)
        if group.entries:
            raise failed_precondition(f"{self._what}: group {id_} is used by {group.entries} table entries")
        self._remove_group(id_)
        return lambda: self._set_group(id_, group)

    def group_message(self, id_: int) -> p4r.ActionProfileGroup:
        return self._group(id_).message

    def _group(self, id_: int) -> Group:
        group = self.groups.get(id_)
        if group is None:
            raise not_found(f"{self._what}: no group {id_}")
        return group

    def _group_id(self, message: p4r.ActionProfileGroup) -> int:
        if not self.info.with_selector:
            raise invalid_argument(f"{self._what} has no selector, and so no groups")
        if message.group_id == 0:
            raise invalid_argument(f"{self._what}: a group id may not be 0")
        return message.group_id

    def _check_max_size(self, max_size: int) -> None:
        if max_size < 0 or 0 < self.info.max_group_size < max_size:
            raise invalid_argument(f"{self._what}: max_size {max_size} is not 0 to {self.info.max_group_size}")

    def _parse_group(self, message: p4r.ActionProfileGroup) -> Group:
        what = f"{self._what}, group {message.group_id}"
        members: list[WeightedMember] = []
        canonical = p4r.ActionProfileGroup(
            action_profile_id=self.info.id, group_id=message.group_id, max_size=message.max_size
        )
        for member in message.members:
            if any(member.member_id == m.member_id for m in members):
                raise invalid_argument(f"{what}: member {member.member_id} is named twice")
            if member.member_id not in self.members:
                raise not_found(f"{what}: no member {member.member_id}")
            watch = self.parse_watch(member, what)
            members.append(WeightedMember(member.member_id, self._weight(member.weight, what), watch))
            copy = canonical.members.add()
            copy.CopyFrom(member)
            if member.watch_port:
                copy.watch_port = bytestrings.canonical(member.watch_port)
        limit = message.max_size or self.info.max_group_size
        if 0 < limit < (size := self.size_of([m.weight for m in members])):
            raise resource_exhausted(f"{what}: its size would be {size}, its limit is {limit}")
        return Group(canonical, tuple(members))

    def _set_group(self, id_: int, group: Group) -> None:
        """Create or replace a group, in the data plane first."""
        self._write_group(id_, group.members, group.message.max_size)
        old = self.groups.get(id_)
        for weighted in old.members if old is not None else ():
            self.members[weighted.member_id].groups -= 1
        for weighted in group.members:
            self.members[weighted.member_id].groups += 1
        self.groups[id_] = group

    def _remove_group(self, id_: int) -> None:
        self.switch.group_delete(self.info.name, id_)
        for weighted in self.groups.pop(id_).members:
            self.members[weighted.member_id].groups -= 1

    # References from table entries.

    def refer(self, *, member_id: int = 0, group_id: int = 0) -> Undo:
        """Count one table entry's use of a member or a group. Raises NOT_FOUND when there is none."""
        self._check_style(one_shot=False)
        if group_id and not self.info.with_selector:
            raise invalid_argument(f"{self._what} has no selector, and so no groups")
        target: Member | Group = self._group(group_id) if group_id else self._member(member_id)
        target.entries += 1
        return lambda: self.release(member_id=member_id, group_id=group_id)

    def release(self, *, member_id: int = 0, group_id: int = 0) -> None:
        target: Member | Group = self.groups[group_id] if group_id else self.members[member_id]
        target.entries -= 1

    # One-shot groups.

    def one_shot_add(self, actions: Sequence[BoundAction], weights: Sequence[tuple[int, int | None]]) -> OneShot:
        """Put an action set into the data plane; `weights` are (weight, watch port). Undone by `one_shot_remove`."""
        self._check_style(one_shot=True)
        if self.info.size and len(actions) + sum(len(o.members) for o in self.one_shots.values()) > self.info.size:
            raise resource_exhausted(f"{self._what}: it has room for {self.info.size} actions")
        with ExitStack() as undo:
            members = []
            for action, (weight, watch) in zip(actions, weights, strict=True):
                id_ = next(self._next_id)
                self.switch.member_add(self.info.name, id_, action.info.name, action.to_engine())
                undo.callback(self.switch.member_delete, self.info.name, id_)
                members.append(WeightedMember(id_, weight, watch))
            one_shot = OneShot(next(self._next_id), tuple(members))
            self._write_group(one_shot.group_id, one_shot.members, 0)
            undo.pop_all()
        self.one_shots[one_shot.group_id] = one_shot
        return one_shot

    def one_shot_remove(self, one_shot: OneShot) -> None:
        """Take an action set out of the data plane; no entry may refer to it any more."""
        self.switch.group_delete(self.info.name, one_shot.group_id)
        for member in one_shot.members:
            self.switch.member_delete(self.info.name, member.member_id)
        del self.one_shots[one_shot.group_id]

    # Shared by groups and one-shot groups.

    def parse_watch(self, message: p4r.ActionProfileGroup.Member | p4r.ActionProfileAction, what: str) -> int | None:
        """The watch port, None for none. Raises INVALID_ARGUMENT for a port that the switch does not have."""
        kind = message.WhichOneof("watch_kind")
        if kind is None or (kind == "watch_port" and not message.watch_port):
            return None
        port = int.from_bytes(message.watch_port, "big") if kind == "watch_port" else message.watch
        if kind == "watch" and port == 0:
            return None
        if not self.ports.known(port):
            raise invalid_argument(f"{what}: the switch has no port {port} to watch")
        return port

    def _weight(self, weight: int, what: str) -> int:
        """A member's weight in the data plane."""
        if self.info.weights_disallowed:
            if weight:
                raise invalid_argument(f"{what}: weights are not allowed")
            return 1
        if weight <= 0:
            raise invalid_argument(f"{what}: weight {weight} is not positive")
        if self.info.sum_of_members and 0 < self.info.max_member_weight < weight:
            raise invalid_argument(f"{what}: weight {weight} is above {self.info.max_member_weight}")
        return weight

    def parse_weight(self, action: p4r.ActionProfileAction, what: str) -> int:
        return self._weight(action.weight, what)

    def size_of(self, weights: Sequence[int]) -> int:
        return len(weights) if self.info.sum_of_members else sum(weights)

    def _write_group(self, id_: int, members: Iterable[WeightedMember], max_size: int) -> None:
        up = {m.member_id: m.weight for m in members if m.watch is None or self.ports.is_up(m.watch)}
        self.switch.group_set(self.info.name, id_, up, max_size)

    def port_changed(self, port: int) -> None:
        """A port went up or down: write anew the groups that watch it."""
        for id_, group in self.groups.items():
            if any(m.watch == port for m in group.members):
                self._write_group(id_, group.members, group.message.max_size)
        for id_, one_shot in self.one_shots.items():
            if any(m.watch == port for m in one_shot.members):
                self._write_group(id_, one_shot.members, 0)

    def _check_style(self, *, one_shot: bool) -> None:
        if not one_shot and self.one_shots:
            raise invalid_argument(f"{self._what} is programmed with one-shot action sets; the styles may not be mixed")
        if one_shot and (self.members or self.groups):
            raise invalid_argument(f"{self._what} is programmed with members and groups; the styles may not be mixed")

    @property
    def _what(self) -> str:
        return f"action profile {self.info.name!r}"


def check_one_shot_modes(action_set: p4r.ActionProfileActionSet, info: ActionProfileInfo, what: str) -> None:
    """v1model's selector hashes, and counts sizes as the P4Info says; nothing else can be chosen for a group."""
    modes = p4r.ActionProfileActionSet
    if action_set.action_selection_mode not in (modes.DEFAULT_MODE_DETERMINED_BY_ACTION_SELECTOR, modes.HASH):
        raise unimplemented(f"{what}: this target selects by hash only")
    own = modes.SUM_OF_MEMBERS if info.sum_of_members else modes.SUM_OF_WEIGHTS
    if action_set.size_semantics not in (modes.DEFAULT_SIZE_DETERMINED_BY_ACTION_SELECTOR, own):
        raise unimplemented(f"{what}: the size semantics are the action selector's")
