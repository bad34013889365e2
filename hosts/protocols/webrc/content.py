"""WEBRC's receiver as its application sees it: what has come is handed over, and the session ends.

What it listens to is `receiver.py`'s.
"""

from collections.abc import Callable, Sequence

from hosts.endpoint import Effect, SessionEnded, StreamEnded
from hosts.parts.receiving import SessionReceiver
from hosts.protocol import Session
from hosts.protocols.webrc.channels import Channels
from hosts.protocols.webrc.delivery import Delivery
from hosts.protocols.webrc.options import WebrcOptions
from hosts.protocols.webrc.packets import FDT_TOI, Alc, payload_bytes
from hosts.protocols.webrc.silence import SILENCE_S
from hosts.protocols.webrc.waves import Waves
from hosts.wire.header import PacketError
from hosts.wire.manifest import FileError
from hosts.wire.reason import Reason


class ContentReceiver(SessionReceiver):
    """States: listening, member, confirming (all that was asked for has come), closed."""

    def __init__(self, session: Session, options: WebrcOptions) -> None:
        super().__init__(session)
        self._delivery = Delivery(session, options, self.counters)
        self.received_bytes = 0
        """Of the session's packets, symbols alone."""
        self._set_up(options)

    def _set_up(self, options: WebrcOptions) -> None:
        """With these parameters, as nothing had been received."""
        self.options = options
        self.waves: Waves = options.waves()
        self.channels = Channels(self.session, self.waves, self.counters, SILENCE_S / 2)
        self._delivery.set_up(self.waves, payload_bytes(options.packet_bytes, is_long=self.waves.is_long))

    @property
    def repaired_within_s(self) -> float:
        return self.options.deadline_s

    def consumed(self, count: int, *, now: float) -> Sequence[Effect]:
        return ()

    def confirm(self, *, complete: bool, now: float, reason: Reason = Reason.NONE) -> Sequence[Effect]:
        if self.closed:
            return ()
        return self._end(complete, "" if complete else reason.text)

    def close(self, *, now: float, reason: str) -> Sequence[Effect]:
        return () if self.closed else self._end(False, reason)

    def _came(self, packets: int, size: int) -> None:
        """So many packets that are new, with symbols of so many bytes together."""
        self.counters["data_packets"] += packets
        self.received_bytes += size

    def _hand_over(self, packet: Alc, take: Callable[[], list[Effect]]) -> list[Effect]:
        """What comes of a packet, or of several like it; `take`: hands their symbols to the session's delivery."""
        if not self.session.realtime and self.state != "member":
            return []
        try:
            found = take()
        except PacketError as error:
            self.counters[f"drop_{error.reason}"] += 1
            return []
        except FileError as error:
            return self._end(False, str(error))
        if not self.has_data and packet.toi != FDT_TOI and not self.session.realtime:
            found = [*self.first_data(len(packet.symbol)), *found]
        return [*found, *self._whole()] if self._delivery.is_whole else found

    def _whole(self) -> list[Effect]:
        """What was asked for has come."""
        self.state = "confirming"
        return [*self.channels.leave_all(), StreamEnded(self._delivery.bytes)]

    def _over(self) -> list[Effect]:
        """The sender has ended the session."""
        if self.session.realtime:
            return [StreamEnded(self._delivery.bytes), *self._end(True, "")]
        if self._delivery.has_all_described:
            return self._whole()
        return self._end(False, "the sender ended the session")

    def _end(self, complete: bool, reason: str) -> list[Effect]:
        effects = [] if self.state == "confirming" else self.channels.leave_all()
        self.state = "closed"
        if not complete:
            problem = self._delivery.flush()
            reason = "; ".join(filter(None, (reason, "" if problem == reason else problem)))
        return [*effects, SessionEnded(complete, reason)]
