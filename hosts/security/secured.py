"""A protocol whose endpoints seal all that they send and take only what is sealed: the same cores behind a seam."""

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

from canopy_engine import Signer

from hosts.endpoint import Address, Datagram, DatagramRun, Effect, Endpoint, ReceiverEndpoint, SenderEndpoint
from hosts.parts.bounds import most
from hosts.parts.wrapping import Wrapped, WrappedReceiver, WrappedSender
from hosts.protocol import Protocol, Session
from hosts.security.checking import CheckingReceiver
from hosts.security.hop import HopKeys, Hops
from hosts.security.keyring import KeyRing
from hosts.security.keys import GroupKeys
from hosts.security.sealing import Sealing
from hosts.security.signing import SigningSender
from hosts.wire.header import SEAL_BYTES

OptionsT = TypeVar("OptionsT")

SAMPLE_S: Final = 1.0
"""A member whose feedback switches merge says the same so often that they cannot read it (ours)."""
RUN_PACKETS: Final = 64
"""Of a run, at most: the kernel cuts a message into no more (linux/udp.h: UDP_MAX_SEGMENTS until 6.9)."""
SIZES: Final = ("payload_bytes", "packet_bytes")
"""What protocols call the size of their packets."""


class _Secured(Wrapped):
    """An end behind a seal."""

    _sealing: Sealing

    def start(self, *, now: float) -> Sequence[Effect]:
        """Its runs are shorter, so that a sealed one leaves as one message, too."""
        self.core.run_bytes = max(0, self.run_bytes - RUN_PACKETS * SEAL_BYTES)
        return self._passed(self.core.start(now=now), now)

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


class SecuredSender(_Secured, WrappedSender):
    """A sender behind a seal."""

    def __init__(self, core: SenderEndpoint, sealing: Sealing) -> None:
        """`sealing` counts into the core's counters."""
        super().__init__(core)
        self._sealing = sealing


class SecuredReceiver(_Secured, WrappedReceiver):
    """A receiver behind a seal."""

    def __init__(self, core: ReceiverEndpoint, sealing: Sealing) -> None:
        """`sealing` counts into the core's counters."""
        super().__init__(core)
        self._sealing = sealing


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
    hop_keys: HopKeys | None = None,
) -> Protocol[OptionsT]:
    """The protocol, with endpoints that seal; `ids` and `wall` are as `Sealing` has them. They raise ValueError for
    options that cannot be had. `signer`: receivers take only what its owner has signed; `seed`: senders sign by it;
    `hop_keys`: of the port of the host that they run on, where switches help."""

    def sealing(counters: dict[str, int], *, is_helped: bool = False) -> Sealing:
        hops = Hops(hop_keys, wall)
        return Sealing(keys, ids, wall, counters, protocol.open_heads, hops, is_helped=is_helped)

    def sender(session: Session, options: OptionsT, rng: random.Random) -> SenderEndpoint:
        is_signed = signer is not None or seed is not None
        core = protocol.make_sender(session, sealed_options(protocol, options, is_signed=is_signed), rng)
        if seed is not None:
            core = SigningSender(core, Signer(seed), session.group, protocol.tree_types, ids, wall)
        return SecuredSender(core, sealing(core.counters, is_helped=_is_helped(options)))

    def receiver(session: Session, options: OptionsT, rng: random.Random) -> ReceiverEndpoint:
        core = protocol.make_receiver(session, sealed_options(protocol, options, is_signed=signer is not None), rng)
        if signer is not None:
            if getattr(options, "agent", False):
                raise ValueError("an agent speaks for itself: a session that its sender signs has no agents")
            core = CheckingReceiver(core, signer, protocol.tree_types, wall)
        return SecuredReceiver(core, sealing(core.counters, is_helped=_is_helped(options)))

    listening: list[Sealing] = []  # made when the first is read, for it takes an id

    def read_session(datagram: Datagram) -> int | None:
        if not listening:
            listening.append(sealing({}))
        opened = listening[0].open(datagram)
        return None if opened is None else protocol.session_of(opened)

    return replace(protocol, make_sender=sender, make_receiver=receiver, read_session=read_session)


def lacks_help(protocol: Protocol[Any], *, is_signed: bool) -> str:
    """Why a sealed session has no `assist`; empty: it may have."""
    if not protocol.open_heads:
        return f"{protocol.name}'s feedback is not merged where its packets are sealed: without `assist: switch`"
    if is_signed:
        return "switches copy what a sender signs for one receiver alone: without `assist: switch`"
    return ""


def _is_helped(options: object) -> bool:
    return getattr(options, "assist", "none") != "none"


def sealed_options(protocol: Protocol[OptionsT], options: OptionsT, *, is_signed: bool = False) -> OptionsT:
    """The options, with packets so much shorter that sealed ones fit. ValueError: somebody wants longer ones, or
    switches' help that cannot be had."""
    if _is_helped(options) and (lack := lacks_help(protocol, is_signed=is_signed)):
        raise ValueError(lack)
    usual: Any = protocol.options()
    if "sample_s" in protocol.option_names and getattr(options, "sample_s", None) == usual.sample_s:
        sampled: Any = options
        options = replace(sampled, sample_s=SAMPLE_S)
    if "watch_switches" in protocol.option_names:
        watching: Any = options
        options = replace(watching, watch_switches=True)
    if is_signed and "spare" in protocol.option_names:  # nobody else may serve, so the sender serves all
        given: Any = options
        fan_out = int(most(usual, "fan_out")) if given.fan_out == usual.fan_out else given.fan_out
        options = replace(given, spare=False, fan_out=fan_out)
    for name in protocol.option_names.intersection(SIZES):
        size = getattr(options, name)
        limit = int(most(usual, name)) - SEAL_BYTES
        if size > limit and size != getattr(usual, name):
            raise ValueError(f"parameter '{name}' must be at most {limit} where packets are sealed, not {size}")
        shorter: Any = options
        options = replace(shorter, **{name: min(size, limit)})
    return options
