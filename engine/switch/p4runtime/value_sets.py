"""Parser value sets (specification, "ValueSetEntry"). v1model matches their members exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from finsy.proto import p4i, p4r

from engine.switch.p4runtime.errors import already_exists, resource_exhausted, unimplemented
from engine.switch.p4runtime.match import Key, KeyCodec
from engine.switch.p4runtime.p4info import ValueSetInfo
from engine.switch.p4runtime.undo import Undo

if TYPE_CHECKING:
    from canopy_engine import Switch


class ValueSet:
    """One value set and its members, in the order in which they were written."""

    def __init__(self, info: ValueSetInfo, switch: Switch) -> None:
        self.info = info
        self.members: list[Key] = []
        self._switch = switch
        self._what = f"value set {info.name!r}"
        self._inexact = next((f.name for f in info.fields if f.match_type != p4i.MatchField.EXACT), None)
        self._codec = KeyCodec(info.fields, [(f.width, "exact") for f in info.fields], self._what)

    def modify(self, message: p4r.ValueSetEntry) -> Undo:
        """Replace all members. Raises ALREADY_EXISTS for a duplicate, RESOURCE_EXHAUSTED for too many."""
        members = [self._codec.parse(member.match) for member in message.members]
        if members and self._inexact is not None:
            raise unimplemented(f"{self._what}: field {self._inexact!r} is not exact, as this target needs it")
        if len(set(members)) != len(members):
            raise already_exists(f"{self._what}: a member is given twice")
        if len(members) > self.info.size:
            raise resource_exhausted(f"{self._what}: {len(members)} members, room for {self.info.size}")
        old = self.members
        self._write(members)
        return lambda: self._write(old)

    def message(self) -> p4r.ValueSetEntry:
        entry = p4r.ValueSetEntry(value_set_id=self.info.id)
        for member in self.members:
            entry.members.add(match=self._codec.to_proto(member))
        return entry

    def _write(self, members: list[Key]) -> None:
        self._switch.value_set_write(self.info.name, [self._codec.to_engine(member) for member in members])
        self.members = members
