"""The session's file delivery table: one FLUTE FDT instance (RFC 6726, 3.4.2) that describes one file.

A Canopy receiver checks the file by the SHA-256 in an attribute of ours; others have Content-MD5 and ignore it.
"""

import base64
import binascii
import hashlib
import struct
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from typing import Final

from hosts.parts.fec.block import SYMBOL_ALIGNMENT
from hosts.protocols.webrc.objects import Layout
from hosts.protocols.webrc.packets import OBJECT_TOI, RAPTORQ
from hosts.wire.header import PacketError
from hosts.wire.manifest import Manifest

NAMESPACE: Final = "urn:IETF:metadata:2005:FLUTE:FDT"
CANOPY: Final = "urn:canopy:fdt"
EXPIRES: Final = str(2**32 - 1)
"""NTP seconds: as long as the session lasts, by any clock; endpoints here know no date."""
MAX_BYTES: Final = 4096
_SCHEME: Final = struct.Struct("!BHB")
"""RFC 6330, 3.3.3: Z, N, Al."""


@dataclass(frozen=True, slots=True)
class FileDescription:
    """What receivers must know of the file."""

    name: str
    sha256: str | None
    """None: the sender is none of ours and does not say it."""
    layout: Layout

    def manifest(self, data: bytes) -> Manifest:
        """What is told of the file that has come. FileError: its name is refused."""
        manifest = Manifest(self.name, len(data), self.sha256 or hashlib.sha256(data).hexdigest())
        checked = Manifest.take(bytearray(manifest.encode()))  # by its own reader
        assert checked is not None
        return checked


def encode_fdt(manifest: Manifest, layout: Layout, data: bytes) -> bytes:
    """The FDT instance for a file. `data`: the file."""
    ET.register_namespace("", NAMESPACE)
    ET.register_namespace("canopy", CANOPY)
    root = ET.Element(f"{{{NAMESPACE}}}FDT-Instance", {"Expires": EXPIRES})
    ET.SubElement(
        root,
        f"{{{NAMESPACE}}}File",
        {
            "TOI": str(OBJECT_TOI),
            "Content-Location": manifest.name,
            "Content-Length": str(layout.length),
            "Transfer-Length": str(layout.length),
            "Content-MD5": base64.b64encode(hashlib.md5(data, usedforsecurity=False).digest()).decode(),
            "FEC-OTI-FEC-Encoding-ID": str(RAPTORQ),
            "FEC-OTI-Encoding-Symbol-Length": str(layout.symbol),
            "FEC-OTI-Scheme-Specific-Info": base64.b64encode(_SCHEME.pack(layout.blocks, 1, SYMBOL_ALIGNMENT)).decode(),
            f"{{{CANOPY}}}SHA-256": manifest.sha256,
        },
    )
    encoded: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return encoded


def parse_fdt(data: bytes) -> FileDescription:
    """What an FDT instance says of the file. PacketError: nothing that can be used."""
    try:
        if len(data) > MAX_BYTES or b"<!" in data:  # no document types: entities could grow without end
            raise ValueError
        found = ET.fromstring(data).iter(f"{{{NAMESPACE}}}File")
        file = next(element for element in found if element.get("TOI") == str(OBJECT_TOI))
        if file.get("FEC-OTI-FEC-Encoding-ID") != str(RAPTORQ) or file.get("Content-Encoding"):
            raise ValueError
        length = int(file.get("Transfer-Length") or file.attrib["Content-Length"])
        scheme = base64.b64decode(file.attrib["FEC-OTI-Scheme-Specific-Info"], validate=True)
        blocks, sub_blocks, _ = _SCHEME.unpack(scheme)
        if sub_blocks != 1:
            raise ValueError
        layout = Layout(length, int(file.attrib["FEC-OTI-Encoding-Symbol-Length"]), blocks)
        return FileDescription(file.attrib["Content-Location"], file.get(f"{{{CANOPY}}}SHA-256"), layout)
    except (ET.ParseError, LookupError, ValueError, StopIteration, struct.error, binascii.Error):
        raise PacketError("fdt") from None
