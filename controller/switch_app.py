"""One switch as the controller sees it: connecting and reconnecting, writing what differs, digests in, packets out.

What a switch should have is computed from nothing but the network's state, and compared with what it has: after each
(re)connection by reading the switch, later with what was written last. So a controller that starts anew over a running
switch writes nothing, and a switch that comes back empty gets everything.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from contextlib import aclosing
from typing import Any, Protocol, cast

import finsy as fy
from finsy.proto import p4r

from controller.logs import describe_failure
from controller.network import SwitchSpec
from controller.program import Program
from controller.state import Difference, Entity, Entry, State, difference, make_state

LOG = logging.getLogger("canopy.controller")

RETRY_S = 0.5  # between attempts to reach a switch that does not answer
MAX_RETRY_S = 8.0  # between attempts when connections fail again and again, as over a program that a switch refuses
REFUSAL_RETRY_S = 5.0  # after a switch refused an entry
AUDIT_S = 30.0  # without a change, until the switch is read again: 0.1 s of work on a switch with 4,095 groups
BATCH = 256  # updates in one write: far below gRPC's 4 MB a message and finsy's 10 s a request
DIGEST_QUEUE = 1000  # digest lists that wait in finsy; reading them never waits for anything
MAX_OUTBOX = 10_000  # packets that wait for the tables they need

_UPDATE = p4r.Update
_CONNECTION_ENDED = (fy.GRPCStatusCode.UNAVAILABLE, fy.GRPCStatusCode.CANCELLED, fy.GRPCStatusCode.DEADLINE_EXCEEDED)


class Brain(Protocol):
    """What a switch app asks of the controller. None of these may block."""

    def wanted(self, switch: str) -> list[Entry]:
        """Everything that the switch should have."""

    async def adopt(self, switch: str, found: Sequence[Entry]) -> bool:
        """The switch was read; its slots may be taken over. False when they contradict the controller's, so that the
        switch must start afresh."""

    def synchronised(self, switch: str, changes: Difference, *, fresh: bool) -> None:
        """The switch has what it should have, for the first time on this connection; `fresh`: it had nothing."""

    def drifted(self, switch: str, repairs: Difference) -> None:
        """The switch did not have what was written to it; it will get it again."""

    def disconnected(self, switch: str) -> None:
        """The connection to the switch ended."""

    def digest(self, switch: str, name: str, item: Any) -> None:
        """A digest message arrived."""

    def packet_in(self, switch: str, packet: fy.P4PacketIn) -> None:
        """A packet arrived for the controller."""

    def digests_lost(self, switch: str) -> None:
        """Digests were dropped because they came faster than they were read."""


class SwitchApp:
    """Keeps one switch connected and in the state that `brain.wanted` asks for. Runs until `run` is cancelled.

    Of several controllers the one with the greatest `seniority` is in charge, the others stand by.
    """

    def __init__(
        self,
        spec: SwitchSpec,
        program: Program,
        brain: Brain,
        seniority: int = 1,
        credentials: fy.GRPCCredentialsTLS | None = None,
    ) -> None:
        """`credentials`: of the connection; None: without TLS."""
        self.spec = spec
        self._credentials = credentials
        self._program = program
        self._brain = brain
        self._seniority = seniority
        self._switch: fy.Switch | None = None
        self._have: State | None = None  # what the switch has; None: not known
        self._changed = asyncio.Event()
        self._stream_lock = asyncio.Lock()
        self._outbox: deque[fy.P4PacketOut] = deque()
        self._force_pipeline = False
        self._failure: str | None = None  # of one of finsy's tasks
        self._end = asyncio.Event()  # set when the present connection ends or is to be ended
        self.was_fresh = False  # the switch had nothing when this connection began
        self.status = "connecting"  # connecting, synchronising, ready, standby, refusing
        self.problem: str | None = None  # why it is not ready
        self.connected_since: float | None = None
        self.attempts = 0  # to connect
        self.connections = 0
        self.writes = 0  # updates that changed something, since the start of the controller
        self.packets_lost = 0  # packet-outs that no connection was there for

    @property
    def ready(self) -> bool:
        """Connected, in charge, and in the wanted state (but for changes made this instant)."""
        return self.status == "ready"

    def entries(self) -> frozenset[str]:
        """What the switch has, as texts; empty while that is not known."""
        return frozenset(str(entry) for entry in (self._have or {}).values())

    def touch(self) -> None:
        """What the switch should have may have changed."""
        self._changed.set()

    def send(self, packets: Iterable[fy.P4PacketOut]) -> None:
        """Send packets once the switch has what it should have; those of one call stay in order. Without a connection,
        or when too many wait, they are counted as lost: everything that is sent is repeated in time."""
        for packet in packets:
            if self._switch is None or len(self._outbox) >= MAX_OUTBOX:
                self.packets_lost += 1
            else:
                self._outbox.append(packet)
        self._changed.set()

    async def read_counter(self, name: str, indices: Iterable[int] = ()) -> dict[int, int]:
        """Packets of those cells (by default all) of an indirect counter that are not zero. Empty without a
        connection."""
        if self._switch is None:
            return {}
        try:
            wanted = [fy.P4CounterEntry(name, index=index) for index in indices]
            cells = _read(self._switch, wanted or [fy.P4CounterEntry(name)])
            return {cell.index: cell.packet_count async for cell in cells if cell.packet_count}
        except fy.P4ClientError as error:
            LOG.debug("%s: reading %s: %s", self.spec.name, name, error)
            return {}

    async def run(self) -> None:
        """Connect, and connect again whenever the connection ends."""
        wait = RETRY_S
        while True:
            began = time.monotonic()
            self._failure = None
            try:
                await self._connect()
            except fy.P4ClientError as error:
                self._note(describe_failure(error))
                wait = RETRY_S if error.code == fy.GRPCStatusCode.UNAVAILABLE else wait
            except asyncio.CancelledError:
                # finsy reports the failure of its own tasks as a cancellation of this one.
                task = asyncio.current_task()
                if task is None or task.cancelling():
                    raise
            except Exception as error:  # one switch's misbehaviour must not end the others' service
                LOG.exception("%s: the connection failed", self.spec.name)
                self._note(f"{type(error).__name__}: {error}")
            if self._failure is not None:
                self._note(self._failure)
            self.status = "connecting"
            if time.monotonic() - began > MAX_RETRY_S:
                wait = RETRY_S
            await asyncio.sleep(wait)
            wait = min(2 * wait, MAX_RETRY_S) if self._failure is not None else RETRY_S

    def failed(self, failure: str) -> None:
        """One of finsy's tasks for the present connection failed, and the connection ends for it."""
        self._failure = failure

    def _note(self, problem: str) -> None:
        if problem != self.problem:
            LOG.info("%s (%s): %s", self.spec.name, self.spec.address, problem)
        self.problem = problem

    async def _connect(self) -> None:
        """One connection from beginning to end."""
        self.attempts += 1
        options = fy.SwitchOptions(
            p4info=self._program.p4info_path,
            p4blob=self._program.blob_path,
            # A pipeline whose cookie says that it is this program stays, and so does the switch's whole state.
            p4force=self._force_pipeline,
            device_id=self.spec.device_id,
            initial_election_id=self._election_id(),
            channel_credentials=self._credentials,
            ready_handler=self._on_ready,
        )
        self._force_pipeline = False
        switch = fy.Switch(self.spec.name, self.spec.address, options)
        self._end = end = asyncio.Event()
        switch.ee.once(fy.SwitchEvent.CHANNEL_DOWN, lambda _: end.set())
        try:
            async with switch:
                self.connections += 1
                self.connected_since = time.monotonic()
                await end.wait()
        finally:
            self._forget_switch()
            self.connected_since = None

    def _election_id(self) -> int:
        """Higher than that of every controller started before, and of every connection before: a switch may believe in
        one that is dead (its host went away, or stopped without closing)."""
        return (self._seniority << 20) + self.attempts

    def _forget_switch(self) -> None:
        """The switch is no longer ours to write to."""
        was_ours = self._switch is not None
        self._switch, self._have = None, None
        self._outbox.clear()
        if was_ours:
            self._brain.disconnected(self.spec.name)

    async def _on_ready(self, switch: fy.Switch) -> None:
        """finsy's ready handler: the pipeline is there. It runs again when this controller becomes the primary."""
        if not switch.is_primary:
            self._forget_switch()
            self.status = "standby"
            self._note("a controller that was started later is in charge of the switch")
            return
        self.status, self.problem = "synchronising", None
        self._switch = switch
        self._changed.set()
        for digest in self._program.digest_names:
            switch.create_task(self._read_digests(switch, digest), name=f"digests {digest}")
        switch.create_task(self._read_packets(switch), name="packets")
        switch.create_task(self._keep_synchronised(switch), name="synchronise")

    async def _read_digests(self, switch: fy.Switch, name: str) -> None:
        lists = cast(AsyncGenerator[fy.P4DigestList, None], switch.read_digests(name, queue_size=DIGEST_QUEUE))
        async with aclosing(lists):
            async for digest_list in lists:
                for item in digest_list:
                    self._brain.digest(self.spec.name, name, item)
                await self._send(switch, [digest_list.ack()])

    async def _send(self, switch: fy.Switch, messages: Sequence[fy.P4PacketOut | fy.P4DigestListAck]) -> None:
        """Send on the stream, which breaks when two tasks write to it at a time."""
        async with self._stream_lock:
            await switch.write(messages)

    async def _read_packets(self, switch: fy.Switch) -> None:
        packets = cast(AsyncGenerator[fy.P4PacketIn, None], switch.read_packets())
        async with aclosing(packets):
            async for packet in packets:
                self._brain.packet_in(self.spec.name, packet)

    async def _keep_synchronised(self, switch: fy.Switch) -> None:
        """Bring the switch to the wanted state, and again on every change and after a refusal; then send the packets
        that wait for it."""
        first = True
        while True:
            try:
                async with asyncio.timeout(REFUSAL_RETRY_S if self.status == "refusing" else AUDIT_S):
                    await self._changed.wait()
            except TimeoutError:
                await self._audit(switch)
            self._changed.clear()
            # Packets that are added from now on may need tables that are not in this round's state.
            packets = [self._outbox.popleft() for _ in range(len(self._outbox))]
            changes = await self._synchronise(switch)
            if changes is None:
                LOG.warning("%s: what it has contradicts the controller; it starts afresh", self.spec.name)
                await self._start_afresh(switch)
                return
            self.writes += len(changes)
            await self._send(switch, packets)
            if first:
                first = False
                self._brain.synchronised(self.spec.name, changes, fresh=self.was_fresh)

    async def _audit(self, switch: fy.Switch) -> None:
        """Read what the switch has, in case it is not what was written. A switch that hangs is noticed here too."""
        believed, self._have = self._have, await self._read_state(switch)
        if believed is not None:
            drift = difference(self._have, believed)
            if len(drift):
                self._brain.drifted(self.spec.name, drift)

    async def _synchronise(self, switch: fy.Switch) -> Difference | None:
        """One round; what was changed. None when the switch must start afresh."""
        if self._have is None:
            have = await self._read_state(switch)
            self.was_fresh = any(map(self._program.is_unconfigured, have.values()))
            if not await self._brain.adopt(self.spec.name, list(have.values())):
                return None
            self._have = have
        changes = difference(self._have, make_state(self._brain.wanted(self.spec.name)))
        refusal = await self._write(switch, changes)
        if refusal is None:
            self.status, self.problem = "ready", None
        else:
            self.status = "refusing"
            self._have = None  # some of it was written: the switch is read again
            self._note(f"refused: {describe_failure(refusal)}; trying again every {REFUSAL_RETRY_S:g} s")
        return changes

    async def _read_state(self, switch: fy.Switch) -> State:
        """Everything that the switch has of what `wanted` speaks of."""
        found: list[Entity] = []
        tables = [fy.P4TableEntry(name) for name in self._program.table_names]
        async for table_entry in _read(switch, tables):
            if not table_entry.is_default_action:
                found.append(table_entry)
        for entity in self._program.read_requests():
            try:
                found += [entry async for entry in _read(switch, [entity]) if not _is_unset(entry)]
            except fy.P4ClientError as error:
                # A digest that was not configured: BMv2 answers NOT_FOUND, the specification has it in the details.
                if error.code != fy.GRPCStatusCode.NOT_FOUND and not error.is_not_found_only:
                    raise
        return make_state(map(self._program.describe, found))

    async def _write(self, switch: fy.Switch, changes: Difference) -> fy.P4ClientError | None:
        """Write in batches, of a few changes one. A batch that the switch refuses in part does not keep it from getting
        the others; the first refusal is returned."""
        assert self._have is not None
        refused: fy.P4ClientError | None = None
        kinds = (
            (_UPDATE.INSERT, changes.inserts),
            (_UPDATE.MODIFY, changes.modifies),
            (_UPDATE.DELETE, changes.deletes),
        )
        steps = [(kind, entry) for kind, entries in kinds for entry in entries]
        for begin in range(0, len(steps), BATCH):
            batch = steps[begin : begin + BATCH]
            try:
                await switch.write(
                    [p4r.Update(type=kind, entity=entry.entity.encode(self._program.schema)) for kind, entry in batch]
                )
            except fy.P4ClientError as error:
                if error.code in _CONNECTION_ENDED:
                    raise
                refused = refused or error
            # Before they count as gone, so that nobody reads what is left of them.
            await self._forget_counts(switch, [entry for kind, entry in batch if kind == _UPDATE.DELETE])
            for kind, entry in batch:
                if kind == _UPDATE.DELETE:
                    del self._have[entry.key]
                else:
                    self._have[entry.key] = entry
        return refused

    async def _forget_counts(self, switch: fy.Switch, deleted: Sequence[Entry]) -> None:
        """A slot that was given back counts from zero for its next group. A switch that keeps its counts is as good."""
        cells = [cell for entry in deleted for cell in self._program.forget_counts(entry, self.spec.ports)]
        for begin in range(0, len(cells), BATCH):
            try:
                await switch.modify(cells[begin : begin + BATCH])
            except fy.P4ClientError as error:
                if error.code in _CONNECTION_ENDED:
                    raise
                LOG.debug("%s: a released slot's counters: %s", self.spec.name, error)

    async def _start_afresh(self, switch: fy.Switch) -> None:
        """Connect anew and load the program again. Groups and sessions go before: BMv2 would keep them, unseen."""
        for entity in (fy.P4MulticastGroupEntry(), fy.P4CloneSessionEntry()):
            await switch.delete_many([entity])
        self._force_pipeline = True
        self._end.set()


def _is_unset(entity: Entity) -> bool:
    """A meter's cell without rates."""
    return isinstance(entity, fy.P4MeterEntry) and entity.config is None


def _read(switch: fy.Switch, entities: Sequence[fy.P4TableEntry | fy.P4CounterEntry | Entity]) -> AsyncIterator[Any]:
    """finsy's `read` with the type that it has when it is called."""
    return cast(AsyncIterator[Any], switch.read(entities))
