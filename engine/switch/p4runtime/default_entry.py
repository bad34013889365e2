"""A table's default entry (specification, "Default Entry")."""

from __future__ import annotations

from typing import TYPE_CHECKING

from finsy.proto import p4r

from engine.switch.p4runtime.actions import ActionCodec, BoundAction
from engine.switch.p4runtime.errors import invalid_argument, permission_denied, unimplemented
from engine.switch.p4runtime.p4info import TableInfo
from engine.switch.p4runtime.undo import Undo

if TYPE_CHECKING:
    from canopy_engine import Switch


class DefaultEntry:
    """The action on a miss. `action` is None as long as it is the program's own."""

    def __init__(self, info: TableInfo, actions: ActionCodec, switch: Switch) -> None:
        self.action: BoundAction | None = None
        self._metadata = b""
        self._controller_metadata = 0
        self._info = info
        self._what = f"table {info.name!r}, default entry"
        self._actions = actions
        self._switch = switch

    @property
    def is_const(self) -> bool:
        # The specification keeps the default of a table with an action profile constant.
        return bool(self._info.const_default_action_id or self._info.profile_id)

    def modify(self, message: p4r.TableEntry) -> Undo:
        """Set the action, or with no action go back to the program's own."""
        if message.match or message.priority:
            raise invalid_argument(f"{self._what}: it has no match fields and no priority")
        if message.is_const:
            raise invalid_argument(f"{self._what}: is_const may not be set in a write")
        if message.idle_timeout_ns or message.HasField("time_since_last_hit"):
            raise invalid_argument(f"{self._what}: it has no idle timeout")
        self._check_direct_resources(message)
        if self.is_const:
            raise permission_denied(f"{self._what}: it is constant")
        action = None
        if message.HasField("action"):
            if message.action.WhichOneof("type") != "action":
                raise invalid_argument(f"{self._what}: it takes a plain action")
            action = self._actions.parse_for_table(message.action.action, self._info, default=True)
        return self._set(action, *((message.metadata, message.controller_metadata) if action else (b"", 0)))

    def message(self) -> p4r.TableEntry:
        """The default entry as a Read answers with it; without action when the P4Info does not have it."""
        message = p4r.TableEntry(
            table_id=self._info.id,
            is_default_action=True,
            metadata=self._metadata,
            controller_metadata=self._controller_metadata,
            is_const=self.is_const,
        )
        action = self.action
        if action is None and (call := self._switch.table_default(self._info.name)) is not None:
            action = self._actions.from_engine(call)
        if action is not None:
            message.action.action.CopyFrom(action.to_proto())
        return message

    def _set(self, action: BoundAction | None, metadata: bytes, controller_metadata: int) -> Undo:
        if action is None:
            self._switch.table_reset_default(self._info.name)
        else:
            self._switch.table_set_default(self._info.name, action.info.name, action.to_engine())
        old = self.action, self._metadata, self._controller_metadata
        self.action, self._metadata, self._controller_metadata = action, metadata, controller_metadata
        return lambda: self._set(*old)

    def _check_direct_resources(self, message: p4r.TableEntry) -> None:
        for name, has in (
            ("counter_data", self._info.direct_counter_id),
            ("meter_config", self._info.direct_meter_id),
            ("meter_counter_data", self._info.direct_meter_id),
        ):
            if message.HasField(name):  # type: ignore[arg-type]
                if not has:
                    raise invalid_argument(f"{self._what}: the table has no direct resource for {name}")
                raise unimplemented(f"{self._what}: this target's default entries have no direct resources")
