"""MTCP's sender: the root of the tree.

It announces itself on the group until enough receivers have joined, somewhere in the tree, multicasts the stream within
the current window (3.7), and ends when every receiver has confirmed the stream or was dropped.
"""

import random
from collections.abc import Sequence
from math import inf

from hosts.endpoint import Datagram, Effect, Sample, Send, SendRun, SessionEnded, SessionStarted
from hosts.parts.least_rate import LeastRate
from hosts.parts.naming import receiver_names
from hosts.parts.parting import Parting
from hosts.parts.sending import StreamSender
from hosts.parts.silence import nobody_text
from hosts.protocol import Session
from hosts.protocols.mtcp.agent import Agent
from hosts.protocols.mtcp.family import Family
from hosts.protocols.mtcp.host_time import HostTime
from hosts.protocols.mtcp.membership import Membership
from hosts.protocols.mtcp.options import MtcpOptions
from hosts.protocols.mtcp.pacing import Pacer
from hosts.protocols.mtcp.packets import DATA_BYTES, Feedback, encode_data, encode_run, parse
from hosts.protocols.mtcp.roster import Roster
from hosts.protocols.mtcp.status import (
    governing_cwnd,
    limiting_row,
    member_rows,
    misquoted_row,
    waited_for,
    windows_row,
)
from hosts.protocols.mtcp.tree_packets import encode_abort, encode_announce
from hosts.wire.checks import read_packet
from hosts.wire.farewell import ABORT_COPIES
from hosts.wire.header import ECT_0, NOT_ECT
from hosts.wire.reason import Reason

QUIET_S = 1.0
"""A sender that had nothing to send for so long announces itself again, for those that come late (ours)."""
MANY_CHILDREN = 5
"""From so many on their acknowledgments are read together (ours)."""
RUNS_TOGETHER = 8
"""As TFMCC's sender: then whoever runs us reads what has come, and lets us go on at once, by the timer (ours)."""


