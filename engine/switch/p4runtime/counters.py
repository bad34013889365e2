"""Indexed counters (specification, "CounterEntry"). Direct ones belong to their table, in `tables`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

from finsy.proto import p4r

from engine.switch.p4runtime.cells import indices
from engine.switch.p4runtime.p4info import CounterInfo
from engine.switch.p4runtime.tables import check_counts
from engine.switch.p4runtime.undo import Undo, nothing

if TYPE_CHECKING:
    from canopy_engine import Switch


class Counter:
    """One indexed counter; its cells live in the data plane only."""

    def __init__(self, info: CounterInfo, switch: Switch) -> None:
        self.info = info
        self._switch = switch
        self._what = f"counter {info.name!r}"

    def modify(self, message: p4r.CounterEntry) -> Undo:
        """Set one cell, or all when the index is unset; without data nothing changes."""
        cells = indices(message, self.info.size, self._what)
        if not message.HasField("data"):
            return nothing
        check_counts(message.data, self._what)
        with ExitStack() as undo:
            for index in cells:
                packets, octets = self._switch.counter_read(self.info.name, index)
                undo.callback(self._switch.counter_write, self.info.name, index, packets, octets)
                self._switch.counter_write(self.info.name, index, message.data.packet_count, message.data.byte_count)
            return undo.pop_all().close

    def read(self, message: p4r.CounterEntry) -> Iterator[p4r.CounterEntry]:
        cells = indices(message, self.info.size, self._what)
        if len(cells) == 1:
            values = [self._switch.counter_read(self.info.name, cells[0])]
        else:
            values = self._switch.counter_read_all(self.info.name)
        for index, (packets, octets) in zip(cells, values, strict=True):
            yield p4r.CounterEntry(
                counter_id=self.info.id,
                index=p4r.Index(index=index),
                data=p4r.CounterData(packet_count=packets, byte_count=octets),
            )
