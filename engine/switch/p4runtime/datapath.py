"""Where the packets of the embedded switch come from and go to.

A `DataPath` outlives the programs that run on it: each pipeline config brings a new `canopy_engine.Switch`, which
`install` puts between the ports.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import canopy_engine
from finsy.proto import rpc_code

from engine.switch.backend import Backend
from engine.switch.limits import NO_LIMITS, Limits
from engine.switch.p4runtime.errors import P4RuntimeError, failed_precondition, from_engine, invalid_argument

if TYPE_CHECKING:
    from canopy_engine import Capture, Event, LinkSpec, LiveSwitch, Switch

logger = logging.getLogger(__name__)

# Events that a MemoryDataPath keeps for its reader, as many as a switch's own queue.
MAX_WAITING_EVENTS = 65_536


class DataPath(Protocol):
    """What the P4Runtime server needs of the world below it. `wait_events` is called from a thread of its own."""

    def make_switch(self, program_json: str) -> Switch:
        """A switch that runs the program, not forwarding yet. Raises INVALID_ARGUMENT when it is not p4c's JSON."""
        ...

    def install(self, switch: Switch) -> None:
        """Let this switch forward between the ports, in place of the one before."""
        ...

    def inject(self, packet: bytes) -> None:
        """Give a packet to the program on the CPU port. Raises FAILED_PRECONDITION without program or CPU port."""
        ...

    def wait_events(self, timeout_ms: int) -> tuple[Switch | None, list[Event]]:
        """Events, and the switch that they are of; returns empty after the timeout."""
        ...

    def has_port(self, port: int) -> bool: ...
    def is_port_up(self, port: int) -> bool: ...
    def close(self) -> None: ...


def make_switch(
    program_json: str, *, seed: int, cpu_port: int | None, limits: Limits = NO_LIMITS, backend: Backend = "adaptive"
) -> Switch:
    try:
        return canopy_engine.Switch(
            program_json,
            seed=seed,
            cpu_port=cpu_port,
            digest_rate=_with_burst(limits.digests),
            digest_repeat_rate=_with_burst(limits.repeats),
            backend=backend,
        )
    except canopy_engine.LoadError as error:
        raise invalid_argument(f"the device config is not p4c's BMv2 JSON: {error}") from None


def _with_burst(per_second: int) -> tuple[int, int]:
    return per_second, 2 * per_second


@dataclass(frozen=True)
class PortConfig:
    """One port of a live switch: its number, its Linux interface, and the links it emulates in each direction."""

    number: int
    interface: str
    tx: LinkSpec | None = None
    rx: LinkSpec | None = None


