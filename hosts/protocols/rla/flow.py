"""The data path of RLA's sender: what is in flight, what comes back, what is sent again (RLA, 3.3).

The window's lower bound is max_reach_all, the highest packet that all receivers have; its upper bound never exceeds
what the slowest receiver's buffer takes (rule 5). A lost packet is sent again when every receiver has either
acknowledged it or is known to lack it: by multicast when more than rexmit_thresh ask for it, else by unicast (3.3,
footnote 8).
"""

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice

from hosts.endpoint import Address, CongestionSignal, Effect, Send
from hosts.parts.sack import Scoreboard, bits
from hosts.protocols.rla.branch import Branch
from hosts.protocols.rla.listening import RandomListening
from hosts.protocols.rla.options import RlaOptions
from hosts.protocols.rla.packets import SACK_BITS, Ack, Data, encode_data
from hosts.wire.seq import extend

CHECK_S = 0.05
"""How often timeouts are looked for: they are not finer than this (ours; a quarter of the least timeout)."""
RECOVERY_BURST = 2
"""Packets that are repeated upon an acknowledgment after a timeout: TCP's in its slow start (ours)."""
LONGEST_RTT_S = 60.0
"""An echo that claims more is not believed: RFC 6298 (2.5) lets no timeout be longer."""
MAX_BACKOFF = 64.0
"""RFC 6298 (5.5) lets a timeout stop growing at 60 s or more."""


class _Packet:
    """In flight: some receiver lacks it."""

    __slots__ = ("end", "lost_by", "offset", "payload", "sent_at")

    def __init__(self, offset: int, payload: bytes, end: bool, sent_at: float) -> None:
        self.offset = offset
        self.payload = payload
        self.end = end
        self.sent_at = sent_at  # the last time
        self.lost_by: set[int] = set()  # numbers of receivers that lack it and wait for a retransmission


