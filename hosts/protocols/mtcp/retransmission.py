"""What a parent repeats, and when (MTCP, 3.1 to 3.4 and 3.6): what children report missing, and what expires, RTO_RTD
after its send time at first, RTO_RTT after a repair.
"""

import heapq
from collections import Counter, deque
from collections.abc import Mapping
from itertools import islice

from hosts.endpoint import Address, CongestionSignal, Effect, Send
from hosts.parts.rtt import INITIAL_TIMEOUT_S
from hosts.parts.sack import Scoreboard, bits
from hosts.protocols.mtcp.children import Child
from hosts.protocols.mtcp.congestion import Congestion
from hosts.protocols.mtcp.delays import MAX_TIMEOUT_S, Delays
from hosts.protocols.mtcp.options import MtcpOptions
from hosts.protocols.mtcp.packets import encode_repair
from hosts.protocols.mtcp.store import PacketStore, StoredPacket

REPAIR_SHARE = 1 / 4
"""Of cwnd, that a child's repairs begin with: about what a loss has just taken from it (ours; with the paper's one
packet, what slow start loses of a large window takes a dozen round trips, in which nothing can be delivered)."""
MAX_ROOM_S = 1.0
"""Agents whose windows are closed are asked so often at least (ours)."""
MOST_FOUND = 4096
"""Missing packets that one acknowledgment is searched for; the next one tells of the others, too (ours: some
milliseconds of a processor)."""
MOST_EXPIRED = 512
"""Packets that one call finds to have expired; the next one is due at once (ours, likewise)."""
MOST_RECENT = 256
"""Repairs whose times are known: half of what a bitmap tells of (ours)."""


class Deadlines:
    """The retransmission timers of packets that some child lacks; O(log n) a change."""

    __slots__ = ("_board", "_delays", "_first_sent", "_scheduled", "_store")

    def __init__(self, store: PacketStore, board: Scoreboard, delays: Delays) -> None:
        self._store = store
        self._board = board
        self._delays = delays
        self._first_sent: deque[tuple[int, float, float]] = deque()  # seq, send time (sender's clock), buffered at
        self._scheduled: list[tuple[float, int]] = []  # heap of (deadline, seq), with stale entries

    def multicast(self, seq: int, send_time_s: float, now: float, count: int = 1) -> None:
        """`count` packets from `seq` on have left the sender at this time of its clock. They must come in order of
        these times."""
        self._first_sent.extend([(seq + number, send_time_s, now) for number in range(count)])

    def restart(self, seq: int, packet: StoredPacket, timeout: float, now: float) -> None:
        """A packet expires after `timeout` seconds, whatever was said before."""
        packet.timeout = min(timeout, MAX_TIMEOUT_S)
        packet.deadline = now + packet.timeout
        heapq.heappush(self._scheduled, (packet.deadline, seq))

    def _first(self) -> float | None:
        """When the oldest packet that was never repaired expires."""
        first_sent = self._first_sent
        while first_sent:
            seq, send_time, buffered_at = first_sent[0]
            packet = self._store.packets.get(seq)
            if packet is not None and not packet.timeout and not self._board.is_complete(seq):
                rto = self._delays.rto_rtd
                return buffered_at + INITIAL_TIMEOUT_S if rto is None else send_time + rto
            first_sent.popleft()
        return None

    def _other(self) -> float | None:
        """When the first of the others does."""
        scheduled = self._scheduled
        while scheduled:
            deadline, seq = scheduled[0]
            packet = self._store.packets.get(seq)
            if packet is not None and packet.deadline == deadline and not self._board.is_complete(seq):
                return deadline
            heapq.heappop(scheduled)
        return None

    @property
    def next_at(self) -> float | None:
        """The earliest."""
        first, other = self._first(), self._other()
        if first is None or (other is not None and other < first):
            return other
        return first

    def pop_expired(self, now: float) -> int | None:
        """A packet that has expired; it has no deadline any more. None: there is none."""
        deadline = self._first()
        if deadline is not None and deadline <= now:
            return self._first_sent.popleft()[0]
        deadline = self._other()
        if deadline is not None and deadline <= now:
            return heapq.heappop(self._scheduled)[1]
        return None


