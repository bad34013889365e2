"""A receiver's session: FDT instances, and the objects that they describe, whichever comes first.

All that is kept in memory has a bound: FDT instances that are not whole, packets of objects of which nothing is known
yet, and symbols of blocks that are not whole. Where a receiver has no disk, as in a simulation, objects grow with what
has come of them.
"""

import math
from collections import Counter, OrderedDict
from collections.abc import Sequence
from typing import Final, NamedTuple

from hosts.protocols.webrc.flute.content import CENC, DamagedError, decoded, matching
from hosts.protocols.webrc.flute.decoding import ObjectDecoder, SymbolRun
from hosts.protocols.webrc.flute.fdt import INSTANCES, MOST_BYTES, FdtInstance, FileEntry, lifetime, parse_fdt
from hosts.protocols.webrc.flute.instances import COMPLETE, Instances
from hosts.protocols.webrc.flute.received import EVERY_NAME, Choice, Received
from hosts.protocols.webrc.flute.transmission import NO_CODE, Transmission
from hosts.protocols.webrc.packets import FDT_TOI, Alc
from hosts.storage import MemoryRoom, MemoryShelf, Room, Shelf
from hosts.wire.header import PacketError
from hosts.wire.manifest import FileError, Manifest
from hosts.wire.reason import Reason

MOST_INSTANCES: Final = 4
"""FDT instances that come at a time (ours)."""
MOST_FILES: Final = 65536
"""Described at a time (ours)."""
EARLY_BYTES: Final = 4 << 20
"""Of packets that come before what describes their objects (ours)."""
EARLY_COST: Final = 400
"""Bytes of memory that such a packet takes beside its symbol (CPython's objects)."""
MOST_OBJECTS: Final = 1024
"""With packets that have come, at a time (ours)."""
MOST_BLOCKS: Final = 1 << 23
"""Of these objects together (ours): each takes two bytes, whatever has come of it."""
HELD_BYTES: Final = 16 << 20
"""Of symbols that wait in memory for the rest of their block (ours): beyond it they wait on the disk."""


class _Described(NamedTuple):
    file: FileEntry
    until: float
    """The receiver's clock, seconds: when the FDT instance expires."""


