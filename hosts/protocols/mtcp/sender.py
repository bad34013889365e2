"""MTCP's sender: the root of the tree.

It announces itself on the group until enough receivers have joined, somewhere in the tree, multicasts the stream within
the current window (3.7), and ends when every receiver has confirmed the stream or was dropped.
"""

import random
from collections import Counter
from collections.abc import Sequence

from hosts.endpoint import (
    Address,
    Datagram,
    Effect,
    PeerDropped,
    PeerFinished,
    PeerJoined,
    PeerRefused,
    Sample,
    Send,
    SessionEnded,
    SessionStarted,
)
from hosts.parts.sending import StreamSender
from hosts.protocol import Session
from hosts.protocols.mtcp.agent import Agent
from hosts.protocols.mtcp.child import Child
from hosts.protocols.mtcp.control import Entry, Join, State, encode_abort, encode_announce
from hosts.protocols.mtcp.family import Family
from hosts.protocols.mtcp.options import MtcpOptions
from hosts.protocols.mtcp.packets import SACK_BITS, Feedback, encode_data, parse
from hosts.protocols.mtcp.report import sender_sample
from hosts.protocols.mtcp.roster import FINAL, WHOLE, Roster
from hosts.wire.checks import read_packet
from hosts.wire.farewell import ABORT_COPIES
from hosts.wire.reason import Reason

LINGER_S = 0.5
"""After the last confirmation the sender stays this long to answer repeated ones (ours: several FIN retries)."""
QUIET_S = 1.0
"""A sender that had nothing to send for so long announces itself again, for those that come late (ours)."""
MANY_CHILDREN = 5
"""From so many on their acknowledgments are read together (ours)."""
CANDIDATES = 64
"""So many agents are named to somebody who looks for a parent (ours)."""


