"""MTCP's receiver: a leaf of the tree, or an agent in it.

It hears the announcement, finds a parent, delivers the stream in order, and feeds back what it has. When others join
it, it buffers and repairs what they lack, and sums up their congestion in its own feedback.
"""

import random
from collections.abc import Sequence

from hosts.endpoint import (
    Address,
    Datagram,
    Effect,
    JoinGroup,
    Sample,
    Send,
    SessionStarted,
    StreamEnded,
)
from hosts.parts.reassembly import BrokenStreamError, Reassembly
from hosts.parts.receiving import SessionReceiver
from hosts.protocol import Session
from hosts.protocols.mtcp.attachment import Attachment
from hosts.protocols.mtcp.control import Announce, Join, JoinAck, Move, Offer, Probe, ProbeAck, ReportAck, encode_abort
from hosts.protocols.mtcp.ending import Ending
from hosts.protocols.mtcp.options import MtcpOptions
from hosts.protocols.mtcp.packets import SACK_BITS, Data, Packet, Repair, parse
from hosts.protocols.mtcp.report import receiver_sample
from hosts.protocols.mtcp.serving import Serving
from hosts.protocols.mtcp.upward import Upward
from hosts.wire.checks import read_packet
from hosts.wire.farewell import Abort, Fin
from hosts.wire.reason import Reason
from hosts.wire.seq import extend

PREMATURE_PACKETS = 16
"""Data that overtook the answer to our join, kept until that comes: a few initial windows (ours)."""
ELSEWHERE = (Reason.NOT_A_CHILD, Reason.MOVED)
"""A parent that says so is not the end of the session: there are others."""


TO_A_CHILD = (*ELSEWHERE, Reason.SILENT, Reason.STALLED)
"""What the sender says to its child, not to everybody."""


