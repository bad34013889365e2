"""A receiver's session: FDT instances, and the objects that they describe, whichever comes first.

All that is kept has a bound: FDT instances that are not whole, packets of objects of which nothing is known yet, and
the objects themselves, which grow with what has come only.
"""

import hashlib
import math
from collections import Counter, OrderedDict
from typing import Final, NamedTuple

from hosts.protocols.webrc.flute.content import CENC, decoded, matching
from hosts.protocols.webrc.flute.fdt import MOST_BYTES, FdtInstance, FileEntry, parse_fdt
from hosts.protocols.webrc.flute.objects import ObjectDecoder
from hosts.protocols.webrc.flute.transmission import Transmission
from hosts.protocols.webrc.packets import FDT_TOI, Alc
from hosts.wire.header import PacketError
from hosts.wire.manifest import FileError, Manifest

MOST_INSTANCES: Final = 4
"""FDT instances that come at a time (ours)."""
MOST_FILES: Final = 65536
"""Described at a time (ours)."""
EARLY_BYTES: Final = 4 << 20
"""Of packets that come before what describes their objects (ours)."""
MOST_OBJECTS: Final = 1024
"""With packets that have come, at a time (ours)."""


class Received(NamedTuple):
    """A file that is whole, and is what its FDT says."""

    manifest: Manifest
    data: bytes

    @property
    def stream(self) -> bytes:
        """As an application is given it."""
        return self.manifest.encode() + self.data


class _Described(NamedTuple):
    file: FileEntry
    until: float
    """The receiver's clock, seconds: when the FDT instance expires."""