class MtcpSender(StreamSender):
    """See the module. It is the root's Node (family.py). States: waiting, sending, closing, closed."""

    def __init__(self, session: Session, options: MtcpOptions, rng: random.Random, *, first: int = 0) -> None:
        """`first` is the sequence number of the first packet."""
        super().__init__(session, rng)
        self.options = options
        self.address: Address | None = None
        self.lineage: tuple[Address, ...] = ()
        self.agent = Agent(self.number, options, self.counters, first=first, own_clock=True)
        self.roster = Roster()
        """All receivers of the session."""
        self.family = Family(self.number, options, self.counters, self, self.agent, self.roster)
        self.limit = "application"
        """What kept the sender from sending the next packet: cwnd, advertised_window, sack, rate, application."""
        self._rng = rng
        self._cwnd_seen = 0.0  # when it last looked at what the windows allow
        self._active: set[Address] = set()  # members that have not ended
        self._told: set[Address] = set()  # members whose end the application was told of
        # Members below one that ended: when they should have turned up elsewhere, and who that was.
        self._orphans: dict[Address, tuple[float, Address]] = {}
        self.end_sent = False
        """Whether the last packet of the stream has left, so that only repairs and confirmations are missing."""
        self._closing_at: float | None = None  # closing: when it is over
        self._wait_until = 0.0
        self._announce_at = 0.0
        self._rate_at: float | None = None  # rate limit: when the next packet may leave

    # --- the application's side

    @property
    def send_space(self) -> int:
        if self._finishing or self.state in ("closing", "closed"):
            return 0
        return max(0, self.options.buffer_bytes - len(self._unsent))

    @property
    def patience_s(self) -> float:
        """To read one acknowledgment at a time takes several times as long as to read one of many."""
        return self.options.patience_s if len(self.agent.children) >= MANY_CHILDREN else 0.0

    def close(self, *, now: float, reason: str) -> Sequence[Effect]:
        if self.closed:
            return ()
        return self._abort(Reason.INTERRUPTED, reason)

    def sample(self, *, now: float) -> Sample:
        return sender_sample(self, now)

    # --- inputs

    def start(self, *, now: float) -> Sequence[Effect]:
        self._wait_until = now + self.session.wait
        self._announce_at = now
        return self.handle_timer(now=now)

    def receive(self, datagram: Datagram, *, now: float) -> Sequence[Effect]:
        packet = read_packet(datagram.data, parse, self.counters, self.number)
        if packet is None:
            return ()
        if self.closed:
            return ()
        agent = self.agent
        child = agent.children.get(datagram.source)
        if child is not None and type(packet) is Feedback:
            agent.moved = False
            effects = self.family.feedback(child, packet, datagram, now)
            if self.limit == "cwnd" and not agent.moved and agent.window.cwnd == self._cwnd_seen:
                return effects  # the windows are as they were, and kept it from sending then
        else:
            self.address = datagram.destination
            answer = self.family.control(packet, datagram, now)
            if answer is None:
                self.counters["drop_stranger" if child is None else "drop_unexpected"] += 1
                return ()
            effects = answer
            if self.state != "closing":
                self._advance(effects, now)
        if self.state == "sending":
            self._transmit_into(effects, now)
        return effects

    # --- who takes part: what Family asks and tells

    @property
    def has_end(self) -> bool:
        return self.end_sent

    @property
    def kept_offset(self) -> int:
        return 0  # there is nobody above

    def abandoned(self, child: Child) -> None:
        """Those below it may still need what it would have kept for them."""
        if any(self._may_be_lost(entry) for entry in self.roster.below(child.address)):
            self.agent.reports.hold(child.keep_offset, self.options.buffer_bytes)

    def refuses(self, join: Join, source: Address, now: float) -> Reason:
        return Reason.STARTED if self.state == "closing" else Reason.NONE

    def owes(self, source: Address, now: float) -> bool:
        orphan = self._orphans.get(source)
        # In the first half of its time it may still find another parent that holds what it lacks.
        return orphan is not None and now >= orphan[0] - self._grace_s / 2

    def refused(self, source: Address, reason: Reason) -> list[Effect]:
        if reason is Reason.STARTED or (reason is Reason.FULL and not self.candidates()):
            return [PeerRefused(source, reason.text)]
        return []

    def sender_clock_us(self, at: float) -> int:
        return int(at * 1e6)

    def sender_silence_s(self, now: float) -> float:
        return 0.0

    def candidates(self) -> tuple[Address, ...]:
        load = Counter(entry.parent for entry in self.roster.members.values() if entry.state not in FINAL)
        limit = self.options.fan_out
        open_to = [
            entry
            for entry in self.roster.members.values()
            if entry.state is State.ACTIVE and load[entry.address] < limit and entry.address not in self._orphans
        ]
        agents = [entry.address for entry in open_to if entry.agent or load[entry.address]]
        spares: list[Address] = []
        if len(self.agent.children) >= limit:  # agents may have reasons of their own to refuse somebody
            spares = [entry.address for entry in open_to if entry.spare and not (entry.agent or load[entry.address])]
        named = self._rng.sample(agents, CANDIDATES) if len(agents) > CANDIDATES else agents
        room = CANDIDATES - len(named)
        return (*named, *(self._rng.sample(spares, room) if len(spares) > room else spares))

    def changed(self, entry: Entry, now: float) -> list[Effect]:
        """Follow a member from its joining to its end; who was below it is expected to turn up elsewhere in time."""
        address = entry.address
        self.roster.untold.clear()
        if entry.state is State.COMPLETE and not self.end_sent:
            entry = entry._replace(state=State.LEFT, reason=Reason.BROKEN_STREAM)
            self.roster.members[address] = entry
        orphan = self._orphans.pop(address, None)
        if entry.state not in (State.ACTIVE, State.COMPLETE):
            until = now + self._grace_s
            for below in self.roster.below(address):
                if self._may_be_lost(below):
                    self._orphans.setdefault(below.address, (until, address))
        elif orphan is not None:  # it is back, and with it all that is below
            for below in self.roster.below(address):
                if self._orphans.get(below.address, (0.0, None))[1] == orphan[1]:
                    del self._orphans[below.address]
        self._release()
        return self._tell(entry)

    @property
    def _grace_s(self) -> float:
        """How long those below one that was given up, or has left, may still look for another parent: they know that it
        has gone after `parent_timeout_s`, and it was silent for longer than that.
        """
        return min(2 * self.options.parent_timeout_s, self.options.drop_after_s)

    def _may_be_lost(self, entry: Entry) -> bool:
        """Whether a member below one that has gone must turn up somewhere else."""
        waited_for = entry.state is State.ACTIVE or (entry.state is State.COMPLETE and entry.agent)
        return waited_for and entry.address not in self.agent.children

    def _tell(self, entry: Entry) -> list[Effect]:
        """The application."""
        address = entry.address
        is_known = address in self._active
        if entry.state is State.ACTIVE:
            self._active.add(address)
            return [] if is_known else [PeerJoined(address)]
        if not is_known and address in self._told:
            return []
        self._active.discard(address)
        self._told.add(address)
        effects: list[Effect] = [] if is_known else [PeerJoined(address)]
        if entry.state is State.LOST:
            return [*effects, PeerDropped(address, entry.reason.text)]
        complete = entry.state in WHOLE
        return [*effects, PeerFinished(address, complete, "" if complete else entry.reason.text)]

    def _release(self) -> None:
        if not self._orphans:
            self.agent.reports.release()

    def start_now(self, *, now: float) -> Sequence[Effect]:
        effects: list[Effect] = []
        if self.state == "waiting" and self.agent.children:
            self._begin(effects, now)
        return effects

    def _begin(self, effects: list[Effect], now: float) -> None:
        self.state = "sending"
        self.detail = ""
        effects.append(SessionStarted())
        self._transmit_into(effects, now)

    def _advance(self, effects: list[Effect], now: float) -> None:
        """Begin when enough have joined; end when all are through."""
        if self.state == "waiting" and len(self._active) >= self.session.receivers:
            self._begin(effects, now)
        elif self.state == "sending" and not self._active and not self.agent.children:
            self.state = "closing"
            self._closing_at = now + LINGER_S
            self._unsent.clear()

    def _end(self) -> SessionEnded:
        self.state = "closed"
        others = [end for end in self.roster.members.values() if end.state not in WHOLE]
        failed = [f"{end.address}: {end.reason.text}" for end in others]
        if not self.end_sent:
            self.detail = "no receiver is left" + (f" ({'; '.join(failed)})" if failed else "")
            return SessionEnded(False, self.detail)
        self.detail = "; ".join(failed)
        return SessionEnded(not failed, self.detail)

    def _abort(self, reason: Reason, text: str) -> list[Effect]:
        packet = encode_abort(self.number, reason)
        effects: list[Effect] = [Send(packet, self.session.group)] * ABORT_COPIES
        effects += self.family.dismiss(reason)
        self.state = "closed"
        self.detail = text
        effects.append(SessionEnded(False, text))
        return effects

    # --- data

    def _resume(self, now: float) -> Sequence[Effect]:
        return self._transmit(now) if self.state == "sending" else ()

    def _transmit(self, now: float) -> list[Effect]:
        effects: list[Effect] = []
        self._transmit_into(effects, now)
        return effects

    def _transmit_into(self, effects: list[Effect], now: float) -> None:
        """Send what the windows allow: the current window, the advertised windows, and the reach of the bitmap."""
        agent = self.agent
        unsent = self._unsent
        payload_bytes = self.options.payload_bytes
        summary = agent.summary()
        window = summary.current_window
        own = summary.min_cwnd == int(agent.window.cwnd * payload_bytes)
        cwnd = agent.windows.governing_cwnd = summary.min_cwnd // payload_bytes
        self._cwnd_seen = agent.window.cwnd
        window_end: int | None = None
        while True:
            size = min(payload_bytes, len(unsent))
            if size < payload_bytes and (not self._finishing or self.end_sent):
                self.limit = "application"
                return
            if size > window:
                self.limit = "cwnd"
                agent.windows.used |= own
                return
            offset = agent.end_offset
            if window_end is None:
                window_end = agent.send_window_end
            if offset + size > window_end:
                self.limit = "advertised_window"
                return
            if agent.in_flight >= SACK_BITS:
                self.limit = "sack"
                return
            if self.options.rate_limit_bps and not self._rate_allows(size, now):
                self.limit = "rate"
                return
            end = self._finishing and size == len(unsent)
            time_us = int(now * 1e6)
            data = encode_data(self.number, end, agent.end, time_us, offset, bytes(unsent[:size]), cwnd)
            del unsent[:size]
            agent.buffer(data, offset, size, time_us, now)
            window -= size
            self.counters["data_packets"] += 1
            self.counters["udp_bytes"] += len(data)
            self._announce_at = now + QUIET_S
            effects.append(Send(data, self.session.group))
            if end:
                self.end_sent = True

    def _rate_allows(self, size: int, now: float) -> bool:
        at = now if self._rate_at is None or self._rate_at < now - self.options.ack_delay_s else self._rate_at
        if at > now:
            return False
        self._rate_at = at + size * 8 / self.options.rate_limit_bps
        return True

    # --- timers

    @property
    def wake_at(self) -> float | None:
        if self.state == "closing":
            return self._closing_at
        if self.state == "closed":
            return None
        at = self._announce_at
        family_at = self.family.wake_at
        if family_at is not None and family_at < at:
            at = family_at
        if self.state == "waiting":
            return min(at, self._wait_until)
        if self.limit == "rate" and self._rate_at is not None and self._rate_at < at:
            return self._rate_at
        return at

    def handle_timer(self, *, now: float) -> Sequence[Effect]:
        if self.state == "closing" and self._closing_at is not None and now >= self._closing_at:
            return (self._end(),)
        if self.state not in ("waiting", "sending"):
            return ()
        effects = self.family.handle_timer(now, blocked=self.limit == "advertised_window")
        if self.state == "sending" and not self.agent.children:  # nobody is left who could tell of those below
            for address in self._active:
                self._orphans.setdefault(address, (now + self._grace_s, address))
        self._give_up_orphans(effects, now)
        if self.state == "waiting":
            self._wait(effects, now)
        self._advance(effects, now)
        if self.state == "sending":
            self._transmit_into(effects, now)
        if self.state in ("waiting", "sending") and now >= self._announce_at:
            self._announce_at = now + (self.options.announce_s if self.state == "waiting" else QUIET_S)
            effects.append(Send(encode_announce(self.number, self.options.payload_bytes), self.session.group))
        return effects

    def _give_up_orphans(self, effects: list[Effect], now: float) -> None:
        for address in [address for address, (until, _) in self._orphans.items() if now >= until]:
            del self._orphans[address]
            news = self.roster.note(self.roster.members[address]._replace(state=State.LOST, reason=Reason.SILENT))
            if news is not None:
                effects += self.changed(news, now)
        self._release()

    def _wait(self, effects: list[Effect], now: float) -> None:
        joined = len(self._active)
        self.detail = f"{joined} of {self.session.receivers} receivers have joined"
        if now >= self._wait_until:
            if joined:
                self._begin(effects, now)
            else:
                effects += self._abort(Reason.NONE, f"no receiver joined within {self.session.wait:g} s")
