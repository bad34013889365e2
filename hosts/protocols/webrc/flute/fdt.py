"""File delivery tables: FDT instances (RFC 6726, 3.4.2; RFC 3926, 3.4.2) as XML.

A Canopy receiver checks a file by the SHA-256 in an attribute of ours; others have Content-MD5 and ignore it. Elements
are known by their names, whatever the namespace: each version, 3GPP and DVB have one of their own.
"""

import codecs
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from hosts.protocol import NTP_AT_1970_S
from hosts.protocols.webrc.flute.transmission import Transmission
from hosts.storage import CACHE_WORDS, CacheControl
from hosts.wire.header import PacketError

NAMESPACES: Final = {1: "http://www.example.com/flute", 2: "urn:ietf:params:xml:ns:fdt"}
"""By FLUTE's version (RFC 3926, 3.4.2; RFC 6726, 3.4.2)."""
CANOPY: Final = "urn:canopy:fdt"
MOST_BYTES: Final = 4 << 20
"""Of an FDT instance that a receiver takes (ours): some ten thousand files."""
INSTANCES: Final = 2**20
"""FDT Instance IDs (RFC 6726, 3.4.1)."""
NTP_EPOCH_S: Final = 2**32
"""After which NTP's seconds begin again with 0."""
UTF_16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""What an XML document begins with that is in UTF-16; without, it is taken for one in UTF-8 (XML 1.0, 4.3.3)."""
MOST_EXPIRES: Final = NTP_EPOCH_S - 1
"""NTP seconds: as long as the session lasts, by any clock."""
MBMS: Final = "urn:3GPP:metadata:2008:MBMS:FLUTE:FDT_ext"
"""3GPP TS 26.346, 7.2.10: release 8's extension."""
MBMS_CACHE: Final = "urn:3GPP:metadata:2007:MBMS:FLUTE:FDT"
"""3GPP TS 26.346, 7.2.10: release 7's extension, of cache control."""
_CACHE: Final = f"{{{MBMS_CACHE}}}Cache-Control"
_EXPIRES: Final = f"{{{MBMS_CACHE}}}Expires"
_FULL: Final = f"{{{MBMS}}}FullFDT"
_SHA256: Final = f"{{{CANOPY}}}SHA-256"


@dataclass(frozen=True, slots=True)
class FileEntry:
    """What an FDT says of a file."""

    toi: int
    location: str
    """Content-Location, a URI reference."""
    transfer_length: int
    """Bytes of the object: of the file as it is encoded."""
    transmission: Transmission | None
    """None: EXT_FTI says it."""
    content_length: int | None = None
    """Bytes of the file."""
    content_encoding: str = ""
    """`gzip`, `zlib`, `deflate`; empty: none."""
    md5: str = ""
    """Content-MD5, base64 of the file's."""
    sha256: str = ""
    """Hex, of the file's; empty: the sender is none of ours."""
    cache: CacheControl = field(default="", compare=False)
    """It may change while the file is sent."""

    @property
    def name(self) -> str:
        """The last part of the location's path, as a file's name. Not checked."""
        try:
            return unquote(urlsplit(self.location).path.rpartition("/")[2], errors="strict")
        except ValueError:
            return ""

    @property
    def key(self) -> str:
        """What an object of the same key has the same symbols of; empty: nobody can know."""
        if not (self.sha256 or self.md5):
            return ""
        return repr((self.location, self.transfer_length, self.content_encoding, self.sha256, self.md5))


def location_of(name: str) -> str:
    """A file's name as a URI reference."""
    return quote(name)


@dataclass(frozen=True, slots=True)
class FdtInstance:
    """Some of the session's files."""

    files: Sequence[FileEntry]
    expires: int = MOST_EXPIRES
    """NTP seconds."""
    is_complete: bool = False
    """No file will follow that is not described."""
    is_full: bool = False
    """What it does not describe is sent no more (FullFDT)."""


