"""A sender's session: its files' objects in turns without end, and the FDT instances that describe them.

Each channel shares its packets among the objects by their sizes, so that a receiver of any channels has all of them at
about the same time, one of twice the priority in half of it.
"""

import hashlib
from collections.abc import Iterable
from heapq import heapify, heapreplace
from typing import Final, NamedTuple

from hosts.protocols.webrc.flute.content import GZIP_CENC, encoded, md5
from hosts.protocols.webrc.flute.fdt import MOST_EXPIRES, FdtInstance, FileEntry, encode_fdt, location_of
from hosts.protocols.webrc.flute.objects import ObjectEncoder, object_encoder, plan
from hosts.protocols.webrc.flute.transmission import NO_CODE, Transmission
from hosts.protocols.webrc.packets import FDT_EXTENSION_BYTES

LIFETIME_S: Final = 3600.0
"""Of an FDT instance, which is followed by the next one when half of it is over (ours)."""
INSTANCES: Final = 2**20
"""FDT Instance IDs (RFC 6726, 3.4.1)."""
FIRST_TOI: Final = 1


class TableSymbol(NamedTuple):
    """Part of an FDT instance."""

    instance: int
    fti: bytes
    content_encoding: int
    """Of EXT_CENC."""
    sent_ntp: int | None
    """NTP seconds, for EXT_TIME."""
    payload_id: int
    """Block 0, and the symbol's number."""
    symbol: bytes


class _Object(NamedTuple):
    file: FileEntry
    encoder: ObjectEncoder | None
    """None: of no bytes."""
    weight: float


class Carousel:
    """`symbol`: bytes that a packet of a file has room for; `table`: one of the FDT, whose extensions are in it."""

    def __init__(
        self,
        scheme: int,
        *,
        symbol: int,
        table: int,
        version: int = 2,
        encoding: str = "",
        ntp_at_zero: float | None = None,
    ) -> None:
        """`scheme`: FEC Encoding ID of the files'; `version`: FLUTE's; `encoding`: the files' content encoding.
        `ntp_at_zero`: the date when the clock shows 0, NTP seconds; None: not known, and the FDT never expires."""
        self.scheme = scheme
        self._symbol = symbol
        self._table = table - FDT_EXTENSION_BYTES
        self._version = version
        self._encoding = encoding
        self._ntp_at_zero = ntp_at_zero
        self.is_complete = False
        """No files will follow."""
        self._objects: dict[int, _Object] = {}
        self._next_toi = FIRST_TOI
        self._instance = 0
        self._instance_until = -1.0
        self._document = b""
        self._transmission = Transmission(NO_CODE, 0, 1, 1)
        self._cenc = 0
        self._table_turn = 0
        self._turns: dict[int, list[tuple[float, int]]] = {}  # by channel: a heap of (when it is its turn, TOI)

    def __len__(self) -> int:
        return len(self._objects)

    def add(self, name: str, data: bytes, priority: float = 1.0) -> int:
        """One more file; its TOI. ValueError: it is too long."""
        coded = encoded(data, self._encoding)
        transmission = plan(self.scheme, len(coded), self._symbol)
        toi = self._next_toi
        self._next_toi += 1
        file = FileEntry(
            toi,
            location_of(name),
            len(coded),
            transmission,
            len(data),
            self._encoding,
            md5(data),
            hashlib.sha256(data).hexdigest(),
        )
        encoder = object_encoder(coded, transmission) if coded else None
        self._objects[toi] = _Object(file, encoder, priority * max(1, transmission.symbols))
        self._changed()
        return toi

    def remove(self, tois: Iterable[int]) -> None:
        """These files are sent no more. Receivers that have begun with them do not get the rest."""
        for toi in tois:
            del self._objects[toi]
        self._changed()

    def end(self) -> None:
        """No file will follow."""
        self.is_complete = True
        self._changed()

    def _changed(self) -> None:
        self._instance_until = -1.0
        self._turns.clear()

    @property
    def has_symbols(self) -> bool:
        """Whether any file has bytes."""
        return any(found.encoder is not None for found in self._objects.values())

    def next_symbol(self, channel: int) -> tuple[int, int, bytes]:
        """TOI, FEC Payload ID and symbol of a channel's next packet. Some file has bytes."""
        turns = self._turns.get(channel)
        if turns is None:
            turns = [(1 / found.weight, toi) for toi, found in self._objects.items() if found.encoder is not None]
            heapify(turns)
            self._turns[channel] = turns
        at, toi = turns[0]
        _, encoder, weight = self._objects[toi]
        assert encoder is not None
        if len(turns) > 1:
            heapreplace(turns, (at + 1 / weight, toi))
        return toi, *encoder.next_packet(channel)

    def next_table(self, now: float) -> TableSymbol:
        """The FDT's next symbol; `now` in seconds, from 0 on."""
        if now >= self._instance_until:
            self._renew(now)
        transmission = self._transmission
        turn = self._table_turn
        piece = self._document[turn * transmission.symbol : (turn + 1) * transmission.symbol]
        self._table_turn = (turn + 1) % transmission.symbols
        ntp = None if self._ntp_at_zero is None else int(self._ntp_at_zero + now)
        return TableSymbol(self._instance, transmission.encode(), self._cenc, ntp, turn, piece)

    def _renew(self, now: float) -> None:
        """Another FDT instance, for other files or a later time."""
        expires, self._instance_until = MOST_EXPIRES, float("inf")
        if self._ntp_at_zero is not None:
            expires, self._instance_until = int(self._ntp_at_zero + now + LIFETIME_S), now + LIFETIME_S / 2
        files = [found.file for found in self._objects.values()]
        document = encode_fdt(FdtInstance(files, expires, self.is_complete), self._version)
        self._cenc = GZIP_CENC if len(document) > self._table else 0
        self._document = encoded(document, "gzip") if self._cenc else document
        symbols = -(-len(self._document) // self._table)  # one block of them
        self._transmission = Transmission(NO_CODE, len(self._document), self._table, symbols)
        self._instance = (self._instance + 1) % INSTANCES
        self._table_turn = 0