class Reception:
    """Of one session. `now` is in seconds."""

    def __init__(self, ntp_at_zero: float | None = None) -> None:
        """`ntp_at_zero`: the date when the clock shows 0, NTP seconds; None: it is not known. Senders that say the time
        (EXT_TIME) are believed more."""
        self._ntp_at_zero = ntp_at_zero
        self._tables: OrderedDict[int, tuple[ObjectDecoder, str]] = OrderedDict()  # instances that are not whole yet
        self._read: dict[int, bool] = {}  # instances that were whole
        self._files: dict[int, _Described] = {}
        self._objects: dict[int, ObjectDecoder] = {}
        self._early: dict[int, list[Alc]] = {}
        self._early_bytes = 0
        self._done: dict[int, FileEntry] = {}
        self._last: ObjectDecoder | None = None
        self.is_complete = False
        """No file will follow that is not described."""
        self.counters: Counter[str] = Counter()
        """`early`: packets of objects before their description; `expired`; `damaged`: objects that are not what the FDT
        says; `contradicted`: files that one FDT instance describes in another way than one before it."""

    @property
    def has_table(self) -> bool:
        """Whether an FDT instance has come."""
        return bool(self._read)

    @property
    def has_all(self) -> bool:
        """Whether all files of a session that is complete have come."""
        return self.is_complete and self.has_all_described

    @property
    def has_all_described(self) -> bool:
        """Whether all files that have been described so far have come."""
        return all(self._is_done(file) for file, _ in self._files.values())

    @property
    def decoder(self) -> ObjectDecoder | None:
        """Of the object that came first of those that are not whole, or the last one that was."""
        return next(iter(self._objects.values()), self._last)

    def _is_done(self, file: FileEntry) -> bool:
        done = self._done.get(file.toi)
        return done is not None and (done.location, done.transfer_length) == (file.location, file.transfer_length)

    def add(self, packet: Alc, now: float) -> list[Received]:
        """Take a packet; the files that it has made whole. PacketError: it cannot be used. FileError: a file cannot."""
        if packet.toi == FDT_TOI:
            return self._table(packet, now)
        described = self._files.get(packet.toi)
        if described is not None and now > described.until:
            self.counters["expired"] += 1
            return []
        if packet.toi in self._done:
            return []
        decoder = self._decoder(packet, described)
        if decoder is None:
            self._keep(packet)
            return []
        if decoder.transmission.scheme != packet.encoding:
            raise PacketError("object")
        decoder.add(packet.payload_id, packet.symbol)
        return self._finished(packet.toi)

    # --- objects

    def _decoder(self, packet: Alc, described: _Described | None) -> ObjectDecoder | None:
        found = self._objects.get(packet.toi)
        if found is not None:
            return found
        transmission = described.file.transmission if described is not None else None
        if transmission is None and packet.fti:
            transmission = Transmission.parse(packet.encoding, packet.fti)
        if transmission is None or len(self._objects) >= MOST_OBJECTS:
            return None
        if described is not None and transmission.length != described.file.transfer_length:
            raise PacketError("fti")
        found = self._objects[packet.toi] = ObjectDecoder(transmission)
        return found

    def _keep(self, packet: Alc) -> None:
        self.counters["early"] += 1
        if self._early_bytes + len(packet.symbol) <= EARLY_BYTES:
            self._early_bytes += len(packet.symbol)
            self._early.setdefault(packet.toi, []).append(packet)

    def _finished(self, toi: int) -> list[Received]:
        """The file of an object, if both it and its description are whole."""
        decoder, described = self._objects.get(toi), self._files.get(toi)
        if decoder is None or described is None or not decoder.is_whole:
            return []
        file = described.file
        data = matching(decoder.candidates(), file) if decoder.transmission.length == file.transfer_length else None
        if data is None:
            self.counters["damaged"] += 1
            del self._objects[toi]
            return []
        self._last = self._objects.pop(toi)
        self._last.release()
        return [self._give(file, data)]

    def _give(self, file: FileEntry, data: bytes) -> Received:
        self._done[file.toi] = file
        manifest = Manifest(file.name, len(data), file.sha256 or hashlib.sha256(data).hexdigest())
        checked = Manifest.take(bytearray(manifest.encode()))  # by its own reader
        assert checked is not None
        return Received(checked, data)

    # --- FDT instances

    def _table(self, packet: Alc, now: float) -> list[Received]:
        instance = packet.fdt_instance
        if instance is None:
            raise PacketError("fdt")
        if instance in self._read:
            return []
        if instance not in self._tables:
            if not packet.fti:
                raise PacketError("fdt")
            transmission = Transmission.parse(packet.encoding, packet.fti)
            if not 0 < transmission.length <= MOST_BYTES:
                raise PacketError("fdt")
            self._tables[instance] = ObjectDecoder(transmission), CENC.get(packet.content_encoding, "?")
            if len(self._tables) > MOST_INSTANCES:
                self._tables.popitem(last=False)
        decoder, encoding = self._tables[instance]
        if decoder.transmission.scheme != packet.encoding:
            raise PacketError("fdt")
        if not decoder.add(packet.payload_id, packet.symbol):
            return []
        del self._tables[instance]
        for candidate in decoder.candidates():
            document = decoded(candidate, encoding, None)
            try:
                if document is not None:
                    return self._described(instance, parse_fdt(document), packet, now)
            except PacketError:
                continue
        raise PacketError("fdt")

    def _described(self, number: int, table: FdtInstance, packet: Alc, now: float) -> list[Received]:
        until = now + self._lifetime(table.expires, packet, now)
        self._read[number] = True
        if len(self._read) > 1024 * MOST_INSTANCES:
            del self._read[next(iter(self._read))]
        if until < now:
            self.counters["expired"] += 1
            return []
        self.is_complete = self.is_complete or table.is_complete
        self._forget(now)
        found: list[Received] = []
        for file in table.files[:MOST_FILES]:
            before = self._files.get(file.toi)
            if before is None and len(self._files) >= MOST_FILES:
                break
            if before is not None and before.file != file:
                self.counters["contradicted"] += 1
                continue
            self._files[file.toi] = _Described(file, until if before is None else max(until, before.until))
            found += self._begin(file, now)
        return found

    def _forget(self, now: float) -> None:
        """What is described no more: its TOI may be another file's from now on."""
        for toi in [toi for toi, (_, until) in self._files.items() if until < now]:
            del self._files[toi]
            self._objects.pop(toi, None)
            self._done.pop(toi, None)

    def _lifetime(self, expires: int, packet: Alc, now: float) -> float:
        """Seconds that an FDT instance holds from now on."""
        if packet.sent_ntp is not None:
            return expires - packet.sent_ntp
        return math.inf if self._ntp_at_zero is None else expires - (self._ntp_at_zero + now)

    def _begin(self, file: FileEntry, now: float) -> list[Received]:
        """A file is described from now on: what had come of it before counts."""
        if self._is_done(file):
            return []
        if file.transfer_length == 0:
            empty = matching([b""], file)
            return [] if empty is None else [self._give(file, empty)]
        found = self._finished(file.toi)
        for packet in self._early.pop(file.toi, ()):
            self._early_bytes -= len(packet.symbol)
            try:
                found += self.add(packet, now)
            except (PacketError, FileError):
                self.counters["damaged"] += 1
        return found
