"""A protocol whose endpoints seal all that they send and take only what is sealed: the same cores behind a seam."""

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

from canopy_engine import Signer

from hosts.endpoint import Address, Datagram, DatagramRun, Effect, Endpoint, ReceiverEndpoint, SenderEndpoint
from hosts.parts.bounds import most
from hosts.parts.wrapping import WrappedReceiver, WrappedSender
from hosts.protocol import Protocol, Session
from hosts.security.checking import CheckingReceiver
from hosts.security.keyring import KeyRing
from hosts.security.keys import GroupKeys
from hosts.security.sealing import Sealing
from hosts.security.signing import SigningSender
from hosts.wire.header import SEAL_BYTES

OptionsT = TypeVar("OptionsT")

SIZES: Final = ("payload_bytes", "packet_bytes")
"""What protocols call the size of their packets."""


class SecuredSender(WrappedSender):
    """A sender behind a seal."""

    def __init__(self, core: SenderEndpoint, sealing: Sealing) -> None:
        """`sealing` counts into the core's counters."""
        super().__init__(core)
        self._sealing = sealing

    def _passed(self, effects: Sequence[Effect], now: float) -> Sequence[Effect]:
        return self._sealing.seal(effects)

    def place(self, address: Address) -> None:
        self._sealing.place(address)
        super().place(address)

    def receive(self, datagram: Datagram, *, now: float) -> Sequence[Effect]:
        opened = self._sealing.open(datagram)
        return () if opened is None else super().receive(opened, now=now)

    def receive_run(self, run: DatagramRun, *, now: float) -> Sequence[Effect]:
        return self._passed(_received(self.core, self._sealing.open_run(run), now), now)


class SecuredReceiver(WrappedReceiver):
    """A receiver behind a seal."""

    def __init__(self, core: ReceiverEndpoint, sealing: Sealing) -> None:
        """`sealing` counts into the core's counters."""
        super().__init__(core)
        self._sealing = sealing

    def _passed(self, effects: Sequence[Effect], now: float) -> Sequence[Effect]:
        return self._sealing.seal(effects)

    def place(self, address: Address) -> None:
        self._sealing.place(address)
        super().place(address)

    def receive(self, datagram: Datagram, *, now: float) -> Sequence[Effect]:
        opened = self._sealing.open(datagram)
        return () if opened is None else super().receive(opened, now=now)

    def receive_run(self, run: DatagramRun, *, now: float) -> Sequence[Effect]:
        return self._passed(_received(self.core, self._sealing.open_run(run), now), now)


def _received(core: Endpoint, opened: Iterable[Datagram | DatagramRun], now: float) -> list[Effect]:
    effects: list[Effect] = []
    for one in opened:
        effects += core.receive(one, now=now) if isinstance(one, Datagram) else core.receive_run(one, now=now)
    return effects


def secure(
    protocol: Protocol[OptionsT],
    keys: GroupKeys | KeyRing,
    ids: random.Random,
    wall: Callable[[], float],
    *,
    signer: bytes | None = None,
    seed: bytes | None = None,
) -> Protocol[OptionsT]:
    """The protocol, with endpoints that seal; `ids` and `wall` are as `Sealing` has them. They raise ValueError for
    options that cannot be had. `signer`: receivers take only what its owner has signed; `seed`: senders sign by it."""

    def sealing(counters: dict[str, int]) -> Sealing:
        return Sealing(keys, ids, wall, counters)

    def sender(session: Session, options: OptionsT, rng: random.Random) -> SenderEndpoint:
        core = protocol.make_sender(session, sealed_options(protocol, options), rng)
        if seed is not None:
            core = SigningSender(core, Signer(seed), session.group, protocol.tree_types, ids, wall)
        return SecuredSender(core, sealing(core.counters))

    def receiver(session: Session, options: OptionsT, rng: random.Random) -> ReceiverEndpoint:
        core = protocol.make_receiver(session, sealed_options(protocol, options), rng)
        if signer is not None:
            if getattr(options, "agent", False):
                raise ValueError("an agent speaks for itself: a session that its sender signs has no agents")
            core = CheckingReceiver(core, signer, protocol.tree_types, wall)
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