class Reception:
    """Of one session. `now` is in seconds."""

    def __init__(
        self, ntp_at_zero: float | None = None, shelf: Shelf | None = None, choice: Choice | None = None
    ) -> None:
        """`ntp_at_zero`: the date when the clock shows 0, NTP seconds; None: it is not known. Senders that say the time
        (EXT_TIME) are believed more. `shelf`: None: all stays in memory."""
        self._shelf = shelf or MemoryShelf()
        self._choice = choice or Choice()
        self._rooms: dict[int, Room] = {}
        self._newest = 0
        self._full: int | None = None  # the last instance that described all
        self._blocks = 0
        self._held = 0
        self._ntp_at_zero = ntp_at_zero
        self._tables: OrderedDict[int, tuple[ObjectDecoder, str]] = OrderedDict()  # instances that are not whole yet
        self._instances = Instances()
        self._files: dict[int, _Described] = {}
        self._objects: dict[int, ObjectDecoder] = {}
        self.refused: dict[int, str] = {}
        """Objects that no folder takes, and why: described once so far."""
        self._early: dict[int, list[Alc]] = {}
        self._early_bytes = 0
        self._done: dict[int, FileEntry] = {}
        self.there = 0
        """Files that were there already, and are not received again."""
        self._last: ObjectDecoder | None = None
        self.is_complete = False
        """No file will follow that is not described."""
        self.counters: Counter[str] = Counter()
        """`early_packets` of objects before their description; `expired`; `damaged_files`, which are not what the FDT
        says; `contradicted_files`, which one FDT instance describes in another way than one before it; `refused_files`,
        which no folder takes."""

    @property
    def has_all(self) -> bool:
        """Whether all files of a session that is complete have come."""
        return self.is_complete and self.has_all_described

    @property
    def has_all_described(self) -> bool:
        """Whether all files that have been described so far have come."""
        return all(self._is_done(file) for file, _ in self._files.values() if self._is_wanted(file))

    @property
    def decoder(self) -> ObjectDecoder | None:
        """Of the object that came first of those that are not whole, or the last one that was."""
        return next(iter(self._objects.values()), self._last)

    def _is_wanted(self, file: FileEntry) -> bool:
        is_named = self._choice.pattern == EVERY_NAME or self._choice.wants(file.name)
        return is_named and (not self._choice.newest or file.toi == self._newest)

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
        if described is not None and (packet.toi in self.refused or not self._is_wanted(described.file)):
            return []
        decoder = self._decoder(packet, described)
        if decoder is None:
            self._keep(packet)
            return []
        if decoder.transmission.scheme != packet.encoding:
            raise PacketError("object")
        if described is None and self._held > HELD_BYTES and not self._give_way(packet.toi):
            return []  # without a description it has no room
        before = decoder.held
        decoder.add(packet.payload_id, packet.symbol)
        self._held += decoder.held - before
        if self._held > HELD_BYTES:
            self._spill(HELD_BYTES // 2)
        return self._finished(packet.toi) if decoder.is_whole else []

    def add_run(self, packet: Alc, run: SymbolRun, now: float) -> list[Received]:
        """Take packets with these FEC Payload IDs and symbols, like this one otherwise, as `add` does each; those that
        cannot be used are counted. FileError as there."""
        toi = packet.toi
        described, decoder = self._files.get(toi), self._objects.get(toi)
        is_open = described is not None and now <= described.until and self._is_wanted(described.file)
        taken = 0
        found: list[Received] = []
        if is_open and decoder is not None and decoder.transmission.scheme == packet.encoding:
            before = decoder.held
            taken = decoder.add_run(run)
            self._held += decoder.held - before
            if self._held > HELD_BYTES:
                self._spill(HELD_BYTES // 2)
            found += self._finished(toi) if decoder.is_whole else []
        for payload_id, symbol in map(run.one, range(taken, len(run.ids))):
            try:
                found += self.add(packet._replace(payload_id=payload_id, symbol=symbol), now)
            except PacketError as error:
                self.counters[f"drop_{error.reason}"] += 1
        return found

    def flush(self) -> None:
        """Write down what has come of objects that are not whole. Raises FileError."""
        self._spill(-1)

    def _spill(self, most: int) -> None:
        """Have at most so many bytes of symbols in memory, where objects have room for others."""
        for decoder in self._objects.values():
            while self._held > most:
                before = decoder.held
                if not decoder.spill():
                    break
                self._held += decoder.held - before

    # --- objects

    def _decoder(self, packet: Alc, described: _Described | None) -> ObjectDecoder | None:
        found = self._objects.get(packet.toi)
        if found is not None:
            return found
        transmission = described.file.transmission if described is not None else None
        if transmission is None and packet.fti:
            transmission = Transmission.parse(packet.encoding, packet.fti)
        if transmission is None or (len(self._objects) >= MOST_OBJECTS and not self._give_way(packet.toi)):
            return None
        if self._blocks + transmission.blocks > MOST_BLOCKS:
            return None
        if described is not None and transmission.length != described.file.transfer_length:
            raise PacketError("fti")
        found = self._objects[packet.toi] = ObjectDecoder(transmission)
        self._blocks += transmission.blocks
        if described is not None:
            self._settle(found, described.file)
        return found

    def _settle(self, decoder: ObjectDecoder, file: FileEntry) -> None:
        """Give an object that is described its room. Raises FileError."""
        room = self._rooms.get(file.toi) or MemoryRoom()
        if not file.key:
            room.clear()
        before = decoder.held
        decoder.settle(room, repr((file.key, decoder.transmission)))
        self._held += decoder.held - before
        self.counters.update(resumed_symbols=decoder.resumed)

    def _drop(self, toi: int) -> ObjectDecoder | None:
        """An object is kept no longer."""
        self._rooms.pop(toi, None)
        found = self._objects.pop(toi, None)
        if found is not None:
            self._held -= found.held
            self._blocks -= found.transmission.blocks
        return found

    def _give_way(self, toi: int) -> bool:
        """Drop the object that came first of those that nothing has described, but for this one; whether there was one.
        Its sender may never describe it."""
        first = next((one for one in self._objects if one not in self._files and one != toi), None)
        return first is not None and self._drop(first) is not None

    def _keep(self, packet: Alc) -> None:
        """A packet of which only an FDT will say what it is; those of an object that came before its own go for it."""
        self.counters["early_packets"] += 1
        cost = _cost([packet])
        while self._early and self._early_bytes + cost > EARLY_BYTES:
            first = next(iter(self._early))
            if first == packet.toi:
                return
            self._early_bytes -= _cost(self._early.pop(first))
        self._early_bytes += cost
        self._early.setdefault(packet.toi, []).append(packet)

    def _finished(self, toi: int) -> list[Received]:
        """The file of an object, if both it and its description are whole."""
        decoder, described = self._objects.get(toi), self._files.get(toi)
        if decoder is None or described is None or not decoder.is_whole:
            return []
        file = described.file
        room = self._rooms.get(toi) or MemoryRoom()
        found: list[Received] = []
        if decoder.transmission.length == file.transfer_length:
            for _ in decoder.candidates():
                checked = matching(decoder.pieces, file)
                if checked is not None:
                    manifest = self._checked(file, checked.size, checked.sha256)
                    found.append(Received(manifest, room, file.content_encoding, decoder.pieces))
                    break
        if found:
            self._done[toi] = file
            self._last = self._drop(toi)
        else:
            self.counters["damaged_files"] += 1
            self._drop(toi)
            room.clear()
            self._rooms[toi] = room
        return found

    def _checked(self, file: FileEntry, size: int, sha256: str) -> Manifest:
        """By its own reader. Raises FileError."""
        found = Manifest.take(bytearray(Manifest(file.name, size, sha256).encode()))
        assert found is not None
        return found

    # --- FDT instances

    def _table(self, packet: Alc, now: float) -> list[Received]:
        instance = packet.fdt_instance
        if instance is None:
            raise PacketError("fdt")
        if self._instances.is_read(instance, now):
            return []
        if instance not in self._tables:
            if not packet.fti:
                raise PacketError("fdt")
            transmission = Transmission.parse(packet.encoding, packet.fti)
            if not 0 < transmission.length <= MOST_BYTES:
                raise PacketError("fdt")
            opened = ObjectDecoder(transmission)
            opened.settle(MemoryRoom(), "")
            self._tables[instance] = opened, CENC.get(packet.content_encoding, "?")
            if len(self._tables) > MOST_INSTANCES:
                self._tables.popitem(last=False)
        decoder, encoding = self._tables[instance]
        if decoder.transmission.scheme != packet.encoding:
            raise PacketError("fdt")
        if not decoder.add(packet.payload_id, packet.symbol):
            return []
        del self._tables[instance]
        for _ in decoder.candidates():
            try:
                document = b"".join(decoded(decoder.pieces(), encoding, None))
                return self._described(instance, parse_fdt(document), packet, now)
            except (PacketError, DamagedError):
                continue
        raise PacketError("fdt")

    def _described(self, number: int, table: FdtInstance, packet: Alc, now: float) -> list[Received]:
        until = now + self._lifetime(table.expires, packet, now)
        self._instances.read(number, until, now)
        if until < now:
            self.counters["expired"] += 1
            return []
        if not table.is_complete:
            self._instances.deny()
        elif not self.is_complete:
            self.is_complete = self._instances.believes(number, COMPLETE, now)
        self._forget(now)
        if table.is_full and (self._full is None or (number - self._full) % INSTANCES < INSTANCES // 2):
            self._withdraw(number, table.files, now)
        found: list[Received] = []
        for file in table.files[:MOST_FILES]:
            before = self._files.get(file.toi)
            if before is None and len(self._files) >= MOST_FILES:
                break
            if before is not None and before.file != file:
                self.counters["contradicted_files"] += 1
                continue
            self._files[file.toi] = _Described(file, until if before is None else max(until, before.until))
        if self._choice.newest:
            self._turn_to_newest()
        for file in table.files[:MOST_FILES]:
            if file.toi in self._files and self._files[file.toi].file == file:
                found += self._begin_unless_refused(number, file, now)
        return found

    def _begin_unless_refused(self, number: int, file: FileEntry, now: float) -> list[Received]:
        """FileError, which ends a receiver: what no folder takes was said twice."""
        try:
            return self._begin(file, now)
        except FileError as error:
            what, of_folder = (file.toi, error.reason), (Reason.REFUSED_FILE, Reason.NO_ROOM)
            if error.reason not in of_folder or self._instances.believes(number, what, now):
                raise
            self.counters["refused_files"] += file.toi not in self.refused
            self.refused[file.toi] = str(error)
        self._drop(file.toi)
        return []

    def _turn_to_newest(self) -> None:
        """Others' symbols are of no use any more."""
        newest = max((toi for toi, (file, _) in self._files.items() if self._choice.wants(file.name)), default=0)
        if newest != self._newest:
            self._newest = newest
            for toi in [toi for toi in self._objects if toi in self._files and toi != newest]:
                self._drop(toi)

    def _withdraw(self, number: int, files: Sequence[FileEntry], now: float) -> None:
        """Nothing comes any more of files that are not among these, once that has been said twice. What has come of
        them is removed."""
        gone = self._files.keys() - {file.toi for file in files}
        if gone and not self._instances.believes(number, frozenset(gone), now):
            return
        self._full = number
        for toi in gone:
            room = self._rooms.get(toi)
            self._discard(toi)
            if room is not None:
                room.clear()

    def _discard(self, toi: int) -> None:
        del self._files[toi]
        self.refused.pop(toi, None)
        self._drop(toi)
        self._done.pop(toi, None)

    def _forget(self, now: float) -> None:
        """What is described no more: its TOI may be another file's from now on."""
        for toi in [toi for toi, (_, until) in self._files.items() if until < now]:
            self._discard(toi)

    def _lifetime(self, expires: int, packet: Alc, now: float) -> float:
        """Seconds that an FDT instance holds from now on."""
        if packet.sent_ntp is not None:
            return lifetime(expires, packet.sent_ntp)
        return math.inf if self._ntp_at_zero is None else lifetime(expires, self._ntp_at_zero + now)

    def _begin(self, file: FileEntry, now: float) -> list[Received]:
        """A file is described from now on: what had come of it before counts."""
        if self._is_done(file) or not self._is_wanted(file):
            return []
        if file.toi not in self._rooms:
            self._checked(file, 0, "0" * 64)  # before anything bears its name
            room = self._shelf.room(file.name, file.sha256, file.key, file.cache, file.transfer_length)
            if room is None:
                self._done[file.toi] = file
                self.there += 1
                self._drop(file.toi)
                return []
            self._rooms[file.toi] = room
        decoder = self._objects.get(file.toi)
        if decoder is None and file.transfer_length == 0:
            decoder = self._objects[file.toi] = ObjectDecoder(Transmission(NO_CODE, 0, 1, 1))
        if decoder is not None and not decoder.is_settled:
            self._settle(decoder, file)
        found = self._finished(file.toi)
        early = self._early.pop(file.toi, [])
        self._early_bytes -= _cost(early)
        for packet in early:
            try:
                found += self.add(packet, now)
            except (PacketError, FileError):
                self.counters["damaged_files"] += 1
        return found


def _cost(packets: Sequence[Alc]) -> int:
    """Bytes of memory of packets that are kept."""
    return sum(len(packet.symbol) + EARLY_COST for packet in packets)
