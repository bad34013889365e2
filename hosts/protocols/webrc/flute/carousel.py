"""A sender's session: its files' objects in turns without end, and the FDT instances that describe them.

Objects have visits in turn, some packets of all channels each. Shares of the rate go with the square root of their
lengths, which makes the time that a file takes least on average (Vaidya and Hameed, "Scheduling Data Broadcast in
Asymmetric Communication Environments", 1999): small files come early. But the shares of many small ones come out of a
large one's only so far that all together take a quarter longer at most. One of twice the priority has twice the share.
"""

import math
from collections.abc import Callable, Iterable
from heapq import heapify, heappush, heapreplace
from typing import Final, NamedTuple

from hosts.protocols.webrc.flute.coding import Encoders
from hosts.protocols.webrc.flute.content import GZIP_CENC, encoded, in_base64
from hosts.protocols.webrc.flute.fdt import (
    INSTANCES,
    MOST_EXPIRES,
    NTP_EPOCH_S,
    FdtInstance,
    FileEntry,
    encode_fdt,
    location_of,
)
from hosts.protocols.webrc.flute.objects import MOST_VISIT, SYMBOLS_PER_S, ObjectEncoder, object_encoder, plan
from hosts.protocols.webrc.flute.transmission import NO_CODE
from hosts.protocols.webrc.packets import FDT_EXTENSION_BYTES, FDT_TOI
from hosts.storage import BytesContent, Content
from hosts.wire.manifest import FileError

LIFETIME_S: Final = 3600.0
"""Of an FDT instance, which is followed by the next one when half of it is over (ours)."""
FIRST_TOI: Final = 1
LEAST_SHARE: Final = 0.8
"""Of what an object would have by its length (ours): all come in 1.25 of the time that they need."""


class TableSymbol(NamedTuple):
    """Part of an FDT instance."""

    instance: int
    fti: bytes
    content_encoding: int
    """Of EXT_CENC."""
    sent_ntp: int | None
    """NTP seconds, for EXT_TIME."""
    scheme: int
    """FEC Encoding ID."""
    payload_id: int
    symbol: bytes


class _Object:
    """A file that is sent."""

    def __init__(
        self, content: Content, file: FileEntry, encoder: ObjectEncoder | None, symbols: int, left: int
    ) -> None:
        self.content = content
        self.file = file
        self.encoder = encoder
        """None: of no bytes."""
        self.symbols = symbols
        self.share = 0.0
        self.left = left
        """Packets that are sent of it yet; negative: without end."""