def encode_fdt(instance: FdtInstance, version: int = 2) -> bytes:
    """The XML document, in UTF-8."""
    namespace = NAMESPACES[version]
    ET.register_namespace("canopy", CANOPY)
    ET.register_namespace("mbms2008", MBMS)
    ET.register_namespace("mbms2007", MBMS_CACHE)
    root = ET.Element("FDT-Instance", {"xmlns": namespace, "Expires": str(instance.expires)})
    if instance.is_complete:
        root.set("Complete", "true")
    if instance.is_full:
        root.set(_FULL, "true")
    for file in instance.files:
        element = ET.SubElement(root, "File", {"TOI": str(file.toi), "Content-Location": file.location})
        if file.content_length is not None:
            element.set("Content-Length", str(file.content_length))
        element.set("Transfer-Length", str(file.transfer_length))
        if file.content_encoding:
            element.set("Content-Encoding", file.content_encoding)
        if file.md5:
            element.set("Content-MD5", file.md5)
        if file.transmission is not None:
            element.attrib.update(file.transmission.attributes())
        if file.sha256:
            element.set(_SHA256, file.sha256)
        if isinstance(file.cache, int):
            ET.SubElement(ET.SubElement(element, _CACHE), _EXPIRES).text = str(file.cache + NTP_AT_1970_S)
        elif file.cache:
            ET.SubElement(ET.SubElement(element, _CACHE), f"{{{MBMS_CACHE}}}{file.cache}").text = "true"
    encoded: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return encoded


def parse_fdt(data: bytes) -> FdtInstance:
    """What an FDT instance says; files that it describes in no way that can be used are left out. PacketError: it is
    none."""
    try:
        if len(data) > MOST_BYTES:
            raise ValueError
        text = data.decode("utf-16" if data.startswith(UTF_16) else "utf-8")
        if "<!" in text or "\0" in text:  # no document types, in letters of two bytes either: entities could grow
            raise ValueError
        root = ET.fromstring(text)
        if _local(root.tag) != "FDT-Instance":
            raise ValueError
        expires = int(root.attrib["Expires"]) % NTP_EPOCH_S
    except (ET.ParseError, LookupError, ValueError):
        raise PacketError("fdt") from None
    said = {_local(name) for name, value in root.attrib.items() if value in ("true", "1")}
    files = [file for element in root if _local(element.tag) == "File" if (file := _file(element, root.attrib))]
    return FdtInstance(files, expires, "Complete" in said, "FullFDT" in said)


def lifetime(expires: int, sent: float) -> float:
    """Seconds that an instance holds from this NTP time on; less than 0: it has expired. In 2036 NTP's seconds begin
    again with 0: what is meant is the time that is closest (RFC 6726, 3.3)."""
    return (expires - sent + NTP_EPOCH_S / 2) % NTP_EPOCH_S - NTP_EPOCH_S / 2


def _local(name: str) -> str:
    return name.rpartition("}")[2]


def _file(element: ET.Element, common: Mapping[str, str]) -> FileEntry | None:
    found = {**common, **element.attrib}  # what the instance says holds for files that say nothing else
    try:
        toi, location = int(found["TOI"]), found["Content-Location"]
        content_length = int(found["Content-Length"]) if "Content-Length" in found else None
        transfer_length = int(found["Transfer-Length"]) if "Transfer-Length" in found else content_length
        if toi <= 0 or transfer_length is None or transfer_length < 0 or (content_length or 0) < 0:
            return None
        return FileEntry(
            toi,
            location,
            transfer_length,
            Transmission.of_attributes(found, transfer_length),
            content_length,
            found.get("Content-Encoding", "").lower().replace("null", ""),
            found.get("Content-MD5", ""),
            found.get(_SHA256, ""),
            _cache(element),
        )
    except (LookupError, ValueError):
        return None


def _cache(element: ET.Element) -> CacheControl:
    """Of a file. ValueError: its time is none."""
    for control in element:
        for said in control if _local(control.tag) == "Cache-Control" else ():
            word, text = _local(said.tag), (said.text or "").strip()
            if word in CACHE_WORDS and text in ("true", "1"):
                return word
            if word == "Expires":
                return int(text) - NTP_AT_1970_S
    return ""
