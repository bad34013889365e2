"""A sender's agent (MTCP, 2): buffers packets until all children have them, repairs them, and keeps the congestion and
transit windows of the paths from the sender to its children.

The sender holds one for its own children; any other agent is a receiver that holds one. Send times are on the sender's
clock, `now` is on the agent's; only differences of their differences are used (3.2).
"""

from collections import Counter, deque
from collections.abc import Sequence

from hosts.endpoint import Address, CongestionSignal, Effect, Send
from hosts.parts.sack import Scoreboard, bits
from hosts.parts.vegas import VegasWindow
from hosts.protocols.mtcp.child import Child
from hosts.protocols.mtcp.deadlines import Deadlines
from hosts.protocols.mtcp.delays import Delays
from hosts.protocols.mtcp.members import Members
from hosts.protocols.mtcp.options import MtcpOptions
from hosts.protocols.mtcp.packets import MERGE_CHILDREN, SACK_BITS, Feedback, encode_repair
from hosts.protocols.mtcp.store import PacketStore, StoredPacket
from hosts.protocols.mtcp.summaries import Summaries
from hosts.protocols.mtcp.window import Summary
from hosts.protocols.mtcp.windows import Windows
from hosts.wire.seq import extend


class Agent:
    """The parent's half of one level of the tree."""

    def __init__(
        self,
        session: int,
        options: MtcpOptions,
        counters: Counter[str],
        *,
        first: int,
        own_clock: bool,
        first_offset: int = 0,
    ) -> None:
        """`first` and `first_offset` are the first packet's. `own_clock`: the agent is the sender itself, so that
        nothing is acknowledged that it does not have. Another agent's counters are its own as a receiver, too: what it
        does for its children has names with `child_` before them.
        """
        self.prefix = "" if own_clock else "child_"
        self._session = session
        self._options = options
        self.counters = counters
        self._own_clock = own_clock
        self.windows = Windows(options, first)
        self.transit = self.windows.transit
        self.children: dict[Address, Child] = {}
        self.by_number: dict[int, Child] = {}
        self.delays = Delays(self.children, options, counters, own_clock=own_clock)
        self.store = PacketStore(first, first_offset, 0 if own_clock else options.agent_history)
        self.reports = Summaries(first_offset)
        self._board = Scoreboard(first)
        self._deadlines = Deadlines(self.store, self._board, self.delays)
        self.repairing: dict[int, Child] = {}
        """Children that are known to lack something, by number."""
        self._free_numbers = deque(range(MERGE_CHILDREN))
        self._next_number = MERGE_CHILDREN
        self.members = Members(self.by_number)
        self.moved = False
        """Something else than cwnd has changed that the summary depends on; who wants to know sets it back before."""
        self._last_send_time: float | None = None  # sender's clock: of the last packet that was multicast
        self._tail_asked = first  # the end of the packets that were asked for because all was silent

    # --- children

    def add_child(
        self,
        address: Address,
        buffer_bytes: int,
        now: float,
        *,
        first: int | None = None,
        first_offset: int | None = None,
    ) -> Child:
        """Admit a child with a buffer of so many bytes, that has everything before packet `first` (default: `end`),
        which must be held.
        """
        first = self.end if first is None else first
        offset = self.store.offset_of(first) if first_offset is None else first_offset
        if self._free_numbers:
            number = self._free_numbers.popleft()
        else:
            number, self._next_number = self._next_number, self._next_number + 1
        if not self.children and not self._own_clock:
            self.windows.begin(self.end)
        child = Child(
            number,
            address,
            self._options,
            now,
            first=first,
            first_offset=self.end_offset if offset is None else offset,
            buffer_bytes=buffer_bytes,
        )
        self.children[address] = child
        self.by_number[number] = child
        self.members.changed()
        self._board.add_child(number, first if first < self.end else None)
        self.reports.add(child)
        self.delays.joined()
        for seq in range(first, self.end):  # nobody waited for them any more, or for somebody who never answers
            packet = self.store.packets.get(seq)
            if packet is not None:
                self._deadlines.restart(seq, packet, self.delays.rto_rtt, now)
        return child

    def remove_child(self, address: Address, now: float) -> None:
        """The child leaves, and with it all that it held back."""
        child = self.children.pop(address)
        number = child.number
        del self.by_number[number]
        self.members.changed()
        self.repairing.pop(number, None)
        if number < MERGE_CHILDREN:
            self._free_numbers.append(number)  # the others come first: switches may still remember this one
        self.reports.remove(child)
        fresh = self._board.remove_child(number, self.end)
        self.completed(fresh, now)
        self.delays.left(child)

    # --- packets

    @property
    def base(self) -> int:
        """The first packet that not all children have."""
        return self._board.base

    @property
    def end(self) -> int:
        """One more than the last packet that was buffered."""
        return self.store.end

    @property
    def end_offset(self) -> int:
        """Stream offset of the packet `end`."""
        return self.store.end_offset

    @property
    def in_flight(self) -> int:
        """Packets from the first that not all children have to the last sent."""
        return self.store.end - self._board.base

    @property
    def send_window_end(self) -> int:
        """Stream offset up to which all children take data: the minimum of the advertised windows."""
        return self.reports.send_window_end

    @property
    def keep_offset(self) -> int | None:
        """Up to here in the stream nobody below needs anything any more; None without children."""
        return int(self.reports.keep_offset) if self.children else None

    def buffer(self, data: bytes, offset: int, size: int, send_time_us: int, now: float) -> None:
        """Packet `end` is multicast now."""
        self.arrived(self.store.end, data, offset, size, send_time_us, now)

    def arrived(self, seq: int, data: bytes, offset: int, size: int, send_time_us: int | None, now: float) -> None:
        """Keep packet `seq`. `send_time_us` is None when it was no multicast that brought it: then it is not in transit
        to the children either, and what they lack of it is repaired from here.
        """
        fresh = self._board.sent(seq)
        packet = StoredPacket(data, offset, size)
        self.store.put(seq, packet)
        if fresh:
            self.completed(fresh, now)
        elif self._board.is_complete(seq):
            self._trim()
        elif send_time_us is not None:
            self._last_send_time = send_time_us / 1e6
            self._deadlines.multicast(seq, self._last_send_time, now)
            packet.counts = self.transit.counts(seq)
            if packet.counts:
                self.transit.sent(size)
        else:
            self._deadlines.restart(seq, packet, self.delays.rto_rtt, now)

    def repair_waiting(self, seq: int, now: float) -> list[Effect]:
        """Repair packet `seq`, which the agent itself had lacked, to the children that have told that they lack it."""
        effects: list[Effect] = []
        for child in self.children.values():
            if seq >= self._board.base and self._board.missing(child.number) >> (seq - self._board.base) & 1:
                child.lost += child.repairs.reported_missing(seq, self.delays.rtt(child), now, now)
                self.repairing[child.number] = child
                self.send_repairs(child, now, effects)
        return effects

    @property
    def window(self) -> VegasWindow:
        """The congestion window (3.5)."""
        return self.windows.congestion

    def summary(self) -> Summary:
        """min_cwnd and max_twnd of the subtree, in bytes (3.8)."""
        cwnd = int(self.window.cwnd * self._options.payload_bytes)
        return self.reports.summary(cwnd, self.transit.size, self.end_offset)

    # --- feedback

    def feedback(self, child: Child, feedback: Feedback, now: float, arrived_at: float | None = None) -> list[Effect]:
        """An ACK or NACK of `child`; `arrived_at` as in Datagram."""
        cumulative = extend(feedback.cumulative, self._board.base)
        if not self.is_possible(cumulative, feedback.sack):
            self.counters["drop_ack_of_unsent"] += 1
            return []
        child.heard_at = now
        child.feedback += 1
        if child.merge:
            child.on_its_own()
        self.delays.feedback_arrived(child, feedback, now if arrived_at is None else arrived_at)
        effects = self.acknowledge(child, cumulative, feedback.sack, feedback.window, now)
        self.moved |= self.reports.reported(child, feedback.min_cwnd, feedback.max_twnd)
        return effects

    def is_possible(self, cumulative: int, sack: int) -> bool:
        """Whether an acknowledgment can be of packets that were sent. Only the sender knows exactly; at other agents a
        child may be ahead, by as much as the sender may send at all.
        """
        limit = self.end if self._own_clock else self.end + SACK_BITS
        return cumulative + (sack.bit_length() + 1 if sack else 0) <= limit and cumulative >= 0

    def acknowledge(self, child: Child, cumulative: int, sack: int, window: int, now: float) -> list[Effect]:
        """`child` has these packets and takes `window` bytes from `cumulative` on: what is missing is repaired."""
        effects: list[Effect] = []
        fresh = self.note_received(child, cumulative, sack, window, now)
        self.completed(fresh, now)
        if sack:
            self._find_missing(child, now, effects)
        if child.repairs:
            self.send_repairs(child, now, effects)
        return effects

    def note_received(self, child: Child, cumulative: int, sack: int, window: int, now: float) -> int:
        """Put down what a child has. Returns what all children have now, for `completed`."""
        offset, highest = self._offsets(cumulative, sack)
        if child.told(cumulative, window, offset, highest, now):
            self.reports.window_moved(child)
        fresh = self._board.acknowledge(child.number, cumulative, sack, self.store.end)
        if child.repairs:
            self._settle_repairs(child, now)
        return fresh

    def note_common(self, children: Sequence[Child], cumulative: int, sack: int, window: int, now: float) -> int:
        """Put down what all of these have, as `note_received` does for one."""
        offset, highest = self._offsets(cumulative, sack)
        moved = [child for child in children if child.told(cumulative, window, offset, highest, now)]
        if moved:
            self.reports.windows_moved(moved)
        numbers = [child.number for child in children]
        fresh = self._board.acknowledge_all(numbers, cumulative, sack, self.store.end)
        if self.repairing:
            for child in children:
                if child.repairs:
                    self._settle_repairs(child, now)
        return fresh

    def _offsets(self, cumulative: int, sack: int) -> tuple[int | None, int | None]:
        """Where in the stream the first packet lies that a child lacks, and the end of the last that it has."""
        offset = self.store.offset_of(cumulative)
        return offset, self.store.offset_of(cumulative + sack.bit_length() + 1) if sack else offset

    def completed(self, fresh: int, now: float) -> None:
        """All children have the packets in the bitmap `fresh` (above the base) now."""
        if not fresh:
            return
        self.moved = True
        base = self._board.base
        transit = self.transit
        packets = self.store.packets
        new = 0
        for seq in bits(fresh, base):
            packet = packets.get(seq)
            if packet is not None and packet.counts:
                packet.counts = False
                if transit.counts(seq):
                    new += 1
                    transit.acknowledged(seq, packet.size)
        self._board.advance()
        self._trim()
        if not self.children:
            return
        if self.windows.completed(fresh.bit_count(), new, base + fresh.bit_length()):
            self.windows.end_round(self._board.base, self.end, self.children.values(), now)
            self.delays.refresh()

    def _trim(self) -> None:
        self.store.trim(self._board.base, self.reports.keep_offset)

    # --- repairs

    def _settle_repairs(self, child: Child, now: float) -> None:
        for seq in child.repairs.pending():
            if self._board.has(child.number, seq):
                child.repairs.acknowledged(seq, now)
                child.progress_at = now
        if not child.repairs:
            self.repairing.pop(child.number, None)

    def _find_missing(self, child: Child, now: float, effects: list[Effect]) -> None:
        repairs = child.repairs
        # What shows that a repair was overtaken. Other agents cannot compare the sender's clock with theirs.
        arrived_by = child.echo_time_us / 1e6 if self._own_clock else now
        rtt = self.delays.rtt(child)
        for seq in bits(self._board.missing(child.number), self._board.base):
            if seq not in self.store.packets:
                continue  # the agent lacks it as well, and has asked for it
            if repairs.reported_missing(seq, rtt, arrived_by, now):
                child.lost += 1
                self.repairing[child.number] = child
            elif repairs.duplicates >= self._options.duplicate_nacks and self.windows.cut(seq, self.end):
                repairs.duplicates = 0  # several consecutive ones mean congestion (2)
                repairs.window.cut()
                effects.append(CongestionSignal("duplicate_nacks", child.address))

    def send_repairs(self, child: Child, now: float, effects: list[Effect]) -> None:
        """What the child lacks and its retransmission window allows."""
        for seq in child.repairs.take(now):
            packet = self.store.packets[seq]
            child.repaired += 1
            repair = encode_repair(packet.data, int(now * 1e6))
            self.counters[f"{self.prefix}repair_packets"] += 1
            self.counters[f"{self.prefix}udp_bytes"] += len(repair)
            effects.append(Send(repair, child.address))
            self._deadlines.restart(seq, packet, max(packet.timeout, self.delays.rto_rtt), now)

    # --- timers

    @property
    def wake_at(self) -> float | None:
        """When `handle_timer` is due: for retransmissions only."""
        at, tail_at = self._deadlines.next_at, self._tail_at
        return tail_at if at is None or (tail_at is not None and tail_at < at) else at

    @property
    def _tail_at(self) -> float | None:
        """When the last packet's acknowledgment is overdue, and nothing has followed that could show a gap."""
        if self._tail_asked == self.end or self._last_send_time is None or self._board.is_complete(self.end - 1):
            return None
        overdue = self.delays.overdue
        return None if overdue is None else self._last_send_time + overdue

    def _ask_for_tail(self, now: float) -> None:
        """The last packet is sent again to those that have not acknowledged it: what they lack before it they will
        report, and a loss at the end of a small window is told from congestion as any other (ours; RFC 8985, 7, does
        it for TCP). The timers start anew.
        """
        self._tail_asked = self.end
        last = self.end - 1
        for child in self.children.values():
            has_room = child.window_end >= self.end_offset  # a late one may not have it yet
            if has_room and not self._board.has(child.number, last) and child.holds and last not in child.repairs:
                child.repairs.reported_missing(last, 0.0, now, now)
                self.repairing[child.number] = child
        for seq in range(self._board.base, self.end):
            packet = self.store.packets.get(seq)
            if packet is not None and not self._board.is_complete(seq):
                self._deadlines.restart(seq, packet, max(packet.timeout, self.delays.rto_rtt), now)

    def handle_timer(self, now: float) -> list[Effect]:
        """Repair what has timed out."""
        effects: list[Effect] = []
        tail_at = self._tail_at
        if tail_at is not None and tail_at <= now:
            self._ask_for_tail(now)
        while (seq := self._deadlines.pop_expired(now)) is not None:
            self._expired(seq, now, effects)
        for child in list(self.repairing.values()):
            self.send_repairs(child, now, effects)
        return effects

    def _expired(self, seq: int, now: float, effects: list[Effect]) -> None:
        packet = self.store.packets[seq]
        peer = None
        again = False  # a repair was lost
        for child in self.children.values():
            if self._board.has(child.number, seq) or not child.holds:
                continue
            if packet.offset + packet.size > child.window_end:
                continue  # it came late and has no room for that yet
            known = seq in child.repairs
            if child.repairs.timed_out(seq):
                self.repairing[child.number] = child
                peer = child.address
                again |= known
        if peer is None:  # no repair was lost: they wait for the children's retransmission windows
            self._deadlines.restart(seq, packet, packet.timeout or self.delays.rto_rtt, now)
            return
        self._deadlines.restart(seq, packet, 2 * packet.timeout if again else self.delays.rto_rtt, now)
        current = packet.counts and self.transit.counts(seq)
        if current or again:
            self.windows.timed_out(self.end, again=not current)
            self.reports.twnd_floor = self.end_offset
            effects.append(CongestionSignal("timeout", peer))