class MtcpSender(StreamSender):
    """See the module. States: waiting, sending, closing, closed."""

    def __init__(self, session: Session, options: MtcpOptions, rng: random.Random, *, first: int = 0) -> None:
        """`first` is the sequence number of the first packet."""
        super().__init__(session, rng)
        self.options = options
        together = options.adaptive and options.assist == "none"  # switches replicate repairs themselves
        group = session.group if together else None
        self.agent = Agent(options, self.counters, first=first, own_clock=True, group=group)
        self._ecn = ECT_0 if options.adaptive else NOT_ECT
        self.roster = Roster()
        """All receivers of the session."""
        self._membership = Membership(self.number, options, self.agent, self.roster, rng)
        self.family = Family(
            self.number, options, self.counters, self._membership, self.agent, self.roster, self._membership
        )
        self.limit = "application"
        """What kept the next packet back: cwnd, pacing, advertised_window, sack, rate, application."""
        self._pacer = Pacer(rng, DATA_BYTES + options.payload_bytes)
        self._host_time = HostTime()
        self._more_at = inf  # when it stopped though it might have sent more
        self._cwnd_seen = 0.0  # when it last looked at what the windows allow
        self._parting: Parting | None = None
        self._least = LeastRate(options.least_rate_bps, options.least_rate_s)
        self._has_begun = False
        self._announce_at = 0.0
        self._rate_at: float | None = None  # rate limit: when the next packet may leave

    # --- the application's side

    @property
    def checked_bytes(self) -> tuple[int, int]:
        return self.options.payload_bytes, self.options.buffer_bytes

    @property
    def send_space(self) -> int:
        if self._finishing or self.state in ("closing", "closed"):
            return 0
        return max(0, self.options.buffer_bytes - len(self._unsent))

    @property
    def patience_s(self) -> float:
        """To read one acknowledgment at a time takes several times as long as to read one of many."""
        return self.options.patience_s if len(self.agent.children) >= MANY_CHILDREN else 0.0

    @property
    def is_precise(self) -> bool:
        """For its pacer, which is woken once a quantum at most."""
        return self.limit == "pacing"

    def close(self, *, now: float, reason: str) -> Sequence[Effect]:
        if self.closed:
            return ()
        return self._abort(Reason.INTERRUPTED, reason)

    def sample(self, *, now: float) -> Sample:
        agent = self.agent
        counters = self.counters
        delays = [child.rtt.mean for child in agent.children.values() if child.rtt.samples]
        names = receiver_names(self.roster.members)
        return {
            "state": "closing" if agent.has_end and not self.closed else self.state,
            "detail": self.detail,
            "cwnd": governing_cwnd(agent),
            "own_cwnd": agent.congestion.window.cwnd,
            **windows_row(agent),
            "rtt_s": max(delays, default=None),
            "rto_rtd_s": agent.delays.rto_rtd,
            "rto_rtt_s": agent.delays.rto_rtt,
            "limit": self.limit,
            "limiting": limiting_row(agent, self.limit, names) if self.state == "sending" else None,
            "sent_bytes": agent.end_offset,
            "acked_bytes": min(agent.base * self.options.payload_bytes, agent.end_offset),
            "udp_bytes": counters["udp_bytes"],
            "data_packets": counters["data_packets"],
            "repair_packets": counters["repair_packets"],
            "feedback_packets": counters["feedback_packets"],
            "receivers": member_rows(self.family, names, now),
            **misquoted_row(agent, names),
        }

    # --- inputs

    def start(self, *, now: float) -> Sequence[Effect]:
        self._membership.wait_until = now + self.session.wait
        self.agent.congestion.control.by_runs = bool(self.run_bytes)
        self._announce_at = now
        return self.handle_timer(now=now)

    def receive(self, datagram: Datagram, *, now: float) -> Sequence[Effect]:
        packet = read_packet(datagram.data, parse, self.counters, self.number)
        if packet is None:
            return ()
        if self.closed:
            return ()
        agent = self.agent
        child = agent.children.get(datagram.source)
        if child is not None and type(packet) is Feedback:
            if datagram.arrived_at is not None:
                packet = self._host_time.answered(packet, datagram.arrived_at, now)
            agent.summary_changed = False
            effects = agent.feedback(child, packet, now, datagram.arrived_at)
            self._least.note(effects, now)
            if agent.witness is not None:
                effects += self.family.pass_switches_by(now)
            if self.limit == "cwnd" and not agent.summary_changed and agent.congestion.window.cwnd == self._cwnd_seen:
                return effects  # the windows are as they were, and kept it from sending then
            if self.limit == "pacing" and now < self._pacer.at:
                return effects
        else:
            self._membership.address = datagram.destination
            answer = self.family.control(packet, datagram, now)
            if answer is None:
                self.counters["drop_stranger" if child is None else "drop_unexpected"] += 1
                return ()
            effects = answer
            if self.state != "closing":
                self._advance(effects, now)
        if self.state == "sending":
            self._transmit(effects, now)
        return effects

    def handed_over(self, *, now: float) -> None:
        self._host_time.handed_over(now)

    def start_now(self, *, now: float) -> Sequence[Effect]:
        effects: list[Effect] = []
        if self.state == "waiting" and self.agent.children:
            self._begin(effects, now)
        return effects

    def _begin(self, effects: list[Effect], now: float) -> None:
        self.state = "sending"
        self.detail = ""
        self._least.begin(now)
        if not self._has_begun:
            effects.append(SessionStarted())
        self._has_begun = True
        self._transmit(effects, now)

    def _advance(self, effects: list[Effect], now: float) -> None:
        """Begin when enough have joined; end when all are through."""
        if self.state == "waiting" and len(self._membership.active) >= self.session.receivers:
            self._begin(effects, now)
        elif self.state == "sending" and not self._membership.active and not self.agent.children:
            if self._membership.may_wait(now):  # those who were meant may still come
                self.state = "waiting"
                self._announce_at = now
                return
            if self._membership.may_be_told(self.session.receivers, now):
                return
            self.state = "closing"
            self._membership.refusal = Reason.STARTED
            self._parting = Parting(now)
            self._unsent.clear()

    def _end(self) -> SessionEnded:
        self.state = "closed"
        roster = self.roster
        has_end = self.agent.has_end
        self.detail = roster.failed_text if has_end else nobody_text("no receiver is left", roster.failed_text)
        return SessionEnded(has_end and roster.is_success(self.session.receivers), self.detail)

    def _abort(self, reason: Reason, text: str) -> list[Effect]:
        packet = encode_abort(self.number, reason)
        effects: list[Effect] = [Send(packet, self.session.group)] * ABORT_COPIES
        effects += self.family.dismiss(reason)
        self.state = "closed"
        self.detail = text
        effects.append(SessionEnded(False, text))
        return effects

    # --- data

    def _resume(self, now: float) -> Sequence[Effect]:
        effects: list[Effect] = []
        if self.state == "sending":
            self._transmit(effects, now)
        return effects

    def _transmit(self, effects: list[Effect], now: float) -> None:
        """Send what the windows allow: the current window, the advertised windows, and the reach of the bitmap."""
        agent = self.agent
        unsent = self._unsent
        payload_bytes = self.options.payload_bytes
        summary = agent.summary()
        congestion = agent.congestion
        current_window = summary.current_window
        if self.run_bytes and current_window < summary.min_cwnd:  # something is on its way
            current_window = max(0, summary.min_cwnd + self._within_hosts - summary.max_twnd)
        own = summary.min_cwnd == int(congestion.window.cwnd * payload_bytes)
        cwnd = congestion.governing_cwnd = summary.min_cwnd // payload_bytes
        self._cwnd_seen = congestion.window.cwnd
        pace = congestion.pace
        advertised_end: int | None = None
        runs = 0
        while self._more_at == inf:
            size = min(payload_bytes, len(unsent))
            if size < payload_bytes and (not self._finishing or self.agent.has_end):
                self.limit = "application"
                return
            if size > current_window:
                self.limit = "cwnd"
                congestion.used |= own
                return
            offset = agent.end_offset
            if advertised_end is None:
                advertised_end = agent.advertised_end
            if offset + size > advertised_end:
                self.limit = "advertised_window"
                return
            if agent.in_flight >= self.options.reach:
                self.limit = "sack"
                return
            if pace is not None and not self._pacer.allows(now):
                self.limit = "pacing"
                return
            if self.options.rate_limit_bps and not self._rate_allows(size, now):
                self.limit = "rate"
                return
            if self.run_bytes and not self.options.rate_limit_bps:
                room = min(current_window, advertised_end - offset)
                sent = self._transmit_run(effects, room, cwnd, pace, now)
                if sent:
                    current_window -= sent
                    runs += 1
                    if runs == RUNS_TOGETHER:
                        self.limit, self._more_at = "application", now
                        return
                    continue
            end = self._finishing and size == len(unsent)
            time_us = int(now * 1e6)
            data = encode_data(self.number, end, agent.end, time_us, offset, unsent.take(size), cwnd)
            agent.arrived(agent.end, data, offset, size, time_us, now)
            if pace is not None:
                self._pacer.sent(pace, now, beside_others=congestion.beside_others)
            current_window -= size
            self.counters["data_packets"] += 1
            self.counters["udp_bytes"] += len(data)
            self._announce_at = now + QUIET_S
            effects.append(Send(data, self.session.group, self._ecn))
            if end:
                self.agent.has_end = True

    @property
    def _within_hosts(self) -> int:
        """Bytes that may be on their way through the hosts' programs."""
        congestion = self.agent.congestion
        return self._host_time.packets(congestion.rate, congestion.network_s) * self.options.payload_bytes

    def _transmit_run(self, effects: list[Effect], room: int, cwnd: int, pace: float | None, now: float) -> int:
        """Send several packets together, of at most `room` bytes of the stream; how many bytes they have. 0: not even
        two may leave, or the stream's end is among them."""
        agent, unsent = self.agent, self._unsent
        size = self.options.payload_bytes
        whole = (len(unsent) - self._finishing) // size
        count = min(whole, room // size, self.options.reach - agent.in_flight, self.run_bytes // (DATA_BYTES + size))
        if pace is not None:
            count = min(count, self._pacer.together(pace))
        if count < 2:
            return 0
        if pace is not None:
            self._pacer.sent(pace, now, count, beside_others=agent.congestion.beside_others)
        offset, time_us = agent.end_offset, int(now * 1e6)
        self._host_time.sends(time_us)
        payload = unsent.take(count * size)
        data = encode_run(self.number, agent.end, time_us, offset, payload, size, cwnd)
        agent.buffer_run(data, offset, size, time_us, now)
        self.counters["data_packets"] += count
        self.counters["udp_bytes"] += len(data)
        self._announce_at = now + QUIET_S
        effects.append(SendRun(data, self.session.group, self._ecn, DATA_BYTES + size))
        return count * size

    def _rate_allows(self, size: int, now: float) -> bool:
        at = now if self._rate_at is None or self._rate_at < now - self.options.ack_delay_s else self._rate_at
        if at > now:
            return False
        self._rate_at = at + size * 8 / self.options.rate_limit_bps
        return True

    # --- timers

    @property
    def wake_at(self) -> float | None:
        if self.state == "closing" and self._parting is not None:
            return self._parting.at
        if self.state == "closed":
            return None
        at = min(self._announce_at, self._more_at, self._least.at)
        family_at = self.family.wake_at
        if family_at is not None and family_at < at:
            at = family_at
        if self.state == "waiting":
            return min(at, self._membership.wait_until)
        if self.limit == "pacing" and self._pacer.at < at:
            return self._pacer.at
        if self.limit == "rate" and self._rate_at is not None and self._rate_at < at:
            return self._rate_at
        return at

    def handle_timer(self, *, now: float) -> Sequence[Effect]:
        if self.state == "closing" and self._parting is not None:
            if self._parting.says(now):
                return (Send(encode_abort(self.number, Reason.NONE), self.session.group),)
            return (self._end(),) if self._parting.is_over else ()
        if self.state not in ("waiting", "sending"):
            return ()
        self._more_at = inf
        effects = self.family.handle_timer(now, blocked=self.limit == "advertised_window")
        self._least.note(effects, now)
        if now >= self._least.at:
            effects += self._keep_least_rate(now)
        if self.state == "sending" and not self.agent.children:  # nobody is left who could tell of those below
            self._membership.alone(now)
        effects += self._membership.give_up_orphans(now)
        effects += self._membership.call(now)
        if self.state == "waiting":
            self._wait(effects, now)
        self._advance(effects, now)
        if self.state == "sending":
            self._transmit(effects, now)
        if self.state in ("waiting", "sending") and now >= self._announce_at:
            self._announce_at = now + (self.options.announce_s if self.state == "waiting" else QUIET_S)
            effects.append(Send(encode_announce(self.number, self.options.payload_bytes), self.session.group))
        return effects

    def _keep_least_rate(self, now: float) -> list[Effect]:
        """Send away who keeps the session below its least rate. An agent answers for those below it, who are asked to
        come here first: that shows who it is.
        """
        agent = self.agent
        child = waited_for(agent, self.limit)
        least = min((one.cumulative for one in agent.children.values()), default=agent.end)
        done = min((least if agent.has_end else agent.base) * self.options.payload_bytes, agent.end_offset)
        slowest = self._least.look(done, None if child is None else child.address, now)
        child = None if slowest is None else agent.children.get(slowest)
        if child is None:
            return []
        return self._membership.take_over(child) or self.family.drop(child, Reason.TOO_SLOW, now)

    def _wait(self, effects: list[Effect], now: float) -> None:
        joined = len(self._membership.active)
        self.detail = f"{joined} of {self.session.receivers} receivers have joined"
        if now >= self._membership.wait_until:
            if joined:
                self._begin(effects, now)
            else:
                text = nobody_text(f"no receiver joined within {self.session.wait:g} s", self.roster.failed_text)
                effects += self._abort(Reason.NONE, text)
