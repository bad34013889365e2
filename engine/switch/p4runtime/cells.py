"""Indices into counters, meters and registers: one cell, or all when the index is unset."""

from finsy.proto import p4r

from engine.switch.p4runtime.errors import invalid_argument, out_of_range


def checked_index(index: int, size: int, what: str) -> int:
    if index < 0:
        raise invalid_argument(f"{what}: index {index} is negative")
    if index >= size:
        raise out_of_range(f"{what}: index {index} is beyond its {size} cells")
    return index


def indices(message: p4r.CounterEntry | p4r.MeterEntry, size: int, what: str) -> range:
    """The cells that a message names."""
    if not message.HasField("index"):
        return range(size)
    index = checked_index(message.index.index, size, what)
    return range(index, index + 1)
