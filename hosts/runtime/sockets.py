"""UDP sockets for multicast on Linux: membership, interface, TTL, buffers. Not blocking.

A session has one unicast socket, from which everything is sent, and one socket for each group that was joined, bound to
the group's address so that the kernel delivers that group's datagrams only.
"""

import contextlib
import fcntl
import ipaddress
import socket
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hosts.endpoint import Address
from hosts.wire.header import UNICAST_TTL

# linux/in.h; Python's socket module names them from 3.12 on only.
IP_ADD_SOURCE_MEMBERSHIP: Final = 39
IP_DROP_SOURCE_MEMBERSHIP: Final = 40
IP_RECVTTL: Final = 12
IP_RECVTOS: Final = 13
IP_MULTICAST_ALL: Final = 49
SO_RCVBUFFORCE: Final = 33  # asm-generic/socket.h; needs CAP_NET_ADMIN
SO_TIMESTAMPNS: Final = 35  # asm-generic/socket.h
SO_RXQ_OVFL: Final = 40  # asm-generic/socket.h
UDP_SEGMENT: Final = 103  # linux/udp.h
UDP_GRO: Final = 104  # linux/udp.h
SIOCGIFADDR: Final = 0x8915  # linux/sockios.h
IFREQ: Final = struct.Struct("16sH2x4s16x")
SPEEDS: Final = Path("/sys/class/net")
"""INTERFACE/speed below it is the link's rate in Mbit/s; -1 or no answer: there is none (sysfs-class-net)."""

DEFAULT_TTL: Final = 16
"""More switches than any tree here has (ours)."""
RECEIVE_BUFFER_BYTES: Final = 1 << 22
"""About a second at 30 Mbit/s, or 10 ms at 3 Gbit/s: a busy machine's scheduling must not become loss (ours)."""
ENOUGH_BUFFER_BYTES: Final = 1 << 20
"""Whoever gets less is told (ours)."""


class SocketError(Exception):
    """Sockets cannot be had as asked. The message is one clear line."""


@dataclass(frozen=True, slots=True)
class Interface:
    """Where a session's sockets live."""

    address: str
    """Local IPv4 address: of the unicast socket, and naming the interface for multicast."""
    ttl: int = DEFAULT_TTL
    loop: bool = True
    """Whether members on this very machine get what is sent."""


def resolve_interface(name: str | None, group: str, source: str | None = None) -> str:
    """The local address to use: of an interface's name or address, else of the route towards the group.

    `source` overrides which of the interface's addresses is used. Raises SocketError.
    """
    if name is None and source is None:
        return _route_address(group)
    address = source or name or ""
    try:
        ipaddress.IPv4Address(address)
    except ValueError:
        address = _interface_address(address)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            raise SocketError(f"{address} is not an address of this machine") from None
    return address


def _interface_address(name: str) -> str:
    if len(name.encode()) > 15:  # IFNAMSIZ less the final zero
        raise SocketError(f"no interface '{name}'")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            answer = fcntl.ioctl(probe, SIOCGIFADDR, IFREQ.pack(name.encode(), 0, bytes(4)))
        except OSError:
            raise SocketError(f"no interface '{name}' with an IPv4 address") from None
    # struct ifreq: name (16 bytes), then a sockaddr_in: family, port, address.
    return socket.inet_ntoa(answer[20:24])


def link_bps(address: str, speeds: Path = SPEEDS) -> float:
    """What the link of the interface with this local address carries, bit/s; 0: not known, as of Wi-Fi and tunnels."""
    with contextlib.suppress(OSError, ValueError):
        return 1e6 * max(0, int((speeds / interface_name(address) / "speed").read_text()))
    return 0.0


def interface_address(name: str) -> str:
    """The first IPv4 address of an interface; empty when it has none."""
    with contextlib.suppress(SocketError):
        return _interface_address(name)
    return ""


def interface_name(address: str) -> str:
    """The interface whose first address this is; empty when there is none, as for an address that was added to one."""
    return next((name for _, name in socket.if_nameindex() if interface_address(name) == address), "")


def describe(address: str) -> str:
    """A local address and its interface, for a person: `10.0.0.1 (eth0)`."""
    name = interface_name(address)
    return f"{address} ({name})" if name else address


