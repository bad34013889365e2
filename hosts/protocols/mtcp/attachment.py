"""A receiver's place in the tree: its parent and lineage, whether the parent lives, and the search for another.

It also learns here how the sender's clock runs (3.2): a parent answers probes with what it takes the sender's clock to
be, and the way up, which carries feedback only, shows it best.
"""

import random
from collections.abc import Collection

from hosts.endpoint import Address, Datagram, Effect, Send
from hosts.parts.sack import ReceivedSet
from hosts.parts.skew import ClockSkew
from hosts.protocols.mtcp.finding import Search
from hosts.protocols.mtcp.options import MtcpOptions
from hosts.protocols.mtcp.tree_packets import (
    Join,
    JoinAck,
    Offer,
    Probe,
    ProbeAck,
    encode_abort,
    encode_probe,
    encode_probe_ack,
)
from hosts.wire.farewell import ABORT_COPIES
from hosts.wire.reason import Reason

SUSPICION = 1.25
"""A parent that is silent for so many probe intervals is asked itself (ours)."""
SUSPICIOUS_S = 0.25
"""And so often (ours)."""
MAX_TIME_US = 2**64 - 1
"""Of a clock in a packet. What a parent takes the sender's clock to be may be anything."""


class Attachment:
    """Times are seconds on the receiver's clock."""

    __slots__ = (
        "_look_at",
        "_options",
        "_probe_at",
        "_rng",
        "address",
        "avoided",
        "epoch",
        "former",
        "heard_at",
        "is_active",
        "lineage",
        "parent",
        "search",
        "sender",
        "sender_heard_at",
        "serving",
        "session",
        "skew",
    )

    def __init__(self, options: MtcpOptions, rng: random.Random) -> None:
        self._options = options
        self._rng = rng
        self.session = 0
        self.sender: Address | None = None
        self.address: Address | None = None
        """One's own, as the parent sees it."""
        self.parent: Address | None = None
        self.former: Address | None = None
        """The parent before, which may still send repairs."""
        self.avoided: Collection[Address] = ()
        """Who is not to be chosen again."""
        self.lineage: tuple[Address, ...] = ()
        """The parent, that one's parent, and so on up to the sender."""
        self.search: Search | None = None
        self._look_at: float | None = None  # when to begin to search
        self.is_active = False
        """Whether `handle_timer` may be due at all: not at a leaf whose parent is the sender."""
        self.serving = False
        """Whether others depend on this receiver, so that it must know how the sender's clock runs."""
        self.heard_at = 0.0
        self.sender_heard_at = 0.0
        """When the sender was known to be alive, by itself or by the word of a parent."""
        self.skew: ClockSkew | None = None
        self.epoch = 0
        """Of the last join (see Join)."""
        self._probe_at = 0.0

    @property
    def nearest(self) -> tuple[Address, ...]:
        """Who is told of the end, one after the other: the parent, that one's, and the sender. Between those and the
        sender may be as many as a parent likes to name."""
        sender = () if self.sender is None else (self.sender,)
        return tuple(dict.fromkeys((*self.lineage[:2], *sender)))

    # --- searching

    def begin(self, session: int, sender: Address, now: float, wait_s: float) -> None:
        """The sender has been heard. A parent is looked for in so many seconds."""
        self.session = session
        self.sender = sender
        self.sender_heard_at = now
        self._look_at = now + wait_s
        self.is_active = True

    def _look(self, received: ReceivedSet | None, first: tuple[Address, ...], now: float) -> list[Effect]:
        """Begin to look for a parent; see Search. Who has had one says what it has `received`."""
        assert self.sender is not None
        options = self._options
        join = Join(
            self.session,
            options.agent or self.serving,
            options.spare,
            received is not None,
            options.from_start,
            self.epoch,
            options.buffer_bytes,
            0 if received is None else received.cumulative,
        )
        self.search = Search(options, join, self.sender, first, received, rng=self._rng)
        avoided = (self.address, self.parent, *self.avoided)
        self.search.avoid = {address for address in avoided if address is not None and address != self.sender}
        self._look_at = None
        self.is_active = True
        return self.search.start(now)

    def look_elsewhere(self, received: ReceivedSet, to: Address | None, now: float) -> list[Effect]:
        """Begin to look for another parent: `to` first, if it is given, then the one next above and so on."""
        ancestors = self.lineage[1:] if self.address not in self.lineage else ()
        if self.sender is not None and not ancestors:
            ancestors = (self.sender,)
        if to is not None:
            ancestors = (to, *(address for address in ancestors if address != to))
        return self._look(received, ancestors, now)

    def offered(self, offer: Offer, datagram: Datagram, now: float) -> list[Effect]:
        """The answer to a query."""
        return [] if self.search is None else self.search.offered(offer, datagram.source, datagram.hops, now)

    def answered(self, ack: JoinAck, source: Address, now: float) -> tuple[bool, list[Effect]]:
        """The answer to a join: whether there is a new parent now, and what to do about it."""
        search = self.search
        if search is None:
            if ack.reason is Reason.NONE and source != self.parent:
                return False, [Send(encode_abort(self.session, Reason.MOVED), source)]
            return False, []
        accepted, effects = search.answered(ack, source, now)
        self.epoch = search.join.epoch
        if not accepted:
            if ack.reason is Reason.NONE and source != self.parent:  # too late: somebody else has been asked since
                effects.append(Send(encode_abort(self.session, Reason.MOVED), source))
            return False, effects
        self.search = None
        if self.parent is not None and self.parent != source:
            effects += [Send(encode_abort(self.session, Reason.MOVED), self.parent)] * ABORT_COPIES
        if self.skew is not None and self.parent != source:
            self.skew.restart(now)
        self.former, self.parent = self.parent, source
        self.address = ack.child
        self.lineage = (source, *ack.lineage)
        self.heard_at = now
        self._probe_at = now
        self.serve(self.serving)
        return True, effects

    def serve(self, serving: bool) -> None:
        """Others depend on this receiver, or do no longer."""
        self.serving = serving
        self.is_active = serving or self.search is not None or self.parent != self.sender

    # --- the parent's life

    @property
    def is_lost(self) -> bool:
        """Whether there is no parent that is known to live."""
        return self.parent is None or self.search is not None

    def probed(self, probe: Probe, now: float) -> list[Effect]:
        """The parent asks, and says what is new of itself."""
        self.lineage = (self.lineage[0], *probe.lineage)
        self.sender_heard_at = max(self.sender_heard_at, now - probe.silence_ms / 1000)
        assert self.parent is not None
        return [Send(encode_probe_ack(self.session, probe.time_us, 0), self.parent)]

    @property
    def is_in_a_loop(self) -> bool:
        """Whether the receiver is its own ancestor: two that moved at once can bring that about."""
        return self.address in self.lineage

    def probe_answered(self, ack: ProbeAck) -> None:
        """The parent has told what it takes the sender's clock to be."""
        if ack.clock_us:
            if self.skew is None:
                self.skew = ClockSkew()
            self.skew.add(ack.time_us / 1e6, (ack.clock_us - ack.time_us) / 1e6)

    def sender_clock_us(self, at: float) -> int:
        """What the sender's clock showed at a time of this one's, up to a constant; 0: unknown."""
        offset = None if self.skew is None else self.skew.offset(at)
        return 0 if offset is None else min(max(0, int((at + offset) * 1e6)), MAX_TIME_US)

    def sender_silence_s(self, now: float) -> float:
        """How long ago the sender was known to be alive."""
        return max(0.0, now - self.sender_heard_at)

    def is_parent_dead(self, now: float) -> bool:
        """Whether the parent was silent for too long. The sender's own silence is judged elsewhere."""
        return (
            self.search is None
            and self.parent is not None
            and self.parent != self.sender
            and now >= self.heard_at + self._options.parent_timeout_s
        )

    @property
    def wake_at(self) -> float | None:
        """When `handle_timer` is due."""
        if self.search is not None:
            return self.search.wake_at
        if self.parent is None:
            return self._look_at
        if self.parent == self.sender:
            return self._probe_at if self.serving else None
        at = self.heard_at + SUSPICION * self._options.probe_interval_s
        if at < self._probe_at:
            at = self._probe_at
        return min(at, self._probe_at) if self.serving else at

    def handle_timer(self, now: float) -> list[Effect]:
        """Go on searching, or probe the parent."""
        if self._look_at is not None:
            return self._look(None, (), now) if now >= self._look_at else []
        if self.search is not None:
            effects = self.search.handle_timer(now)
            self.epoch = self.search.join.epoch
            return effects
        if self.parent is None or now < self._probe_at:
            return []
        suspect = self.parent != self.sender and now >= self.heard_at + SUSPICION * self._options.probe_interval_s
        if not suspect and not self.serving:
            return []
        self._probe_at = now + (SUSPICIOUS_S if suspect else self._options.probe_interval_s)
        return [Send(encode_probe(self.session, int(now * 1e6)), self.parent)]
