"""TFMCC's receiver of real-time data: takes what its sender sends, measures its path, and reports."""

import random
from collections.abc import Sequence

from hosts.endpoint import Datagram, DatagramRun, DeliverDatagram, Effect, Sample, Send
from hosts.parts.jump import Jump
from hosts.parts.realtime import LEAVE_COPIES, RealtimeReceiver
from hosts.parts.runs import singly
from hosts.protocol import Session
from hosts.protocols.tfmcc.options import TfmccOptions
from hosts.protocols.tfmcc.packets import (
    FLAG_ANSWER,
    FLAG_ECHO,
    FLAG_END,
    NO_RECEIVER,
    STREAM,
    Data,
    Join,
    JoinAck,
    Packet,
    Report,
    encode_join,
    encode_report,
    packet_bytes,
    parse,
    parse_data,
)
from hosts.protocols.tfmcc.path import MICRO, Path
from hosts.protocols.tfmcc.rate_float import decode_rtt
from hosts.protocols.tfmcc.reporting import Reporting
from hosts.protocols.tfmcc.sealed import said, twins
from hosts.wire.farewell import Abort
from hosts.wire.header import CE, SESSION_MAX
from hosts.wire.reason import Reason
from hosts.wire.seq import extend


class TfmccReceiver(RealtimeReceiver):
    """See the module. States: listening (for data), member, closed."""

    def __init__(self, session: Session, options: TfmccOptions, rng: random.Random) -> None:
        super().__init__(session)
        self.options = options
        self.id = rng.randint(NO_RECEIVER + 1, SESSION_MAX)
        self.path = Path(options)
        self.reporting = Reporting(self.path, options, self.id, rng)
        self._jump = Jump()
        self._twins = twins(options)
        self._delivers = session.deliver

    # --- the application's side

    def close(self, *, now: float, reason: str) -> Sequence[Effect]:
        if self.closed:
            return ()
        leave = self.reporting.leave(now)
        told = [] if leave is None else self._to_sender(leave, now) * LEAVE_COPIES
        return [*told, *self._end(False, reason)]

    @property
    def rtt(self) -> float:
        """Seconds."""
        return self.path.round_trip.rtt

    def sample(self, *, now: float) -> Sample:
        path = self.path
        return {
            "state": self.state,
            "received_bytes": self.received_bytes,
            "data_packets": self.data_packets,
            "lost_packets": path.history.lost_packets,
            "loss_rate": path.history.loss_event_rate,
            "loss_events": path.history.events,
            "rtt_s": self.rtt,
            "has_rtt": path.round_trip.has_measurement,
            "is_clr": self.reporting.is_clr,
            "calculated_bps": path.calculated_bps,
            "receive_bps": path.receive_bps(now),
            "reports": self.reporting.reports,
        }

    # --- inputs

    def receive(self, datagram: Datagram, *, now: float) -> Sequence[Effect]:
        packet = parse_data(datagram.data)
        if packet is None:
            return self._other(datagram, now)
        effects: list[Effect] = []
        if datagram.source is not self.sender or packet.session != self.number:
            if not self._is_ours(datagram, packet.session, effects):
                return ()
        elif self.state == "closed":
            return ()
        at = datagram.came_at(now)
        if not packet.flags & FLAG_END:
            self._heard_at = now
        path = self.path
        history = path.history
        seq = extend(packet.seq, history.highest) if history.highest >= 0 else packet.seq
        newest = seq > history.highest
        if self._jump.refuses(seq, history.highest):
            self.counters["drop_far_ahead"] += 1
            return effects
        if not history.arrived(seq, at, path.round_trip.rtt):
            self.counters["drop_duplicate"] += 1
            return effects
        if datagram.ecn == CE:
            self.counters["marked"] += 1
            history.marked(seq, at, path.round_trip.rtt)
        payload = packet.payload
        size = len(payload)
        self.data_packets += 1
        self.received_bytes += size
        path.receive_rate.add(packet_bytes(size), at, decode_rtt(packet.max_rtt))
        if newest:
            self._newest(packet, at, now, effects)
        if self._delivers and size:
            self._deliver(seq, packet, at, now, effects)
        if packet.flags & FLAG_END:
            self._stream_ends(packet.offset + size, now)
        return effects

    def receive_run(self, run: DatagramRun, *, now: float) -> Sequence[Effect]:
        """Data that the sender has sent together are taken together."""
        if run.source != self.sender:
            return super().receive_run(run, now=now)
        return self.receive_pieces(STREAM, run, now)

    def _take_run(self, run: DatagramRun, payload: bytes, now: float) -> Sequence[Effect] | None:
        """Data that follow each other and say the same, with all their payload. None: they have to be taken one by
        one."""
        count = run.packets
        if count == 1 or self.state != "member" or run.ecn == CE or run.destination != self.session.group:
            return None
        first = run.datagram(0)
        packet = parse_data(first.data)
        if packet is None or packet.session != self.number or packet.flags & FLAG_END:
            return None
        size = len(packet.payload)
        path = self.path
        history = path.history
        seq = extend(packet.seq, history.highest) if history.highest >= 0 else packet.seq
        if seq <= history.highest or len(payload) != count * size:
            return None
        at, first_at = now if run.arrived_at is None else run.arrived_at, first.came_at(now)
        self._heard_at = now
        history.arrived_run(seq, count, first_at, at, path.round_trip.rtt)
        self.data_packets += count
        self.received_bytes += len(payload)
        path.receive_rate.add(count * packet_bytes(size), at, decode_rtt(packet.max_rtt))
        effects: list[Effect] = []
        # They left together: how long the way is the first one shows.
        self._newest(packet._replace(seq=packet.seq + count - 1 & 0xFFFFFFFF), first_at, now, effects)
        if self._delivers and size:
            self._deliver_run(seq, packet, payload, at, now, effects)
        return effects

    def _deliver_run(
        self, seq: int, packet: Data, payload: bytes, at: float, now: float, effects: list[Effect]
    ) -> None:
        """Hand the payloads of packets like this one, from `seq` on, to the application."""
        for before, one in singly(packet, payload):
            self._deliver(seq + before, one, at, now, effects)

    def _deliver(self, seq: int, packet: Data, at: float, now: float, effects: list[Effect]) -> None:
        """Hand a payload to the application."""
        effects.append(DeliverDatagram(seq, packet.offset, packet.payload, packet.send_time_us * MICRO, at))

    def _other(self, datagram: Datagram, now: float) -> Sequence[Effect]:
        packet = self._told(datagram, parse)
        return () if packet is None else self._control(packet, datagram, now)

    def _control(self, packet: Packet, datagram: Datagram, now: float) -> Sequence[Effect]:
        """What our sender says beside its data."""
        at = datagram.came_at(now)
        if isinstance(packet, Abort):
            return self._aborted(packet.reason, datagram, now)
        if isinstance(packet, JoinAck) and packet.receiver == self.id and packet.reason is Reason.NONE:
            return self._asked(packet, at, now)
        if isinstance(packet, Report) and packet.flags & FLAG_ANSWER and packet.receiver == self.id:
            return self._answered(packet, at, now)
        self.counters["drop_unexpected"] += 1
        return ()

    def _asked(self, packet: JoinAck, at: float, now: float) -> Sequence[Effect]:
        """The sender does not know us yet: it asks whether the report came from here, and echoes that. So we say it
        once more."""
        if not self.path.round_trip.has_measurement:
            self.path.answered(at - packet.echo_time_us * MICRO, at, packet.time_us * MICRO)
        held_us = max(0, int((now - at) * 1e6))
        assert self.sender is not None
        join = Join(packet.session, self.id, packet.time_us, held_us, int(now * 1e6))
        effects = [Send(encode_join(join), self.sender)]
        report = self.reporting.again(now)
        return effects if report is None else [*effects, *self._to_sender(report, now)]

    def _answered(self, packet: Report, at: float, now: float) -> Sequence[Effect]:
        """A switch knows how far it is to the sender, and has sent our report back: so we have a round trip time."""
        path = self.path
        if path.last is None or path.round_trip.has_measurement or not self.reporting.has_asked(packet.time_us):
            self.counters["drop_echo"] += 1
            return ()
        instant = at - packet.time_us * MICRO + packet.echo_time_us * MICRO
        # What it is to be compared with is the last packet's way here.
        path.answered(instant, path.last_at, path.last.send_time_us * MICRO)
        report = self.reporting.measured(now)
        return () if report is None else self._to_sender(report, now)

    def _newest(self, packet: Data, at: float, now: float, effects: list[Effect]) -> None:
        """What a packet says of the session, which is news only when no later one has arrived."""
        path = self.path
        previous = path.last
        if previous is not None and packet.round != previous.round:
            self._twins.answered()
        path.note(packet, at)
        is_clr = packet.clr == self.id
        first_rtt = False
        if packet.echo_receiver == self.id and packet.flags & FLAG_ECHO:
            echoed = path.echoed(packet, at, is_clr=is_clr)
            if echoed is None:
                self.counters["drop_echo"] += 1
            first_rtt = echoed is True
        elif not is_clr:
            path.round_trip.adjust(at, packet.send_time_us * MICRO)
        report = self.reporting.heard(packet, previous, now, first_rtt=first_rtt) or self.reporting.ask(packet, now)
        if report is not None:
            effects += self._to_sender(report, now)

    def _to_sender(self, report: Report, now: float) -> list[Send]:
        assert self.sender is not None
        return [Send(encode_report(one), self.sender) for one in said(self._twins, report, now)]

    # --- timers

    @property
    def wake_at(self) -> float | None:
        if self.state in ("listening", "joining", "closed"):
            return None
        due_at = self.reporting.due_at
        silent_at = min(self._heard_at + self.options.silence_s, self._doubt.wake_at)
        return silent_at if due_at is None or due_at > silent_at else due_at

    def handle_timer(self, *, now: float) -> Sequence[Effect]:
        if self.state in ("listening", "joining", "closed"):
            return ()
        over = self._believe(now)
        if over:
            return over
        report = self.reporting.fire(now)
        if report is not None:
            return self._to_sender(report, now)
        if now >= self._heard_at + self.options.silence_s:
            return self._end(False, f"the sender was silent for {self.options.silence_s:g} s")
        return ()

    def _end(self, complete: bool, reason: str) -> list[Effect]:
        self.reporting.stop()
        return super()._end(complete, reason)
