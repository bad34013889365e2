"""Actions with their parameters: p4.v1.Action in, the data plane's name and byte strings out, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from finsy.proto import p4i, p4r

from engine.switch.p4runtime import bytestrings
from engine.switch.p4runtime.errors import P4RuntimeError, invalid_argument, permission_denied
from engine.switch.p4runtime.p4info import ActionInfo, P4InfoIndex, TableInfo
from engine.switch.p4runtime.program import Program
from engine.switch.p4runtime.restrictions import Type, checked_restriction

if TYPE_CHECKING:
    from canopy_engine import ActionCall


@dataclass(frozen=True, slots=True)
class BoundAction:
    """An action with values for all its parameters, in the order of the action's declaration."""

    info: ActionInfo
    values: tuple[int, ...]
    widths: tuple[int, ...]

    def to_proto(self) -> p4r.Action:
        action = p4r.Action(action_id=self.info.id)
        for param, value in zip(self.info.params, self.values, strict=True):
            action.params.add(param_id=param.id, value=bytestrings.encode(value))
        return action

    def to_engine(self) -> list[bytes]:
        return [bytestrings.padded(value, width) for value, width in zip(self.values, self.widths, strict=True)]


class ActionCodec:
    """Reads and writes actions of one program."""

    def __init__(self, info: P4InfoIndex, program: Program) -> None:
        self._info = info
        # Actions that no table of the program uses have no code, and so no width but the P4Info's.
        self._widths: dict[int, tuple[int, ...]] = {
            action.id: program.actions[action.name].param_widths
            if action.name in program.actions
            else tuple(p.width for p in action.params)
            for action in info.actions
        }
        self._restrictions = {
            action.id: checked_restriction(
                action.restriction,
                {p.name: Type("bit", p.width or width) for p, width in zip(action.params, widths, strict=False)},
                f"action {action.name!r}",
            )
            for action, widths in ((action, self._widths[action.id]) for action in info.actions)
        }
        self._by_name = {action.name: action for action in info.actions}

    def parse(self, action: p4r.Action) -> BoundAction:
        """Checks ids and values. Raises INVALID_ARGUMENT, or OUT_OF_RANGE for a value that is too wide. An action's
        @action_restriction has to hold wherever the action is used."""
        info = self._info.actions.get(action.action_id)
        if info is None:
            raise invalid_argument(f"no action has id {action.action_id:#x} in the P4Info")
        given = {param.param_id: param.value for param in action.params}
        if len(given) != len(action.params):
            raise invalid_argument(f"action {info.name!r}: a parameter is given twice")
        widths = self._widths[info.id]
        values = []
        for param, width in zip(info.params, widths, strict=True):
            if param.id not in given:
                raise invalid_argument(f"action {info.name!r}: parameter {param.name!r} is missing")
            what = f"action {info.name!r}, parameter {param.name!r}"
            values.append(bytestrings.decode(given.pop(param.id), min(param.width, width), what))
        if given:
            raise invalid_argument(f"action {info.name!r}: no parameter has id {min(given)}")
        self._restrictions[info.id].check({p.name: value for p, value in zip(info.params, values, strict=True)})
        return BoundAction(info, tuple(values), widths)

    def parse_for_table(self, action: p4r.Action, table: TableInfo, *, default: bool = False) -> BoundAction:
        """As `parse`, for an action that `table` must have, in an entry or as its default action."""
        check_scope(action.action_id, table, default=default)
        return self.parse(action)

    def from_engine(self, call: ActionCall) -> BoundAction | None:
        """The action that the data plane names, None when the P4Info does not have it."""
        return self.from_name(call["action"], call["params"])

    def from_name(self, name: str, params: Sequence[bytes]) -> BoundAction | None:
        info = self._by_name.get(name)
        if info is None:
            return None
        return BoundAction(info, tuple(int.from_bytes(p, "big") for p in params), self._widths[info.id])


def check_scope(action_id: int, table: TableInfo, *, default: bool) -> None:
    """Whether `table` may have the action there: INVALID_ARGUMENT if never, PERMISSION_DENIED if only elsewhere."""
    scope = table.action_scopes.get(action_id)
    if scope is None:
        raise invalid_argument(f"table {table.name!r} has no action with id {action_id:#x}")
    if default and scope == p4i.ActionRef.TABLE_ONLY:
        raise _wrong_scope(action_id, table, "may not be its default action")
    if not default and scope == p4i.ActionRef.DEFAULT_ONLY:
        raise _wrong_scope(action_id, table, "may only be its default action")


def _wrong_scope(action_id: int, table: TableInfo, why: str) -> P4RuntimeError:
    return permission_denied(f"table {table.name!r}: action {action_id:#x} {why}")
