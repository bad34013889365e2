"""MTCP's receiver: a leaf of the tree, or an agent in it.

It hears the announcement, finds a parent, delivers the stream in order, and feeds back what it has. When others join
it, it buffers and repairs what they lack, and sums up their congestion in its own feedback. An agent stays until its
children have ended or moved, and its parent knows what became of them.
"""

import random
from collections import Counter
from collections.abc import Sequence

from hosts.endpoint import Address, Datagram, DatagramRun, Effect, JoinGroup, Sample, Send, SessionStarted
from hosts.parts.intake import take, take_run
from hosts.parts.reassembly import BrokenStreamError, Reassembly
from hosts.protocol import Session
from hosts.protocols.mtcp.attachment import Attachment
from hosts.protocols.mtcp.feedback import ReceiverFeedback
from hosts.protocols.mtcp.options import MtcpOptions
from hosts.protocols.mtcp.packets import STREAM, Data, Packet, Repair, parse, parse_data
from hosts.protocols.mtcp.participant import Participant
from hosts.protocols.mtcp.premature import Premature
from hosts.protocols.mtcp.serving import GIVEN_UP, Serving
from hosts.protocols.mtcp.standing import ReceiverState
from hosts.protocols.mtcp.status import reception_row
from hosts.protocols.mtcp.tree_packets import (
    Announce,
    JoinAck,
    Move,
    Offer,
    Probe,
    ProbeAck,
    ReportAck,
    encode_abort,
    encode_query,
)
from hosts.protocols.mtcp.watch import ParentWatch, Verdict
from hosts.wire.checks import read_packet
from hosts.wire.farewell import Abort, Fin
from hosts.wire.header import CE
from hosts.wire.reason import Reason
from hosts.wire.tree.checking import TreeChecker

ELSEWHERE = (Reason.NOT_A_CHILD, Reason.MOVED)
"""A parent that says so is not the end of the session: there are others."""
TO_A_CHILD = (*ELSEWHERE, *GIVEN_UP)
"""What the sender says to its child, not to everybody."""


