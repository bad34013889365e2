"""The data path of RLA's sender: what is sent, what comes back, and who is waited for (RLA, 3.3).

A receiver from which nothing comes is set aside: the window goes on without it, and when it answers again it first gets
what it lacks.
"""

import random
from collections import Counter
from collections.abc import Iterator

from hosts.endpoint import Address, CongestionSignal, Effect, Send, SendRun
from hosts.parts.sack import bits
from hosts.parts.silence import Presence, kept_from, patience_s
from hosts.protocols.rla.advertised import Advertised
from hosts.protocols.rla.branch import Asked, Branch
from hosts.protocols.rla.congestion import Congestion
from hosts.protocols.rla.copies import Copies
from hosts.protocols.rla.inflight import InFlight, Packet
from hosts.protocols.rla.listening import RandomListening
from hosts.protocols.rla.options import RlaOptions
from hosts.protocols.rla.packets import WINDOW_PACKETS, Ack
from hosts.protocols.rla.repairs import Repairs
from hosts.protocols.rla.silence import is_silent, merged_timeout_s, usual_silence_s
from hosts.protocols.rla.trust import Trust
from hosts.protocols.rla.window import Window
from hosts.wire.seq import extend

CHECK_S = 0.05
"""How often timeouts are looked for: they are not finer than this (ours; a quarter of the least timeout)."""
LONGEST_RTT_S = 60.0
"""An echo that claims more is not believed: RFC 6298 (2.5) lets no timeout be longer."""
MAX_BACKOFF = 64.0
"""RFC 6298 (5.5) lets a timeout stop growing at 60 s or more."""


