"""What a receiver tells its parent, and when: delayed acknowledgments, NACKs at once, window updates in silence (MTCP,
3.1, 3.7 to 3.9).
"""

import math
from collections import Counter

from hosts.endpoint import Effect, Send
from hosts.parts.reassembly import Reassembly
from hosts.protocols.mtcp.agent import Agent
from hosts.protocols.mtcp.attachment import Attachment
from hosts.protocols.mtcp.options import MtcpOptions
from hosts.protocols.mtcp.packets import SACK_BITS, Data, Repair, encode_feedback, unmerged
from hosts.protocols.mtcp.progress import encode_progress
from hosts.protocols.mtcp.tree_packets import JoinAck
from hosts.protocols.mtcp.wire import UNLIMITED
from hosts.wire.seq import extend

SMALL_CWND = 8
"""Packets; half of a smaller window is acknowledged at once: twice what `ack_every` is by default (ours)."""
CROWDED_CWND = 16
"""Packets; with a smaller window queues may have room for less than all children's feedback at once (ours)."""
TOGETHER = 2
"""Children of one parent that may speak at once: any queue has room for that (ours)."""
TURNS = 16
"""Of other children, one after the other: `fan_out`'s default (ours)."""
TURN_PACKETS = 1 / 8
"""In the time of so many packets each has its turn: what feedback is of a packet (ours)."""
ACKS_A_WINDOW = 16
"""ACKs of one child for each window of the sender's, at least, and twice as many at most, so that feedback does not
grow with the rate (ours; draft-ietf-quic-ack-frequency, 3, is content with fewer). The sender is paced, so that what
one ACK releases is no burst; but slow start must see soon that packets wait.
"""
MOST_TOGETHER = SACK_BITS // 2
"""Packets that one ACK tells of: so when some are missing, no bitmap passes over others (ours)."""
SAMPLED_PACKETS = 2048
"""After so many a parent hears from each child itself that it has them, for so long it keeps them (ours)."""
SPACING_GAIN = 1 / 8
"""Of the mean time from a packet to the next (RFC 6298's alpha)."""


