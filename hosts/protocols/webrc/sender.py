"""WEBRC's sender: a packet every tick, whoever listens (Section 3). It knows no receivers and hears nothing.

Of a file it sends symbols without end, a carousel, until it is stopped; of real-time data every tick carries what the
application has. Every other packet of the base channel is the file delivery table.
"""

import random
from collections.abc import Sequence
from typing import Final

from hosts.endpoint import Compute, Datagram, Effect, Sample, Send, SessionEnded, SessionStarted
from hosts.parts.groups import session_groups
from hosts.parts.sending import StreamSender
from hosts.protocol import Session
from hosts.protocols.webrc.channel_runs import ChannelRuns
from hosts.protocols.webrc.description import encode_description
from hosts.protocols.webrc.flute.carousel import Carousel
from hosts.protocols.webrc.flute.content import content_of
from hosts.protocols.webrc.flute.objects import SCHEMES, plan
from hosts.protocols.webrc.options import WebrcOptions
from hosts.protocols.webrc.packets import (
    FDT_TOI,
    NO_CODE,
    OBJECT_TOI,
    RAPTORQ,
    Alc,
    encode,
    encode_close,
    encode_head,
    payload_bytes,
)
from hosts.protocols.webrc.schedule import Schedule
from hosts.protocols.webrc.windows import OutgoingWindows
from hosts.storage import FileChange
from hosts.wire.header import ECT_0, NOT_ECT
from hosts.wire.manifest import FileError, Manifest

FDT_SHARE: Final = 2
"""Every so many packets of the base channel one is the FDT (ours)."""
MOST_LATE_S: Final = 0.25
"""A program that was held up sends what it missed, but not more than this much of it at once (ours)."""
TURN_PACKETS: Final = 128
"""Made at a time (ours): of those that are late the first leave while the others are made."""
TURN_S: Final = 0.001
"""Where packets leave in runs, they wait so long for each other (ours): timers are due to a millisecond."""
CLOSE_COPIES: Final = 3
"""On each channel that receivers may hear: nobody confirms the end (ours)."""
CLOSE_PAUSE_S: Final = 0.5
"""Between them (ours): a queue that the session has filled loses what comes at once, and is empty a second later."""
PIECE_BYTES: Final = 1 << 20
"""Taken of a file at once."""