class MtcpReceiver(Participant):
    """See the module. Its state, and its end, are participant.py's."""

    def __init__(self, session: Session, options: MtcpOptions, rng: random.Random) -> None:
        super().__init__(session, options, rng)
        self._rng = rng
        self._watch = ParentWatch(options)
        self._premature = Premature()

    # --- the application's side

    def check_by(self, checker: TreeChecker) -> None:
        self.checker = checker

    def consumed(self, count: int, *, now: float) -> Sequence[Effect]:
        self.reception.consume(count)
        return self.feedback.opened(now)

    @property
    def patience_s(self) -> float:
        """A leaf may wait: what it answers says how long ago it got that (`held_us`)."""
        return self.options.patience_s if self.serving is None else 0.0

    def sample(self, *, now: float) -> Sample:
        place = self.attachment
        sample = {"state": self.state, **reception_row(self.reception, self.counters)}
        if place.parent is not None:
            reparented = self.counters["reparented"]
            sample |= {"parent": str(place.parent), "level": len(place.lineage), "reparented": reparented}
        if self.serving is not None:
            sample |= self.serving.row()
        return sample

    # --- inputs

    def start(self, *, now: float) -> Sequence[Effect]:
        self.attachment.sender_heard_at = now
        return (JoinGroup(self.session.group, self.session.source),)

    def receive(self, datagram: Datagram, *, now: float) -> Sequence[Effect]:
        if self.closed:
            return ()
        packet: Packet | None = parse_data(datagram.data)
        if packet is None:
            packet = read_packet(datagram.data, parse, self.counters)
        if packet is None:
            return ()
        place = self.attachment
        source = datagram.source
        if packet.session != self.number or place.sender is None:
            return self._first_heard(packet, datagram, now)
        if source == place.sender:
            place.sender_heard_at = now
            if type(packet) is Data:
                self.feedback.marked |= datagram.ecn == CE
                if self._standing.state is ReceiverState.MEMBER:
                    return self._take(packet, now, datagram.arrived_at)
                return self._data(packet, datagram, now)
            if type(packet) is Repair and datagram.destination == self.session.group:
                if self._standing.takes_part:
                    return self._take(packet, now, datagram.arrived_at, to_all=True)
                self.counters["drop_not_member"] += 1
                return ()
        if source == place.parent:
            place.heard_at = now
            return self._from_parent(packet, datagram, now)
        return self._from_others(packet, datagram, now)

    def receive_run(self, run: DatagramRun, *, now: float) -> Sequence[Effect]:
        """Data of a leaf's own sender are taken as they came; but where switches merge, all receivers are to
        acknowledge at the same packets."""
        if run.source != self.attachment.sender or self.feedback.merge:
            return super().receive_run(run, now=now)
        return self.receive_pieces(STREAM, run, now)

    def _first_heard(self, packet: Packet, datagram: Datagram, now: float) -> Sequence[Effect]:
        """From somebody, while the sender is not known yet."""
        announced = isinstance(packet, Announce)
        may_be_first = announced or isinstance(packet, Data)  # then the session has started without us
        if not self.begins(packet.session, datagram, now, announced=announced, may_be_first=may_be_first):
            return ()
        if self._standing.state is ReceiverState.JOINING:  # another session than the one that was being joined
            self._premature.take()
            self.attachment = Attachment(self.options, self._rng)
            self.feedback = ReceiverFeedback(self.options, self.counters, self.reception, self.attachment)
            self._enter(ReceiverState.LISTENING)
        self._enter(ReceiverState.JOINING)
        # A leaf waits: agents first, so that there is somebody to be found.
        waits = self.options.given_parents is None and not self.options.agent and announced
        self.attachment.begin(packet.session, datagram.source, now, self.options.announce_s if waits else 0.0)
        return () if waits else self.attachment.handle_timer(now)

    def _from_parent(self, packet: Packet, datagram: Datagram, now: float) -> Sequence[Effect]:
        place = self.attachment
        if type(packet) is Repair:
            return self._data(packet, datagram, now)
        if type(packet) is Probe:
            effects = place.probed(packet, now)
            return [*effects, *self._look_elsewhere(now)] if place.is_in_a_loop else effects
        if isinstance(packet, ProbeAck):
            place.probe_answered(packet)
            return ()
        if isinstance(packet, ReportAck) and self.serving is not None:
            return [*self.serving.acknowledged(packet.number, now), *self._end_if_alone(now)]
        if isinstance(packet, Fin) and packet.answer and self._standing.state is ReceiverState.CONFIRMING:
            return self._confirmed()
        if isinstance(packet, Move) and self._standing.state is ReceiverState.MEMBER:
            return self._look_elsewhere(now, packet.parent) if place.search is None else ()
        if isinstance(packet, Abort):
            elsewhere = packet.reason in ELSEWHERE and place.parent != place.sender
            if elsewhere or (packet.reason is Reason.NOT_A_CHILD and not self._doubt.is_open(now)):
                return self._look_elsewhere(now) if self._standing.takes_part else ()
            return self._aborted(packet.reason, datagram, now)
        return self._from_others(packet, datagram, now)

    def _from_others(self, packet: Packet, datagram: Datagram, now: float) -> Sequence[Effect]:
        """From a child, from the sender, from somebody who may become a parent or a child."""
        place = self.attachment
        source = datagram.source
        if isinstance(packet, Offer):
            judged = self._known(packet, now) if source == place.sender and place.search is None else []
            return [*judged, *place.offered(packet, datagram, now), *self._end_if_refused()]
        if isinstance(packet, JoinAck):
            return self._join_answered(packet, source, now)
        if type(packet) is Repair and source == place.former:
            return self._data(packet, datagram, now)
        if source == place.sender:
            if isinstance(packet, Announce):
                return ()
            if isinstance(packet, Move) and packet.parent == source and self._has_other_parent:
                return self._leave_parent(now)  # it has given that one up
            if isinstance(packet, Abort) and packet.reason not in TO_A_CHILD:
                return self._aborted(packet.reason, datagram, now)
        is_joined = place.search is not None and source == place.search.target  # its answer may be late
        if self._standing.takes_part and place.address is not None and not is_joined:
            if self.serving is None and Serving.is_wanted(packet):
                self._serve(now)
            if type(packet) is Repair or (type(packet) is Probe and not self._is_child(source)):
                # A late join made it take us for its child.
                return (Send(encode_abort(packet.session, Reason.MOVED), source),)
            if self.serving is not None:
                answer = self.serving.receive(packet, datagram, now)
                if answer is not None:
                    return [*answer, *self._end_if_alone(now)]
        self.counters["drop_unexpected" if source in (place.sender, place.parent) else "drop_stranger"] += 1
        return ()

    def _is_child(self, source: Address) -> bool:
        return self.serving is not None and source in self.serving.children

    def _serve(self, now: float) -> None:
        """Become an agent."""
        self.serving = Serving(
            self.number or 0, self.options, self.counters, self.reception, self.attachment, self.feedback, now
        )
        self.feedback.agent = self.serving.agent

    # --- the parent

    def _join_answered(self, packet: JoinAck, source: Address, now: float) -> Sequence[Effect]:
        place = self.attachment
        accepted, effects = place.answered(packet, source, now)
        if accepted:
            self._watch.begin(now)
            joins = self._standing.state is ReceiverState.JOINING
            if joins:
                options = self.options
                self.reception = Reassembly(
                    packet.first, packet.offset, options.buffer_bytes, options.reach, self.checker
                )
            self.feedback.begin(self.reception, packet, now)
            if joins:
                self._enter(ReceiverState.MEMBER)
                if self.options.agent:
                    self._serve(now)
                effects.append(SessionStarted(source))
                for data, arrived_at in self._premature.take():
                    effects += self._take(data, now, arrived_at)
            else:
                effects += self.feedback.send(True, now)
                if self.serving is not None:
                    self.serving.roster.tell_all()
                    effects += self.serving.report(now)
            return effects
        return [*effects, *self._end_if_refused()]

    def _end_if_refused(self) -> list[Effect]:
        search = self.attachment.search
        if search is None or search.refused is Reason.NONE:
            return []
        return self._end(False, f"refused: {search.refused.text}")

    def _look_elsewhere(self, now: float, to: Address | None = None) -> list[Effect]:
        """The parent is dead or does not want us, or leaves and tells `to` join: then it still serves meanwhile."""
        if self.attachment.search is not None:
            return []
        self.counters["reparented"] += 1
        if to is None:
            self.feedback.stop()
        return self.attachment.look_elsewhere(self.reception.received, to, now)

    @property
    def _has_other_parent(self) -> bool:
        """Whether it is the child of somebody else than the sender."""
        place = self.attachment
        takes_part = self._standing.state is ReceiverState.MEMBER
        return takes_part and place.search is None and place.parent is not None and place.parent != place.sender

    def _watch_parent(self, now: float) -> list[Effect]:
        """Whether the parent does what it is for."""
        place = self.attachment
        levels = len(place.lineage) - 1
        verdict = self._watch.look(self.reception.received, levels, now, ended=self.reception.ended)
        if self.serving is not None and self.serving.roster.unanswered_s(now) >= self.options.parent_timeout_s:
            verdict = Verdict.LEAVE  # it tells nobody of those below, who might wait for that for ever
        if verdict is Verdict.LEAVE and place.sender_silence_s(now) < self.options.parent_timeout_s:
            return self._leave_parent(now)
        if verdict is Verdict.ASK and place.sender is not None:
            return [Send(encode_query(self.number or 0, int(now * 1e6)), place.sender)]
        return []

    def _known(self, offer: Offer, now: float) -> list[Effect]:
        """The sender's answer to a question of `_watch_parent`."""
        if self._has_other_parent and self._watch.told(is_known=offer.member) is Verdict.LEAVE:
            return self._leave_parent(now)
        return []

    def _leave_parent(self, now: float) -> list[Effect]:
        """It does not do what it is for: what it says of those above it is not believed either."""
        place = self.attachment
        assert place.parent is not None
        self.counters["parents_left"] += 1
        self._watch.avoid(place.parent)
        place.avoided = self._watch.avoided
        place.lineage = place.lineage[:1]
        return self._look_elsewhere(now)

    # --- data

    def _data(self, packet: Data | Repair, datagram: Datagram, now: float) -> Sequence[Effect]:
        if self._standing.takes_part:
            return self._take(packet, now, datagram.arrived_at)
        joins = self._standing.state is ReceiverState.JOINING
        if joins and self._premature.keep(packet, now if datagram.arrived_at is None else datagram.arrived_at):
            return self.first_data(len(packet.payload))
        self.counters["drop_not_member"] += 1
        return ()

    def _take(
        self, packet: Data | Repair, now: float, arrived_at: float | None, *, to_all: bool = False
    ) -> Sequence[Effect]:
        """`to_all`: a repair by the sender to the group, parent or not."""
        name = "data_packets" if type(packet) is Data else "repair_packets"
        try:
            taken = take(self.reception, packet, name, self.counters)
        except BrokenStreamError:
            return self.confirm(complete=False, now=now, reason=Reason.BROKEN_STREAM)
        if taken is None:
            return ()
        seq, is_new, gap, effects = taken
        if not self.has_data:
            effects[:0] = self.first_data(len(packet.payload))
        if self.serving is not None:
            effects += self.serving.arrived(seq, packet, is_new, now)
        if gap:
            self.counters["nacks"] += 1
        if to_all and not is_new:
            effects += self.feedback.known(now)
        else:
            is_parents = not to_all or self.attachment.parent == self.attachment.sender
            effects += self.feedback.arrived(packet, gap, now, arrived_at, is_new=is_new, is_parents=is_parents)
        return effects

    def _take_run(self, run: DatagramRun, payload: bytes, now: float) -> Sequence[Effect] | None:
        """Data that follow each other, with all their payload. None: they have to be taken one by one."""
        count = run.packets
        if count == 1 or self.serving is not None or self._standing.state is not ReceiverState.MEMBER:
            return None
        first = run.datagram(0)
        packet = read_packet(first.data, parse, Counter(), self.number)
        if type(packet) is not Data or packet.end:
            return None
        try:
            taken = take_run(self.reception, packet, payload, count, self.counters)
        except BrokenStreamError:
            return self.confirm(complete=False, now=now, reason=Reason.BROKEN_STREAM)
        if taken is None:
            return None
        self.attachment.sender_heard_at = now
        self.feedback.marked |= run.ecn == CE
        if taken.is_gap:
            self.counters["nacks"] += 1
        taken.effects.extend(self.feedback.arrived(packet, taken.is_gap, now, first.arrived_at, count=count))
        return [*self.first_data(len(payload)), *taken.effects]

    # --- timers

    @property
    def wake_at(self) -> float | None:
        state = self._standing.state
        if state is ReceiverState.CONFIRMING:
            return self._standing.retry_at
        if state is ReceiverState.LISTENING or state is ReceiverState.CLOSED:
            return None
        at = min(self.attachment.sender_heard_at + self.options.silence_s, self._doubt.wake_at)
        other = self.feedback.wake_at
        if other is not None and other < at:
            at = other
        if self.attachment.is_active:
            other = self.attachment.wake_at
            if other is not None and other < at:
                at = other
            if self._watch.at < at and self._has_other_parent:
                at = self._watch.at
        if self.serving is not None:
            other = self.serving.wake_at
            if other is not None and other < at:
                at = other
        return at

    def handle_timer(self, *, now: float) -> Sequence[Effect]:
        state = self._standing.state
        if state is ReceiverState.CONFIRMING:
            retry_at = self._standing.retry_at
            return self._send_fin(now) if retry_at is not None and now >= retry_at else ()
        if state is ReceiverState.LISTENING or state is ReceiverState.CLOSED:
            return ()
        if now >= self._doubt.wake_at and (over := self._believe(now)):
            return over
        if now >= self.attachment.sender_heard_at + self.options.silence_s:
            told = self._dismiss_children(Reason.SENDER_SILENT)
            return [*told, *self._end(False, f"the sender was silent for {self.options.silence_s:g} s")]
        effects = self.feedback.handle_timer(now)
        if self.attachment.is_active:
            if self.attachment.is_parent_dead(now):
                effects += self._look_elsewhere(now)
            if now >= self._watch.at and self._has_other_parent:
                effects += self._watch_parent(now)
            effects += self.attachment.handle_timer(now)
            effects += self._end_if_refused()
        if self.serving is not None:
            effects += self.serving.handle_timer(now)
            effects += self._end_if_alone(now)
        return effects
