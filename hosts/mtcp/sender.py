"""MTCP's sender: the root of the tree.

It announces itself on the group until enough receivers have joined, multicasts the stream within the current window
(3.7), and ends when every receiver has confirmed the stream or was dropped. Its agent handles the feedback.
"""

import random
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from hosts.endpoint import (
    Address,
    Datagram,
    Effect,
    PeerDropped,
    PeerFinished,
    PeerJoined,
    PeerRefused,
    Sample,
    Send,
    SenderEndpoint,
    SessionEnded,
    SessionStarted,
)
from hosts.header import SESSION_MAX, PacketError
from hosts.mtcp.agent import Agent
from hosts.mtcp.child import Child
from hosts.mtcp.control import (
    Abort,
    Fin,
    Join,
    JoinAck,
    Probe,
    ProbeAck,
    encode_abort,
    encode_announce,
    encode_fin,
    encode_join_ack,
    encode_probe_ack,
)
from hosts.mtcp.options import MtcpOptions
from hosts.mtcp.packets import SACK_BITS, Feedback, Packet, encode_data, parse
from hosts.mtcp.report import sender_sample
from hosts.protocols import Session
from hosts.reason import Reason

LINGER_S = 0.5
"""After the last confirmation the sender stays this long to answer repeated ones (ours: several FIN retries)."""
ABORT_COPIES = 3
"""An abort is not acknowledged; it is sent so often (ours)."""


class Ended(NamedTuple):
    """How a receiver ended."""

    state: str
    """In the words of docs/status.md: complete, left, lost."""
    reason: str
    """Empty for a complete one."""
    child: Child


