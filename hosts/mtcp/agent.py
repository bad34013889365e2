"""A sender's agent (MTCP, 2): buffers packets until all children have them, repairs them, and keeps the congestion and
transit windows of the paths from the sender to its children.

The sender holds one for its own children; any other agent is a receiver that holds one. Send times are on the sender's
clock, `now` is on the agent's; only differences of their differences are used (3.2).
"""

import heapq
from collections import Counter, deque

from hosts.endpoint import Address, CongestionSignal, Effect, Send
from hosts.mtcp.child import Child
from hosts.mtcp.control import encode_probe
from hosts.mtcp.options import MtcpOptions
from hosts.mtcp.packets import SACK_BITS, Feedback, encode_repair
from hosts.reason import Reason
from hosts.rtt import INITIAL_TIMEOUT_S
from hosts.sack import Scoreboard, bits
from hosts.seq import extend
from hosts.vegas import VegasWindow
from hosts.window import Summary, TransitWindow, summarise

MAX_TIMEOUT_S = 60.0
"""Exponential backoff ends here: RFC 6298 (2.5)."""

FIRST_PROBES_S = 0.25
"""Polling period until a child has answered once: the first repairs need an estimate (ours)."""


class _Packet:
    """A buffered packet."""

    __slots__ = ("data", "deadline", "offset", "size", "timeout")

    def __init__(self, data: bytes, offset: int, size: int) -> None:
        self.data = data  # the DATA datagram
        self.offset = offset
        self.size = size  # payload bytes
        self.timeout = 0.0  # seconds; 0: not repaired yet, so that RTO_RTD counts
        self.deadline = 0.0  # when `timeout` expires, agent's clock