class Flow:
    """See the module. Times are seconds of the sender's clock."""

    def __init__(
        self,
        session: int,
        group: Address,
        options: RlaOptions,
        rng: random.Random,
        counters: Counter[str],
    ) -> None:
        self._session = session
        self._group = group
        self.options = options
        self._counters = counters
        self.listening = RandomListening(options, rng, SACK_BITS)
        self.branches: dict[Address, Branch] = {}
        self._by_number: dict[int, Branch] = {}
        self._board = Scoreboard(0)
        self._packets: dict[int, _Packet] = {}
        self._requested: set[int] = set()  # packets that somebody lost, not sent again yet
        self._shut: Branch | None = None  # whose advertised window ended first when that was last looked for
        self._open_until = 0  # stream offset up to which every receiver takes data, at least
        self.joined = 0
        """Receivers so far, and the next one's number."""
        self.end = 0
        """The packet that is sent next."""
        self.end_offset = 0
        self.max_reach_all = -1
        """The highest packet that every receiver has."""
        self.srtt_max = 0.0
        self._check_at: float | None = None
        self._heard_at = 0.0  # the last acknowledgment from anybody

    def start(self, now: float) -> None:
        """Nothing has happened before."""
        self._heard_at = self.listening.last_window_cut = now

    # --- receivers

    def add(self, address: Address, window: int, now: float) -> Branch:
        """A receiver that gets the packets from `base` on; `window` is its free buffer in bytes."""
        branch = Branch(self.joined, address, self.base, self.options.rto_margin_s, now)
        self.joined += 1
        branch.window = window
        branch.window_end = self.base_offset + window
        self.branches[address] = self._by_number[branch.number] = branch
        self._board.add_child(branch.number, self.base)
        self._open_until = 0
        self.listening.troubled.add(branch.number, now)
        return branch

    def remove(self, address: Address) -> Branch:
        """Wait for this receiver no longer."""
        branch = self.branches.pop(address)
        del self._by_number[branch.number]
        self.listening.troubled.remove(branch.number)
        for packet in self._packets.values():
            packet.lost_by.discard(branch.number)
        fresh = self._board.remove_child(branch.number, self.end)
        if self.branches:
            self._completed(fresh)
        return branch

    @property
    def base(self) -> int:
        """The first packet that some receiver lacks (min_last_ack + 1)."""
        return self._board.base

    @property
    def base_offset(self) -> int:
        """Its place in the stream."""
        return self._offset(self.base)

    def _offset(self, seq: int) -> int:
        packet = self._packets.get(seq)
        return self.end_offset if packet is None else packet.offset

    # --- sending

    def limit(self, size: int) -> str | None:
        """What keeps a new packet of `size` bytes from being sent; None: nothing."""
        if self.end > self.max_reach_all + self.listening.cwnd:
            return "cwnd"
        if self.end_offset + size > self._open_until and not self._is_open(self.end_offset + size):
            return "advertised_window"
        if self.end - self.base >= SACK_BITS:
            return "sack"
        return None

    def _is_open(self, until: int) -> bool:
        """Whether every receiver's buffer takes the stream up to this offset. Windows never shrink, so that the least
        of their ends is a bound until one is past it, and looking at one receiver is mostly enough.
        """
        if self._shut is None or until <= self._shut.window_end or self._shut.number not in self._by_number:
            self._shut = min(self.branches.values(), key=lambda branch: branch.window_end, default=None)
            self._open_until = 0 if self._shut is None else self._shut.window_end
        return until <= self._open_until

    def send(self, payload: bytes, end: bool, now: float) -> Send:
        """Multicast the next packet."""
        packet = _Packet(self.end_offset, payload, end, now)
        self._packets[self.end] = packet
        effect = self._copy(self.end, packet, False, self._group, now)
        self.end += 1
        self.end_offset += len(payload)
        self._counters["data_packets"] += 1
        if self._check_at is None:
            self._check_at = now + CHECK_S
            self._heard_at = now
        return effect

    def _copy(self, seq: int, packet: _Packet, again: bool, to: Address, now: float) -> Send:
        data = encode_data(
            Data(
                self._session,
                packet.end,
                again,
                seq,
                int(self.srtt_max * 1e3) + 1,
                int(now * 1e6),
                packet.offset,
                packet.payload,
                self.options.assist == "switch",
            )
        )
        self._counters["udp_bytes"] += len(data)
        return Send(data, to)

    # --- acknowledgments

    def acknowledge(self, branch: Branch, ack: Ack, now: float, arrived_at: float | None) -> list[Effect]:
        """One receiver's own."""
        cumulative = extend(ack.cumulative, branch.cumulative)
        if cumulative < branch.cumulative:
            self._counters["drop_stale"] += 1
            return []
        if cumulative + ack.sack.bit_length() >= self.end + (not ack.sack):
            self._counters["drop_beyond"] += 1
            return []
        branch.acks += 1
        branch.heard_at = self._heard_at = now
        if ack.echo_time_us:
            rtt = (now if arrived_at is None else arrived_at) - ack.echo_time_us / 1e6
            if 0 <= rtt <= LONGEST_RTT_S:
                branch.rtt.add(rtt)
                if branch.rtt.mean > self.srtt_max:
                    self.srtt_max = branch.rtt.mean
            else:
                self._counters["drop_echo"] += 1
        branch.window = ack.window
        recovers = branch.cumulative < cumulative < branch.recover_below
        self._progress(branch, cumulative, now)
        self._open(branch, cumulative, ack.window)
        effects: list[Effect] = []
        fresh = self._board.acknowledge(branch.number, cumulative, ack.sack, self.end)
        if fresh:
            self._completed(fresh)
        if ack.sack:
            lost = branch.find_losses(ack.sack)
            if lost:
                self._lost(branch, lost, now, effects)
        if ack.hurry:
            effects += self._repeat_missing(branch, bits(self._board.missing(branch.number), self.base), now)
        elif recovers:
            effects += self._recover(branch, now)
        if self._requested:
            self._served([branch])
            effects += self._repeat_settled(now)
        return effects

    def acknowledge_merged(self, ack: Ack, now: float) -> list[Effect]:
        """A switch's, for several receivers that have all that it says; whatever else each of them has is not told.

        Who has told before that it has the packet that holds the others up is further than the summary says.
        """
        self._heard_at = now
        told: list[Branch] = []
        for number in bits(ack.children):
            branch = self._by_number.get(number)
            if branch is None:
                continue
            cumulative = extend(ack.cumulative, branch.cumulative)
            if cumulative + ack.sack.bit_length() >= self.end + (not ack.sack):
                self._counters["drop_beyond"] += 1
                return []
            branch.merges += 1
            told.append(branch)
            if cumulative >= self.base:
                self._open(branch, cumulative, ack.window)
            self._completed(self._board.acknowledge(number, cumulative, ack.sack, self.end))
            self._progress(branch, self._board.acknowledged(number), now)
        if not self._requested:
            return []
        self._served(told)
        return self._repeat_settled(now)

    def _progress(self, branch: Branch, cumulative: int, now: float) -> None:
        """All packets below `cumulative` have arrived there."""
        if cumulative > branch.cumulative:
            branch.cumulative = cumulative
            branch.progress_at = now
            branch.backoff = 1.0

    def _open(self, branch: Branch, cumulative: int, window: int) -> None:
        """From packet `cumulative` on it takes `window` bytes."""
        packet = self._packets.get(cumulative)
        window_end = (self.end_offset if packet is None else packet.offset) + window
        if window_end > branch.window_end:
            branch.window_end = window_end

    def _completed(self, fresh: int) -> None:
        """All receivers have the packets of the bitmap `fresh` above `base` now."""
        if not fresh:
            return
        base = self._board.base
        self.max_reach_all = max(self.max_reach_all, base + fresh.bit_length() - 1)
        self.listening.acknowledged_by_all(fresh.bit_count())
        for seq in range(base, base + self._board.advance()):
            del self._packets[seq]
            self._requested.discard(seq)

    # --- losses and retransmission

    def _lost(self, branch: Branch, lost: list[int], now: float, effects: list[Effect]) -> None:
        for seq in lost:
            packet = self._packets.get(seq)
            if packet is not None and not self._board.has(branch.number, seq):
                packet.lost_by.add(branch.number)
                self._requested.add(seq)
        if branch.congested(now):
            cut = self.listening.congestion(branch.number, branch.rtt.mean, self._longest_srtt(), now)
            if cut is not None:
                effects.append(CongestionSignal(f"{cut}_cut", branch.address))

    def _longest_srtt(self) -> float:
        self.srtt_max = max((branch.rtt.mean for branch in self.branches.values()), default=0.0)
        return self.srtt_max

    def _served(self, branches: Iterable[Branch]) -> None:
        """These receivers have told what they have: who has a packet by now no longer waits for it."""
        board = self._board
        for seq in self._requested:
            lost_by = self._packets[seq].lost_by
            for branch in branches:
                if branch.number in lost_by and board.has(branch.number, seq):
                    lost_by.discard(branch.number)

    def _repeat_settled(self, now: float) -> list[Effect]:
        """Send again what has been heard of from everybody."""
        effects: list[Effect] = []
        board, packets = self._board, self._packets
        settled = [seq for seq in self._requested if board.lacking(seq) == len(packets[seq].lost_by)]
        for seq in sorted(settled):
            effects += self._repeat(seq, packets[seq], now)
        return effects

    def _repeat(self, seq: int, packet: _Packet, now: float) -> Iterator[Send]:
        """Send a packet again to those who asked for it."""
        self._requested.discard(seq)
        asking, packet.lost_by = sorted(packet.lost_by), set()
        packet.sent_at = now
        for number in asking:
            self._by_number[number].repeated(seq, self.end)
        if len(asking) > self.options.rexmit_thresh:
            self._counters["repair_packets"] += 1
            yield self._copy(seq, packet, True, self._group, now)
        else:
            self._counters["repair_packets"] += len(asking)
            for number in asking:
                yield self._copy(seq, packet, True, self._by_number[number].address, now)

    def _repeat_missing(self, branch: Branch, missing: Iterable[int], now: float) -> Iterator[Send]:
        """Repeat what it lacks without waiting for the others (3.3, footnote 8), unless a round trip has not passed."""
        for seq in missing:
            packet = self._packets[seq]
            if now - packet.sent_at > branch.rtt.mean:
                packet.lost_by.discard(branch.number)
                packet.sent_at = now
                branch.repeated(seq, self.end)
                self._counters["repair_packets"] += 1
                yield self._copy(seq, packet, True, branch.address, now)

    def _recover(self, branch: Branch, now: float) -> Iterator[Send]:
        """It answers again after a timeout: what else had been sent by then was lost as well, repeats too, and with the
        window used up no later packet comes to show it. As TCP, which begins again from there.
        """
        has = self._board.has
        missing = (seq for seq in range(branch.cumulative, branch.recover_below) if not has(branch.number, seq))
        return islice(self._repeat_missing(branch, missing, now), RECOVERY_BURST)

    # --- timeouts

    @property
    def wake_at(self) -> float | None:
        """When `handle_timer` is due."""
        return self._check_at

    def handle_timer(self, now: float) -> list[Effect]:
        """Look for timeouts, which are losses too (rule 1). When nobody has acknowledged anything, the window goes back
        to one packet, as TCP's does.
        """
        effects: list[Effect] = []
        if self._check_at is None or now < self._check_at:
            return effects
        outstanding = self.base < self.end
        self._check_at = now + CHECK_S if outstanding else None
        if not outstanding:
            return effects
        waits = []
        patience = self._merged_timeout()
        for branch in list(self.branches.values()):
            if branch.cumulative >= self.end:
                continue
            # What it lacks by all that it has said: an acknowledgment may say less than one before.
            seq = self._board.acknowledged(branch.number)
            if seq >= self.end:
                continue
            packet = self._packets[seq]
            timeout = branch.timeout * branch.backoff
            if branch.merges:
                timeout = max(timeout, patience)
            waits.append(timeout)
            if now - max(branch.progress_at, packet.sent_at) < timeout:
                continue
            branch.backoff = min(2 * branch.backoff, MAX_BACKOFF)
            branch.recover_below = self.end
            self._counters["timeouts"] += 1
            branch.losses += 1
            self._lost(branch, [seq], now, effects)
            if packet.lost_by:
                effects += self._repeat(seq, packet, now)
        if waits and now - self._heard_at > max(waits):
            self._heard_at = now
            self.listening.timeout(now)
            effects.append(CongestionSignal("timeout"))
        return effects

    def _merged_timeout(self) -> float:
        """The longest timeout of those that switches' summaries tell of: what a summary says of a fast receiver it
        says when the slowest one has answered.
        """
        return max((branch.timeout for branch in self.branches.values() if branch.merges), default=0.0)
