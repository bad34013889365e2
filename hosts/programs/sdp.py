"""A FLUTE session as a file: SDP (RFC 4566), with the attributes of 3GPP TS 26.346, 7.3.2, and of the IETF's draft "SDP
Descriptors for FLUTE".

A sender writes it, and a receiver that is given it needs nothing else. WEBRC's channels are addresses in a row (RFC
4566, 5.7). What WEBRC needs beyond FLUTE stands in an attribute of ours, which others ignore (5.13).
"""

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from hosts.wire.header import SESSION_MAX

MOST_BYTES: Final = 1 << 16
"""Of a file that is read (ours)."""
PARAMETERS: Final = "x-canopy-webrc"
"""The attribute with WEBRC's parameters: NAME=NUMBER, and spaces between."""
_SOURCE: Final = re.compile(r"source-filter: ?incl IN IP4 \S+ (\S+)")
"""RFC 4570, section 3: one sender."""
_MEDIA: Final = re.compile(r"application (\d{1,5}) FLUTE/UDP \S+")
_CONNECTION: Final = re.compile(r"IN IP4 (\d+\.\d+\.\d+\.\d+)(?:/(\d{1,3}))?(?:/(\d{1,5}))?")


@dataclass(frozen=True, slots=True)
class Description:
    """What such a file says."""

    group: str
    port: int
    source: str | None
    session: int
    channels: int = 1
    """Addresses from the group on."""
    parameters: Mapping[str, float] = field(default_factory=dict)
    """WEBRC's, as a receiver is given them."""


def encode_sdp(found: Description, *, name: str, scheme: int, ttl: int, rate_bps: float) -> str:
    """The file, of a session without a time. `scheme`: FEC Encoding ID; `rate_bps`: of all channels together."""
    parameters = " ".join(f"{key}={value!r}" for key, value in found.parameters.items())
    lines = [
        "v=0",
        f"o=- {found.session} 1 IN IP4 {found.source}",
        f"s={name}",
        "t=0 0",
        f"a=source-filter: incl IN IP4 * {found.source}",
        f"a=flute-tsi:{found.session}",
        f"a=flute-ch:{found.channels}",
        f"a=FEC-declaration:0 encoding-id={scheme}",
        *([f"a={PARAMETERS}:{parameters}"] if parameters else []),
        f"m=application {found.port} FLUTE/UDP 0",
        f"c=IN IP4 {found.group}/{ttl}" + (f"/{found.channels}" if found.channels > 1 else ""),
        f"b=AS:{-(-int(rate_bps) // 1000)}",
        "a=FEC:0",
    ]
    return "\r\n".join(lines) + "\r\n"


def read_sdp(path: Path) -> Description:
    """What a file says. ValueError names the file and the line that cannot be used; OSError."""
    with path.open("rb") as file:
        data = file.read(MOST_BYTES + 1)
    try:
        if len(data) > MOST_BYTES:
            raise ValueError("it is no session description: it is too long")
        return parse_sdp(data.decode())
    except UnicodeDecodeError:
        raise ValueError(f"{path}: it is no session description: it is not text") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def parse_sdp(text: str) -> Description:
    """What the text says. ValueError with the line."""
    found: dict[str, str] = {}
    parameters: dict[str, float] = {}
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        try:
            _take(line, number, found, parameters)
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None
    for key, what in (("port", "m=application .. FLUTE/UDP"), ("group", "c="), ("session", "a=flute-tsi")):
        if key not in found:
            raise ValueError(f"line {len(lines)}: it ends without {what}")
    channels = int(found.get("channels", found.get("addresses", "1")))
    if channels > 1 and not parameters:
        raise ValueError(
            f"line {len(lines)}: a session of {channels} channels without WEBRC's parameters ({PARAMETERS}); "
            "others' congestion control is not known"
        )
    return Description(
        found["group"], int(found["port"]), found.get("source"), int(found["session"]), channels, parameters
    )


def _take(line: str, number: int, found: dict[str, str], parameters: dict[str, float]) -> None:
    """One line. ValueError."""
    if not line:
        return
    kind, equals, value = line[:1], line[1:2], line[2:]
    if equals != "=" or (number == 1) != (line == "v=0"):
        raise ValueError("this is no session description (RFC 4566)")
    if kind == "m":
        media = _MEDIA.fullmatch(value)
        if media is None or not 0 < int(media[1]) < 65536:
            raise ValueError(f"'{value}' is not FLUTE over UDP")
        if "port" in found:
            raise ValueError("channels with descriptions of their own are not supported, only addresses in a row")
        found["port"] = media[1]
    elif kind == "c":
        connection = _CONNECTION.fullmatch(value)
        if connection is None or not ipaddress.IPv4Address(connection[1]).is_multicast:
            raise ValueError(f"'{value}' is no IPv4 multicast address")
        found["group"], found["addresses"] = connection[1], connection[3] or "1"
    elif kind == "a":
        _attribute(value, found, parameters)


def _attribute(value: str, found: dict[str, str], parameters: dict[str, float]) -> None:
    name, _, rest = value.partition(":")
    if name == "source-filter":
        source = _SOURCE.fullmatch(value)
        if source is None:
            raise ValueError("a filter for one sender is understood, and no other")
        found["source"] = str(ipaddress.IPv4Address(source[1]))
    elif name == "flute-tsi":
        if not rest.isdecimal() or int(rest) > SESSION_MAX:
            raise ValueError(f"'{rest}' is no session")
        found["session"] = rest
    elif name == "flute-ch":
        if not rest.isdecimal() or not 0 < int(rest) < 65536:
            raise ValueError(f"'{rest}' channels")
        found["channels"] = rest
    elif name == PARAMETERS:
        for setting in rest.split():
            key, _, number = setting.partition("=")
            parameters[key] = float(number)
