"""How an object is cut into symbols and coded: FEC Object Transmission Information (RFC 5052, section 6), in EXT_FTI
and as the FDT's attributes.

Three schemes: Compact No-Code (FEC Encoding ID 0, RFC 5445), Reed-Solomon over GF(2^8) (5, RFC 5510) and RaptorQ (6,
RFC 6330). The source block's number and the symbol's share the FEC Payload ID's 32 bits, each scheme in its own way.
"""

import base64
import binascii
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from hosts.wire.header import PacketError

NO_CODE: Final = 0
REED_SOLOMON: Final = 5
RAPTORQ: Final = 6
SYMBOL_BITS: Final = {NO_CODE: 16, REED_SOLOMON: 8, RAPTORQ: 24}
"""Of the FEC Payload ID, for the encoding symbol's id (RFC 5445, 3.1; RFC 5510, 5.1; RFC 6330, 3.2)."""
EXT_FTI: Final = 64
MOST_LENGTH: Final = 2**48 - 1
"""Bytes of an object: the Transfer Length has 48 bits; RaptorQ's 40 (RFC 6330, 3.3.2)."""
MOST_SYMBOL: Final = 2**16 - 1
MOST_RAPTORQ_SYMBOLS: Final = 56_403
"""Source symbols of a block (RFC 6330, 5.1.2)."""
MOST_RAPTORQ_BLOCKS: Final = 255
"""Z has 8 bits (RFC 6330, 3.3.3)."""
MOST_RS_SYMBOLS: Final = 255
"""Source and repair symbols of a block: 2^8 - 1 (RFC 5510, 5.2.4)."""

_NO_CODE_FTI: Final = struct.Struct("!BBHIHHI")
"""RFC 5445, 3.2.2: type, words, length (48 bits), reserved, symbol bytes, most source symbols of a block."""
_RS_FTI: Final = struct.Struct("!BBHIHBB")
"""RFC 5510, 5.2.4.1: type, words, length (48 bits), symbol bytes, most source symbols, most encoding symbols."""
_RAPTORQ_FTI: Final = struct.Struct("!BBIBBHBHBH")
"""RFC 6330, 3.3.2 and 3: type, words, length (40 bits), reserved, symbol bytes, Z, N, Al; and padding to words."""
_RAPTORQ_SPECIFIC: Final = struct.Struct("!BHB")
"""RFC 6330, 3.3.3: Z, N, Al."""


