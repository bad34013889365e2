"""A sender's agent (MTCP, 2): buffers packets until all children have them, and keeps the congestion and transit
windows of the paths from the sender to its children by their feedback.

The sender holds one for its own children; any other agent is a receiver that holds one. Send times are on the sender's
clock, `now` is on the agent's; only differences of their differences are used (3.2).
"""

from collections import Counter

from hosts.endpoint import Address, CongestionSignal, Effect
from hosts.parts.sack import Scoreboard, bits
from hosts.parts.silence import kept_from
from hosts.parts.witness import Witness
from hosts.protocols.mtcp.advertised import AdvertisedWindows
from hosts.protocols.mtcp.aside import KEPT_BUFFERS
from hosts.protocols.mtcp.children import Child
from hosts.protocols.mtcp.congestion import Congestion, Summary
from hosts.protocols.mtcp.delays import Delays
from hosts.protocols.mtcp.merged import Merged, said
from hosts.protocols.mtcp.numbers import Numbers
from hosts.protocols.mtcp.options import MtcpOptions
from hosts.protocols.mtcp.packets import DATA_BYTES, REACH, SACK_BITS, Feedback
from hosts.protocols.mtcp.presumed import Presumed
from hosts.protocols.mtcp.retransmission import Retransmission
from hosts.protocols.mtcp.silence import Silence
from hosts.protocols.mtcp.store import PacketStore, StoredPacket
from hosts.wire.seq import extend


