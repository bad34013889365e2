"""Where a session is, and what opens it, in one word: `canopy://GROUP:PORT#SECRET`, or a member's ticket in place of
SECRET."""

import ipaddress
from typing import Final, NamedTuple

from hosts.endpoint import Address
from hosts.security.keys import GroupKeys, KeysError, parse_keys
from hosts.security.ticket import Ticket, parse_ticket

SCHEME: Final = "canopy://"


class Link(NamedTuple):
    """`keys` None: an open session's."""

    group: Address
    keys: GroupKeys | Ticket | None

    @property
    def text(self) -> str:
        """With the newest secret, or the ticket."""
        if self.keys is None:
            return f"{SCHEME}{self.group}"
        return f"{SCHEME}{self.group}#{self.keys.text if isinstance(self.keys, Ticket) else self.keys.newest}"


def parse_link(text: str) -> Link:
    """KeysError, whose message has nothing of what stands behind the `#` in it."""
    place, mark, secret = text.strip().partition("#")
    host, colon, port = place.removeprefix(SCHEME).rpartition(":")
    if not place.startswith(SCHEME) or not colon:
        raise KeysError(f"'{place}' is not {SCHEME}GROUP:PORT")
    try:
        group = ipaddress.IPv4Address(host)
    except ValueError:
        raise KeysError(f"'{host}' is not an IPv4 address") from None
    if not (port.isascii() and port.isdigit() and len(port) <= 5 and 1 <= int(port) <= 65535):
        raise KeysError(f"'{port}' is not a UDP port")
    return Link(Address(str(group), int(port)), parse_secret(secret) if mark else None)


def parse_secret(text: str) -> GroupKeys | Ticket:
    """What stands behind the `#`. KeysError."""
    return parse_ticket(text) if "@" in text else parse_keys(text)
