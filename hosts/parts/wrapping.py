"""Endpoints around endpoints: what seals packets, or speaks before a session begins, without its protocol's knowing.

A wrapper passes everything on, and all effects through `_passed`; it overrides what it is there for.
"""

from collections.abc import Sequence

from hosts.endpoint import Address, Datagram, DatagramRun, Effect, Endpoint, ReceiverEndpoint, Sample, SenderEndpoint
from hosts.storage import FileChange
from hosts.wire.reason import Reason
from hosts.wire.tree.checking import TreeChecker


class Wrapped(Endpoint):
    """What both ends' wrappers pass on."""

    core: Endpoint

    def _passed(self, effects: Sequence[Effect], now: float) -> Sequence[Effect]:
        """What becomes of the core's effects."""
        return effects

    @property
    def session_id(self) -> int | None:
        return self.core.session_id

    def place(self, address: Address) -> None:
        self.core.place(address)

    def start(self, *, now: float) -> Sequence[Effect]:
        self.core.run_bytes = self.run_bytes
        return self._passed(self.core.start(now=now), now)

    def receive(self, datagram: Datagram, *, now: float) -> Sequence[Effect]:
        return self._passed(self.core.receive(datagram, now=now), now)

    def receive_run(self, run: DatagramRun, *, now: float) -> Sequence[Effect]:
        return self._passed(self.core.receive_run(run, now=now), now)

    def handed_over(self, *, now: float) -> None:
        self.core.handed_over(now=now)

    def computed(self, *, now: float) -> Sequence[Effect]:
        return self._passed(self.core.computed(now=now), now)

    def handle_timer(self, *, now: float) -> Sequence[Effect]:
        return self._passed(self.core.handle_timer(now=now), now)

    @property
    def wake_at(self) -> float | None:
        return self.core.wake_at

    def close(self, *, now: float, reason: str) -> Sequence[Effect]:
        return self._passed(self.core.close(now=now, reason=reason), now)

    @property
    def closed(self) -> bool:
        return self.core.closed

    @property
    def patience_s(self) -> float:
        return self.core.patience_s

    @property
    def is_precise(self) -> bool:
        return self.core.is_precise

    def sample(self, *, now: float) -> Sample:
        return self.core.sample(now=now)


class WrappedSender(Wrapped, SenderEndpoint):
    """A sender around a sender."""

    core: SenderEndpoint

    def __init__(self, core: SenderEndpoint) -> None:
        self.core = core
        self.counters = core.counters

    @property
    def send_space(self) -> int:
        return self.core.send_space

    @property
    def checked_bytes(self) -> tuple[int, int] | None:
        return self.core.checked_bytes

    def write(self, data: bytes | memoryview, *, now: float) -> Sequence[Effect]:
        return self._passed(self.core.write(data, now=now), now)

    def offer(self, content: bytes, size: int) -> None:
        self.core.offer(content, size)

    def change(self, change: FileChange, *, now: float) -> Sequence[Effect]:
        return self._passed(self.core.change(change, now=now), now)

    def start_now(self, *, now: float) -> Sequence[Effect]:
        return self._passed(self.core.start_now(now=now), now)

    def finish(self, *, now: float) -> Sequence[Effect]:
        return self._passed(self.core.finish(now=now), now)


class WrappedReceiver(Wrapped, ReceiverEndpoint):
    """A receiver around a receiver."""

    core: ReceiverEndpoint

    def __init__(self, core: ReceiverEndpoint) -> None:
        self.core = core
        self.counters = core.counters

    def check_by(self, checker: TreeChecker) -> None:
        self.core.check_by(checker)

    @property
    def repaired_within_s(self) -> float:
        return self.core.repaired_within_s

    def consumed(self, count: int, *, now: float) -> Sequence[Effect]:
        return self._passed(self.core.consumed(count, now=now), now)

    def holds(self, size: int, *, now: float) -> Sequence[Effect]:
        return self._passed(self.core.holds(size, now=now), now)

    def confirm(self, *, complete: bool, now: float, reason: Reason = Reason.NONE) -> Sequence[Effect]:
        return self._passed(self.core.confirm(complete=complete, now=now, reason=reason), now)
