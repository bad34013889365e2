"""A receiver as a sender's agent: it serves other receivers (MTCP, 2).

It keeps what arrives for its children, repairs what they lack, and tells its parent who is below. It is its family's
Node (family.py).
"""

from collections import Counter
from typing import Final

from hosts.endpoint import Address, Datagram, Effect
from hosts.parts.reassembly import Reassembly
from hosts.protocols.mtcp.agent import Agent
from hosts.protocols.mtcp.attachment import Attachment
from hosts.protocols.mtcp.family import Family
from hosts.protocols.mtcp.feedback import ReceiverFeedback
from hosts.protocols.mtcp.options import MtcpOptions
from hosts.protocols.mtcp.packets import Data, Feedback, Packet, Repair, encode_data
from hosts.protocols.mtcp.roster import Roster
from hosts.protocols.mtcp.status import windows_row
from hosts.protocols.mtcp.tree_packets import Entry, Join, Query, State
from hosts.wire.reason import Reason

GIVEN_UP: Final = (Reason.SILENT, Reason.STALLED, Reason.UNPROVEN, Reason.TOO_SLOW)
"""What a parent says to one child, of which it is about that child alone."""


class Serving:
    """What one receiver does for others."""

    def __init__(
        self,
        session: int,
        options: MtcpOptions,
        counters: Counter[str],
        reception: Reassembly[Data | Repair],
        attachment: Attachment,
        feedback: ReceiverFeedback,
        now: float,
    ) -> None:
        """Of a receiver that has so much of the stream, has that place in the tree, and sends that feedback."""
        self._options = options
        self._attachment = attachment
        self._feedback = feedback
        self.roster = Roster()
        self.agent = Agent(
            options, counters, first=reception.received.cumulative, first_offset=reception.delivered, own_clock=False
        )
        self.agent.has_end = reception.ended
        self.family = Family(session, options, counters, self, self.agent, self.roster)
        self.children = self.agent.children
        for seq, packet in reception.early():
            self.arrived(seq, packet, True, now)

    @staticmethod
    def is_wanted(packet: Packet) -> bool:
        """Whether somebody asks a receiver that serves nobody yet."""
        return isinstance(packet, (Join, Query))

    # --- the Node

    @property
    def address(self) -> Address | None:
        """As the parent sees it."""
        return self._attachment.address

    @property
    def lineage(self) -> tuple[Address, ...]:
        """See Node."""
        return self._attachment.lineage

    @property
    def kept_offset(self) -> int:
        """See Node."""
        return self._feedback.kept_offset

    @property
    def refusal(self) -> Reason:
        """See Node."""
        if self._attachment.is_lost or not (self._options.agent or self._options.spare):
            return Reason.FULL
        return Reason.NONE

    def sender_clock_us(self, at: float) -> int:
        """See Node."""
        return self._attachment.sender_clock_us(at)

    def sender_silence_s(self, now: float) -> float:
        """See Node."""
        return self._attachment.sender_silence_s(now)

    # --- inputs

    def receive(self, packet: Packet, datagram: Datagram, now: float) -> list[Effect] | None:
        """From a child, or somebody who wants to be one; None: neither."""
        child = self.children.get(datagram.source)
        if child is not None and type(packet) is Feedback:
            skew = self._attachment.skew
            if skew is not None:
                self.agent.delays.drift_s = skew.gained(now)
            effects = self.agent.feedback(child, packet, now, datagram.arrived_at)
            effects += self._feedback.summary_changed(now)
            return effects + self.family.pass_switches_by(now)
        answer = self.family.control(packet, datagram, now)
        if answer is None:
            return None
        self._attachment.serve(bool(self.children))
        return answer + self.report(now)

    def arrived(self, seq: int, packet: Data | Repair, is_new: bool, now: float) -> list[Effect]:
        """A packet came in: the children may need it."""
        is_multicast = type(packet) is Data
        if isinstance(packet, Data):
            self.agent.congestion.governed_by(packet.cwnd)
        if not is_new or seq < self.agent.store.first:
            return []
        session, end, _, send_time_us, offset = packet[:5]
        self.agent.has_end |= end
        data = encode_data(session, end, packet.seq, send_time_us, offset, packet.payload)
        self.agent.arrived(seq, data, offset, len(packet.payload), send_time_us if is_multicast else None, now)
        return [] if is_multicast else self.agent.pass_on_repair(seq, now)

    def completed(self, now: float) -> list[Effect]:
        """The receiver itself has everything; its children may not have it yet."""
        place = self._attachment
        if place.address is None or place.parent is None or not self.children:
            return []
        options = self._options
        self.roster.note(
            Entry(place.address, place.parent, place.epoch, State.COMPLETE, Reason.NONE, options.agent, options.spare)
        )
        return self.report(now)

    def leave(self, now: float) -> list[Effect]:
        """The children are told to move to the parent, or to the sender."""
        to = self._attachment.parent or self._attachment.sender
        return [] if to is None else self.family.leave(to, now)

    def dismiss(self, reason: Reason) -> list[Effect]:
        """It is over. Who was given up is not the sender: its children go on elsewhere."""
        return self.family.dismiss(Reason.NOT_A_CHILD if reason in GIVEN_UP else reason)

    def acknowledged(self, number: int, now: float) -> list[Effect]:
        """The parent has had the report of this number."""
        self.roster.acknowledged(number)
        return self.report(now)

    @property
    def is_alone(self) -> bool:
        """Whether nobody depends on it any more, and the parent knows what became of those who did."""
        return not self.children and self.roster.is_told

    def report(self, now: float) -> list[Effect]:
        """Tell the parent who is below, if there is news."""
        place = self._attachment
        if place.parent is None or place.is_lost:
            return []
        return self.roster.report(self.family.session, place.parent, now, self._options.announce_s)

    # --- timers

    @property
    def wake_at(self) -> float | None:
        """When `handle_timer` is due."""
        at = self.family.wake_at
        repeat_at = None if self._attachment.is_lost else self.roster.repeat_at
        return repeat_at if at is None or (repeat_at is not None and repeat_at < at) else at

    def handle_timer(self, now: float) -> list[Effect]:
        """Probes, repairs, reports."""
        blocked = self.agent.advertised.end - self.agent.end_offset < self._options.payload_bytes
        effects = self.family.handle_timer(now, blocked=blocked)
        effects += self._feedback.summary_changed(now)
        self._attachment.serve(bool(self.children))
        return effects + self.report(now)

    # --- for the status row

    def row(self) -> dict[str, object]:
        """The windows, and what it does for its children."""
        agent = self.agent
        return {
            "children": len(agent.children),
            "cwnd": agent.congestion.window.cwnd,
            **windows_row(agent),
            "rto_rtd_s": agent.delays.rto_rtd,
            "rto_rtt_s": agent.delays.rto_rtt,
            "child_feedback_packets": agent.counters["child_feedback_packets"],
            "child_repair_packets": agent.counters["child_repair_packets"],
            "held_packets": len(agent.store.packets),
        }