class WebrcSender(StreamSender):
    """States: reading (the file), sending, closing, closed. Random is only where in the cycle of T time slots it
    begins, and the id of a session that was given none."""

    def __init__(self, session: Session, options: WebrcOptions, rng: random.Random) -> None:
        super().__init__(session, rng)
        self.options = options = options.within_link(session.link_bps)
        self.state = "reading"
        # The paper's receivers have the session's description beforehand (Section 3).
        self._description = b"" if options.rules == "paper" else encode_description(options)
        self._ecn = ECT_0 if options.rules == "today" else NOT_ECT
        self.waves = options.waves()
        self._schedule = Schedule(self.waves)  # before the session's time runs: fast ones' take seconds to make
        self._groups = session_groups(session.group, self.waves.t)
        self._payload = payload_bytes(options.packet_bytes, is_long=self.waves.is_long)
        self.carousel = Carousel(
            SCHEMES[options.fec],
            symbol=self._payload,
            table=self._payload - len(self._description),
            rate=self.waves.session_rate,
            version=options.flute_version,
            ntp_at_zero=session.ntp_at_zero,
        )
        room = self._payload - len(self._description)
        self._windows = OutgoingWindows(room, options.deadline_s / 2) if options.deadline_s else None
        self._room = self._payload  # bytes of real-time data that may wait
        if self._windows is not None:  # with more a receiver would have it late
            self._room += int(self.waves.session_rate * MOST_LATE_S) * self._windows.most_data
        self._stream = bytearray()  # of files, as it was written: what is not a whole file yet
        self._manifest: Manifest | None = None
        self._origin = 0.0  # of the packets' times
        # A session begins anywhere in its cycle (ours): those that begin together shall not rise and fall together.
        self._first = rng.randrange(self.waves.slot_packets * self.waves.t)
        self._runs: ChannelRuns  # from the beginning on: by then it has been told of runs
        self._next = self._first  # packet of the schedule
        self._next_at = 0.0
        self._rests_until = 0.0
        self._skipped = 0
        self._sent_bytes = 0
        self._closes = 0  # how often the end has been said
        self._closes_why = ""

    # --- the application's side

    @property
    def send_space(self) -> int:
        if self._finishing or self.state == "closed":
            return 0
        return self._room - len(self._unsent) if self.session.realtime else PIECE_BYTES

    def _resume(self, now: float) -> Sequence[Effect]:
        """Packets leave with the ticks, whatever was written: files one after the other. One that cannot be sent is
        refused as soon as its head says so."""
        if self.session.realtime:
            return ()
        self._stream += self._unsent.take(len(self._unsent))
        try:
            while (head := self._take_head()) is not None and len(self._stream) >= head.size:
                data = bytes(self._stream[: head.size])
                self.carousel.add(content_of(head.name, data, "gzip" if self.options.gzip else ""))
                del self._stream[: head.size]
                self._manifest = None
        except (FileError, ValueError) as error:
            name = "" if self._manifest is None else f"{self._manifest.name} "
            return self._end(False, f"{name}cannot be sent: {error}")
        return ()

    def _take_head(self) -> Manifest | None:
        """The next file's manifest, once it is there. ValueError: such a file cannot be sent."""
        if self._manifest is None:
            self._manifest = Manifest.take(self._stream)
            if self._manifest is not None:
                plan(self.carousel.scheme, self._manifest.size, self._payload)
        return self._manifest

    def finish(self, *, now: float) -> Sequence[Effect]:
        if self._finishing or self.state in ("closing", "closed"):
            return ()
        self._finishing = True
        if self.session.realtime:
            return () if self._windows is not None else self._say_end(now, "")
        if self._manifest is not None or self._stream or not len(self.carousel):
            return self._end(False, "what is to be sent is not a file")
        self.carousel.end()
        return self._begin(now)

    def change(self, change: FileChange, *, now: float) -> Sequence[Effect]:
        if self.closed:
            return ()
        self.carousel.remove(self.carousel.named(change.removed))
        for content in change.added:
            try:
                self.carousel.add(content)
            except ValueError as error:
                return self.close(now=now, reason=f"{content.manifest.name} cannot be sent: {error}")
        if change.is_last:
            self._finishing = True
            self.carousel.end()
        return self._begin(now) if self.state == "reading" else ()

    def start_now(self, *, now: float) -> Sequence[Effect]:
        return ()

    def close(self, *, now: float, reason: str) -> Sequence[Effect]:
        """The end is said as often as at any other end; asked for twice, at once."""
        if self.closed:
            return ()
        if self.state == "sending":
            return self._say_end(now, reason)
        said = self._close_packets() if self.state == "closing" else []
        return said + self._end(not reason, reason)

    def _close_packets(self) -> list[Effect]:
        """One on each channel."""
        effects: list[Effect] = []
        packet = self._schedule.packet(self._next)
        for channel in (self.waves.t, *(self.waves.channel(self._slot, age) for age in range(self.waves.n))):
            data = encode_close(self.number, packet.slot_index, channel, packet.psn, is_long=self.waves.is_long)
            effects.append(Send(data, self._groups[channel]))
        return effects

    def _say_end(self, now: float, why: str) -> list[Effect]:
        """Once more: the session is over. The last time it ends; `why` it is not complete."""
        if self.state != "closing":
            self.state, self._closes_why = "closing", why
        self._closes += 1
        self._next_at = now + CLOSE_PAUSE_S
        is_last = self._closes == CLOSE_COPIES
        return [*self._close_packets(), *(self._end(not self._closes_why, self._closes_why) if is_last else ())]

    def sample(self, *, now: float) -> Sample:
        packets = self.counters["data_packets"]
        return {
            "state": self.state,
            "sent_bytes": self._sent_bytes if self._windows is None else self._windows.sent_bytes,
            "udp_bytes": self.counters["udp_bytes"],
            "data_packets": packets,
            "feedback_packets": 0,
            "repair_packets": 0 if self._windows is None else self._windows.repairs,
            "skipped_packets": self._skipped,
            "slot": self._slot,
            "active_slots": self.waves.n,
            "wave_channels": self.waves.t,
            "session_rate_bps": self.waves.session_rate * self.options.packet_bits,
        }

    # --- inputs

    def start(self, *, now: float) -> Sequence[Effect]:
        return self._begin(now) if self.session.realtime else ()

    def receive(self, datagram: Datagram, *, now: float) -> Sequence[Effect]:
        self.counters["drop_unexpected"] += 1
        return ()

    @property
    def wake_at(self) -> float | None:
        if self.state == "closing":
            return self._next_at
        return max(self._next_at, self._rests_until) if self.state == "sending" else None

    def handle_timer(self, *, now: float) -> Sequence[Effect]:
        if self.state == "closing" and self._next_at <= now:
            return self._say_end(now, "")
        if self.state != "sending":
            return ()
        if self.options.carousel_s and now - self._origin >= self.options.carousel_s:
            return self._say_end(now, "")
        if self._next_at > now:
            return ()
        if now - self._next_at > MOST_LATE_S:
            self._skip(now)
        runs, counters = self._runs, self.counters
        places = self._schedule.places(self._next, self._due(now))
        end = self._send_realtime(places, runs, now) if self.session.realtime else self._send_files(places, runs, now)
        effects, made = runs.take(), runs.made
        self._next += made.packets - counters["data_packets"]
        self._next_at = self._time_of(self._next)
        counters["data_packets"], counters["udp_bytes"] = made.packets, made.octets
        if self.run_bytes and self._next_at > now:
            self._rests_until = now + TURN_S
        if end is not None:
            return [*effects, *self._say_end(now, end)]
        if not self.session.realtime and (work := self.carousel.ahead()) is not None:
            effects.append(Compute(work, has_time=True))
        return effects

    # --- sending

    def _begin(self, now: float) -> list[Effect]:
        self.state = "sending"
        self._runs = ChannelRuns(self._groups, self._ecn, self.run_bytes)
        self._origin = now
        self._next_at = self._time_of(self._next)
        return [SessionStarted()]

    @property
    def _slot(self) -> int:
        return self._next // self.waves.slot_packets

    def _skip(self, now: float) -> None:
        """After a pause the packets of that time are lost, rather than sent in one burst."""
        late = int((now - MOST_LATE_S - self._next_at) * self.waves.session_rate)
        self._next += late
        self._skipped += late

    def _time_of(self, number: int) -> float:
        return self._origin + (number - self._first + 1) / self.waves.session_rate

    def _due(self, now: float) -> int:
        """Packets that are, of which there is one."""
        count = max(1, int((now - self._origin) * self.waves.session_rate) - (self._next - self._first))
        if count > 1 and self._time_of(self._next + count - 1) > now:  # rounding
            count -= 1
        return min(count, TURN_PACKETS)

    def _send_files(self, places: Sequence[tuple[int, int, int]], runs: ChannelRuns, now: float) -> str | None:
        """The carousel's packets, one a channel, slot index and number. Why the session ends; None: it goes on."""
        carousel, session, base, is_long = self.carousel, self.number, self.waves.t, self.waves.is_long
        bases = [at for at, place in enumerate(places) if place[0] == base]
        at = 0
        while at < len(places):
            channel, slot_index, psn = places[at]
            has_table = channel == base and psn % FDT_SHARE == 0
            until = next((stop for stop in bases if stop > at), len(places))
            if not has_table and (found := carousel.next_symbols(channel, until - at)) is not None:
                toi, scheme, number, symbols = found
                self._sent_bytes += sum(map(len, symbols))
                head = encode_head(session, slot_index, channel, psn, is_long, toi, scheme, number)
                runs.add_symbols(places[at : at + len(symbols)], head, is_long, number, symbols)
                at += len(symbols)
                continue
            description = self._description if has_table else b""
            runs.add(channel, self._table(channel, slot_index, psn, description, now))
            at += 1
            if carousel.is_complete and carousel.is_through:
                return "; ".join(carousel.withdrawn)
        return None

    def _send_realtime(self, places: Sequence[tuple[int, int, int]], runs: ChannelRuns, now: float) -> str | None:
        """Likewise what the application has."""
        session, is_long, windows, payload = self.number, self.waves.is_long, self._windows, self._payload
        for at, (channel, slot_index, psn) in enumerate(places, self._next - self._first):
            has_table = channel == self.waves.t and psn % FDT_SHARE == 0
            description = self._description if has_table else b""
            toi, fti, scheme, number = OBJECT_TOI, b"", NO_CODE, at & 0xFFFFFFFF
            if windows is None:
                # What the application has; packets keep their length, as rates are counted in packets.
                space = payload - len(description)
                symbol = self._unsent.take(space).ljust(space, b"\0")
            else:
                scheme = RAPTORQ
                toi, fti, number, symbol = windows.next_symbol(self._unsent, now, is_last=self._finishing)
            self._sent_bytes += len(symbol)
            head = (session, slot_index, channel, psn, is_long, toi, scheme, number)
            if fti or description:
                runs.add(channel, encode(Alc(*head, symbol, description=description, fti=fti)))
            else:
                runs.add(channel, encode_head(*head) + symbol)
            if windows is not None and windows.is_over(now):
                return ""
        return None

    def _table(self, channel: int, slot_index: int, psn: int, description: bytes, now: float) -> bytes:
        """A packet with a symbol of the FDT."""
        table = self.carousel.next_table(now)
        self._sent_bytes += len(table.symbol)
        return encode(
            Alc(
                self.number,
                slot_index,
                channel,
                psn,
                self.waves.is_long,
                FDT_TOI,
                table.scheme,
                table.payload_id,
                table.symbol,
                fdt_instance=table.instance,
                description=description,
                fti=table.fti,
                content_encoding=table.content_encoding,
                sent_ntp=table.sent_ntp,
                flute_version=self.options.flute_version,
            )
        )

    def _end(self, complete: bool, reason: str) -> list[Effect]:
        self.state = "closed"
        self._unsent.clear()
        self._stream.clear()
        return [SessionEnded(complete, reason)]