@dataclass(frozen=True, slots=True)
class Transmission:
    """Of one object. ValueError: there is none like that."""

    scheme: int
    length: int
    """Bytes that are transferred."""
    symbol: int
    """Bytes of an encoding symbol: E, T."""
    most_source: int = 0
    """Source symbols of a block, at most: B; with RaptorQ the number of blocks says it."""
    most_encoding: int = 0
    """Reed-Solomon: source and repair symbols of a block, at most: max_n."""
    z: int = 0
    """RaptorQ: source blocks."""
    n: int = 1
    """RaptorQ: sub-blocks of a block."""
    al: int = 1
    """RaptorQ: bytes that sub-symbols are multiples of."""

    def __post_init__(self) -> None:
        if not (0 <= self.length <= MOST_LENGTH and 0 < self.symbol <= MOST_SYMBOL):
            raise ValueError(f"an object of {self.length} bytes in symbols of {self.symbol} bytes")
        if self.scheme == RAPTORQ:
            self._check_raptorq()
        elif self.scheme == REED_SOLOMON:
            if not 0 < self.most_source <= self.most_encoding <= MOST_RS_SYMBOLS:
                raise ValueError(f"{self.most_encoding} symbols for {self.most_source}")
        elif self.scheme != NO_CODE or self.most_source <= 0:
            raise ValueError(f"FEC Encoding ID {self.scheme}, blocks of {self.most_source} symbols")
        bits = SYMBOL_BITS[self.scheme]
        if self.blocks > 2 ** (32 - bits) or self.largest_block > 2**bits:
            raise ValueError(f"{self.length} bytes do not fit blocks of symbols of {self.symbol} bytes")

    def _check_raptorq(self) -> None:
        if not (self.al > 0 and self.symbol % self.al == 0 and 0 < self.n <= self.symbol // self.al):
            raise ValueError(f"{self.n} sub-blocks, symbols of {self.symbol} bytes by {self.al}")
        if not (self.length == 0 or 0 < self.z <= min(self.symbols, MOST_RAPTORQ_BLOCKS)) or (
            self.symbols > self.z * MOST_RAPTORQ_SYMBOLS
        ):
            raise ValueError(f"{self.length} bytes do not fit {self.z} blocks of symbols of {self.symbol} bytes")

    @property
    def symbols(self) -> int:
        """Source symbols of all blocks."""
        return -(-self.length // self.symbol)

    @property
    def blocks(self) -> int:
        """Source blocks; of no bytes none, whatever RaptorQ's number of them says."""
        if not self.length:
            return 0
        return self.z if self.scheme == RAPTORQ else -(-self.symbols // self.most_source)

    @property
    def largest_block(self) -> int:
        """Source symbols of the first block, which no other exceeds."""
        return -(-self.symbols // self.blocks) if self.blocks else 0

    def block(self, number: int) -> tuple[int, int]:
        """A block's first byte and the byte after its last: RFC 5052, 9.1, which is RFC 6330's Partition, too."""
        small, larger = divmod(self.symbols, self.blocks)
        first = number * small + min(number, larger)
        count = small + (number < larger)
        return first * self.symbol, min((first + count) * self.symbol, self.length)

    def source(self, number: int) -> int:
        """Source symbols of a block."""
        begin, end = self.block(number)
        return -(-(end - begin) // self.symbol)

    def payload_id(self, block: int, symbol: int) -> int:
        """FEC Payload ID of a block's encoding symbol."""
        return block << SYMBOL_BITS[self.scheme] | symbol

    # --- EXT_FTI

    def encode(self) -> bytes:
        """The header extension, whole words."""
        high, low = self.length >> 32, self.length & 0xFFFFFFFF
        if self.scheme == RAPTORQ:
            length = (self.length >> 8, self.length & 0xFF)
            return _RAPTORQ_FTI.pack(EXT_FTI, 4, *length, 0, self.symbol, self.z, self.n, self.al, 0)
        if self.scheme == REED_SOLOMON:
            return _RS_FTI.pack(EXT_FTI, 3, high, low, self.symbol, self.most_source, self.most_encoding)
        return _NO_CODE_FTI.pack(EXT_FTI, 4, high, low, 0, self.symbol, self.most_source)

    @classmethod
    def parse(cls, scheme: int, extension: bytes) -> "Transmission":
        """What an EXT_FTI says; the packet's codepoint says the scheme. PacketError: nothing that can be used."""
        try:
            if scheme == RAPTORQ:
                _, _, high, low, _, symbol, z, n, al, _ = _RAPTORQ_FTI.unpack(extension)
                return cls(scheme, high << 8 | low, symbol, z=z, n=n, al=al)
            if scheme == REED_SOLOMON:
                _, _, high, low, symbol, most_source, most = _RS_FTI.unpack(extension)
                return cls(scheme, high << 32 | low, symbol, most_source, most)
            _, _, high, low, _, symbol, most_source = _NO_CODE_FTI.unpack(extension)
            return cls(scheme, high << 32 | low, symbol, most_source)
        except (struct.error, ValueError):
            raise PacketError("fti") from None

    # --- the FDT's attributes

    def attributes(self) -> dict[str, str]:
        """RFC 6726, 3.4.2; the scheme's own in RFC 5445, 3.2.2, RFC 5510, 5.2.4.2, RFC 6330, 3.3.3."""
        found = {"FEC-OTI-FEC-Encoding-ID": str(self.scheme), "FEC-OTI-Encoding-Symbol-Length": str(self.symbol)}
        if self.scheme == RAPTORQ:
            specific = base64.b64encode(_RAPTORQ_SPECIFIC.pack(self.z, self.n, self.al)).decode()
            return {**found, "FEC-OTI-Scheme-Specific-Info": specific}
        found["FEC-OTI-Maximum-Source-Block-Length"] = str(self.most_source)
        if self.scheme == REED_SOLOMON:
            found["FEC-OTI-Max-Number-of-Encoding-Symbols"] = str(self.most_encoding)
        return found

    @classmethod
    def of_attributes(cls, found: Mapping[str, str], length: int) -> "Transmission | None":
        """What an FDT says; None: it leaves it to EXT_FTI. ValueError, LookupError: nothing that can be used."""
        if "FEC-OTI-FEC-Encoding-ID" not in found:
            return None
        scheme, symbol = int(found["FEC-OTI-FEC-Encoding-ID"]), int(found["FEC-OTI-Encoding-Symbol-Length"])
        if scheme == RAPTORQ:
            try:
                specific = base64.b64decode(found["FEC-OTI-Scheme-Specific-Info"], validate=True)
                z, n, al = _RAPTORQ_SPECIFIC.unpack(specific)
            except (struct.error, binascii.Error):
                raise ValueError("Scheme-Specific-Info") from None
            return cls(scheme, length, symbol, z=z, n=n, al=al)
        most_source = int(found["FEC-OTI-Maximum-Source-Block-Length"])
        return cls(scheme, length, symbol, most_source, int(found.get("FEC-OTI-Max-Number-of-Encoding-Symbols", 0)))