class MtcpReceiver(SessionReceiver):
    """See the module. States: listening (for an announcement), joining, member, leaving (until its children have
    moved), confirming, closed.
    """

    def __init__(self, session: Session, options: MtcpOptions, rng: random.Random) -> None:
        super().__init__(session)
        self.options = options
        self.reception: Reassembly[Data | Repair] = Reassembly(0, 0, options.buffer_bytes, SACK_BITS)
        self.place = Attachment(options)
        self.upward = Upward(options, self.reception)
        self.serving: Serving | None = None
        """What it does for others; None while nobody has asked."""
        self._premature: list[tuple[Data, float]] = []  # from our sender, before we were told that we are a member
        self._search_at: float | None = None
        self.ending = Ending(self)

    # --- the application's side

    def consumed(self, count: int, *, now: float) -> Sequence[Effect]:
        self.reception.consume(count)
        feedback = self.upward.opened(now)
        return () if feedback is None else (self._to_parent(feedback),)

    def confirm(self, *, complete: bool, now: float, reason: Reason = Reason.NONE) -> Sequence[Effect]:
        return self.ending.confirmed(complete, reason, now)

    def close(self, *, now: float, reason: str) -> Sequence[Effect]:
        return self.ending.interrupted(now, reason)

    @property
    def patience_s(self) -> float:
        """A leaf may wait: what it answers says how long ago it got that (`held_us`)."""
        return self.options.patience_s if self.serving is None else 0.0

    def sample(self, *, now: float) -> Sample:
        return receiver_sample(self, now)

    # --- inputs

    def start(self, *, now: float) -> Sequence[Effect]:
        self.place.sender_heard_at = now
        return (JoinGroup(self.session.group, self.session.source),)

    def receive(self, datagram: Datagram, *, now: float) -> Sequence[Effect]:
        if self.closed:
            return ()
        packet = read_packet(datagram.data, parse, self.counters)
        if packet is None:
            return ()
        place = self.place
        source = datagram.source
        if packet.session != self.number or place.sender is None:
            return self._first_heard(packet, datagram, now)
        if source == place.sender:
            place.sender_heard_at = now
            if type(packet) is Data:
                if self.state == "member":
                    return self._take(packet, now, datagram.arrived_at)
                return self._data(packet, datagram, now)
        if source == place.parent:
            place.heard_at = now
            return self._from_parent(packet, datagram, now)
        return self._from_others(packet, datagram, now)

    def _first_heard(self, packet: Packet, datagram: Datagram, now: float) -> Sequence[Effect]:
        """From somebody, while the sender is not known yet."""
        if self.number is not None and packet.session != self.number:
            self.counters["drop_other_session"] += 1
            return ()
        # Data instead of an announcement: the session has started without us.
        if not isinstance(packet, (Announce, Data)) or not self.may_begin_with(datagram):
            self.counters["drop_stranger"] += 1
            return ()
        self.number = self.place.session = packet.session
        self.place.sender = datagram.source
        self.place.sender_heard_at = now
        self.state = "joining"
        if self.options.given_parents is None and not self.options.agent and isinstance(packet, Announce):
            self._search_at = now + self.options.announce_s  # agents first, so that there is somebody to be found
            return ()
        return self.place.look(self._introduction(), self._progress, now)

    def _introduction(self) -> Join:
        member = self.state != "joining"
        options = self.options
        return Join(
            self.number or 0,
            options.agent or (self.serving is not None and bool(self.serving.children)),
            options.spare,
            member,
            options.from_start,
            0,
            options.buffer_bytes,
            self.reception.received.cumulative if member else 0,
        )

    def _progress(self) -> int:
        return self.reception.received.cumulative

    def _from_parent(self, packet: Packet, datagram: Datagram, now: float) -> Sequence[Effect]:
        place = self.place
        if type(packet) is Repair:
            return self._data(packet, datagram, now)
        if type(packet) is Probe:
            effects = place.probed(packet, now)
            return [*effects, *self._look_elsewhere(now)] if place.is_in_a_loop else effects
        if isinstance(packet, ProbeAck):
            place.probe_answered(packet)
            return ()
        if isinstance(packet, ReportAck) and self.serving is not None:
            self.serving.roster.acknowledged(packet.number)
            return [*self.serving.report(now), *self.ending.end_if_alone(now)]
        if isinstance(packet, Fin) and packet.answer and self.state == "confirming":
            return self.ending.acknowledged()
        if isinstance(packet, Move) and self.state == "member":
            return self._look_elsewhere(now, packet.parent) if place.search is None else ()
        if isinstance(packet, Abort):
            if (packet.reason in ELSEWHERE and place.parent != place.sender) or packet.reason is Reason.NOT_A_CHILD:
                return self._look_elsewhere(now) if self.state in ("member", "leaving") else ()
            return self.ending.dismissed(packet.reason)
        return self._from_others(packet, datagram, now)

    def _from_others(self, packet: Packet, datagram: Datagram, now: float) -> Sequence[Effect]:
        """From a child, from the sender, from somebody who may become a parent or a child."""
        place = self.place
        source = datagram.source
        if isinstance(packet, Offer):
            return [*place.offered(packet, datagram, now), *self._end_if_refused()]
        if isinstance(packet, JoinAck):
            return self._join_answered(packet, source, now)
        if type(packet) is Repair and source == place.former:
            return self._data(packet, datagram, now)
        if source == place.sender:
            if isinstance(packet, Announce):
                return ()
            if isinstance(packet, Abort) and packet.reason not in TO_A_CHILD:
                return self.ending.dismissed(packet.reason)
        is_joined = place.search is not None and source == place.search.target  # its answer may be late
        if self.state in ("member", "leaving") and place.address is not None and not is_joined:
            if self.serving is None and Serving.is_wanted(packet):
                self.serving = Serving(self, now)
            if type(packet) is Repair or (type(packet) is Probe and not self._is_child(source)):
                # A late join made it take us for its child.
                return (Send(encode_abort(packet.session, Reason.MOVED), source),)
            if self.serving is not None:
                answer = self.serving.receive(packet, datagram, now)
                if answer is not None:
                    return [*answer, *self.ending.end_if_alone(now)]
        self.counters["drop_unexpected" if source in (place.sender, place.parent) else "drop_stranger"] += 1
        return ()

    def _is_child(self, source: Address) -> bool:
        return self.serving is not None and source in self.serving.children

    # --- the parent

    def _join_answered(self, packet: JoinAck, source: Address, now: float) -> Sequence[Effect]:
        place = self.place
        accepted, effects = place.answered(packet, source, now)
        if accepted:
            if self.state == "joining":
                self.reception = Reassembly(packet.first, packet.offset, self.options.buffer_bytes, SACK_BITS)
            self.upward.begin(self.reception, packet, now)
            if self.state == "joining":
                self.state = "member"
                if self.options.agent:
                    self.serving = Serving(self, now)
                premature, self._premature = self._premature, []
                effects.append(SessionStarted(source))
                for data, arrived_at in premature:
                    effects += self._take(data, now, arrived_at)
            else:
                effects.append(self._to_parent(self.upward.feedback(True, now)))
                if self.serving is not None:
                    self.serving.roster.tell_all()
                    effects += self.serving.report(now)
            return effects
        return [*effects, *self._end_if_refused()]

    def _end_if_refused(self) -> list[Effect]:
        search = self.place.search
        if search is None or search.refused is Reason.NONE:
            return []
        return self.ending.end(False, f"refused: {search.refused.text}")

    def _look_elsewhere(self, now: float, to: Address | None = None) -> list[Effect]:
        """The parent is dead or does not want us, or leaves and tells `to` join: then it still serves meanwhile."""
        place = self.place
        if place.search is not None:
            return []
        self.counters["reparented"] += 1
        ancestors = place.lineage[1:] if place.address not in place.lineage else ()
        if to is None:
            self.upward.stop()
        if place.sender is not None and not ancestors:
            ancestors = (place.sender,)
        if to is not None:
            ancestors = (to, *(address for address in ancestors if address != to))
        return place.look(self._introduction(), self._progress, now, ancestors)

    # --- data

    def _data(self, packet: Data | Repair, datagram: Datagram, now: float) -> Sequence[Effect]:
        if self.state == "member" or self.state == "leaving":
            return self._take(packet, now, datagram.arrived_at)
        if self.state == "joining" and type(packet) is Data and len(self._premature) < PREMATURE_PACKETS:
            # The last one to join starts the session, and its two sockets may be read in either order.
            self._premature.append((packet, now if datagram.arrived_at is None else datagram.arrived_at))
        else:
            self.counters["drop_not_member"] += 1
        return ()

    def _take(self, packet: Data | Repair, now: float, arrived_at: float | None) -> Sequence[Effect]:
        reception = self.reception
        received = reception.received
        seq = extend(packet.seq, received.cumulative)
        if not reception.takes(seq, packet.offset, len(packet.payload)):
            self.counters["drop_outside_window"] += 1
            return ()
        self.counters["data_packets" if type(packet) is Data else "repair_packets"] += 1
        effects: list[Effect] = []
        gap = seq > received.end
        try:
            delivered = reception.add(seq, packet)
        except BrokenStreamError:
            return self.confirm(complete=False, now=now, reason=Reason.BROKEN_STREAM)
        if delivered is None:
            self.counters["duplicate_packets"] += 1
        else:
            effects += delivered
            if reception.ended:
                effects.append(StreamEnded(reception.delivered))
        if self.serving is not None:
            effects += self.serving.arrived(seq, packet, delivered is not None, now)
        if gap:
            self.counters["nacks"] += 1
        feedback = self.upward.arrived(packet, gap, now, arrived_at)
        if feedback is not None:
            effects.append(self._to_parent(feedback))
        return effects

    def _to_parent(self, data: bytes) -> Send:
        assert self.place.parent is not None
        self.counters["feedback_packets"] += 1
        return Send(data, self.place.parent)

    def summary_changed(self, now: float) -> list[Effect]:
        """The children have made room for more."""
        feedback = self.upward.summary_changed(now)
        return [] if feedback is None else [self._to_parent(feedback)]

    # --- timers

    @property
    def wake_at(self) -> float | None:
        state = self.state
        if state == "confirming":
            return self.ending.retry_at
        if state == "listening" or state == "closed":
            return None
        at = self.place.sender_heard_at + self.options.silence_s
        upward = self.upward
        if upward.ack_at is not None and upward.ack_at < at:
            at = upward.ack_at
        if upward.update_at is not None and upward.update_at < at:
            at = upward.update_at
        if self.place.is_active:
            other = self.place.wake_at
            if other is not None and other < at:
                at = other
        if self.serving is not None:
            other = self.serving.wake_at
            if other is not None and other < at:
                at = other
        if self._search_at is not None and self._search_at < at:
            at = self._search_at
        return at

    def handle_timer(self, *, now: float) -> Sequence[Effect]:
        if self.state == "confirming":
            return self.ending.repeat_fin(now)
        if self.state in ("listening", "closed"):
            return ()
        if now >= self.place.sender_heard_at + self.options.silence_s:
            text = f"the sender was silent for {self.options.silence_s:g} s"
            return self.ending.sender_is_gone(text)
        effects: list[Effect] = []
        if self._search_at is not None and now >= self._search_at:
            self._search_at = None
            effects += self.place.look(self._introduction(), self._progress, now)
        feedback = self.upward.handle_timer(now)
        if feedback is not None:
            effects.append(self._to_parent(feedback))
        if self.place.is_parent_dead(now):
            effects += self._look_elsewhere(now)
        effects += self.place.handle_timer(now)
        effects += self._end_if_refused()
        if self.serving is not None:
            effects += self.serving.handle_timer(now)
            effects += self.ending.end_if_alone(now)
        return effects
