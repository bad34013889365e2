"""Indexed and direct meters (specification, "MeterEntry & DirectMeterEntry")."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

from finsy.proto import p4i, p4r

from engine.switch.p4runtime.cells import indices
from engine.switch.p4runtime.errors import invalid_argument, unimplemented
from engine.switch.p4runtime.p4info import MeterInfo
from engine.switch.p4runtime.undo import Undo

if TYPE_CHECKING:
    from canopy_engine import MeterRates, Switch

RATE_FIELDS = ("cir", "cburst", "pir", "pburst", "eburst")


def check_config(config: p4r.MeterConfig, kind: int, what: str) -> None:
    """Raises INVALID_ARGUMENT for rates that a meter of this MeterSpec.Type does not take, UNIMPLEMENTED for what the
    data plane's two-rate meter (RFC 2698) cannot do."""
    if any(getattr(config, name) < 0 for name in RATE_FIELDS):
        raise invalid_argument(f"{what}: a meter's rates and bursts may not be negative")
    if kind == p4i.MeterSpec.TWO_RATE_THREE_COLOR:
        if config.eburst:
            raise invalid_argument(f"{what}: a two-rate meter has no eburst")
        if config.pir < config.cir:
            raise invalid_argument(f"{what}: pir {config.pir} is below cir {config.cir}")
        return
    if config.pir != config.cir or config.pburst != config.cburst:
        raise invalid_argument(f"{what}: a single-rate meter needs pir = cir and pburst = cburst")
    if kind == p4i.MeterSpec.SINGLE_RATE_THREE_COLOR and config.eburst:
        raise unimplemented(f"{what}: this target's meters have no excess burst (eburst)")
    if config.eburst:
        raise invalid_argument(f"{what}: a two-color meter has no eburst")


def to_engine(config: p4r.MeterConfig | None, kind: int) -> MeterRates | None:
    """Rates in units (bytes or packets) a second, bursts in units. With equal rates and bursts nothing is yellow, which
    makes the data plane's meter the two-color one."""
    if config is None:
        return None
    return {"cir": float(config.cir), "cburst": config.cburst, "pir": float(config.pir), "pburst": config.pburst}


class Meter:
    """One indexed meter; `configs` are the cells that are not at their default (always green)."""

    def __init__(self, info: MeterInfo, switch: Switch) -> None:
        self.info = info
        self.configs: dict[int, p4r.MeterConfig] = {}
        self._switch = switch
        self._what = f"meter {info.name!r}"

    def modify(self, message: p4r.MeterEntry) -> Undo:
        """Configure one cell, or all when the index is unset; without a config they go back to the default."""
        if message.HasField("counter_data"):
            raise unimplemented(f"{self._what}: meters have no counters per color")
        config = None
        if message.HasField("config"):
            check_config(message.config, self.info.kind, self._what)
            config = p4r.MeterConfig()
            config.CopyFrom(message.config)
        cells = indices(message, self.info.size, self._what)
        with ExitStack() as undo:
            for index in cells:
                undo.callback(self._write, index, self.configs.get(index))
                self._write(index, config)
            return undo.pop_all().close

    def read(self, message: p4r.MeterEntry) -> Iterator[p4r.MeterEntry]:
        if message.HasField("counter_data"):
            raise unimplemented(f"{self._what}: meters have no counters per color")
        for index in indices(message, self.info.size, self._what):
            entry = p4r.MeterEntry(meter_id=self.info.id, index=p4r.Index(index=index))
            config = self.configs.get(index)
            if config is not None:
                entry.config.CopyFrom(config)
            yield entry

    def _write(self, index: int, config: p4r.MeterConfig | None) -> None:
        self._switch.meter_write(self.info.name, index, to_engine(config, self.info.kind))
        if config is None:
            self.configs.pop(index, None)
        else:
            self.configs[index] = config