class Retransmission:
    """The repairs to an agent's children, each within its retransmission window, and what they say of congestion."""

    def __init__(
        self,
        options: MtcpOptions,
        counters: Counter[str],
        prefix: str,
        children: Mapping[Address, Child],
        store: PacketStore,
        board: Scoreboard,
        delays: Delays,
        congestion: Congestion,
        *,
        own_clock: bool,
        group: Address | None = None,
    ) -> None:
        """`prefix` is that of the counters' names; `own_clock`: send times are of the agent's own clock; `group`: who a
        repair goes to that several children lack.
        """
        self._options = options
        self._counters = counters
        self._prefix = prefix
        self._children = children
        self._store = store
        self._board = board
        self._delays = delays
        self._congestion = congestion
        self._own_clock = own_clock
        self._group = group
        self._deadlines = Deadlines(store, board, delays)
        self.repairing: dict[int, Child] = {}
        """Children that are known to lack something, by number."""
        self._last_send_time: float | None = None  # sender's clock: of the last packet that was multicast
        self._sent: deque[float] = deque(maxlen=MOST_RECENT)  # when the last repairs were
        self._blamed: set[int] = set()  # children whose timeouts were taken for congestion and that have not answered
        self._asks = False  # what they answer tells whether that is congestion
        self._room_asked = 0  # times on end that agents were asked for room
        self._tail_asked = store.end  # the end of the packets that were asked for because all was silent

    def _listened(self) -> list[Child]:
        """Those that are not set aside."""
        return [child for child in self._children.values() if not child.aside]

    # --- what is waited for

    def multicast(self, seq: int, send_time_s: float, now: float, count: int = 1) -> None:
        """`count` packets from `seq` on that some child lacks have left the sender at this time of its clock."""
        self._last_send_time = send_time_s
        self._room_asked = 0
        self._deadlines.multicast(seq, send_time_s, now, count)

    def restart(self, seq: int, now: float) -> None:
        """A packet is waited for as if it had been repaired now."""
        self._deadlines.restart(seq, self._store.packets[seq], self._delays.rto_rtt, now)

    def left(self, child: Child) -> None:
        """A child has gone."""
        self.repairing.pop(child.number, None)
        self._blamed.discard(child.number)

    # --- feedback

    def settle(self, child: Child, news: int, now: float) -> None:
        """What the child has by now need not be repaired: of those in the bitmap `news` (above the base) it has just
        told."""
        base = self._board.base
        for seq in child.repairs.among(news, base):
            child.repairs.acknowledged(seq, now)
            child.progress_at = now
        if not child.repairs:
            self.repairing.pop(child.number, None)

    def answered(self, child: Child, needless: bool, now: float, effects: list[Effect]) -> None:
        """A child has said what it has, and whether it had the last repair before. When all had what has timed out,
        what was lost are acknowledgments, and nothing of the way to them (ours; Eifel, RFC 3522 and 4015, with DSACK's
        word for it, RFC 3708).
        """
        if child.number not in self._blamed or child.repairs:
            return
        if not needless:
            self._blamed.clear()
            if self._asks:
                self._asks = False
                self._congestion.timed_out(self._store.end, self._store.end_offset, again=False)
                effects.append(CongestionSignal("timeout", child.address))
            self._congestion.blame()
            return
        child.misheard_at = now
        self._blamed.discard(child.number)
        if not self._blamed:
            self._asks = False
            self._congestion.forgive()

    def find_missing(self, child: Child, first: int, now: float, effects: list[Effect]) -> None:
        """Look for what the child lacks from packet `first` to the last that it has; duplicate NACKs are congestion."""
        repairs = child.repairs
        # What shows that a repair was overtaken. Other agents cannot compare the sender's clock with theirs.
        arrived_by = child.echo_time_us / 1e6 if self._own_clock else now
        rtt = self._delays.rtt(child)
        missing, base = self._board.missing(child.number), self._board.base
        if repairs.duplicates < self._options.duplicate_nacks and not repairs.is_overdue(rtt, arrived_by, now):
            missing = repairs.unknown(missing, base)  # of the others nothing is to be learnt
        for seq in islice(bits(missing, base), MOST_FOUND):
            if seq < first:
                continue  # it gets a copy of another child's repair
            if seq not in self._store.packets:
                continue  # the agent lacks it as well, and has asked for it
            if repairs.found_missing(seq, rtt, arrived_by, now):
                child.lost += 1
                self.repairing[child.number] = child
                if self._congestion.lost(child, seq, self._store.end, self._children.values()):
                    effects.append(CongestionSignal("loss", child.address))
                if self._options.adaptive:
                    repairs.begin(REPAIR_SHARE * self._congestion.window.cwnd)
            elif repairs.duplicates >= self._options.duplicate_nacks and self._congestion.cut(seq, self._store.end):
                repairs.duplicates = 0  # several consecutive ones mean congestion (2)
                repairs.retransmission_window.cut()
                effects.append(CongestionSignal("duplicate_nacks", child.address))

    def send(self, child: Child, now: float, effects: list[Effect]) -> None:
        """Repair what the child lacks and its retransmission window allows."""
        for seq in child.repairs.take(now):
            packet = self._store.packets[seq]
            timeout = max(packet.timeout, self._delays.rto_rtt)
            if now - packet.multicast_at < self._delays.rtt(child):  # the repair to all is on its way
                self._deadlines.restart(seq, packet, timeout, now)
                continue
            child.repaired += 1
            repair = encode_repair(packet.data, int(now * 1e6), merge=child.merge)
            self._counters[f"{self._prefix}repair_packets"] += 1
            self._counters[f"{self._prefix}udp_bytes"] += len(repair)
            effects.append(Send(repair, self._address(child, seq, now)))
            self._sent.append(now)
            self._deadlines.restart(seq, packet, timeout, now)

    def sent_since(self, at: float) -> int:
        """Repairs that were sent after this time."""
        while self._sent and self._sent[0] <= at:
            self._sent.popleft()
        return len(self._sent)

    def _address(self, child: Child, seq: int, now: float) -> Address:
        """Where the repair of packet `seq` goes: to the child, or to all when another lacks it as well. What was lost
        near the sender would else be sent there once for each child, and a queue of few packets drops most of that
        (ours; NORM, RFC 5740, 5.4, repairs so).
        """
        if self._group is None or not any(seq in other.repairs for other in self._listened() if other is not child):
            return child.address
        self._store.packets[seq].multicast_at = now
        return self._group

    def pass_on(self, seq: int, now: float) -> list[Effect]:
        """Repair packet `seq`, which the agent itself had lacked, to the children that are known to lack it."""
        effects: list[Effect] = []
        for child in self._listened():
            if seq >= self._board.base and self._board.missing(child.number) >> (seq - self._board.base) & 1:
                child.lost += child.repairs.found_missing(seq, self._delays.rtt(child), now, now)
                self.repairing[child.number] = child
                self.send(child, now, effects)
        return effects

    # --- timers

    @property
    def wake_at(self) -> float | None:
        """When `handle_timer` is due."""
        at, tail_at = self._deadlines.next_at, self._tail_at
        if at is None and tail_at is None:
            return self._room_at  # nobody lacks anything
        return tail_at if at is None or (tail_at is not None and tail_at < at) else at

    @property
    def _tail_at(self) -> float | None:
        """When the last packet's acknowledgment is overdue, and nothing has followed that could show a gap."""
        end = self._store.end
        if self._tail_asked == end or self._last_send_time is None or self._board.is_complete(end - 1):
            return None
        overdue = self._delays.overdue
        return None if overdue is None else self._last_send_time + overdue

    def _ask_for_tail(self, now: float) -> None:
        """The last packet is sent again to those that have not acknowledged it: what they lack before it they will
        report, and a loss at the end of a small window is told from congestion as any other (ours; RFC 8985, 7, does
        it for TCP). The timers start anew.
        """
        self._tail_asked = self._store.end
        last = self._store.end - 1
        for child in self._listened():
            has_room = child.advertised_end >= self._store.end_offset  # a late one may not have it yet
            if has_room and not self._board.has(child.number, last) and child.holds and last not in child.repairs:
                child.repairs.found_missing(last, 0.0, now, now)
                self.repairing[child.number] = child
        for seq in range(self._board.base, self._store.end):
            packet = self._store.packets.get(seq)
            if packet is not None and not self._board.is_complete(seq):
                self._deadlines.restart(seq, packet, max(packet.timeout, self._delays.rto_rtt), now)

    @property
    def _room_at(self) -> float | None:
        """When agents are asked how much is on its way below them: all that was sent has arrived, and by what they have
        said there is no room for more, and they are silent since. They will have said otherwise, and that was lost
        (ours; the paper's window updates become ever rarer; RFC 9293, 3.8.6.1).
        """
        if not self._own_clock or self._last_send_time is None or self._board.base != self._store.end:
            return None
        if self._congestion.summary(self._store.end_offset).current_window >= self._options.payload_bytes:
            return None
        heard_at: float | None = min((child.answered_at for child in self._listened() if child.max_twnd), default=None)
        if heard_at is None:
            return None
        wait = min(self._delays.rto_rtt * (2.0 ** (self._room_asked + 1) - 1), MAX_ROOM_S * (self._room_asked + 1))
        return max(self._last_send_time, heard_at) + self._options.window_update_s + wait

    def _ask_for_room(self, now: float, effects: list[Effect]) -> None:
        """The last packet once more, for that is answered at once."""
        self._room_asked += 1
        packet = self._store.packets.get(self._store.end - 1)
        if packet is None:
            return
        for child in self._listened():
            if child.max_twnd:
                effects.append(Send(encode_repair(packet.data, int(now * 1e6)), child.address))
                self._counters[f"{self._prefix}repair_packets"] += 1

    def handle_timer(self, now: float) -> list[Effect]:
        """Repair what has timed out."""
        effects: list[Effect] = []
        room_at = self._room_at
        if room_at is not None and room_at <= now:
            self._ask_for_room(now, effects)
        tail_at = self._tail_at
        if tail_at is not None and tail_at <= now:
            self._ask_for_tail(now)
        for _ in range(MOST_EXPIRED):
            seq = self._deadlines.pop_expired(now)
            if seq is None:
                break
            self._expired(seq, now, effects)
        for child in list(self.repairing.values()):
            self.send(child, now, effects)
        return effects

    def _expired(self, seq: int, now: float, effects: list[Effect]) -> None:
        packet = self._store.packets[seq]
        blamed = []
        again = False  # a repair was lost
        listened = self._listened()
        is_asked_for = any(child.merge and child.repairs.waits(seq) for child in listened)
        for child in listened:
            if self._board.has(child.number, seq) or not child.holds:
                continue
            if is_asked_for and child.summarised and seq not in child.repairs:
                continue  # switches speak for it, and copy that repair to it when it leaves
            if packet.offset + packet.size > child.advertised_end:
                continue  # it came late and has no room for that yet
            known = seq in child.repairs
            if child.repairs.timed_out(seq):
                self.repairing[child.number] = child
                blamed.append(child)
                again |= known
        if not blamed:  # no repair was lost: they wait for the children's retransmission windows
            self._deadlines.restart(seq, packet, packet.timeout or self._delays.rto_rtt, now)
            return
        self._deadlines.restart(seq, packet, 2 * packet.timeout if again else self._delays.rto_rtt, now)
        current = packet.counts and self._congestion.twnd.counts(seq)
        if current or again:
            self._blamed.update(child.number for child in blamed)
            if self._options.adaptive and self._board.lacking(seq) < len(listened) and not any(c.merge for c in blamed):
                # Others have it: that its acknowledgments are lost is as likely as that it is.
                self._asks = True
                return
            self._congestion.timed_out(self._store.end, self._store.end_offset, again=not current)
            effects.append(CongestionSignal("timeout", blamed[-1].address))