def together(options: MtcpOptions, cwnd: int, *, merge: bool) -> int:
    """Packets that one ACK tells of when the sender's window is `cwnd` packets (0: not known), unless the delay ends
    before; `merge`: switches may merge it, so that there is little of it anyway.
    """
    enough = options.ack_every
    if not cwnd:
        return enough
    # A sender that has used up its window waits, with a small one for every acknowledgment (ours).
    if cwnd < SMALL_CWND:
        return min(enough, cwnd // 2)
    if options.adaptive and not merge and cwnd >= ACKS_A_WINDOW * enough:
        return max(enough, min(1 << (cwnd // ACKS_A_WINDOW).bit_length() - 1, MOST_TOGETHER))
    return min(enough, cwnd)


class ReceiverFeedback:
    """A receiver's ACKs and NACKs. Times are seconds on the receiver's clock."""

    __slots__ = (
        "_arrived_at",
        "_attachment",
        "_counters",
        "_echo_at",
        "_echo_delay",
        "_echo_time_us",
        "_is_needless",
        "_last",
        "_nack_due",
        "_options",
        "_reception",
        "_repair_echo_us",
        "_round_s",
        "_sample_at",
        "_sampled",
        "_spacing_s",
        "_told_cwnd",
        "_told_end",
        "_told_room",
        "_turn",
        "_unacknowledged",
        "_update_period",
        "ack_at",
        "agent",
        "marked",
        "merge",
        "number",
        "paused",
        "session",
        "update_at",
    )

    def __init__(
        self, options: MtcpOptions, counters: Counter[str], reception: Reassembly[Data | Repair], attachment: Attachment
    ) -> None:
        """Of a receiver that has so much of the stream; it is sent to its parent."""
        self._options = options
        self._counters = counters
        self._reception = reception
        self._attachment = attachment
        self.session = 0
        self.number = 0
        """At the parent."""
        self.merge = False
        """Whether switches may merge this feedback with others'."""
        self.agent: Agent | None = None
        """What the receiver keeps of its own children, when it is an agent: then a summary is due (3.8)."""
        self.paused = True
        """There is no parent."""
        self.marked = False
        """A queue has marked a packet since the last feedback."""
        self._is_needless = False  # the repair that came last was
        self._echo_time_us = 0
        self._echo_at = 0.0
        self._echo_delay = math.inf  # its delay between the two clocks; infinite when it has been told
        self._repair_echo_us = 0
        self._sample_at = 0.0  # when the parent is to hear it again, from itself
        self._sampled = 0  # what it had when it said so last
        self._told_cwnd = 0  # bytes: min_cwnd of the last summary
        self._told_room = 0  # bytes that it left the sender
        self._unacknowledged = 0  # packets since the last feedback
        self._turn = 0  # this child's among its parent's
        self._last = 0  # the packet that came last
        self._arrived_at: float | None = None  # the last DATA
        self._spacing_s = 0.0  # mean time from one DATA to the next
        self._nack_due = False  # what is due at `ack_at` is a NACK
        self.ack_at: float | None = None
        """When a delayed acknowledgment is due."""
        self._update_period = options.window_update_s
        self._round_s = options.window_update_s  # a round trip, as far as arrivals tell
        self.update_at: float | None = None
        """When a window update is due."""
        self._told_end = 0  # stream offset that the last feedback allowed

    def begin(self, reception: Reassembly[Data | Repair], accepted: JoinAck, now: float) -> None:
        """There is a parent, maybe a new one: it measures repairs by its own clock."""
        self._reception = reception
        self.session = accepted.session
        self.number = accepted.number
        self.merge = accepted.merge
        if self._options.adaptive and not accepted.merge:
            self._turn = max(0, accepted.number + 1 - TOGETHER) % TURNS
        else:
            self._turn = 0
        self.paused = False
        self._repair_echo_us = 0
        self._unacknowledged = 0
        self.ack_at = None
        self.update_at = now + self._update_period
        self._told_end = self.advertised_end

    @property
    def advertised_end(self) -> int:
        """Place in the stream up to which this receiver takes data: its buffer is also that of all below it."""
        reception = self._reception
        agent = self.agent
        if agent is None:
            return reception.advertised_end
        keep_offset = agent.keep_offset
        end = reception.advertised_end
        if keep_offset is not None and keep_offset < reception.consumed:
            end = min(end, keep_offset + reception.buffer_bytes)
        return int(min(end, agent.kept_end))

    @property
    def kept_offset(self) -> int:
        """From where on in the stream the parent, and all above, keep it for this receiver and those below: what its
        advertised window has told (see Child.keep_offset).
        """
        return self._told_end - self._reception.buffer_bytes

    def arrived(
        self,
        packet: Data | Repair,
        gap: bool,
        now: float,
        arrived_at: float | None,
        *,
        is_new: bool = True,
        is_parents: bool = True,
        count: int = 1,
    ) -> list[Effect]:
        """A packet came in; `gap`: it shows that one before it is missing; `is_new`: it had not come before;
        `is_parents`: a repair is the parent's, who measures by it; `count`: it is the first of so many that came
        together, and the time is its own. The feedback to send at once, if any is.
        """
        is_crowded = bool(self._turn)
        if type(packet) is Data:
            is_crowded = 0 < packet.cwnd < CROWDED_CWND and is_crowded
            at = now if arrived_at is None else arrived_at
            delay = at - packet.send_time_us / 1e6
            # Of those acknowledged together, the one that waited least, as if each had been acknowledged: the last
            # of a burst has waited for the burst (ours; 3.1 has the last).
            if delay <= self._echo_delay:
                self._echo_delay = delay
                self._echo_time_us = packet.send_time_us
                self._echo_at = at
            if self._arrived_at is not None:
                # A pause that is longer than a round trip is none of the path's.
                gap_s = min(max(0.0, at - self._arrived_at), self._round_s)
                self._spacing_s += SPACING_GAIN * (gap_s / count - self._spacing_s)
            self._arrived_at = at
            self._round_s = self._round_of(packet.cwnd)
            enough = together(self._options, packet.cwnd, merge=self.merge)
        else:
            if is_parents:
                self._repair_echo_us = packet.repair_time_us  # type: ignore[union-attr]
            self._is_needless = not is_new
            enough = 0
        last = packet.seq + count - 1
        self._last = last & 0xFFFFFFFF
        self._update_period = self._round_s
        if self.paused:
            return []
        self.update_at = now + self._update_period
        self._unacknowledged += count
        if self._reception.ended:
            return self.send(gap, now)
        if gap:
            return self._in_turn(True, now)
        due = self._unacknowledged >= enough
        if enough > 1 and (self.merge or is_crowded):
            # All acknowledge at the same packets, so that one summary of the switches says it; or, where that would be
            # too much at once, each at others (ours).
            turns = (last + 1 + self._turn) // enough - (packet.seq + self._turn) // enough
            due = turns > 0 or self._unacknowledged >= 2 * enough
        if due:
            return self._in_turn(False, now) if is_crowded else self.send(False, now)
        if self.ack_at is None:
            self.ack_at = now + self._ack_delay_s
        return []

    @property
    def _ack_delay_s(self) -> float:
        return self._options.ack_delay_s * (1 - self._turn / (2 * TURNS))

    def _round_of(self, cwnd: int) -> float:
        """Seconds in which a sender sends its window, of so many packets, and with that the first time after which what
        was said is said again: a sender may have no room left because an acknowledgment was lost (ours; the paper's
        first window update comes after half a second, whatever the path).
        """
        options = self._options
        if not options.adaptive or self.merge or not cwnd or not self._spacing_s:
            return options.window_update_s
        round_s = max(cwnd * self._spacing_s, 2 * options.ack_delay_s)
        return min(round_s * (1 + self._turn / TURNS), options.window_update_s)

    def known(self, now: float) -> list[Effect]:
        """What all were sent again was not missing here: but maybe nobody has been told."""
        self._is_needless = True
        if not self.paused and self.ack_at is None:
            self.ack_at = now + self._ack_delay_s
        return []

    def _in_turn(self, nack: bool, now: float) -> list[Effect]:
        """Feedback to be sent at once: but when a packet is lost near the sender, all of its children say so at once,
        and the way back may have a queue of few packets (ours).
        """
        delay = min(self._turn * TURN_PACKETS * self._spacing_s, self._options.ack_delay_s)
        if not delay:
            return self.send(nack, now)
        self._nack_due |= nack
        self.ack_at = now + delay if self.ack_at is None else min(self.ack_at, now + delay)
        return []

    def send(self, nack: bool, now: float) -> list[Effect]:
        """What has arrived, and the summary: neutral elements from a leaf. For a switch that merges acknowledgments,
        whatever lacks something is a NACK (3.1).
        """
        reception = self._reception
        received = reception.received
        agent = self.agent
        self._unacknowledged = 0
        self._echo_delay = math.inf
        self.ack_at = None
        self._nack_due = False
        end = self._told_end = self.advertised_end
        self.update_at = now + self._update_period
        sack, shift = received.sack, 0
        beyond = sack.bit_length() - SACK_BITS
        if beyond > 0:  # it tells of what came last, and of what is behind that (as RFC 2018, 4)
            shift = min(max(0, extend(self._last, received.cumulative) - received.cumulative - 1), beyond)
        min_cwnd, max_twnd = UNLIMITED, 0
        self._told_cwnd = self._told_room = 0
        if agent is not None and agent.listened:
            summary = agent.summary()
            min_cwnd, max_twnd = summary
            self._told_cwnd = summary.min_cwnd
            self._told_room = summary.current_window
        held_us = int((now - self._echo_at) * 1e6) if self._echo_time_us else 0
        told = self.session, received.cumulative, self._echo_time_us, held_us, self._repair_echo_us
        window = max(0, end - reception.delivered)
        if not (nack or sack or self.merge) and self._options.adaptive:
            packet = encode_progress(*told, min_cwnd, max_twnd, window, marked=self.marked, needless=self._is_needless)
        else:
            packet = encode_feedback(
                *told[:1],
                nack or (self.merge and received.has_gap),
                *told[1:],
                min_cwnd,
                max_twnd,
                window,
                sack,
                merge=self.merge
                and not self.marked
                and not shift,  # switches have no place for that in what they merge
                number=self.number,
                marked=self.marked,
                shift=shift,
                relearn=self._options.adaptive,
                needless=self._is_needless and self._options.adaptive and not self.merge,
            )
        self.marked = False
        if self._options.adaptive and not self.merge:
            self._repair_echo_us = 0  # once: what comes later would say of the round trip that it is longer
        assert self._attachment.parent is not None
        self._counters["feedback_packets"] += 1
        news = received.cumulative - self._sampled
        if self.merge and self._options.sample_s and (now >= self._sample_at or news >= SAMPLED_PACKETS):
            self._sample_at, self._sampled = now + self._options.sample_s, received.cumulative
            return [Send(packet, self._attachment.parent), Send(unmerged(packet), self._attachment.parent)]
        return [Send(packet, self._attachment.parent)]

    def opened(self, now: float) -> list[Effect]:
        """There is more room: tell a parent whose sender stopped before the closed window (RFC 9293, 3.8.6.2.2: half
        the buffer at once).
        """
        reception, options = self._reception, self._options
        if reception.ended and self.update_at is not None:  # nobody waits for room, but for whether it is getting on
            self.update_at = min(self.update_at, now + options.window_update_s)
        if self.paused or reception.ended or self._told_end - reception.delivered >= options.payload_bytes:
            return []
        least = min(2 * options.payload_bytes, options.buffer_bytes // 2)
        return [] if self.advertised_end - self._told_end < least else self.send(False, now)

    def summary_changed(self, now: float) -> list[Effect]:
        """Feedback from below has come in. When it leaves the sender more room, that is told like the arrival of as
        many packets would be (ours): a sender that waits for room sends nothing that could be acknowledged, and a
        window update may be half a second away (3.9).
        """
        if self.paused or self.agent is None:
            return []
        if not self.agent.listened:
            return self.opened(now)
        summary = self.agent.summary()
        room = summary.current_window - self._told_room
        if 2 * summary.min_cwnd < self._told_cwnd:
            return self.send(False, now)  # the sender must slow down
        enough = together(self._options, self.agent.congestion.governing_cwnd, merge=self.merge)
        if room >= max(enough, self._options.ack_every) * self._options.payload_bytes:
            return self.send(False, now)
        if room > 0 and self.ack_at is None:
            self.ack_at = now + self._options.ack_delay_s
        return self.opened(now)

    @property
    def wake_at(self) -> float | None:
        """When `handle_timer` is due."""
        if self.ack_at is None or (self.update_at is not None and self.update_at < self.ack_at):
            return self.update_at
        return self.ack_at

    @property
    def _next_period(self) -> float:
        longest = self._options.window_update_s
        if self._update_period < longest:
            return min(2 * self._update_period, longest)
        return self._update_period + self._options.window_update_step_s

    def stop(self) -> None:
        """Nothing more is to be told."""
        self.paused = True
        self.ack_at = self.update_at = None

    def handle_timer(self, now: float) -> list[Effect]:
        """The delayed acknowledgment, or a window update: 500 ms after the last feedback, then each time 1 s later
        (3.9); with `adaptive` a round trip after it, then each time twice as long after the one before up to that.
        """
        if self.paused:
            return []
        if self.ack_at is not None and now >= self.ack_at:
            return self.send(self._nack_due, now)
        if self.update_at is not None and now >= self.update_at:
            self._update_period = self._next_period
            return self.send(False, now)
        return []