class LiveDataPath:
    """AF_PACKET ports. Needs root. `is_up` tells an interface's state, by name; `capture` is where the frames of the
    ports in `captured` are written down; with `trace_lines` packets are traced, as long as fewer lines wait; `limits`
    keep one port from taking all that there is of control."""

    def __init__(
        self,
        ports: Iterable[PortConfig],
        *,
        seed: int,
        backend: Backend = "native",
        cpu_port: int | None,
        is_up: Callable[[str], bool],
        capture: Capture | None = None,
        captured: Container[int] = (),
        trace_lines: int = 0,
        limits: Limits = NO_LIMITS,
    ) -> None:
        self._ports = {port.number: port for port in ports}
        self._seed = seed
        self._backend = backend
        self._cpu_port = cpu_port
        self._is_up = is_up
        self._capture = capture
        self._captured = captured
        self._trace_lines = trace_lines
        self._limits = limits
        self._switch: Switch | None = None
        self._live: LiveSwitch | None = None

    def make_switch(self, program_json: str) -> Switch:
        switch = make_switch(
            program_json, seed=self._seed, cpu_port=self._cpu_port, limits=self._limits, backend=self._backend
        )
        backend, reason = switch.backend()
        if reason is not None:
            logger.warning("the program is interpreted: no native code can be made of it: %s", reason)
        else:
            logger.info("the program runs in the back end %s", backend)
        return switch

    def install(self, switch: Switch) -> None:
        live = canopy_engine.LiveSwitch(switch, seed=self._seed)
        live.set_packet_in_rate(*_with_burst(self._limits.packet_ins))
        for port in self._ports.values():
            place = f"port {port.number}, {port.interface}"
            try:
                live.add_port(port.number, port.interface, tx=port.tx, rx=port.rx)
                if port.number in self._captured:
                    live.set_capture(port.number, self._capture)
            except OSError as error:
                raise P4RuntimeError(rpc_code.INTERNAL, f"{place}: {error.strerror}") from None
            except ValueError as error:
                raise failed_precondition(f"{place}: its link cannot be emulated: {error}") from None
        # The old program forwards until here, and its ports are free before the new one takes them over.
        self.close()
        switch.set_trace(self._trace_lines)
        live.start()
        self._switch, self._live = switch, live

    def set_links(self, ports: Iterable[PortConfig]) -> None:
        """Change the links of ports that there are; what they hold stays, and so do links that are not given. Raises
        ValueError or TypeError for a link that cannot be emulated, which changes nothing of its port."""
        for port in ports:
            if self._live is not None:
                self._live.set_link(port.number, tx=port.tx, rx=port.rx)
            self._ports[port.number] = port

    def inject(self, packet: bytes) -> None:
        if self._live is None:
            raise failed_precondition("no program runs yet")
        if self._cpu_port is None:
            raise failed_precondition("the switch has no CPU port: start it with --cpu-port")
        try:
            self._live.inject(self._cpu_port, packet)
        except canopy_engine.EngineError as error:
            raise from_engine(error) from None

    def wait_events(self, timeout_ms: int) -> tuple[Switch | None, list[Event]]:
        switch = self._switch
        if switch is None:
            time.sleep(timeout_ms / 1000)
            return None, []
        return switch, switch.wait_events(timeout_ms)

    def has_port(self, port: int) -> bool:
        return port in self._ports

    def is_port_up(self, port: int) -> bool:
        return self._is_up(self._ports[port].interface)

    @property
    def switch(self) -> Switch | None:
        """The program that forwards."""
        return self._switch

    def interface(self, port: int) -> str:
        return self._ports[port].interface

    def capture_stats(self) -> dict[str, int]:
        return self._capture.stats() if self._capture is not None else {}

    def port_stats(self) -> dict[int, dict[str, int]]:
        return self._live.port_stats() if self._live is not None else {}

    def backend(self) -> str | None:
        """What runs the program now; None without one."""
        return self._switch.backend()[0] if self._switch is not None else None

    def switch_stats(self) -> dict[str, int]:
        return self._switch.stats() if self._switch is not None else {}

    def close(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None


class MemoryDataPath:
    """No ports at all: a test, or another program, hands packets in and gets them back. Needs no root.

    `process` may be called from any thread; `now_us` is the switch's clock and moves only when it is set. What leaves
    the switch because of packet-outs is kept in `from_cpu`."""

    def __init__(
        self, *, seed: int = 0, cpu_port: int | None = None, num_ports: int = 512, limits: Limits = NO_LIMITS
    ) -> None:
        self.switch: Switch | None = None
        self.now_us = 0
        self.from_cpu: list[tuple[int, bytes]] = []
        self.dropped_events = 0
        self._seed = seed
        self._cpu_port = cpu_port
        self._limits = limits
        self.up = [True] * num_ports
        """By a port's number: whether it has a link."""
        self._events: deque[Event] = deque()
        self._arrived = threading.Condition()

    def make_switch(self, program_json: str) -> Switch:
        return make_switch(program_json, seed=self._seed, cpu_port=self._cpu_port, limits=self._limits)

    def install(self, switch: Switch) -> None:
        with self._arrived:
            self.switch = switch
            self._events.clear()

    def inject(self, packet: bytes) -> None:
        if self._cpu_port is None:
            raise failed_precondition("the switch has no CPU port: start it with --cpu-port")
        self.from_cpu.extend(self.process(self._cpu_port, packet))

    def process(self, port: int, packet: bytes) -> list[tuple[int, bytes]]:
        """One packet arrives; returns (port, packet) for each copy that leaves. Those for the CPU become packet-ins."""
        if self.switch is None:
            raise failed_precondition("no program runs yet")
        leaving = self.switch.process(port, packet, self.now_us)
        events: list[Event] = [
            {"kind": "packet_in", "time_us": self.now_us, "packet": data}
            for out_port, data in leaving
            if out_port == self._cpu_port
        ]
        events += self.switch.take_events()
        with self._arrived:
            room = MAX_WAITING_EVENTS - len(self._events)
            self._events.extend(events[:room])
            self.dropped_events += max(0, len(events) - room)
            self._arrived.notify_all()
        return [(out_port, data) for out_port, data in leaving if out_port != self._cpu_port]

    def wait_events(self, timeout_ms: int) -> tuple[Switch | None, list[Event]]:
        with self._arrived:
            self._arrived.wait_for(lambda: self._events, timeout_ms / 1000)
            events = list(self._events)
            self._events.clear()
            return self.switch, events

    def has_port(self, port: int) -> bool:
        return 0 <= port < len(self.up)

    def is_port_up(self, port: int) -> bool:
        return self.up[port]

    def close(self) -> None:
        pass
