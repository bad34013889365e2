"""What a receiver's application gets: real-time data as they come, or files that are whole."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from hosts.endpoint import Deliver, DeliverDatagram, Effect
from hosts.protocol import Session
from hosts.protocols.webrc.flute.decoding import SymbolRun
from hosts.protocols.webrc.flute.received import Choice, Received
from hosts.protocols.webrc.flute.reception import Reception
from hosts.protocols.webrc.options import WebrcOptions
from hosts.protocols.webrc.packets import FDT_TOI, RAPTORQ, Alc
from hosts.protocols.webrc.waves import Waves
from hosts.protocols.webrc.windows import IncomingWindows
from hosts.wire.manifest import FileError


class Delivery:
    """Of one session, from beginning to end, whatever becomes of its channels."""

    def __init__(self, session: Session, options: WebrcOptions, counters: Counter[str]) -> None:
        """`set_up` is called before all else."""
        self.download: Final = Reception(session.ntp_at_zero, session.shelf, Choice(options.pattern, options.newest))
        self.download.counters = counters
        self._windows = IncomingWindows()  # of real-time data with FEC
        self.bytes = 0
        """Of the stream that were delivered."""
        self.is_whole = False
        """What was asked for has come."""
        self._session = session
        self._counters = counters
        self._takes_every_file = options.every_file
        self._files = 0
        self._rate = 0.0
        self._payload = 0

    def set_up(self, waves: Waves, payload_bytes: int) -> None:
        """The sender sends with these waves, and so much in a packet."""
        self._rate, self._payload = waves.session_rate, payload_bytes

    @property
    def has_all_described(self) -> bool:
        """Whether there is a file, and none is lacking that was told of."""
        return self._has_file and self.download.has_all_described

    @property
    def _has_file(self) -> bool:
        return bool(self._files + self.download.there)

    def take(self, packet: Alc, arrived_at: float, now: float) -> list[Effect]:
        """A packet of a channel that is joined. PacketError: it cannot be used. FileError: a file cannot."""
        return self._stream(packet, arrived_at) if self._session.realtime else self._object(packet, now)

    def _stream(self, packet: Alc, arrived_at: float) -> list[Effect]:
        if not self._session.deliver:
            return []
        if packet.encoding == RAPTORQ:
            found = self._windows.take(packet, arrived_at)
            self._counters["recovered_packets"] = self._windows.recovered
            self.bytes = max(self.bytes, *(piece.offset + len(piece.data) for piece in found), 0)
            return list(found)
        seq = packet.payload_id
        # No packet says when it was sent: the sender's clock is the packet's number at the session's rate.
        return [DeliverDatagram(seq, seq * self._payload, packet.symbol, seq / self._rate, arrived_at)]

    def take_run(self, packet: Alc, run: SymbolRun, now: float) -> list[Effect]:
        """Packets with these FEC Payload IDs and symbols, like this one otherwise, of a session with files. FileError
        as above."""
        files = self.download.add_run(packet, run, now)
        return self._files_whole(files) if files else []

    def _object(self, packet: Alc, now: float) -> list[Effect]:
        files = self.download.add(packet, now)
        if not files and packet.toi != FDT_TOI:  # nearly every packet
            return []
        return self._files_whole(files)

    def _files_whole(self, files: Sequence[Received]) -> list[Effect]:
        effects: list[Effect] = []
        for file in files[: None if self._takes_every_file else 1]:
            effect = file.effect(self.bytes)
            effects.append(effect)
            self._files += 1
            self.bytes += len(effect.data) if isinstance(effect, Deliver) else 0
        self.is_whole = (self._has_file and not self._takes_every_file) or self.download.has_all
        return effects

    def flush(self) -> str:
        """Write down what a later receiver can go on with; what is wrong with that, or with a file that was told of."""
        try:
            self.download.flush()
        except FileError as error:
            return str(error)
        return next(iter(self.download.refused.values()), "")