class Carousel:
    """`symbol`: bytes that a packet of a file has room for; `table`: one of the FDT, whose extensions are in it."""

    def __init__(
        self,
        scheme: int,
        *,
        symbol: int,
        table: int,
        rate: float = 0.0,
        version: int = 2,
        ntp_at_zero: float | None = None,
    ) -> None:
        """`scheme`: FEC Encoding ID of the files', but of those that are too long for it; `rate`: of all channels
        together, packets/s; `version`: FLUTE's. `ntp_at_zero`: the date when the clock shows 0, NTP seconds; None: not
        known, and the FDT never expires."""
        self.scheme = scheme
        self._symbol = symbol
        self._table = table - FDT_EXTENSION_BYTES
        self._share = min(rate / SYMBOLS_PER_S, MOST_VISIT)
        self._version = version
        self._ntp_at_zero = ntp_at_zero
        self.is_complete = False
        """No files will follow."""
        self.withdrawn: list[str] = []
        """Why files are sent no more that could not be read."""
        self._objects: dict[int, _Object] = {}
        self._encoders = Encoders()
        self._next_toi = FIRST_TOI
        self._instance = -1  # the first one is 0 (RFC 6726, 3.4.1)
        self._instance_until = -1.0
        self._fti = b""
        self._document: ObjectEncoder | None = None
        self._document_left = 0  # packets of a visit
        self._cenc = 0
        self._turns: list[tuple[float, int]] = []  # a heap of (when it is its turn, TOI)
        self._visited = 0  # TOI
        self._left = 0  # packets of the visit
        self._is_shared = False

    def __len__(self) -> int:
        return len(self._objects)

    def add(self, content: Content) -> int:
        """One more file; its TOI. ValueError: it is too long."""
        transmission = plan(self.scheme, content.data.size, self._symbol)
        toi = self._next_toi
        self._next_toi += 1
        manifest = content.manifest
        file = FileEntry(
            toi,
            location_of(manifest.name),
            content.data.size,
            transmission,
            manifest.size,
            content.encoding,
            in_base64(content.md5),
            manifest.sha256,
            content.cache,
        )
        encoder = object_encoder(toi, content.data, transmission, self._encoders) if content.data.size else None
        once = 0 if encoder is None else encoder.pass_packets
        left = content.turns * once if content.turns else -1
        self._objects[toi] = _Object(content, file, encoder, transmission.symbols, left)
        self._is_shared = False
        if encoder is not None:
            now = self._turns[0][0] if self._turns else 0.0
            heappush(self._turns, (now, toi))
        self._instance_until = -1.0
        return toi

    def remove(self, tois: Iterable[int]) -> None:
        """These files are sent no more. Receivers that have begun with them do not get the rest."""
        for toi in tois:
            self._objects.pop(toi).content.data.close()
            self._encoders.forget(toi)
        self._is_shared = False
        self._turns = [turn for turn in self._turns if turn[1] in self._objects]
        heapify(self._turns)
        self._left = 0
        self._instance_until = -1.0

    def named(self, names: Iterable[str]) -> list[int]:
        """The TOIs of the files of these names."""
        wanted = set(names)
        return [toi for toi, found in self._objects.items() if found.content.manifest.name in wanted]

    def end(self) -> None:
        """No file will follow."""
        self.is_complete = True
        self._instance_until = -1.0

    @property
    def is_through(self) -> bool:
        """Whether all files have been sent as often as they should, or cannot be read any more."""
        return not self._objects and self._next_toi > FIRST_TOI

    def next_symbols(self, channel: int, most: int) -> tuple[int, int, int, list[bytes]] | None:
        """TOI, FEC Encoding ID, FEC Payload ID and symbol of a channel's next packet; and symbols that follow it, up to
        so many in all, of packets of any channels. None: no file has any more."""
        while self._left or self._visit():
            toi = self._visited
            encoder = self._objects[toi].encoder
            assert encoder is not None
            try:
                number, symbols = encoder.next_packets(channel, min(most, self._left))
            except FileError as error:
                self._withdraw(toi, error)
                continue
            self._left -= len(symbols)
            return toi, encoder.transmission.scheme, number, symbols
        return None

    def ahead(self) -> Callable[[], object] | None:
        """What makes ready what the next visit takes, milliseconds in a thread; None: nothing, or it has begun."""
        if not self._turns:
            return None
        toi = self._turns[0][1]
        encoder = self._objects[toi].encoder
        assert encoder is not None
        try:
            return encoder.ahead()
        except FileError as error:
            self._withdraw(toi, error)
            return None

    def _withdraw(self, toi: int, error: FileError) -> None:
        """A file that cannot be read any more is sent no more."""
        self.withdrawn.append(str(error))
        self.remove([toi])

    def _visit(self) -> bool:
        """Go on to the next object; whether there is one."""
        if not self._is_shared:
            self._share_out()
        while self._turns:
            at, toi = self._turns[0]
            found = self._objects[toi]
            assert found.encoder is not None
            if found.left == 0:
                self.remove([toi])
                continue
            packets = found.encoder.visit(self._share)
            if found.left > 0:
                packets = min(packets, found.left)
                found.left -= packets
            heapreplace(self._turns, (at + packets / found.share, toi))
            self._visited, self._left = toi, packets
            return True
        return False

    def _share_out(self) -> None:
        """Give each object that has packets its share of the rate: the longest ones' may be their least."""
        self._is_shared = True
        objects = sorted((one for one in self._objects.values() if one.encoder), key=lambda one: -one.symbols)
        whole = sum(one.content.priority * one.symbols for one in objects)
        roots = sum(one.content.priority * math.sqrt(one.symbols) for one in objects)
        rest = 1.0
        for one in objects:
            root = one.content.priority * math.sqrt(one.symbols)
            one.share = max(rest * root / max(roots, root), LEAST_SHARE * one.content.priority * one.symbols / whole)
            rest -= one.share
            roots -= root

    def next_table(self, now: float) -> TableSymbol:
        """The FDT's next symbol; `now` in seconds, from 0 on."""
        if now >= self._instance_until:
            self._renew(now)
        assert self._document is not None
        if not self._document_left:
            self._document_left = self._document.visit(1.0)
        self._document_left -= 1
        number, symbols = self._document.next_packets(0, 1)
        ntp = None if self._ntp_at_zero is None else int(self._ntp_at_zero + now)
        scheme = self._document.transmission.scheme
        return TableSymbol(self._instance, self._fti, self._cenc, ntp, scheme, number, symbols[0])

    def _renew(self, now: float) -> None:
        """Another FDT instance, for other files or a later time."""
        expires, self._instance_until = MOST_EXPIRES, float("inf")
        if self._ntp_at_zero is not None:
            expires, self._instance_until = (
                int(self._ntp_at_zero + now + LIFETIME_S) % NTP_EPOCH_S,
                now + LIFETIME_S / 2,
            )
        files = [found.file for found in self._objects.values()]
        document = encode_fdt(FdtInstance(files, expires, self.is_complete, is_full=True), self._version)
        self._cenc = GZIP_CENC if len(document) > self._table else 0
        if self._cenc:
            document = encoded(document, "gzip")
        # One of several symbols has the files' code (RFC 6726, 3.3): who misses one takes any other.
        scheme = self.scheme if len(document) > self._table else NO_CODE
        self._encoders.forget(FDT_TOI)
        self._document_left = 0
        self._document = object_encoder(
            FDT_TOI, BytesContent(document), plan(scheme, len(document), self._table), self._encoders
        )
        self._fti = self._document.transmission.encode()
        self._instance = (self._instance + 1) % INSTANCES
