"""A protocol whose endpoints seal all that they send and take only what is sealed: the same cores behind a seam."""

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

from hosts.endpoint import Address, Datagram, DatagramRun, Effect, Endpoint, ReceiverEndpoint, Sample, SenderEndpoint
from hosts.parts.bounds import most
from hosts.protocol import Protocol, Session
from hosts.security.keys import GroupKeys
from hosts.security.sealing import Sealing
from hosts.storage import FileChange
from hosts.wire.header import SEAL_BYTES
from hosts.wire.reason import Reason
from hosts.wire.tree.checking import TreeChecker

OptionsT = TypeVar("OptionsT")

SIZES: Final = ("payload_bytes", "packet_bytes")
"""What protocols call the size of their packets."""


class SecuredSender(SenderEndpoint):
    """A sender behind a seal."""

    def __init__(self, core: SenderEndpoint, sealing: Sealing) -> None:
        """`sealing` counts into the core's counters."""
        self.core = core
        self.counters = core.counters
        self._sealing = sealing

    @property
    def session_id(self) -> int | None:
        return self.core.session_id

    def place(self, address: Address) -> None:
        self._sealing.place(address)
        self.core.place(address)

    def start(self, *, now: float) -> Sequence[Effect]:
        self.core.sends_runs = self.sends_runs
        return self._sealing.seal(self.core.start(now=now))

    def receive(self, datagram: Datagram, *, now: float) -> Sequence[Effect]:
        opened = self._sealing.open(datagram)
        return () if opened is None else self._sealing.seal(self.core.receive(opened, now=now))

    def receive_run(self, run: DatagramRun, *, now: float) -> Sequence[Effect]:
        return self._sealing.seal(_received(self.core, self._sealing.open_run(run), now))

    def handle_timer(self, *, now: float) -> Sequence[Effect]:
        return self._sealing.seal(self.core.handle_timer(now=now))

    @property
    def wake_at(self) -> float | None:
        return self.core.wake_at

    def close(self, *, now: float, reason: str) -> Sequence[Effect]:
        return self._sealing.seal(self.core.close(now=now, reason=reason))

    @property
    def closed(self) -> bool:
        return self.core.closed

    @property
    def patience_s(self) -> float:
        return self.core.patience_s

    def sample(self, *, now: float) -> Sample:
        return self.core.sample(now=now)

    @property
    def send_space(self) -> int:
        return self.core.send_space

    @property
    def checked_bytes(self) -> tuple[int, int] | None:
        return self.core.checked_bytes

    def write(self, data: bytes | memoryview, *, now: float) -> Sequence[Effect]:
        return self._sealing.seal(self.core.write(data, now=now))

    def offer(self, content: bytes, size: int) -> None:
        self.core.offer(content, size)

    def change(self, change: FileChange, *, now: float) -> Sequence[Effect]:
        return self._sealing.seal(self.core.change(change, now=now))

    def start_now(self, *, now: float) -> Sequence[Effect]:
        return self._sealing.seal(self.core.start_now(now=now))

    def finish(self, *, now: float) -> Sequence[Effect]:
        return self._sealing.seal(self.core.finish(now=now))


class SecuredReceiver(ReceiverEndpoint):
    """A receiver behind a seal."""

    def __init__(self, core: ReceiverEndpoint, sealing: Sealing) -> None:
        """`sealing` counts into the core's counters."""
        self.core = core
        self.counters = core.counters
        self._sealing = sealing

    @property
    def session_id(self) -> int | None:
        return self.core.session_id

    def place(self, address: Address) -> None:
        self._sealing.place(address)
        self.core.place(address)

    def start(self, *, now: float) -> Sequence[Effect]:
        self.core.sends_runs = self.sends_runs
        return self._sealing.seal(self.core.start(now=now))

    def receive(self, datagram: Datagram, *, now: float) -> Sequence[Effect]:
        opened = self._sealing.open(datagram)
        return () if opened is None else self._sealing.seal(self.core.receive(opened, now=now))

    def receive_run(self, run: DatagramRun, *, now: float) -> Sequence[Effect]:
        return self._sealing.seal(_received(self.core, self._sealing.open_run(run), now))

    def handle_timer(self, *, now: float) -> Sequence[Effect]:
        return self._sealing.seal(self.core.handle_timer(now=now))

    @property
    def wake_at(self) -> float | None:
        return self.core.wake_at

    def close(self, *, now: float, reason: str) -> Sequence[Effect]:
        return self._sealing.seal(self.core.close(now=now, reason=reason))

    @property
    def closed(self) -> bool:
        return self.core.closed

    @property
    def patience_s(self) -> float:
        return self.core.patience_s

    def sample(self, *, now: float) -> Sample:
        return self.core.sample(now=now)

    def check_by(self, checker: TreeChecker) -> None:
        self.core.check_by(checker)

    def consumed(self, count: int, *, now: float) -> Sequence[Effect]:
        return self._sealing.seal(self.core.consumed(count, now=now))

    def holds(self, size: int, *, now: float) -> Sequence[Effect]:
        return self._sealing.seal(self.core.holds(size, now=now))

    def confirm(self, *, complete: bool, now: float, reason: Reason = Reason.NONE) -> Sequence[Effect]:
        return self._sealing.seal(self.core.confirm(complete=complete, now=now, reason=reason))


def _received(core: Endpoint, opened: Iterable[Datagram | DatagramRun], now: float) -> list[Effect]:
    effects: list[Effect] = []
    for one in opened:
        effects += core.receive(one, now=now) if isinstance(one, Datagram) else core.receive_run(one, now=now)
    return effects


def secure(
    protocol: Protocol[OptionsT], keys: GroupKeys, ids: random.Random, wall: Callable[[], float]
) -> Protocol[OptionsT]:
    """The protocol, with endpoints that seal; `ids` and `wall` are as `Sealing` has them. They raise ValueError for
    options that cannot be had."""

    def sealing(counters: dict[str, int]) -> Sealing:
        return Sealing(keys, ids, wall, counters)

    def sender(session: Session, options: OptionsT, rng: random.Random) -> SenderEndpoint:
        core = protocol.make_sender(session, sealed_options(protocol, options), rng)
        return SecuredSender(core, sealing(core.counters))

    def receiver(session: Session, options: OptionsT, rng: random.Random) -> ReceiverEndpoint:
        core = protocol.make_receiver(session, sealed_options(protocol, options), rng)
        return SecuredReceiver(core, sealing(core.counters))

    listening: list[Sealing] = []  # made when the first is read, for it takes an id

    def read_session(datagram: Datagram) -> int | None:
        if not listening:
            listening.append(sealing({}))
        opened = listening[0].open(datagram)
        return None if opened is None else protocol.session_of(opened)

    return replace(protocol, make_sender=sender, make_receiver=receiver, read_session=read_session)


def sealed_options(protocol: Protocol[OptionsT], options: OptionsT) -> OptionsT:
    """The options, with packets so much shorter that sealed ones fit. ValueError: somebody wants longer ones, or
    switches' help, which could not read them."""
    if getattr(options, "assist", "none") != "none":
        raise ValueError("switches cannot merge what they cannot read: a sealed session has no `assist`")
    usual: Any = protocol.options()
    for name in protocol.option_names.intersection(SIZES):
        size = getattr(options, name)
        limit = int(most(usual, name)) - SEAL_BYTES
        if size > limit and size != getattr(usual, name):
            raise ValueError(f"parameter '{name}' must be at most {limit} where packets are sealed, not {size}")
        shorter: Any = options
        options = replace(shorter, **{name: min(size, limit)})
    return options
