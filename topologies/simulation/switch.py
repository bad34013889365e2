"""A P4 switch of a simulated run, and the controller's line to it.

The controller's own writes go through the P4Runtime server's own translation, without a connection in between: what
differs from a live switch is only that each way takes a given time.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import finsy as fy
from canopy_engine import Sim, Switch
from finsy.proto import p4r

from controller.core import Core
from controller.network import CPU_PORT
from controller.program import BLOB_NAME, CONSTANTS_NAME, P4INFO_NAME, Program, default_directory
from controller.state import Difference, State, difference, make_state
from engine.switch.p4runtime.datapath import MemoryDataPath
from engine.switch.p4runtime.errors import P4RuntimeError
from engine.switch.p4runtime.packet_io import decode_packet_in, encode_packet_out
from engine.switch.p4runtime.pipeline import Pipeline, build_pipeline
from engine.switch.p4runtime.write import DELETE, INSERT, MODIFY, apply_update
from topologies.agenda import Agenda

if TYPE_CHECKING:
    from canopy_engine import Event

MAX_EVENTS = 4096
"""Taken from a switch at a time."""
_FEEDBACK_COUNTER = "feedback"


def program_in(directory: Path | None) -> Program:
    """The compiled program. Runs of one process that follow each other share it as long as its files are the same.

    Raises ProgramError."""
    found = default_directory() if directory is None else directory
    return _read(found, tuple(_stamp(found / name) for name in (P4INFO_NAME, BLOB_NAME, CONSTANTS_NAME)))


@lru_cache(maxsize=1)
def _read(directory: Path, _stamps: tuple[tuple[int, int] | None, ...]) -> Program:
    return Program(directory)


def _stamp(path: Path) -> tuple[int, int] | None:
    """By which a file is known to be another one; None: there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=1)
def _model(program: Program) -> Pipeline:
    """What the program's pipelines have in common, which is large: a network's switches share it."""
    config = p4r.ForwardingPipelineConfig(p4info=program.schema.p4info, p4_device_config=program.blob_path.read_bytes())
    return build_pipeline(config, MemoryDataPath(seed=0, cpu_port=CPU_PORT))


class _DataPath(MemoryDataPath):
    """One data plane for good: a new pipeline empties it, as a switch process that was killed and started again."""

    def make_switch(self, program_json: str) -> Switch:
        if self.switch is None:
            return super().make_switch(program_json)
        self.switch.reset()
        return self.switch


class SimulatedSwitch:
    """One switch: its data plane, what has been written to it, and what waits to be. `attach` comes before all else.

    It is the controller core's outlet to the switch (`touch`, `send`)."""

    def __init__(self, name: str, program: Program, seed: int) -> None:
        self.name = name
        self.refusals: list[str] = []
        """What the switch refused to be told, one line each."""
        self._program = program
        self._datapath = _DataPath(seed=seed, cpu_port=CPU_PORT)
        self._start_pipeline()
        self._outbox: deque[fy.P4PacketOut] = deque()
        self._is_due = False
        self._core: Core | None = None

    @property
    def data_plane(self) -> Switch:
        """What forwards."""
        return self._pipeline.switch

    def feedback_outcomes(self) -> dict[str, int]:
        """The program's counter of what became of feedback, packets since the switch came up."""
        cells = self._pipeline.switch.counter_read_all(_FEEDBACK_COUNTER)
        return self._program.feedback_outcomes({index: packets for index, (packets, _) in enumerate(cells)})

    def attach(self, sim: Sim, agenda: Agenda, delay_s: float) -> None:
        """Put it into a network; `delay_s` is what each way between it and the controller takes."""
        self._sim = sim
        self._agenda = agenda
        self._delay_s = delay_s

    # --- the process

    def restart(self) -> None:
        """Come back without any state."""
        self._start_pipeline()

    def _start_pipeline(self) -> None:
        model = _model(self._program)
        self._pipeline = build_pipeline(model.config, self._datapath, like=model)
        self._datapath.install(self._pipeline.switch)
        self._have: State = {}

    # --- the controller's side

    def connect(self, core: Core, *, fresh: bool) -> None:
        """A controller takes charge: it writes what is missing, at once, and is told."""
        self._core = core
        core.synchronised(self.name, self._synchronise(core), fresh=fresh)

    def disconnect(self) -> None:
        """Switch or controller is gone; what waits on the line is lost."""
        self._core = None
        self._outbox.clear()

    @property
    def has(self) -> State:
        """What has been written to it, and not lost since."""
        return self._have

    def touch(self) -> None:
        """What the switch should have may have changed: it gets the difference when the line's delay is over."""
        if self._core is not None and not self._is_due:
            self._is_due = True
            self._agenda.after(self._delay_s, self._catch_up)

    def send(self, packets: Iterable[fy.P4PacketOut]) -> None:
        """Send packets, after what the switch should have."""
        if self._core is not None:
            self._outbox.extend(packets)
            self.touch()

    def _catch_up(self, _now: float) -> None:
        self._is_due = False
        if self._core is None:
            return
        packets = [self._outbox.popleft() for _ in range(len(self._outbox))]
        self._synchronise(self._core)
        for packet in packets:
            message = packet.encode_update(self._program.schema).packet
            frame = encode_packet_out(message, self._pipeline.packet_out)
            self._sim.inject(self.name, CPU_PORT, frame)

    def _synchronise(self, core: Core) -> Difference:
        changes = difference(self._have, make_state(core.wanted(self.name)))
        for kind, entries in ((INSERT, changes.inserts), (MODIFY, changes.modifies), (DELETE, changes.deletes)):
            for entry in entries:
                update = p4r.Update(type=kind, entity=entry.entity.encode(self._program.schema))
                try:
                    apply_update(self._pipeline, update)
                except P4RuntimeError as error:
                    self.refusals.append(f"{self.name} refused {entry.key}: {error.message}")
                    continue
                if kind == DELETE:
                    del self._have[entry.key]
                else:
                    self._have[entry.key] = entry
        return changes

    # --- the switch's side

    def collect(self) -> None:
        """Put what the switch has to tell on the line: it reaches the controller when the delay is over."""
        for event in self._pipeline.switch.take_events(MAX_EVENTS):
            self._agenda.at(event["time_us"] / 1e6 + self._delay_s, partial(self._deliver, event))

    def _deliver(self, event: "Event", _now: float) -> None:
        core = self._core
        if core is None:
            return
        schema, pipeline = self._program.schema, self._pipeline
        if event["kind"] == "packet_in":
            packet = decode_packet_in(event["packet"], pipeline.packet_in)
            if packet is not None:
                core.packet_in(self.name, fy.P4PacketIn.decode(p4r.StreamMessageResponse(packet=packet), schema))
        elif event["kind"] == "digest":
            self._deliver_digest(core, event)

    def _deliver_digest(self, core: Core, event: Mapping[str, Any]) -> None:
        digest = self._pipeline.digest_named(event["digest"])
        if digest is None:
            return
        for fields in event["values"]:
            message = digest.learn(tuple(fields), self._agenda.now)
            if message is None:
                continue
            decoded = fy.P4DigestList.decode(p4r.StreamMessageResponse(digest=message), self._program.schema)
            for item in decoded:
                core.digest(self.name, decoded.digest_id, item)
