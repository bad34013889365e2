"""What a table entry does when it matches: an action, a member or a group of an action profile, or a one-shot set."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TypeAlias, TypedDict

from finsy.proto import p4r

from engine.switch.p4runtime import bytestrings
from engine.switch.p4runtime.action_profiles import OneShot, Profile, check_one_shot_modes
from engine.switch.p4runtime.actions import ActionCodec, BoundAction
from engine.switch.p4runtime.errors import P4RuntimeError, invalid_argument
from engine.switch.p4runtime.p4info import TableInfo
from engine.switch.p4runtime.undo import Undo, nothing


class EngineTarget(TypedDict, total=False):
    """One of the data plane's three kinds of target, as arguments of its methods."""

    action: str
    params: list[bytes]
    member: int
    group: int


@dataclass(slots=True)
class Direct:
    action: BoundAction

    def to_proto(self) -> p4r.TableAction:
        return p4r.TableAction(action=self.action.to_proto())

    def engine_target(self) -> EngineTarget:
        return {"action": self.action.info.name, "params": self.action.to_engine()}

    def acquire(self) -> Undo:
        return nothing

    def release(self) -> None:
        pass


@dataclass(slots=True)
class Reference:
    """A member or a group; the other id is 0."""

    profile: Profile
    member_id: int = 0
    group_id: int = 0

    def to_proto(self) -> p4r.TableAction:
        if self.group_id:
            return p4r.TableAction(action_profile_group_id=self.group_id)
        return p4r.TableAction(action_profile_member_id=self.member_id)

    def engine_target(self) -> EngineTarget:
        return {"group": self.group_id} if self.group_id else {"member": self.member_id}

    def acquire(self) -> Undo:
        """Count the use. Raises NOT_FOUND when there is no such member or group."""
        return self.profile.refer(member_id=self.member_id, group_id=self.group_id)

    def release(self) -> None:
        self.profile.release(member_id=self.member_id, group_id=self.group_id)


@dataclass(slots=True)
class OneShotSet:
    """`weights`: (weight, watch port) of each action. `message` is what the controller reads back."""

    profile: Profile
    actions: tuple[BoundAction, ...]
    weights: tuple[tuple[int, int | None], ...]
    message: p4r.TableAction
    one_shot: OneShot | None = None

    def to_proto(self) -> p4r.TableAction:
        return self.message

    def engine_target(self) -> EngineTarget:
        assert self.one_shot is not None, "acquire() comes first"
        return {"group": self.one_shot.group_id}

    def acquire(self) -> Undo:
        """Make the group and its members in the data plane."""
        self.one_shot = self.profile.one_shot_add(self.actions, self.weights)
        return self.release

    def release(self) -> None:
        if self.one_shot is not None:
            self.profile.one_shot_remove(self.one_shot)
            self.one_shot = None


Binding: TypeAlias = Direct | Reference | OneShotSet


class BindingCodec:
    """Reads the TableAction of one table's entries."""

    def __init__(self, table: TableInfo, actions: ActionCodec, profile: Profile | None) -> None:
        self._table = table
        self._actions = actions
        self._profile = profile
        self._what = f"table {table.name!r}"

    def parse(self, message: p4r.TableAction) -> Binding:
        """Raises INVALID_ARGUMENT for a kind of action that the table's implementation does not take."""
        kind = message.WhichOneof("type")
        if kind is None:
            raise invalid_argument(f"{self._what}: the action is empty")
        if self._profile is None:
            if kind != "action":
                raise invalid_argument(f"{self._what} has no action profile, and takes plain actions only")
            return Direct(self._actions.parse_for_table(message.action, self._table))
        match kind:
            case "action_profile_member_id":
                return self._reference(member_id=message.action_profile_member_id)
            case "action_profile_group_id":
                return self._reference(group_id=message.action_profile_group_id)
            case "action_profile_action_set":
                return self._parse_one_shot(message.action_profile_action_set, self._profile)
            case _:
                raise invalid_argument(f"{self._what} has an action profile, and takes no plain actions")

    def _reference(self, *, member_id: int = 0, group_id: int = 0) -> Reference:
        assert self._profile is not None
        if not member_id and not group_id:
            raise invalid_argument(f"{self._what}: a member or group id may not be 0")
        if group_id and not self._profile.info.with_selector:
            raise self._no_selector(self._profile)
        return Reference(self._profile, member_id, group_id)

    def _parse_one_shot(self, action_set: p4r.ActionProfileActionSet, profile: Profile) -> OneShotSet:
        if not profile.info.with_selector:
            raise self._no_selector(profile)
        check_one_shot_modes(action_set, profile.info, self._what)
        actions, weights = [], []
        message = p4r.TableAction()
        message.action_profile_action_set.CopyFrom(action_set)
        for part, copy in zip(
            action_set.action_profile_actions, message.action_profile_action_set.action_profile_actions, strict=True
        ):
            action = self._actions.parse_for_table(part.action, self._table)
            actions.append(action)
            weights.append((profile.parse_weight(part, self._what), profile.parse_watch(part, self._what)))
            copy.action.CopyFrom(action.to_proto())
            if part.watch_port:
                copy.watch_port = bytestrings.canonical(part.watch_port)
        size = profile.size_of([weight for weight, _ in weights])
        if 0 < profile.info.max_group_size < size:
            raise invalid_argument(
                f"{self._what}: the set's size is {size}, above max_group_size {profile.info.max_group_size}"
            )
        return OneShotSet(profile, tuple(actions), tuple(weights), message)

    def _no_selector(self, profile: Profile) -> P4RuntimeError:
        return invalid_argument(f"{self._what}: action profile {profile.info.name!r} has no selector, and so no groups")


def acquired(binding: Binding, undo: ExitStack) -> Binding:
    """Take what the binding refers to, given back when `undo` runs."""
    undo.callback(binding.acquire())
    return binding
