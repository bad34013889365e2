"""Keys by which neighbours vouch for feedback that switches merge (docs/security.md): one a port and direction, all
from one secret of the network. The controller gives them to the switches, who starts a host's programs to that."""

import stat
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from controller.network import Network

SECRET_BYTES: Final = 32
KEY_BYTES: Final = 8
"""HalfSipHash's key has 64 bits."""
_COUNTER_BITS: Final = 56
_COUNTS: Final = 2**24  # a second: the seconds since 1970 have the other 32 bits, until 2106
_NANOSECONDS: Final = 10**9
_PURPOSE: Final = b"canopy hop 1"


class HopKeys:
    """A network's. What goes in at a port of a switch and what comes out have keys of their own, so that nothing can be
    sent back to where it came from."""

    def __init__(self, secret: bytes, network: Network) -> None:
        """ValueError: the secret is not one."""
        if len(secret) != SECRET_BYTES:
            raise ValueError(f"a network's secret has {SECRET_BYTES} bytes, not {len(secret)}")
        self._secret = secret
        self._peers = {}
        for link in network.links:
            self._peers[link.a, link.a_port] = link.b, link.b_port
            self._peers[link.b, link.b_port] = link.a, link.a_port

    def is_switch(self, switch: str, port: int) -> bool:
        """Whether another switch is behind a port."""
        return (switch, port) in self._peers

    def inward(self, switch: str, port: int) -> int:
        """Of what a switch receives at a port."""
        return self._key(f"in {switch} {port}")

    def outward(self, switch: str, port: int) -> int:
        """Of what it sends there: the other end's, where that is a switch."""
        peer = self._peers.get((switch, port))
        return self._key(f"out {switch} {port}") if peer is None else self.inward(*peer)

    def _key(self, place: str) -> int:
        derived = HKDF(SHA256(), KEY_BYTES, _PURPOSE, place.encode()).derive(self._secret)
        return int.from_bytes(derived, "big")


def counter_of(wall_ns: int) -> int:
    """What feedback that leaves a switch from this time on, nanoseconds since 1970, is counted above."""
    return wall_ns * _COUNTS // _NANOSECONDS % (1 << _COUNTER_BITS)


def read_secret(path: Path) -> bytes:
    """A network's secret, in hexadecimal digits. ValueError: it is not one, or others may read the file; OSError."""
    with path.open(encoding="ascii", errors="replace") as file:
        if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise ValueError(f"{path}: others may read or write it: chmod 600 {path}")
        text = file.read(4 * SECRET_BYTES)
    try:
        secret = bytes.fromhex(text.strip())
    except ValueError:
        secret = b""
    if len(secret) != SECRET_BYTES:
        raise ValueError(f"{path}: not {SECRET_BYTES} bytes in hexadecimal digits")
    return secret