class Agent:
    """The parent's half of one level of the tree."""

    def __init__(
        self,
        options: MtcpOptions,
        counters: Counter[str],
        *,
        first: int,
        own_clock: bool,
        first_offset: int = 0,
        group: Address | None = None,
    ) -> None:
        """`first` and `first_offset` are the first packet's. `own_clock`: the agent is the sender itself, so that
        nothing is acknowledged that it does not have. Another agent's counters are its own as a receiver, too: what it
        does for its children has names with `child_` before them. `group`: who repairs for many children go to; None:
        to each of them."""
        prefix = "" if own_clock else "child_"
        self.options = options
        self.counters = counters
        self._feedback_counter = f"{prefix}feedback_packets"
        self._own_clock = own_clock
        self.children: dict[Address, Child] = {}
        self.by_number: dict[int, Child] = {}
        self.store = PacketStore(first, first_offset, 0 if own_clock else options.agent_history)
        self.has_end = False
        """Whether the last packet of the stream has been buffered."""
        self.congestion = Congestion(options, first, first_offset, own_clock=own_clock)
        self.advertised = AdvertisedWindows()
        self.delays = Delays(self.children, options, counters, own_clock=own_clock)
        self._board = Scoreboard(first)
        self._kept_below = 0  # bytes, that agents among the children may owe to theirs
        self._presumed = Presumed(self.children)
        children, store, board, delays = self.children, self.store, self._board, self.delays
        self._retransmission = Retransmission(
            options, counters, prefix, children, store, board, delays, self.congestion, own_clock=own_clock, group=group
        )
        self._silence = Silence(
            options,
            counters,
            children,
            store,
            board,
            delays,
            self.congestion,
            self.advertised,
            self._retransmission,
            own_clock=own_clock,
        )
        self._numbers = Numbers()
        self._merged = Merged(counters, prefix, self.by_number, store, board, self.advertised, self._retransmission)
        self.witness = Witness() if options.sample_s and options.assist == "switch" else None
        """Whether switches may be believed; None: they are."""
        self._merged.witness = self.witness
        self.summary_changed = False
        """Something else than cwnd has changed that the summary depends on; who wants to know sets it back before."""

    # --- children

    def add_child(self, address: Address, buffer_bytes: int, now: float, *, first: int | None = None) -> Child:
        """Admit a child with such a buffer, that has all before packet `first` (default: `end`), which must be held."""
        first = self.end if first is None else first
        offset = self.store.offset_of(first)
        number = self._numbers.take()
        if not self.children and not self._own_clock:
            self.congestion.begin(self.end)
        child = Child(
            number,
            address,
            self.options,
            now,
            first=first,
            first_offset=self.end_offset if offset is None else offset,
            buffer_bytes=buffer_bytes,
        )
        self.children[address] = child
        self.by_number[number] = child
        self._merged.forget()
        self.delays.joined()
        if self.options.adaptive and self.listened > 1 and self.end - first > SACK_BITS:
            self._silence.aside.put(child, first, 0, now)  # the others need not wait until it has come so far
            return child
        self._board.add_child(number, first if first < self.end else None)
        self.congestion.summaries.add(child)
        self.advertised.update(child)
        for seq in range(first, self.end):  # nobody waited for them any more, or for somebody who never answers
            if seq in self.store.packets:
                self._retransmission.restart(seq, now)
        return child

    def remove_child(self, address: Address, now: float) -> None:
        """The child leaves, and with it all that it held back."""
        child = self.children.pop(address)
        number = child.number
        del self.by_number[number]
        self._merged.forget()
        self._retransmission.left(child)
        self._numbers.give_back(number)
        self.congestion.summaries.remove(child)
        self.advertised.remove(child)
        is_owed = self.witness is not None and self.witness.forget(address)
        if child.aside:
            self._silence.aside.take(child)
            self._trim()
        else:
            fresh = self._board.remove_child(number, self.end)
            if self.children or not self._own_clock or child.presence.is_proven or is_owed:
                self._completed(fresh, now)  # else it may not have been there, and others may still come
        self.delays.left(child)

    def probed(self, child: Child) -> None:
        """The child is asked for an answer."""
        self._presumed.probed(child)

    def serves_agents(self) -> None:
        """A child may have children."""
        if self.options.adaptive:
            self._kept_below = KEPT_BUFFERS * self.options.buffer_bytes

    @property
    def listened(self) -> int:
        """Children that the window waits for."""
        return self._silence.listened

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
    def keep_offset(self) -> int | None:
        """Up to here in the stream nobody below needs anything any more; None without children."""
        return int(self.advertised.keep_offset) if self.listened else None

    @property
    def kept_end(self) -> float:
        """Place in the stream up to which those allow to send who are set aside."""
        return self._silence.aside.end

    def given_up(self, child: Child, now: float) -> bool:
        """Whether a child is silent for which no more can be kept."""
        return self._silence.aside.given_up(child, now)

    @property
    def advertised_end(self) -> int:
        """Place in the stream up to which may be sent: the least of the advertised windows, and `kept_end`."""
        return int(min(self.advertised.end, self.kept_end)) if self._silence.aside else self.advertised.end

    def buffer_run(self, data: bytes, offset: int, size: int, send_time_us: int, now: float) -> None:
        """Packets from `end` on are multicast now, each with `size` bytes of the stream, from `offset` on."""
        store, twnd = self.store, self.congestion.twnd
        first = store.end
        length = DATA_BYTES + size
        count = len(data) // length
        if not self._board.is_new(first, count):  # nobody waits for them, or a child knows more than was sent
            for number in range(count):
                part = data[number * length : (number + 1) * length]
                self.arrived(first + number, part, offset + number * size, size, send_time_us, now)
            return
        counts = twnd.counts(first)
        for number in range(count):
            packet = StoredPacket(data[number * length : (number + 1) * length], offset + number * size, size, now)
            packet.counts = counts
            store.put(first + number, packet)
        self._retransmission.multicast(first, send_time_us / 1e6, now, count)
        if counts:
            twnd.sent(count * size)

    def arrived(self, seq: int, data: bytes, offset: int, size: int, send_time_us: int | None, now: float) -> None:
        """Keep packet `seq`. `send_time_us` is None when it was no multicast that brought it: then it is not in transit
        to the children either, and what they lack of it is repaired from here.
        """
        fresh = self._board.sent(seq)
        packet = StoredPacket(data, offset, size, now)
        self.store.put(seq, packet)
        if fresh:
            self._completed(fresh, now)
        elif self._board.is_complete(seq):
            self._trim()
        elif send_time_us is not None:
            self._retransmission.multicast(seq, send_time_us / 1e6, now)
            packet.counts = self.congestion.twnd.counts(seq)
            if packet.counts:
                self.congestion.twnd.sent(size)
        else:
            self._retransmission.restart(seq, now)

    def pass_on_repair(self, seq: int, now: float) -> list[Effect]:
        """Repair packet `seq`, which the agent itself had lacked, to the children that are known to lack it."""
        return self._retransmission.pass_on(seq, now)

    def summary(self) -> Summary:
        """The congestion summary of the subtree (3.8)."""
        summary = self.congestion.summary(self.store.end_offset)
        return self._presumed.less(summary, self.store.end_offset) if self._presumed.is_on else summary

    # --- feedback

    def feedback(self, child: Child, feedback: Feedback, now: float, arrived_at: float | None = None) -> list[Effect]:
        """An ACK or NACK of `child`, or what a switch has merged; `arrived_at` as in Datagram."""
        self.counters[self._feedback_counter] += 1
        if arrived_at is None:
            arrived_at = now
        else:
            self.delays.handled(now - arrived_at)
        if feedback.merged:
            return self._merged_feedback(child, feedback, now, arrived_at)
        cumulative = extend(feedback.cumulative, self._board.base)
        if feedback.shifted:  # by more than ever is in flight: that is of nothing that was sent
            feedback = feedback._replace(sack=feedback.sack << min(feedback.queue_us, REACH))
        if not self.is_possible(cumulative, feedback.sack):
            self.counters["drop_ack_of_unsent"] += 1
            return []
        if self._own_clock and child.feedback:
            child.interval.add(now - child.answered_at)
        child.heard_at = child.answered_at = now
        child.feedback += 1
        is_sample = child.merge and not (feedback.merge or feedback.marked or feedback.shifted)
        if child.merge:
            child.on_its_own()
            if self.witness and self.witness.sampled(child.address, said(self.store, cumulative, feedback), now):
                return []  # the family ends that
        if self.delays.feedback_arrived(child, feedback, arrived_at) and not child.aside:
            self.congestion.measured(child)
        if child.aside:
            return self._speaks_again(child, cumulative, feedback, now)
        effects: list[Effect] = []
        self._completed(self._acknowledge(child, cumulative, feedback, now), now)
        self._retransmission.answered(child, feedback.needless, now, effects)
        if self._own_clock and child.misheard_at == now:
            self._presumed.misheard(now)
        if self._presumed.is_on:
            self._presumed.look(now)
            repairs = self._retransmission.sent_since(now - self._presumed.rtt_s)
            self._presumed.repair_bytes = repairs * self.options.payload_bytes
            self.congestion.hears(self._presumed.heard)
            self.summary_changed = True
        if feedback.marked:
            highest = cumulative + feedback.sack.bit_length()
            if self.congestion.marked(child, highest, self.end, self.children.values()):
                effects.append(CongestionSignal("ecn", child.address))
        if feedback.sack and not is_sample:  # a sample says what others ask for
            self._retransmission.find_missing(child, cumulative + feedback.repeats, now, effects)
        if child.repairs:
            self._retransmission.send(child, now, effects)
        self.summary_changed |= self.congestion.summaries.update(child, feedback.min_cwnd, feedback.max_twnd)
        return effects

    def _speaks_again(self, child: Child, cumulative: int, feedback: Feedback, now: float) -> list[Effect]:
        """A child that is set aside has all before packet `cumulative`."""
        child.heard_at = child.answered_at = now
        offset, highest = self.store.offsets(cumulative, feedback.sack)
        opened = child.acknowledged(cumulative, feedback.window, offset, highest, now)
        self.summary_changed = True  # the end up to which all are sent
        effects = self._silence.broken(child, cumulative, feedback, opened, now)
        self._trim()
        return effects

    def is_possible(self, cumulative: int, sack: int) -> bool:
        """Whether an acknowledgment can be of packets that were sent. At others than the sender, who knows exactly,
        a child may be ahead, by as much as the sender may send at all."""
        limit = self.end if self._own_clock else self.end + self.options.reach
        return cumulative + (sack.bit_length() + 1 if sack else 0) <= limit and cumulative >= 0

    def _acknowledge(self, child: Child, cumulative: int, feedback: Feedback, now: float) -> int:
        """Put down what a child has. Returns what all children have now, for `_completed`."""
        offset, highest = self.store.offsets(cumulative, feedback.sack)
        if child.acknowledged(cumulative, feedback.window, offset, highest, now):
            self.advertised.update(child)
        news = self._board.news(child.number, cumulative, feedback.sack) if child.repairs else 0
        fresh = self._board.acknowledge(child.number, cumulative, feedback.sack, self.store.end)
        if news:
            self._retransmission.settle(child, news, now)
        return fresh

    def _completed(self, fresh: int, now: float) -> None:
        """All children have the packets in the bitmap `fresh` (above the base) now."""
        if not fresh:
            return
        self.summary_changed = True
        base = self._board.base
        twnd = self.congestion.twnd
        packets = self.store.packets
        new = 0
        for seq in bits(fresh, base):
            packet = packets.get(seq)
            if packet is not None and packet.counts:
                packet.counts = False
                if twnd.counts(seq):
                    new += 1
                    twnd.acknowledged(seq, packet.size)
        self._board.advance()
        self._trim()
        if not self.children:
            return
        if self.congestion.completed(fresh.bit_count(), new, base + fresh.bit_length(), now):
            listened = [child for child in self.children.values() if not child.aside]
            self.congestion.end_round(self._board.base, self.end, listened, now)
            self.delays.refresh()

    def _trim(self) -> None:
        base, store, presences = self._board.base, self.store, (child.presence for child in self.children.values())
        if self._own_clock and store.first_offset == 0:
            base = kept_from(presences, store.first, base, self.options.payload_bytes)
        keep_offset = self.advertised.keep_offset
        aside = self._silence.aside
        if aside:
            base = min(base, aside.kept_from)
            keep_offset = min(keep_offset, aside.keep_offset)
        if self.witness is not None and self.witness.kept is not None:
            base = min(base, self.witness.kept)
        store.trim(base, keep_offset - self._kept_below)

    # --- feedback that a switch merged from several children's (docs/assist.md)

    def _merged_feedback(self, child: Child, feedback: Feedback, now: float, arrived_at: float) -> list[Effect]:
        """It speaks for several children, of whom `child` has sent it: see merged.py."""
        if not self._merged.is_wanted(child, feedback):
            return []
        cumulative = extend(feedback.cumulative, self._board.base)
        if not self.is_possible(cumulative, feedback.sack):
            self.counters["drop_ack_of_unsent"] += 1
            self._merged.told_of_unsent(feedback, now)
            return []
        child.feedback += 1
        effects: list[Effect] = []
        members = self._merged.arrived(feedback)
        if self._merged.misquotes(members, cumulative, feedback, now):
            return []
        if aside := self._silence.aside:
            for member in members:
                # A switch may still tell of one who is dead: only what it did not have before is its own word.
                if member.aside and cumulative > aside.acknowledged_by(member):
                    effects += self._speaks_again(member, cumulative, feedback, now)
            members = [member for member in members if not member.aside]
        self.delays.merged_feedback_arrived(child, feedback, members, arrived_at)
        self._completed(self._merged.acknowledge(members, cumulative, feedback, now), now)
        self.summary_changed |= self.congestion.summaries.update_all(members, feedback.min_cwnd, feedback.max_twnd)
        self._merged.repair(members, now, effects)
        return effects

    # --- timers

    @property
    def wake_at(self) -> float | None:
        """When `handle_timer` is due: for retransmissions, and to find who is silent."""
        at, silence_at = self._retransmission.wake_at, self._silence.wake_at
        return silence_at if at is None or (silence_at is not None and silence_at < at) else at

    def handle_timer(self, now: float) -> list[Effect]:
        """Wait no longer for who is silent, and repair what has timed out."""
        self._completed(self._silence.look(now), now)
        return [*self._silence.ask(now), *self._retransmission.handle_timer(now)]