def _route_address(group: str) -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((group, 9))
            return str(probe.getsockname()[0])
        except OSError:
            only = _only_address()
    if only is None:
        raise SocketError(f"no route to {group}: name the interface")
    return only


def _only_address() -> str | None:
    """The address of the one interface beside loopback; None when there is none, or a choice."""
    addresses = [interface_address(name) for _, name in socket.if_nameindex()]
    others = [address for address in addresses if address and not ipaddress.IPv4Address(address).is_loopback]
    return others[0] if len(others) == 1 else None


def open_unicast(interface: Interface, port: int = 0) -> socket.socket:
    """The socket that a session sends from. Raises SocketError: the port is in use."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(interface.address))
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, interface.ttl)
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, interface.loop)
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, UNICAST_TTL)
        sock.setsockopt(socket.IPPROTO_IP, IP_RECVTTL, 1)
        sock.setsockopt(socket.IPPROTO_IP, IP_RECVTOS, 1)
        sock.bind((interface.address, port))
    except OSError as error:
        sock.close()
        raise SocketError(f"cannot open UDP port {port} on {interface.address}: {error.strerror}") from None
    return sock


def open_group(group: Address) -> socket.socket:
    """A socket that gets the group's datagrams once `join` is done. Raises SocketError."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        sock.setblocking(False)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # several members on one machine
        sock.setsockopt(socket.IPPROTO_IP, IP_MULTICAST_ALL, 0)  # nothing by other sockets' memberships
        sock.setsockopt(socket.IPPROTO_IP, IP_RECVTOS, 1)
        sock.bind(group)
    except OSError as error:
        sock.close()
        raise SocketError(f"cannot open {group}: {error.strerror}") from None
    return sock


def join(sock: socket.socket, group: str, source: str | None, interface: Interface) -> None:
    """Become a member: of (source, group), or of the group whoever sends. Raises SocketError."""
    _membership(sock, group, source, interface, IP_ADD_SOURCE_MEMBERSHIP, socket.IP_ADD_MEMBERSHIP, "join")


def leave(sock: socket.socket, group: str, source: str | None, interface: Interface) -> None:
    """The reverse of `join`. Raises SocketError."""
    _membership(sock, group, source, interface, IP_DROP_SOURCE_MEMBERSHIP, socket.IP_DROP_MEMBERSHIP, "leave")


def _membership(
    sock: socket.socket, group: str, source: str | None, interface: Interface, ssm: int, asm: int, verb: str
) -> None:
    request = socket.inet_aton(group) + socket.inet_aton(interface.address)
    option = asm
    if source is not None:
        # struct ip_mreq_source: group, interface, source.
        request += socket.inet_aton(source)
        option = ssm
    try:
        sock.setsockopt(socket.IPPROTO_IP, option, request)
    except OSError as error:
        raise SocketError(f"cannot {verb} {group} on {interface.address}: {error.strerror}") from None


def cuts_messages(sock: socket.socket) -> bool:
    """Whether the kernel cuts one message into datagrams (UDP_SEGMENT): canopy_engine.DatagramSender wants to know."""
    return _has_udp_option(sock, UDP_SEGMENT)


def put_together(sock: socket.socket) -> bool:
    """Let the kernel put datagrams of one sender together (UDP_GRO) for datagrams.py to take apart; whether it does."""
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.IPPROTO_UDP, UDP_GRO, 1)
    return _has_udp_option(sock, UDP_GRO)


def _has_udp_option(sock: socket.socket, option: int) -> bool:
    try:
        sock.getsockopt(socket.IPPROTO_UDP, option)
    except OSError:
        return False
    return True


def count_drops(sock: socket.socket) -> None:
    """Have the kernel say how many datagrams found no room in the socket's buffer. Does its best."""
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, SO_RXQ_OVFL, 1)


def stamp_arrivals(sock: socket.socket) -> None:
    """Have the kernel say when each datagram arrived: it comes along with it (datagrams.py). Does its best."""
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)


def size_receive_buffer(sock: socket.socket, wanted: int = RECEIVE_BUFFER_BYTES) -> int:
    """Ask for a receive buffer; answers with what the kernel gave, which may be less (net.core.rmem_max)."""
    try:
        sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, wanted)
    except OSError:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, wanted)
    # The kernel doubles what it is asked for, to pay for its bookkeeping (socket(7)).
    return sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) // 2
