"""Which network interfaces are up, from the kernel's own notifications (rtnetlink(7)); watch ports depend on it."""

import asyncio
import fcntl
import socket
import struct
from collections.abc import Callable, Mapping

# linux/rtnetlink.h, linux/if.h, linux/sockios.h
RTMGRP_LINK = 1
RTM_NEWLINK = 16
RTM_DELLINK = 17
IFF_UP = 0x1
IFF_RUNNING = 0x40
SIOCGIFFLAGS = 0x8913

# struct nlmsghdr: length, type, flags, sequence, port id. Messages are aligned to 4 bytes.
HEADER = struct.Struct("=IHHII")
# struct ifinfomsg: family, padding, type, index, flags, change mask.
INTERFACE_INFO = struct.Struct("=BxHiII")
# struct ifreq: a name of IFNAMSIZ bytes, then the flags; the whole of it has 40 bytes.
INTERFACE_REQUEST = struct.Struct("=16sH22x")

# A notification of one link has 1 to 2 KB; the kernel packs a few of them into one read.
READ_BYTES = 65536


def is_running(flags: int) -> bool:
    """Administratively up, and with a carrier."""
    return flags & (IFF_UP | IFF_RUNNING) == IFF_UP | IFF_RUNNING


def interface_flags(interface: str) -> int:
    """The interface's IFF_ flags. Raises OSError when there is none of that name."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as query:
        reply = fcntl.ioctl(query, SIOCGIFFLAGS, INTERFACE_REQUEST.pack(interface.encode(), 0))
    flags: int = INTERFACE_REQUEST.unpack(reply)[1]
    return flags


def link_changes(data: bytes) -> list[tuple[int, bool]]:
    """(interface index, up) for each link message in what was read from an rtnetlink socket."""
    changes = []
    while len(data) >= HEADER.size:
        length, kind, *_ = HEADER.unpack_from(data)
        if not HEADER.size <= length <= len(data):
            break
        if kind in (RTM_NEWLINK, RTM_DELLINK) and length >= HEADER.size + INTERFACE_INFO.size:
            _, _, index, flags, _ = INTERFACE_INFO.unpack_from(data, HEADER.size)
            changes.append((index, kind == RTM_NEWLINK and is_running(flags)))
        data = data[(length + 3) & ~3 :]
    return changes


class LinkMonitor:
    """Follows the interfaces of a switch's ports."""

    def __init__(self, interfaces: Mapping[int, str]) -> None:
        """`interfaces`: port -> interface. Raises OSError when one is missing."""
        self._ports = {socket.if_nametoindex(name): port for port, name in interfaces.items()}
        self._up = {name: is_running(interface_flags(name)) for name in interfaces.values()}
        self._names = dict(interfaces)
        self._socket: socket.socket | None = None

    def is_up(self, interface: str) -> bool:
        return self._up[interface]

    def start(self, on_change: Callable[[int], None]) -> None:
        """Call `on_change(port)` from the running event loop whenever a port goes up or down."""
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        self._socket.setblocking(False)
        self._socket.bind((0, RTMGRP_LINK))
        asyncio.get_running_loop().add_reader(self._socket, self._read, self._socket, on_change)

    def stop(self) -> None:
        if self._socket is not None:
            asyncio.get_running_loop().remove_reader(self._socket)
            self._socket.close()
            self._socket = None

    def _read(self, source: socket.socket, on_change: Callable[[int], None]) -> None:
        try:
            data = source.recv(READ_BYTES)
        except OSError:
            # Notifications were lost (ENOBUFS): the next one brings the truth for its own interface.
            return
        for index, up in link_changes(data):
            port = self._ports.get(index)
            if port is not None and self._up[self._names[port]] != up:
                self._up[self._names[port]] = up
                on_change(port)
