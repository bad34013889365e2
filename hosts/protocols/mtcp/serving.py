"""A receiver as a sender's agent: it serves other receivers (MTCP, 2).

It is the Node of its Family (family.py), keeps what arrives for its children, and tells its parent who is
below.
"""

from typing import TYPE_CHECKING

from hosts.endpoint import Address, Datagram, Effect
from hosts.protocols.mtcp.agent import Agent
from hosts.protocols.mtcp.child import Child
from hosts.protocols.mtcp.control import Entry, Join, Query, State
from hosts.protocols.mtcp.family import Family
from hosts.protocols.mtcp.packets import Data, Feedback, Packet, Repair, encode_data
from hosts.protocols.mtcp.roster import Roster
from hosts.wire.reason import Reason

if TYPE_CHECKING:
    from hosts.protocols.mtcp.receiver import MtcpReceiver


class Serving:
    """What one receiver does for others."""

    def __init__(self, receiver: "MtcpReceiver", now: float) -> None:
        reception = receiver.reception
        received = reception.received
        self.receiver = receiver
        self.roster = Roster()
        self.agent = Agent(
            receiver.number or 0,
            receiver.options,
            receiver.counters,
            first=received.cumulative,
            first_offset=reception.delivered,
            own_clock=False,
        )
        self.family = Family(receiver.number or 0, receiver.options, receiver.counters, self, self.agent, self.roster)
        self.children = self.agent.children
        self._has_end = reception.ended
        receiver.upward.agent = self.agent
        for seq, packet in sorted(reception.early.items()):
            self.arrived(seq, packet, True, now)

    @staticmethod
    def is_wanted(packet: Packet) -> bool:
        """Whether somebody asks a receiver that serves nobody yet."""
        return isinstance(packet, (Join, Query))

    # --- what Family asks and tells

    @property
    def address(self) -> Address | None:
        return self.receiver.place.address

    @property
    def lineage(self) -> tuple[Address, ...]:
        return self.receiver.place.lineage

    @property
    def has_end(self) -> bool:
        return self._has_end

    @property
    def kept_offset(self) -> int:
        return self.receiver.upward.kept_offset

    def abandoned(self, child: Child) -> None:
        pass

    def refuses(self, join: Join, source: Address, now: float) -> Reason:
        receiver = self.receiver
        if receiver.place.is_lost or not (receiver.options.agent or receiver.options.spare):
            return Reason.FULL
        return Reason.NONE

    def owes(self, source: Address, now: float) -> bool:
        return False

    def refused(self, source: Address, reason: Reason) -> list[Effect]:
        return []

    def sender_clock_us(self, at: float) -> int:
        return self.receiver.place.sender_clock_us(at)

    def sender_silence_s(self, now: float) -> float:
        return max(0.0, now - self.receiver.place.sender_heard_at)

    def candidates(self) -> tuple[Address, ...]:
        return ()

    def changed(self, entry: Entry, now: float) -> list[Effect]:
        return []

    # --- inputs

    def receive(self, packet: Packet, datagram: Datagram, now: float) -> list[Effect] | None:
        """From a child, or somebody who wants to be one; None: neither."""
        child = self.children.get(datagram.source)
        if child is not None and type(packet) is Feedback:
            skew = self.receiver.place.skew
            if skew is not None:
                self.agent.delays.drift_s = skew.gained(now)
            effects = self.family.feedback(child, packet, datagram, now)
            effects += self.receiver.summary_changed(now)
            return effects
        answer = self.family.control(packet, datagram, now)
        if answer is None:
            return None
        self.receiver.place.serve(bool(self.children))
        return answer + self.report(now)

    def arrived(self, seq: int, packet: Data | Repair, is_new: bool, now: float) -> list[Effect]:
        """A packet came in: the children may need it."""
        is_multicast = type(packet) is Data
        if isinstance(packet, Data):
            self.agent.windows.governed_by(packet.cwnd)
        if not is_new or seq < self.agent.store.first:
            return []
        session, end, _, send_time_us, offset = packet[:5]
        self._has_end |= end
        data = encode_data(session, end, packet.seq, send_time_us, offset, packet.payload)
        self.agent.arrived(seq, data, offset, len(packet.payload), send_time_us if is_multicast else None, now)
        return [] if is_multicast else self.agent.repair_waiting(seq, now)

    def completed(self, now: float) -> list[Effect]:
        """The receiver itself has everything; its children may not have it yet."""
        place = self.receiver.place
        if place.address is None or place.parent is None or not self.children:
            return []
        options = self.receiver.options
        self.roster.note(
            Entry(place.address, place.parent, place.epoch, State.COMPLETE, Reason.NONE, options.agent, options.spare)
        )
        return self.report(now)

    def report(self, now: float) -> list[Effect]:
        """Tell the parent who is below, if there is news."""
        place = self.receiver.place
        if place.parent is None or place.is_lost:
            return []
        return self.roster.report(self.family.session, place.parent, now, self.receiver.options.announce_s)

    # --- timers

    @property
    def wake_at(self) -> float | None:
        """When `handle_timer` is due."""
        at = self.family.wake_at
        repeat_at = None if self.receiver.place.is_lost else self.roster.repeat_at
        return repeat_at if at is None or (repeat_at is not None and repeat_at < at) else at

    def handle_timer(self, now: float) -> list[Effect]:
        """Probes, repairs, reports."""
        blocked = self.agent.send_window_end - self.agent.end_offset < self.receiver.options.payload_bytes
        effects = self.family.handle_timer(now, blocked=blocked)
        effects += self.receiver.summary_changed(now)
        self.receiver.place.serve(bool(self.children))
        return effects + self.report(now)
