"""How a run's switches were connected, as far as packets' ways need it. It is kept with them, to be at hand at once."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from topologies.plan import Plan
    from topologies.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Wire:
    """One direction of a link, from a switch's port."""

    port: int
    neighbour: str
    back: int
    """The neighbour's port, 0 at a host."""
    rate_bps: float | None
    delay_s: float
    loses: bool
    changes: tuple[tuple[float, str, float], ...] = ()
    """Of rate or delay, by faults: when, seconds, which, and to what."""

    def travel_us(self, size: int, us: int) -> int:
        """What a frame of `size` bytes takes that begins to be sent at `us`."""
        rate, delay = self.rate_bps, self.delay_s
        for at, which, value in self.changes:
            if at * 1e6 <= us:
                rate, delay = (value, delay) if which == "rate" else (rate, value)
        return round(((size * 8 / rate if rate else 0.0) + delay) * 1e6)


@dataclass(frozen=True, slots=True)
class Wiring:
    """All ports of all switches."""

    switches: Mapping[str, Mapping[int, Wire]]

    def wire(self, switch: str, port: int) -> Wire | None:
        """What a port sends on; None when nothing is connected there, as the controller's."""
        return self.switches.get(switch, {}).get(port)

    def towards(self, switch: str, neighbour: str) -> Wire | None:
        """What a switch sends on to a neighbour."""
        return next((wire for wire in self.switches[switch].values() if wire.neighbour == neighbour), None)

    def as_json(self) -> str:
        """As `from_json` reads it."""
        return json.dumps({name: [asdict(wire) for wire in ports.values()] for name, ports in self.switches.items()})

    @classmethod
    def from_json(cls, text: str) -> "Wiring":
        """ValueError, TypeError or KeyError when it is none."""
        return cls(
            {
                name: {wire["port"]: Wire(**{**wire, "changes": tuple(map(tuple, wire["changes"]))}) for wire in ports}
                for name, ports in json.loads(text or "{}").items()
            }
        )


def wiring_of(scenario: "Scenario", plan: "Plan") -> Wiring:
    """The wiring of a scenario."""
    switches: dict[str, dict[int, Wire]] = {}
    for switch in plan.switches.values():
        ports = switches.setdefault(switch.name, {})
        for port in switch.ports.values():
            ends = {switch.name, port.neighbour}
            changes = tuple(
                (fault.at, "rate", fault.rate) if fault.kind == "link-rate" else (fault.at, "delay", fault.delay)
                for fault in scenario.faults
                if fault.kind in ("link-rate", "link-delay") and set(fault.link) == ends
            )
            other = plan.switches.get(port.neighbour)
            back = 0 if other is None else other.number_to[switch.name]
            ports[port.number] = Wire(
                port.number, port.neighbour, back, port.tx.rate_bps, port.tx.delay_s, bool(port.tx.loss), changes
            )
    return Wiring(switches)