class Agent:
    """The parent's half of one level of the tree."""

    def __init__(
        self, session: int, options: MtcpOptions, counters: Counter[str], *, first: int, own_clock: bool
    ) -> None:
        """`first` is the sequence number of the first packet. `own_clock`: the agent is the sender itself, so that a
        relative time delay is a round trip time and never negative.
        """
        self._session = session
        self._options = options
        self._counters = counters
        self._own_clock = own_clock
        self.window = VegasWindow(options.vegas, SACK_BITS)
        self.transit = TransitWindow()
        self.children: dict[Address, Child] = {}
        self.window_used = not own_clock
        """Whether cwnd limited the sender in this round trip. Only the sender knows; another agent assumes it."""
        self.end = first
        """One more than the last packet that was buffered."""
        self.end_offset = 0
        """Stream offset of the packet `end`."""
        self.send_window_end = 0
        """Stream offset up to which all children take data: the minimum of the advertised windows."""
        self._board = Scoreboard(first)
        self._packets: dict[int, _Packet] = {}
        self._unrepaired: deque[tuple[int, float, float]] = (
            deque()
        )  # seq, send time (sender's clock), buffered at (ours)
        self._repaired: list[tuple[float, int]] = []  # heap of (deadline, seq), with stale entries
        self._next_number = 0
        self._cut_floor = first  # duplicate NACKs for packets before it have been reacted on
        self._round_end = first
        self._round_start: float | None = None
        self._round_packets = 0
        self._rto_rtd: float | None = None

    # --- children

    def add_child(self, address: Address, window: int, now: float) -> Child:
        """Admit a child that has everything before `end`; `window` is its free buffer in bytes."""
        child = Child(self._next_number, address, self._options, now)
        self._next_number += 1
        child.cumulative = self.end
        child.window = window
        child.window_end = self.end_offset + window
        self.children[address] = child
        self._board.add_child(child.number)
        self._refresh_window_end()
        self._refresh_rto()
        return child

    def remove_child(self, address: Address, now: float) -> None:
        """The child leaves, and with it all that it held back."""
        child = self.children.pop(address)
        fresh = self._board.remove_child(child.number, self.end)
        self._completed(fresh, now)
        self._refresh_window_end()
        self._refresh_rto()

    def _refresh_window_end(self) -> None:
        self.send_window_end = min((child.window_end for child in self.children.values()), default=0)

    # --- packets

    @property
    def base(self) -> int:
        """The first packet that not all children have."""
        return self._board.base

    @property
    def in_flight(self) -> int:
        """Packets from the first that not all children have to the last sent."""
        return self.end - self._board.base

    def buffer(self, data: bytes, offset: int, size: int, send_time_us: int, now: float) -> None:
        """Packet `end` was sent (or received, for an agent that is not the sender)."""
        self._packets[self.end] = _Packet(data, offset, size)
        self._unrepaired.append((self.end, send_time_us / 1e6, now))
        self.end += 1
        self.end_offset = offset + size
        self.transit.sent(size)

    def summary(self) -> Summary:
        """min_cwnd and max_twnd of the subtree, in bytes (3.8)."""
        cwnd = int(self.window.cwnd * self._options.payload_bytes)
        return summarise(cwnd, self.transit.size, ((c.min_cwnd, c.max_twnd) for c in self.children.values()))

    # --- feedback

    def feedback(self, child: Child, feedback: Feedback, now: float, arrived_at: float | None = None) -> list[Effect]:
        """An ACK or NACK of `child`; `arrived_at` as in Datagram."""
        base = self._board.base
        cumulative = extend(feedback.cumulative, base)
        sack = feedback.sack
        if cumulative + (sack.bit_length() + 1 if sack else 0) > self.end or cumulative < 0:
            self._counters["drop_ack_of_unsent"] += 1
            return []
        child.heard_at = now
        child.feedback += 1
        if cumulative > child.cumulative:
            child.cumulative = cumulative
            child.progress_at = now
        self._measure(child, feedback, now if arrived_at is None else arrived_at)
        child.min_cwnd = feedback.min_cwnd
        child.max_twnd = feedback.max_twnd
        self._advertised(child, cumulative, feedback.window, now)
        fresh = self._board.acknowledge(child.number, cumulative, sack, self.end)
        effects: list[Effect] = []
        if child.repairs:
            self._settle_repairs(child, now)
        self._completed(fresh, now)
        if sack:
            self._find_missing(child, now, effects)
        if child.repairs:
            self._send_repairs(child, now, effects)
        return effects

    def _measure(self, child: Child, feedback: Feedback, arrived_at: float) -> None:
        echo = feedback.echo_time_us
        if echo and echo != child.echo_time_us:
            rtd = arrived_at - (echo + feedback.held_us) / 1e6
            if rtd < 0 and self._own_clock:
                self._counters["drop_echo_from_the_future"] += 1
            else:
                child.echo_time_us = echo
                child.rtd.add(rtd, self._rtt(child) / 2)
                if rtd < child.round_rtd:
                    child.round_rtd = rtd
                timeout = child.rtd.timeout
                if self._rto_rtd is None or (timeout is not None and timeout > self._rto_rtd):
                    self._refresh_rto()
        echo = feedback.repair_echo_us
        if echo and echo != child.repair_echo_us:
            child.repair_echo_us = echo
            rtt = arrived_at - echo / 1e6
            if rtt >= 0:
                child.repairs.measured(rtt)
                child.rtt.add(rtt)

    def _advertised(self, child: Child, cumulative: int, window: int, now: float) -> None:
        child.window = window
        if cumulative == self.end:
            offset = self.end_offset
        else:
            packet = self._packets.get(cumulative)
            if packet is None:
                return  # an old report
            offset = packet.offset
        if offset + window > child.window_end:
            child.window_end = offset + window
            child.progress_at = now
            self._refresh_window_end()

    def _completed(self, fresh: int, now: float) -> None:
        """All children have the packets in the bitmap `fresh` (above the base) now."""
        if not fresh:
            return
        base = self._board.base
        transit = self.transit
        new = 0
        for seq in bits(fresh, base):
            packet = self._packets.pop(seq)
            if transit.counts(seq):
                new += 1
                transit.acknowledged(seq, packet.size)
        self._board.advance()
        self._round_packets += fresh.bit_count()
        self.window.acknowledged(new)
        if base + fresh.bit_length() > self._round_end:
            self._end_round(now)

    def _end_round(self, now: float) -> None:
        elapsed = 0.0 if self._round_start is None else now - self._round_start
        if elapsed > 0:
            delay = max((child.queueing_delay_s for child in self.children.values()), default=0.0)
            self.window.round_trip_ended(delay * self._round_packets / elapsed, self.window_used)
        for child in self.children.values():
            child.round_rtd = float("inf")
        self._refresh_rto()
        self._round_end = self.end
        self._round_start = now
        self._round_packets = 0
        self.window_used = not self._own_clock

    # --- repairs

    def _settle_repairs(self, child: Child, now: float) -> None:
        for seq in child.repairs.pending():
            if self._board.has(child.number, seq):
                child.repairs.acknowledged(seq, now)
                child.progress_at = now

    def _find_missing(self, child: Child, now: float, effects: list[Effect]) -> None:
        repairs = child.repairs
        # What shows that a repair was overtaken. Other agents cannot compare the sender's clock with theirs.
        arrived_by = child.echo_time_us / 1e6 if self._own_clock else now
        rtt = self._rtt(child)
        for seq in bits(self._board.missing(child.number), self._board.base):
            if repairs.reported_missing(seq, rtt, arrived_by, now):
                child.lost += 1
            elif repairs.duplicates >= self._options.duplicate_nacks and seq >= self._cut_floor:
                repairs.duplicates = 0
                self._cut_floor = self.end
                self.window.cut()
                repairs.window.cut()
                effects.append(CongestionSignal("duplicate_nacks", child.address))

    def _send_repairs(self, child: Child, now: float, effects: list[Effect]) -> None:
        for seq in child.repairs.take(now):
            packet = self._packets[seq]
            child.repaired += 1
            repair = encode_repair(packet.data, int(now * 1e6))
            self._counters["repair_packets"] += 1
            self._counters["udp_bytes"] += len(repair)
            effects.append(Send(repair, child.address))
            self._restart(seq, packet, max(packet.timeout, self.rto_rtt), now)

    def _restart(self, seq: int, packet: _Packet, timeout: float, now: float) -> None:
        packet.timeout = min(timeout, MAX_TIMEOUT_S)
        packet.deadline = now + packet.timeout
        heapq.heappush(self._repaired, (packet.deadline, seq))

    # --- timers

    @property
    def rto_rtd(self) -> float | None:
        """From a packet's send time on the sender's clock to its timeout on ours, seconds; None before any measurement.

        The time that a child holds an acknowledgment back is not in its delay, and is added here.
        """
        return None if self._rto_rtd is None else self._rto_rtd + self._options.ack_delay_s

    def _refresh_rto(self) -> None:
        """Called once a round trip, and at once when a child's timeout rises above the maximum."""
        values = [child.rtd.timeout for child in self.children.values()]
        known = [value for value in values if value is not None]
        self._rto_rtd = max(known) if known and len(known) == len(values) else None

    @property
    def rto_rtt(self) -> float:
        """From a repair to its timeout, seconds."""
        values = [child.rtt.timeout or INITIAL_TIMEOUT_S for child in self.children.values()]
        return max(values, default=INITIAL_TIMEOUT_S)

    def _first_deadline(self) -> float | None:
        """When the oldest packet that was never repaired expires."""
        unrepaired = self._unrepaired
        while unrepaired:
            seq, send_time, buffered_at = unrepaired[0]
            packet = self._packets.get(seq)
            if packet is not None and not packet.timeout:
                rto = self.rto_rtd
                return buffered_at + INITIAL_TIMEOUT_S if rto is None else send_time + rto
            unrepaired.popleft()
        return None

    @property
    def wake_at(self) -> float | None:
        """When `handle_timer` is due: for retransmissions only."""
        deadline = self._first_deadline()
        if self._repaired and (deadline is None or self._repaired[0][0] < deadline):
            return self._repaired[0][0]
        return deadline

    def handle_timer(self, now: float) -> list[Effect]:
        """Repair what has timed out."""
        effects: list[Effect] = []
        while (deadline := self._first_deadline()) is not None and deadline <= now:
            self._expired(self._unrepaired.popleft()[0], now, effects)
        while self._repaired and self._repaired[0][0] <= now:
            deadline, seq = heapq.heappop(self._repaired)
            packet = self._packets.get(seq)
            if packet is not None and packet.deadline == deadline:
                self._expired(seq, now, effects)
        for child in self.children.values():
            if child.repairs:
                self._send_repairs(child, now, effects)
        return effects

    def _expired(self, seq: int, now: float, effects: list[Effect]) -> None:
        packet = self._packets[seq]
        again = packet.timeout > 0
        peer = None
        for child in self.children.values():
            if not self._board.has(child.number, seq) and child.repairs.timed_out(seq):
                peer = child.address
        if peer is None:  # no repair was lost: they wait for the children's retransmission windows
            self._restart(seq, packet, packet.timeout or self.rto_rtt, now)
            return
        self._restart(seq, packet, 2 * packet.timeout if again else self.rto_rtt, now)
        current = self.transit.counts(seq)
        if current or again:
            self.window.timed_out(again=not current)
            self.transit.reset(self.end)
            self._cut_floor = self.end
            effects.append(CongestionSignal("timeout", peer))

    def hopeless(self, now: float, blocked: bool) -> list[tuple[Child, Reason]]:
        """Children that were silent, or made no progress though there was something to make it with, for too long.

        `blocked`: the sender has more, but an advertised window keeps it back.
        """
        limit = now - self._options.drop_after_s
        found = []
        for child in self.children.values():
            behind = child.cumulative < self.end or (blocked and child.window_end == self.send_window_end)
            if not behind:
                child.progress_at = now
            if child.heard_at <= limit:
                found.append((child, Reason.SILENT))
            elif child.progress_at <= limit and child.heard_at > now - 2 * self._options.probe_interval_s:
                found.append((child, Reason.STALLED))  # it lives; one that does not is about to count as silent
        return found

    # --- round trip times

    def probe(self, child: Child, now: float) -> Send:
        """Ask a child for a round trip time (3.3)."""
        child.probed_at = now
        return Send(encode_probe(self._session, int(now * 1e6), int(child.rtt.mean * 1e6)), child.address)

    def probe_answered(self, child: Child, time_us: int, now: float, arrived_at: float | None = None) -> None:
        """The answer came."""
        rtt = (now if arrived_at is None else arrived_at) - time_us / 1e6
        if not 0 <= rtt <= MAX_TIMEOUT_S:
            self._counters["drop_probe_ack_time"] += 1
            return
        child.heard_at = now
        child.rtt.add(rtt)

    def _rtt(self, child: Child) -> float:
        """The current estimate, seconds, as in "unless retransmitted within" (3.1)."""
        if child.rtt.samples:
            return child.rtt.mean
        if child.rtd.samples and self._own_clock:
            return child.rtd.mean
        return INITIAL_TIMEOUT_S

    def _probe_at(self, child: Child) -> float:
        return child.probed_at + (self._options.probe_interval_s if child.rtt.samples else FIRST_PROBES_S)

    def probes_due(self, now: float) -> list[Child]:
        """Children that were not probed within the polling period."""
        return [child for child in self.children.values() if now >= self._probe_at(child)]

    @property
    def next_probe_at(self) -> float | None:
        """When `probes_due` has something."""
        return min((self._probe_at(child) for child in self.children.values()), default=None)