class Flow:
    """See the module. Times are seconds of the sender's clock."""

    def __init__(
        self, session: int, group: Address, options: RlaOptions, rng: random.Random, counters: Counter[str]
    ) -> None:
        self._group = group
        self.options = options
        self._counters = counters
        self.listening = RandomListening(options, rng, WINDOW_PACKETS)
        self.branches: dict[Address, Branch] = {}
        self._by_number: dict[int, Branch] = {}
        self._inflight = InFlight()
        self._repairs = Repairs(self._inflight, self._by_number, options.rexmit_thresh, counters, self._copy)
        self._advertised = Advertised(self.branches, self._inflight)
        self.window = Window(options, self.listening, self._inflight, self._advertised, self._repairs, self.branches)
        self._copies = Copies(session, options, self.window, counters)
        self._congestion = Congestion(
            options, counters, self.listening, self._inflight, self._repairs, self.window, self.branches
        )
        self.trust = Trust(options, self._inflight, self.window, self._repairs, self._advertised, self.branches)
        self.joined = 0
        """Receivers so far, and the next one's number."""
        self.arrived = 0
        """Packets that the last acknowledgment told of as the first of its receiver's to do so."""
        self._reached = 0  # all packets below have arrived at somebody's
        self._check_at: float | None = None
        self._heard_at = 0.0  # the last acknowledgment from anybody

    def start(self, now: float) -> None:
        """Nothing has happened before."""
        self._heard_at = self.listening.last_window_cut = now

    # --- receivers

    def add(self, address: Address, window: int, now: float) -> Branch:
        """A receiver, which gets all when that is still kept, else the packets from `base` on; `window` is its free
        buffer in bytes. What it lacks of what the others have it gets as one that was set aside."""
        inflight = self._inflight
        first = 0 if self.has_start else self.base
        offset, margin_s = inflight.offset(first), self.options.rto_margin_s
        branch = Branch(self.joined, address, first, margin_s, now, first_offset=offset)
        self.joined += 1
        branch.window = window
        branch.window_end = offset + window
        self.branches[address] = self._by_number[branch.number] = branch
        if first < self.base and len(inflight.set_aside) + 1 < len(self.branches):
            inflight.add_aside(branch)
        else:
            inflight.listened.add_child(branch.number, first)
        self.trust.joined(branch, now)
        self._advertised.forget()
        self.listening.troubled.add(branch.number, now)
        return branch

    def remove(self, address: Address, now: float) -> Branch:
        """Wait for this receiver no longer."""
        branch = self.branches.pop(address)
        del self._by_number[branch.number]
        self._advertised.forget()
        self.listening.forget(branch.number)
        self._repairs.forget(branch)
        base = self.base
        fresh = self._inflight.remove(branch)
        self.trust.left(branch)
        if self.branches:
            self.window.listens_to_others()
            self._completed(fresh, base, now)
            if len(self._inflight.set_aside) == len(self.branches):
                for other in self.branches.values():
                    self._take_back(other)
        return branch

    def is_aside(self, branch: Branch) -> bool:
        """Whether the window does not wait for it."""
        return branch.number in self._inflight.set_aside

    def put_aside(self, branch: Branch, now: float) -> None:
        """The window waits for it no longer, until it answers."""
        if self.is_aside(branch) or len(self._inflight.set_aside) + 1 >= len(self.branches):
            return
        self._repairs.forget(branch)
        branch.back_below = branch.asked = None
        base = self.base
        fresh = self._inflight.put_aside(branch)
        self.window.listens_to_others()
        self._completed(fresh, base, now)
        self._advertised.forget()
        self._counters["set_aside"] += 1

    def _take_back(self, branch: Branch) -> None:
        self._inflight.take_back(branch)
        self.window.listens_to_others()
        self._advertised.forget()

    @property
    def _presences(self) -> Iterator[Presence]:
        return (branch.presence for branch in self.branches.values())

    @property
    def has_start(self) -> bool:
        """Whether all is kept that was sent."""
        return self._inflight.held_from == 0

    @property
    def base(self) -> int:
        """The first packet that some receiver lacks (min_last_ack + 1), of those that are listened to."""
        return self._inflight.base

    @property
    def base_offset(self) -> int:
        """Its place in the stream."""
        return self._inflight.offset(self.base)

    @property
    def end(self) -> int:
        """The packet that is sent next."""
        return self._inflight.end

    @property
    def end_offset(self) -> int:
        """Its place in the stream."""
        return self._inflight.end_offset

    # --- sending

    def behind_of(self, branch: Branch, now: float) -> int | None:
        """Bytes by which a silent one is behind that it is given up for: no more than that is kept. None: it is not."""
        if self.options.rules == "paper" or not self.is_aside(branch):
            return None
        if now - branch.answered_at <= patience_s(branch.rtt.mean) + self._answer_delay(branch):
            return None
        return self.window.beyond_kept(self._inflight.aside.acknowledged(branch.number))

    def send(self, payload: bytes, end: bool, now: float) -> Send:
        """Multicast the next packet."""
        seq = self._inflight.end
        packet = self._inflight.append(payload, end, now)
        self._counters["data_packets"] += 1
        if self._check_at is None:
            self._check_at = now + CHECK_S
            self._heard_at = now
        self.window.sent(now)
        return self._copy(seq, packet, None, now, again=False)

    def send_run(self, payload: bytes, size: int, now: float) -> SendRun:
        """Multicast the next packets together, each with `size` bytes of the payload."""
        inflight = self._inflight
        seq, offset = inflight.end, inflight.end_offset
        inflight.append_run(payload, size, now)
        self._counters["data_packets"] += inflight.end - seq
        if self._check_at is None:
            self._check_at = now + CHECK_S
            self._heard_at = now
        self.window.sent(now)
        return self._copies.run(seq, offset, payload, size, self._group, self.window.srtt_max, self.window.answers, now)

    def _copy(self, seq: int, packet: Packet, to: Address | None, now: float, *, again: bool = True) -> Send:
        """To one receiver or the group."""
        return self._copies.of(seq, packet, again, to or self._group, self.window.srtt_max, self.window.answers, now)

    # --- acknowledgments

    def acknowledge(self, branch: Branch, ack: Ack, now: float, arrived_at: float | None) -> list[Effect]:
        """One receiver's own."""
        cumulative, sack = extend(ack.cumulative, branch.cumulative), ack.sack << ack.sack_start
        if cumulative + sack.bit_length() >= self.end + (not sack):
            self._counters["drop_beyond"] += 1
            return []
        effects = self.trust.sampled(branch, cumulative, sack, ack.window, now)
        if cumulative < branch.cumulative:
            self._counters["drop_stale"] += 1
            return effects
        branch.acks += 1
        highest = cumulative + sack.bit_length() + (sack != 0)
        self.arrived = max(0, highest - branch.highest)
        if self.arrived:
            branch.highest = highest
            branch.news_at = now
        branch.heard_at = self._heard_at = now
        self.window.heard_of(cumulative + sack.bit_length() - (not sack))
        if ack.echo_time_us:
            branch.answered_at = now
            rtt = (now if arrived_at is None else arrived_at) - ack.echo_time_us / 1e6
            self._measure(branch, rtt, cumulative + sack.bit_length())
        branch.window = ack.window
        recovers = branch.cumulative < cumulative < branch.recover_below
        branch.told(now)
        self._progress(branch, cumulative, now)
        branch.opens(self._inflight.offset(cumulative) + ack.window, now)
        if self.is_aside(branch):
            return effects + self._acknowledge_aside(branch, cumulative, sack, now)
        self._heard_of(branch, cumulative, sack, now)
        self._congestion.told(branch, ack, cumulative + sack.bit_length(), now, effects)
        if ack.hurry:
            effects += self._repairs.hurry(branch, now)
        elif recovers:
            effects += self._repairs.recover(branch, branch.recover_below, now)
        effects += self._repairs.answer(now, self.window.repeats_allowed(now))
        return effects

    def acknowledge_merged(self, ack: Ack, now: float) -> list[Effect]:
        """A switch's, for several receivers that have all that it says; whatever else each of them has is not told.

        Who has told before that it has the packet that holds the others up is further than the summary says.
        """
        self._heard_at = now
        cumulative = extend(ack.cumulative, self.base)
        members = [self._by_number[number] for number in bits(ack.children) if number in self._by_number]
        if cumulative + ack.sack.bit_length() >= self.end + (not ack.sack):
            self._counters["drop_beyond"] += 1
            return self.trust.told_of_unsent(members, now)
        effects = self.trust.claimed(members, cumulative, ack.sack, ack.window, now)
        if effects:
            return effects
        for branch in members:
            branch.merges += 1
            branch.heard_at = branch.answered_at = branch.news_at = now
            if cumulative >= self.base:
                branch.opens(self._inflight.offset(cumulative) + ack.window, now)
            if self.is_aside(branch):
                effects += self._acknowledge_aside(branch, cumulative, ack.sack, now)
            else:
                self._heard_of(branch, cumulative, ack.sack, now)
            self._progress(branch, self._inflight.board(branch).acknowledged(branch.number), now)
        return effects + self._repairs.answer(now)

    def _heard_of(self, branch: Branch, cumulative: int, sack: int, now: float) -> None:
        """What one that is listened to has told that it has."""
        board, base = self._inflight.listened, self.base
        if self._repairs.waits:
            self._repairs.arrived(branch, bits(board.news(branch.number, cumulative, sack), base))
        self._completed(board.acknowledge(branch.number, cumulative, sack, self.end), base, now)

    def _acknowledge_aside(self, branch: Branch, cumulative: int, sack: int, now: float) -> list[Effect]:
        """From one that was set aside: it is waited for again when it has all that was sent before it came back."""
        inflight = self._inflight
        if branch.back_below is None:
            branch.back_below = self.end
        inflight.aside.acknowledge(branch.number, cumulative, sack, self.end)
        inflight.aside.advance()
        if inflight.aside.acknowledged(branch.number) >= branch.back_below:
            self._take_back(branch)
            return []
        inflight.let_go()
        return list(self._repairs.recover(branch, branch.back_below, now))

    def _measure(self, branch: Branch, rtt: float, highest: int) -> None:
        if 0 <= rtt <= LONGEST_RTT_S:
            branch.rtt.add(rtt)
            self.window.srtt_max = max(self.window.srtt_max, branch.believed_rtt_s)
            self.listening.measured(branch.number, branch.rounds, rtt, highest, self.end)
        else:
            self._counters["drop_echo"] += 1

    def _progress(self, branch: Branch, cumulative: int, now: float) -> None:
        """All packets below `cumulative` have arrived there."""
        if cumulative > branch.cumulative:
            branch.cumulative = cumulative
            branch.news_at = now
            branch.presence.told(now)
            branch.progress_at = now
            branch.backoff = 1.0
            self._reached = max(self._reached, cumulative)

    def _completed(self, fresh: int, before: int, now: float) -> None:
        """All who are listened to have the packets of the bitmap `fresh` above the base `before` now."""
        if not fresh:
            return
        inflight = self._inflight
        in_flight = self.end - 1 - self.window.max_reach_all + self._repairs.outstanding
        newest = before + fresh.bit_length() - 1
        self.window.max_reach_all = max(self.window.max_reach_all, newest)
        sent_at = inflight.packets[newest].sent_at
        self.listening.acknowledged_by_all(fresh.bit_count(), in_flight, self.window.srtt_max, now, sent_at)
        inflight.listened.advance()
        self._repairs.completed(fresh, before, inflight.base)
        if not self.has_start or kept_from(self._presences, 0, inflight.base, self.options.payload_bytes):
            inflight.let_go()

    # --- timeouts

    @property
    def wake_at(self) -> float | None:
        """When `handle_timer` is due."""
        return self._check_at

    def handle_timer(self, now: float) -> list[Effect]:
        """Look for timeouts, which are losses too (rule 1), and for who is silent. When nobody has acknowledged
        anything, the window goes back to one packet, as TCP's does; unless somebody has all, and has nothing to say.
        """
        effects: list[Effect] = []
        if self._check_at is None or now < self._check_at:
            return effects
        outstanding = self._inflight.kept_from < self.end
        self._check_at = now + CHECK_S if outstanding else None
        if not outstanding:
            return effects
        if self.options.rules == "tcp":
            self.window.listens_to_others()  # with shorter round trips than before: no signal may say so
        if self._asks:
            self.window.late(usual_silence_s(self.branches.values(), self._inflight))
        waits, silent = [], []
        patience = merged_timeout_s(self.branches.values())
        for branch in self.branches.values():
            if branch.cumulative >= self.end:
                continue
            # What it lacks by all that it has said: an acknowledgment may say less than one before.
            seq = self._inflight.board(branch).acknowledged(branch.number)
            if seq >= self.end:
                continue
            packet = self._inflight.packets[seq]
            timeout = branch.timeout * branch.backoff + self.window.longest_wait
            if branch.merges:
                timeout = max(timeout, patience)
            waits.append(branch.timeout if self.is_aside(branch) else timeout)
            if not self.is_aside(branch) and self._is_silent(branch, seq, now):
                silent.append(branch)
            if now - max(branch.progress_at, packet.sent_at) < timeout:
                continue
            branch.backoff = min(2 * branch.backoff, MAX_BACKOFF)
            branch.recover_below = self.end
            self._counters["timeouts"] += 1
            is_aside, listened = self.is_aside(branch), len(self.branches) - len(self._inflight.set_aside)
            others_have = self.options.rules == "tcp" and self._inflight.listened.lacking(seq) < listened
            if self._asks and others_have and not is_aside:
                branch.asked = Asked(seq, packet.sent_at if branch.asked is None else branch.asked.sent_at, now)
            else:
                branch.losses += 1
                if not is_aside:  # else it tells nothing of congestion
                    self._congestion.lost(branch, [seq], now, effects)
            if is_aside or others_have:  # what is multicast may not reach it: a restarted switch knows no groups
                effects.append(self._repairs.repeat_alone(branch, seq, now))
            else:
                effects += self._repairs.repeat(seq, now)
        if waits and self._reached < self.end and now - self._heard_at > max(waits):
            self._heard_at = now
            self.listening.timeout(now)
            effects.append(CongestionSignal("timeout"))
        if len(silent) + len(self._inflight.set_aside) < len(self.branches):  # else it may be the sender's own link
            for branch in silent:
                self.put_aside(branch, now)
        return effects

    @property
    def _asks(self) -> bool:
        """Whether one receiver's timeout, of what others have, is a question first: acknowledgments are lost, too, of
        many receivers more than data (ours; the paper takes each for a loss)."""
        return self.options.rules == "tcp" and not self.window.is_helped

    def _is_silent(self, branch: Branch, lacking: int, now: float) -> bool:
        """Of one that lacks that packet and is listened to."""
        listened = len(self.branches) - len(self._inflight.set_aside)
        return is_silent(branch, self._inflight, listened, lacking, now, self._answer_delay(branch))

    def _answer_delay(self, branch: Branch) -> float:
        """For how long an answer of it may be kept back, in seconds."""
        return self.window.longest_wait + (self.options.sample_s if branch.merges else 0.0)
