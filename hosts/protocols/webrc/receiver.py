"""WEBRC's receiver: listens, joins and leaves; it never sends (Sections 3.1 to 3.3, Table 2).

`ReceptionControl` decides; here are its packets, its channels' groups and its clock of epochs. What the packets carry
is `content.py`'s.
"""

import random
from collections.abc import Sequence
from typing import Final

from hosts.endpoint import Address, CongestionSignal, Datagram, Effect, Sample, SessionStarted
from hosts.parts.doubt import Doubt
from hosts.protocol import Session
from hosts.protocols.webrc.content import ContentReceiver
from hosts.protocols.webrc.control import ReceptionControl
from hosts.protocols.webrc.description import conflict, described
from hosts.protocols.webrc.options import WebrcOptions
from hosts.protocols.webrc.packets import Alc, parse_once
from hosts.protocols.webrc.silence import PLAIN_SILENCE_S, is_silent, overdue
from hosts.protocols.webrc.status import receiver_sample
from hosts.wire.header import CE, PacketError

MOST_WAIT_S: Final = 60.0
"""Between two joins of the base channel while nothing is heard, at most (ours): a switch may have forgotten it."""


class WebrcReceiver(ContentReceiver):
    """States: listening (for the base channel), member, confirming, closed. Random are when its epochs begin, and when
    it joins again after a failure."""

    def __init__(self, session: Session, options: WebrcOptions, rng: random.Random) -> None:
        super().__init__(session, options)
        self._is_plain = False
        self.slot_index = 0
        """The time slot as the sender's packets say."""
        self.lost_packets = 0
        self._base_joined_at = 0.0
        self._is_described = False  # the sender's own description of the session has come
        self._sender: Address | None = None
        self._rng = rng
        # Receivers that begin together shall not join together: small differences make cycles taut (4.4).
        self._phase_s = options.epoch_s * rng.random()
        self._epoch_at = 0.0
        self._heard_at = self._slot_since = 0.0
        self._doubt = Doubt[bool]()  # whether the session is over
        self._listen_again_at = self._listen_wait_s = 0.0

    def _set_up(self, options: WebrcOptions) -> None:
        super()._set_up(options)
        self.control = ReceptionControl(self.waves, options)

    # --- the application's side

    def sample(self, *, now: float) -> Sample:
        return receiver_sample(
            self,
            self.control,
            self._delivery.download.decoder,
            received_bytes=self.received_bytes,
            lost_packets=self.lost_packets,
            packet_bits=self.options.packet_bits,
        )

    # --- inputs

    def start(self, *, now: float) -> Sequence[Effect]:
        self._epoch_at = now + self._phase_s
        self._heard_at = self._slot_since = now
        self._listen_wait_s = self.channels.silences.limit_s
        return [self._listen(now)]

    def _listen(self, now: float) -> Effect:
        """Join the base channel."""
        self._base_joined_at = now
        self.control.session_joined(now)
        self._listen_again_at = now + self._listen_wait_s
        self._listen_wait_s = min(2 * self._listen_wait_s, MOST_WAIT_S)
        return self.channels.join(self.waves.t)

    def receive(self, datagram: Datagram, *, now: float) -> Sequence[Effect]:
        if self.state in ("confirming", "closed"):
            return ()
        try:
            packet = parse_once(datagram.data)
        except PacketError as error:
            self.counters[f"drop_{error.reason}"] += 1
            return ()
        if datagram.source != self._sender or packet.session != self.number:
            problem = self._unwanted(packet, datagram.source)
            if problem:
                self.counters[problem] += 1
                return ()
        effects: list[Effect] = []
        if packet.description and not self._is_described and datagram.destination == self.session.group:
            try:
                effects += self._describe(packet)
            except PacketError as error:
                self.counters[f"drop_{error.reason}"] += 1
                return ()
            if self.closed:
                return effects
        return [*effects, *self._admit(packet, datagram, now)]

    def _describe(self, packet: Alc) -> list[Effect]:
        """The session's parameters as the sender says them: those that this receiver knows no better are taken over. A
        receiver that has begun with others begins again. PacketError: no parameters."""
        announced = described(self.options, packet.description)
        waves = announced.waves()
        if packet.channel != waves.t or packet.is_long != waves.is_long:
            raise PacketError("description")
        problem = conflict(self.options, announced)
        if problem:
            return self._end(False, problem)
        self._is_described = True
        if announced == self.options:
            return []
        effects: list[Effect] = [self.channels.leave(channel) for channel in list(self.channels.waves)]
        self._set_up(announced)
        self.control.session_joined(self._base_joined_at)
        self.state = "listening"
        return effects

    def _admit(self, packet: Alc, datagram: Datagram, now: float) -> Sequence[Effect]:
        """A packet of the session: of a channel that is joined?"""
        if self._is_plain or (self.state == "listening" and not packet.is_controlled):
            return self._plain(packet, datagram, now)
        channel = packet.channel
        if (
            channel > self.waves.t
            or datagram.destination != self.channels.groups[channel]
            or packet.is_long != self.waves.is_long
        ):
            self.counters["drop_wrong_channel"] += 1
            return ()
        if channel != self.waves.t and channel not in self.channels.waves and self.state != "listening":
            self.counters["drop_not_joined"] += 1
            self.control.still_comes(channel, now)
            return ()
        arrived_at = datagram.came_at(now)
        effects: list[Effect] = []
        if self.state == "listening":
            # One that closes is of a session that is over; not the one that is waited for.
            if channel != self.waves.t or packet.slot_index >= self.waves.t or packet.closes:
                self.counters["drop_not_member"] += 1
                return ()
            effects += self._first(packet, datagram.source, arrived_at, now)
        elif packet.closes:
            self._doubt.said(True, now, to_one=False)
            return ()
        elif packet.slot_index != self.slot_index:
            effects += self._other_slot(packet.slot_index, now)
        self._heard_at = now
        return [*effects, *self._take(packet, arrived_at, now, is_marked=datagram.ecn == CE)]

    def _plain(self, packet: Alc, datagram: Datagram, now: float) -> Sequence[Effect]:
        """A packet of a sender that has one channel and no congestion control, as many of others have: its receivers
        take what comes."""
        if packet.is_controlled or datagram.destination != self.session.group or self.session.realtime:
            self.counters["drop_wrong_channel"] += 1
            return ()
        effects: list[Effect] = []
        if self.state == "listening":
            if packet.closes:
                self.counters["drop_not_member"] += 1
                return ()
            self.state, self._is_plain = "member", True
            self._sender, self.number = datagram.source, packet.session
            effects.append(SessionStarted(datagram.source))
        if packet.closes:
            self._doubt.said(True, now, to_one=False)
        else:
            self._heard_at = now
        self._came(1, len(packet.symbol))
        if packet.symbol:
            effects += self._take_content(packet, datagram.came_at(now), now)
        return effects

    def _unwanted(self, packet: Alc, source: Address) -> str:
        """Why a packet is not of the session's sender, or not of the session; empty: it is the first one that is."""
        if self.number is not None and packet.session != self.number:
            return "drop_other_session"
        if self._sender is not None or not self.session.admits(source):
            return "drop_stranger"
        return ""

    def _first(self, packet: Alc, sender: Address, arrived_at: float, now: float) -> list[Effect]:
        self.state = "member"
        started: list[Effect] = [] if self._sender is not None else [SessionStarted(sender)]
        self._sender = sender
        self.number = packet.session
        self.slot_index = packet.slot_index
        self._slot_since = now
        self.control.first_base_packet(packet.psn, arrived_at)
        return started

    def _other_slot(self, index: int, now: float) -> list[Effect]:
        """Time slots that have passed: in each the lowest wave became quiescent. Late packets of earlier slots are no
        change (RFC 3738, 3.2.3.3)."""
        waves = self.waves
        passed = (index - self.slot_index) % waves.t
        if index >= waves.t or passed > waves.t - waves.q / 2:
            return []
        effects: list[Effect] = []
        for _ in range(passed):
            over = self.slot_index
            self.slot_index = (over + 1) % waves.t
            self.control.slot_changed(over)
            if self.channels.waves[:1] == [over]:
                effects.append(self.channels.leave(over))
                lost = self.channels.losses.leave(over, now)
                if lost:
                    effects += self._count(0, lost, now)
        self._slot_since = now
        return effects

    def _take(self, packet: Alc, arrived_at: float, now: float, *, is_marked: bool) -> list[Effect]:
        """A packet of a channel that is joined, or was until just now."""
        channel, control = packet.channel, self.control
        is_new, lost = self.channels.losses.packet(channel, packet.psn, arrived_at)
        if channel == self.waves.t or channel in self.channels.waves:
            self.channels.silences.heard(channel, now)
        effects: list[Effect] = []
        if channel == control.joining:
            was_starting = control.starting_up
            control.first_packet(packet.psn, arrived_at)
            if was_starting and not control.starting_up:
                effects.append(CongestionSignal(control.startup_ended_by))
        if not is_new:
            self.counters["duplicate_packets"] += 1
            return effects
        self._came(1, len(packet.symbol))
        is_marked = is_marked and control.rules.heeds_marks
        self.counters["marked"] += is_marked
        control.came(channel, self.slot_index, packet.psn, arrived_at)
        effects += self._count(1, lost, now, is_marked=is_marked)
        if channel == self.waves.t and control.asks(packet.psn, now):
            self.counters["asked"] += 1
            control.asked(asked := self._next_channel(), now)
            effects.append(self.channels.open(asked))
        return [*effects, *self._take_content(packet, arrived_at, now)]

    def _take_content(self, packet: Alc, arrived_at: float, now: float) -> list[Effect]:
        return self._hand_over(packet, lambda: self._delivery.take(packet, arrived_at, now))

    def _count(self, received: int, lost: int, now: float, *, is_marked: bool = False) -> list[Effect]:
        events = self.control.loss_events
        self.control.packets(received, lost, now, is_marked=is_marked, due_at=self.channels.losses.due_at)
        self.lost_packets += lost
        effects: list[Effect] = []
        if self.control.loss_events != events:
            effects.append(CongestionSignal("loss" if lost else "mark"))
        return [*effects, *self._take_back(now)] if lost or is_marked else effects

    # --- time

    @property
    def wake_at(self) -> float | None:
        if self.closed or self.state == "confirming":
            return None
        return min(self._epoch_at, self._doubt.wake_at, self.control.asking.until)

    def handle_timer(self, *, now: float) -> Sequence[Effect]:
        if self.closed or self.state == "confirming":
            return ()
        if self._doubt.believed(self._heard_at, now):
            return self._over()
        if now >= self.control.asking.until:
            self.control.not_answered()
            return [self.channels.leave_last()]
        if now < self._epoch_at:
            return ()
        silent_s = now - self._heard_at
        if self._is_plain:
            self._epoch_at = now + self.options.epoch_s
            late = overdue(silent_s, 0.0, 0.0, PLAIN_SILENCE_S)
            return self._end(False, late) if late else ()
        if self._sender is not None:
            since_slot_s, least_s = self._heard_at - self._slot_since, self.control.rules.give_up_s
            late = overdue(silent_s, since_slot_s, self.waves.slot_s, least_s)
            if late:
                return self._end(False, late)
            if self.state == "member" and is_silent(silent_s, self.waves.slot_s):
                return self._begin_again(now)
        if self.state == "listening" and self.control.rules.joins_again:
            return self._wait(now)
        self._epoch_at += self.options.epoch_s
        if self._epoch_at <= now:  # a program that was held up: one long epoch, not several of which most were silent
            self._epoch_at = now + self.options.epoch_s
        effects: list[Effect] = []
        if self.control.join_timed_out(now):
            self.counters["failed_joins"] += 1
            self.control.join_failed(now, self._rng.random())
            effects.append(self.channels.leave_last())
        was_starting = self.control.starting_up
        wants_more = self.control.epoch(now)
        if was_starting and not self.control.starting_up:
            effects.append(CongestionSignal(self.control.startup_ended_by))
        if self.control.rules.joins_again and self.state == "member":
            # The one whose first packet is waited for has a time-out of its own.
            effects += self.channels.join_again(now, self.control.joining)
        if wants_more:
            channel = self._next_channel()
            self.control.joined(channel, now)
            effects.append(self.channels.open(channel))
        else:
            effects += self._take_back(now)
        return effects

    def _begin_again(self, now: float) -> list[Effect]:
        """The sender has fallen silent: leave all, and listen for it with what has come of the file."""
        effects = self.channels.leave_all()
        self._set_up(self.options)
        self.state = "listening"
        self._listen_wait_s = self.channels.silences.limit_s
        self.counters["begun_again"] += 1
        self._epoch_at = now + self.options.epoch_s
        return [*effects, self._listen(now)]

    def _wait(self, now: float) -> list[Effect]:
        """Nothing has been heard yet: join the base channel again from time to time."""
        self._epoch_at = now + self.options.epoch_s
        if now < self._listen_again_at:
            return []
        return [self.channels.quit(self.waves.t), self._listen(now)]

    def _take_back(self, now: float) -> list[Effect]:
        """Leave the wave that was joined last, when it is too much."""
        waves = self.channels.waves
        if not waves or not self.control.is_too_much(now):
            return []
        self.control.left(waves[-1], now)
        self.counters["taken_back"] += 1
        return [self.channels.leave_last()]

    def _next_channel(self) -> int:
        return (self.slot_index + self.control.rates.waves_joined) % self.waves.t