class MtcpSender(SenderEndpoint):
    """See the module."""

    def __init__(self, session: Session, options: MtcpOptions, rng: random.Random) -> None:
        self.session = session
        self.options = options
        self.number = rng.randint(1, SESSION_MAX) if session.session is None else session.session
        self.counters: Counter[str] = Counter()
        self.state = "waiting"  # waiting, sending, closing, closed
        self.detail = ""
        self.agent = Agent(self.number, options, self.counters, first=0, own_clock=True)
        self.ended: dict[Address, Ended] = {}
        """Receivers that are through."""
        self.limit = "application"
        """What kept the sender from sending the next packet: cwnd, advertised_window, sack, rate, application."""
        self._unsent = bytearray()
        self._finishing = False
        self.end_sent = False
        """Whether the last packet of the stream has left, so that only repairs and confirmations are missing."""
        self._closing_at: float | None = None  # closing: when it is over
        self._wait_until = 0.0
        self._announce_at = 0.0
        self._rate_at: float | None = None  # rate limit: when the next packet may leave

    # --- the application's side

    @property
    def send_space(self) -> int:
        if self._finishing or self.state in ("closing", "closed"):
            return 0
        return max(0, self.options.buffer_bytes - len(self._unsent))

    def write(self, data: bytes | memoryview, *, now: float) -> Sequence[Effect]:
        if len(data) > self.send_space:
            raise ValueError(f"write of {len(data)} bytes where send_space is {self.send_space}")
        self._unsent += data
        return self._transmit(now) if self.state == "sending" else ()

    def finish(self, *, now: float) -> Sequence[Effect]:
        self._finishing = True
        return self._transmit(now) if self.state == "sending" else ()

    def close(self, *, now: float, reason: str) -> Sequence[Effect]:
        if self.closed:
            return ()
        return self._abort(Reason.INTERRUPTED, reason)

    @property
    def session_id(self) -> int:
        return self.number

    @property
    def closed(self) -> bool:
        return self.state == "closed"

    def sample(self, *, now: float) -> Sample:
        return sender_sample(self, now)

    # --- inputs

    def start(self, *, now: float) -> Sequence[Effect]:
        self._wait_until = now + self.session.wait
        self._announce_at = now
        return self.handle_timer(now=now)

    def receive(self, datagram: Datagram, *, now: float) -> Sequence[Effect]:
        try:
            packet = parse(datagram.data)
        except PacketError as error:
            self.counters[f"drop_{error.reason}"] += 1
            return ()
        if packet.session != self.number:
            self.counters["drop_other_session"] += 1
            return ()
        if self.closed:
            return ()
        child = self.agent.children.get(datagram.source)
        if child is not None and type(packet) is Feedback:
            self.counters["feedback_packets"] += 1
            effects = self.agent.feedback(child, packet, now, datagram.arrived_at)
            if self.state == "sending":
                self._transmit_into(effects, now)
            return effects
        return self._control(packet, datagram, now)

    def _control(self, packet: Packet, datagram: Datagram, now: float) -> Sequence[Effect]:
        source = datagram.source
        child = self.agent.children.get(source)
        if isinstance(packet, Join):
            return self._join(packet, source, now)
        if isinstance(packet, Fin) and not packet.answer and (child is not None or source in self.ended):
            return self._fin(packet, source, now)
        if child is None:
            self.counters["drop_late" if source in self.ended else "drop_stranger"] += 1
            return ()
        if isinstance(packet, ProbeAck):
            self.agent.probe_answered(child, packet.time_us, now, datagram.arrived_at)
            return ()
        if isinstance(packet, Probe):
            return (Send(encode_probe_ack(self.number, packet.time_us, int(now * 1e6)), source),)
        if isinstance(packet, Abort):
            return self._remove(source, "left", packet.reason, now)
        self.counters["drop_unexpected"] += 1
        return ()

    # --- who takes part

    def start_now(self, *, now: float) -> Sequence[Effect]:
        effects: list[Effect] = []
        if self.state == "waiting" and self.agent.children:
            self._begin(effects, now)
        return effects

    def _join(self, packet: Join, source: Address, now: float) -> Sequence[Effect]:
        if source in self.agent.children:
            return (Send(encode_join_ack(JoinAck(self.number, False, Reason.NONE, packet.epoch)), source),)
        reason = Reason.NONE
        if self.state != "waiting" or source in self.ended:
            reason = Reason.STARTED
        elif len(self.agent.children) >= self.options.max_receivers:
            reason = Reason.FULL
        answer = Send(encode_join_ack(JoinAck(self.number, False, reason, packet.epoch)), source)
        if reason is not Reason.NONE:
            self.counters["refused"] += 1
            return (answer, PeerRefused(source, reason.text))
        child = self.agent.add_child(source, packet.window, now)
        effects: list[Effect] = [answer, PeerJoined(source), self.agent.probe(child, now)]
        if len(self.agent.children) >= self.session.receivers:
            self._begin(effects, now)
        return effects

    def _begin(self, effects: list[Effect], now: float) -> None:
        self.state = "sending"
        self.detail = ""
        effects.append(SessionStarted())
        self._transmit_into(effects, now)

    def _fin(self, packet: Fin, source: Address, now: float) -> Sequence[Effect]:
        effects: list[Effect] = [Send(encode_fin(self.number, True, packet.complete, packet.reason), source)]
        if source in self.agent.children:
            premature = packet.complete and not self.end_sent
            state = "complete" if packet.complete and not premature else "left"
            effects += self._remove(source, state, Reason.BROKEN_STREAM if premature else packet.reason, now)
        return effects

    def _remove(self, source: Address, state: str, reason: Reason, now: float) -> list[Effect]:
        """A receiver is through, one way or the other: what it held back goes on."""
        text = "" if state == "complete" else reason.text
        self.ended[source] = Ended(state, text, self.agent.children[source])
        self.agent.remove_child(source, now)
        effects: list[Effect] = []
        if state == "lost":
            effects.append(PeerDropped(source, text))
        else:
            effects.append(PeerFinished(source, state == "complete", text))
        if self.state == "sending":
            if not self.agent.children:
                self.state = "closing"
                self._closing_at = now + LINGER_S
                self._unsent.clear()
            else:
                self._transmit_into(effects, now)
        return effects

    def _end(self) -> SessionEnded:
        self.state = "closed"
        failed = [f"{address}: {end.reason}" for address, end in self.ended.items() if end.state != "complete"]
        if not self.end_sent:
            self.detail = "no receiver is left" + (f" ({'; '.join(failed)})" if failed else "")
            return SessionEnded(False, self.detail)
        self.detail = "; ".join(failed)
        return SessionEnded(not failed, self.detail)

    def _abort(self, reason: Reason, text: str) -> list[Effect]:
        packet = encode_abort(self.number, reason)
        effects: list[Effect] = [Send(packet, self.session.group)] * ABORT_COPIES
        effects += [Send(packet, address) for address in self.agent.children]
        self.state = "closed"
        self.detail = text
        effects.append(SessionEnded(False, text))
        return effects

    # --- data

    def _transmit(self, now: float) -> list[Effect]:
        effects: list[Effect] = []
        self._transmit_into(effects, now)
        return effects

    def _transmit_into(self, effects: list[Effect], now: float) -> None:
        """Send what the windows allow: the current window, the advertised windows, and the reach of the bitmap."""
        agent = self.agent
        unsent = self._unsent
        payload_bytes = self.options.payload_bytes
        summary = agent.summary()
        window = summary.current_window
        own = summary.min_cwnd == int(agent.window.cwnd * payload_bytes)
        while True:
            size = min(payload_bytes, len(unsent))
            if size < payload_bytes and (not self._finishing or self.end_sent):
                self.limit = "application"
                return
            if size > window:
                self.limit = "cwnd"
                agent.window_used |= own
                return
            offset = agent.end_offset
            if offset + size > agent.send_window_end:
                self.limit = "advertised_window"
                return
            if agent.in_flight >= SACK_BITS:
                self.limit = "sack"
                return
            if self.options.rate_limit_bps and not self._rate_allows(size, now):
                self.limit = "rate"
                return
            end = self._finishing and size == len(unsent)
            time_us = int(now * 1e6)
            data = encode_data(self.number, end, agent.end, time_us, offset, bytes(unsent[:size]))
            del unsent[:size]
            agent.buffer(data, offset, size, time_us, now)
            window -= size
            self.counters["data_packets"] += 1
            self.counters["udp_bytes"] += len(data)
            effects.append(Send(data, self.session.group))
            if end:
                self.end_sent = True

    def _rate_allows(self, size: int, now: float) -> bool:
        at = now if self._rate_at is None or self._rate_at < now - self.options.ack_delay_s else self._rate_at
        if at > now:
            return False
        self._rate_at = at + size * 8 / self.options.rate_limit_bps
        return True

    # --- timers

    @property
    def wake_at(self) -> float | None:
        if self.state == "sending":
            times = [self.agent.wake_at, self.agent.next_probe_at]
            if self.limit == "rate":
                times.append(self._rate_at)
            return min((time for time in times if time is not None), default=None)
        if self.state == "waiting":
            probe_at = self.agent.next_probe_at
            at = min(self._announce_at, self._wait_until)
            return at if probe_at is None else min(at, probe_at)
        return self._closing_at if self.state == "closing" else None

    def handle_timer(self, *, now: float) -> Sequence[Effect]:
        effects: list[Effect] = []
        if self.state in ("waiting", "sending"):
            for child in self.agent.probes_due(now):
                effects.append(self.agent.probe(child, now))
                # Probes keep up the conversation, so silence is judged when they are due.
            self._drop_hopeless(effects, now)
        if self.state == "waiting":
            self._wait(effects, now)
        elif self.state == "sending":
            effects += self.agent.handle_timer(now)
            self._transmit_into(effects, now)
        elif self.state == "closing" and self._closing_at is not None and now >= self._closing_at:
            effects.append(self._end())
        return effects

    def _drop_hopeless(self, effects: list[Effect], now: float) -> None:
        for child, reason in self.agent.hopeless(now, self.limit == "advertised_window"):
            effects.append(Send(encode_abort(self.number, reason), child.address))
            effects += self._remove(child.address, "lost", reason, now)

    def _wait(self, effects: list[Effect], now: float) -> None:
        joined = len(self.agent.children)
        self.detail = f"{joined} of {self.session.receivers} receivers have joined"
        if now >= self._wait_until:
            if joined:
                self._begin(effects, now)
            else:
                effects += self._abort(Reason.NONE, f"no receiver joined within {self.session.wait:g} s")
        elif now >= self._announce_at:
            self._announce_at = now + self.options.announce_s
            effects.append(Send(encode_announce(self.number, self.options.payload_bytes), self.session.group))
