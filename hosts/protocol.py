"""What a session is, and what a protocol says of itself: the other half of the seam (hosts/endpoint.py)."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, Generic, TypeVar

from hosts.endpoint import Address, Datagram, ReceiverEndpoint, SenderEndpoint
from hosts.storage import Shelf
from hosts.wire.header import HEADER, HEADER_BYTES, VERSION
from hosts.wire.layout import Layout
from hosts.wire.sealed import OpenHead

NTP_AT_1970_S: Final = 2_208_988_800
"""RFC 5905, figure 4."""


@dataclass(frozen=True, slots=True)
class Session:
    """What every member of a session knows beforehand."""

    group: Address
    """Where the sender's data goes; the port is the group's too."""
    source: str | None = None
    """The sender's address: a source-specific group, and data from anyone else is refused. None: any source."""
    session: int | None = None
    """32 bits. None at a receiver: the first session that is heard on the group."""
    receivers: int = 1
    """Sender: start when so many have joined, or `wait` seconds after it began to announce itself."""
    wait: float = 10.0
    realtime: bool = False
    """Data in real time: it starts at once, nothing is repeated and nobody is waited for; what arrives is delivered
    datagram by datagram (`DeliverDatagram`). Only for protocols that can."""
    deliver: bool = True
    """Receiver of real-time data: hand it to the application; else it is only counted."""
    link_bps: float = 0.0
    """Sender: what the host itself and its own link can send, bit/s; 0: not known, or without limit."""

    ntp_at_zero: float | None = None
    """The date when the endpoint's clock shows 0, NTP seconds; None: it is not known, as in a simulation."""

    shelf: Shelf | None = None
    """Receiver: where files come together that come in any order, of a protocol with `takes_files`; None: in memory, to
    be delivered as a stream."""

    def admits(self, sender: Address) -> bool:
        """Whether the session's sender may be there."""
        return self.source in (None, sender.host)


OptionsT = TypeVar("OptionsT")


@dataclass(frozen=True, slots=True)
class Protocol(Generic[OptionsT]):
    """How to make a protocol's endpoints."""

    name: str
    number: int
    """In the common header, 8 bits."""
    packets: Sequence[Layout[Any]]
    """What it sends: `Format`s, and layouts of packets without the common header. Dissectors are made of them."""
    options: type[OptionsT]
    """A frozen dataclass; every field has a default and its unit in the name or comment."""
    make_sender: Callable[[Session, OptionsT, random.Random], SenderEndpoint]
    make_receiver: Callable[[Session, OptionsT, random.Random], ReceiverEndpoint]
    feedback_types: frozenset[int]
    """Types, in the common header, of what receivers tell the sender of their reception: the packets whose number grows
    with that of the receivers. Empty: it hears nothing of it."""
    parts: Sequence[Layout[Any]] = ()
    """What its packets have in them, and no field of theirs says: header extensions, what payloads begin with."""
    carries_realtime: bool = False
    """Whether it has sessions of real-time data."""
    carries_files: bool = True
    """Whether it has sessions that every receiver gets the whole of."""
    admits_late: bool = False
    """Whether a receiver that joins when a file has begun gets it whole; else it is refused."""
    takes_files: bool = False
    """Whether its senders take files by place (`SenderEndpoint.change`) and its receivers put them on a shelf."""
    open_heads: Mapping[int, OpenHead] = field(default_factory=dict)
    """By the type in the common header: what switches must read of its packets to merge its feedback, where these are
    sealed. Empty: it has no help of theirs then."""
    tree_types: frozenset[int] = frozenset()
    """Types, in the common header, of the packets whose payload receivers check by hashes in the stream, where it has
    them (`SenderEndpoint.checked_bytes`)."""
    knows_receivers: bool = True
    """Whether its sender hears of its receivers; one that does not can tell nobody what became of them."""
    read_session: Callable[[Datagram], int | None] | None = None
    """The number of the session that a datagram belongs to, of a protocol without the common header."""
    count_groups: Callable[[OptionsT], int] = lambda options: 1
    """Multicast groups of a session, one after the other from its own on."""
    check_size: Callable[[OptionsT, int], object] = lambda options, size: None
    """ValueError: no file of so many bytes can be sent."""

    def is_feedback(self, data: bytes) -> bool:
        """Whether a datagram is of these types."""
        return len(data) >= HEADER_BYTES and data[1] == self.number and data[2] in self.feedback_types

    def session_of(self, datagram: Datagram) -> int | None:
        """The number of the session that a datagram belongs to; None: it is none of this protocol's."""
        if self.read_session is not None:
            return self.read_session(datagram)
        if len(datagram.data) < HEADER_BYTES:
            return None
        version, protocol, _, _, session = HEADER.unpack_from(datagram.data)
        return int(session) if (version, protocol) == (VERSION, self.number) else None

    @property
    def option_names(self) -> frozenset[str]:
        """The parameters that it has."""
        return frozenset(self.options.__annotations__)

    def sender(
        self, session: Session, rng: random.Random, parameters: Mapping[str, Any] | None = None
    ) -> SenderEndpoint:
        """A sender; `parameters` are checked by `parse_options`."""
        return self.make_sender(session, self.parse_options(parameters or {}), rng)

    def receiver(
        self, session: Session, rng: random.Random, parameters: Mapping[str, Any] | None = None
    ) -> ReceiverEndpoint:
        """A receiver; `parameters` are checked by `parse_options`."""
        return self.make_receiver(session, self.parse_options(parameters or {}), rng)

    def group_count(self, parameters: Mapping[str, Any] | None = None) -> int:
        """Multicast groups of a session with these parameters. ValueError as `parse_options`."""
        return self.count_groups(self.parse_options(parameters or {}))

    def check_file(self, size: int, parameters: Mapping[str, Any] | None = None) -> None:
        """ValueError when no file of so many bytes can be sent with these parameters, or as `parse_options`."""
        self.check_size(self.parse_options(parameters or {}), size)

    def parse_options(self, parameters: Mapping[str, Any]) -> OptionsT:
        """The defaults with `parameters` (numbers, booleans, or their text) put in. ValueError names a bad one."""
        options: Any = self.options()
        known = {one.name: type(getattr(options, one.name)) for one in fields(options)}
        values: dict[str, Any] = {}
        for name, value in parameters.items():
            if name not in known:
                raise ValueError(f"{self.name} has no parameter '{name}' (it has {', '.join(sorted(known))})")
            values[name] = _convert(name, value, known[name])
        result: OptionsT = replace(options, **values)
        return result


def _convert(name: str, value: Any, kind: type) -> Any:
    try:
        if kind is bool:
            if isinstance(value, bool):
                return value
            return {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}[str(value).lower()]
        if isinstance(value, bool):
            raise ValueError
        if kind is int and float(value) != int(float(value)):
            raise ValueError
        return kind(float(value)) if kind is int else kind(value)
    except (KeyError, TypeError, ValueError, OverflowError):
        raise ValueError(f"parameter '{name}' must be of type {kind.__name__}, not '{value}'") from None
