"""A long wire: what comes at one of two interfaces leaves by the other so much later, byte by byte.

`python -m experiments.lan.wire ONE OTHER SECONDS`, in a namespace with both and as root; ends when it is killed. For
kernels without tc's netem. Frames that the kernel has not cut yet (UDP_SEGMENT) stay as they are.
"""

import contextlib
import gc
import os
import select
import socket
import struct
import sys
import time
from collections import deque
from collections.abc import Sequence
from typing import Final

from hosts.runtime.sockets import SO_TIMESTAMPNS

SOL_PACKET: Final = 263  # linux/socket.h
PACKET_VNET_HDR: Final = 15  # linux/if_packet.h: frames come and go with what virtio says of their segments
PACKET_IGNORE_OUTGOING: Final = 23  # likewise
_ALL: Final = 0x0003  # linux/if_ether.h: ETH_P_ALL
_BUFFER_BYTES: Final = 1 << 26
"""Of a socket, for whoever sends (ours): twenty milliseconds at 25 Gbit/s."""
_LARGEST: Final = 1 << 17
"""A frame before it is cut is half of that at most."""
_TOGETHER: Final = 64
"""Frames that are read before others leave (ours)."""
_STAMP: Final = struct.Struct("@ll")  # struct timespec


def carry(first: socket.socket, second: socket.socket, delay_s: float) -> None:
    """Until the process ends. OSError when an interface is gone."""
    ways = {first: second, second: first}
    due: deque[tuple[float, socket.socket, bytes]] = deque()
    while True:
        wait = None if not due else max(0.0, due[0][0] - time.time())
        come, _, _ = select.select(list(ways), (), (), wait)
        for one in come:
            with contextlib.suppress(BlockingIOError):
                for _ in range(_TOGETHER):
                    frame, stamps, _, _ = one.recvmsg(_LARGEST, 64)
                    seconds, nanoseconds = _STAMP.unpack(stamps[0][2])
                    due.append((seconds + nanoseconds / 1e9 + delay_s, ways[one], frame))
        now = time.time()
        while due and due[0][0] <= now:
            _, way, frame = due.popleft()
            with contextlib.suppress(BlockingIOError):  # a full queue loses what comes
                way.send(frame)


def _opened(interface: str) -> socket.socket:
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    sock.setblocking(False)
    sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    for option in (PACKET_VNET_HDR, PACKET_IGNORE_OUTGOING):
        sock.setsockopt(SOL_PACKET, option, 1)
    for size in (33, 32):  # SO_RCVBUFFORCE, SO_SNDBUFFORCE: asm-generic/socket.h
        sock.setsockopt(socket.SOL_SOCKET, size, _BUFFER_BYTES)
    sock.bind((interface, _ALL))
    return sock


def main(arguments: Sequence[str]) -> None:
    """See the module."""
    one, other, seconds = arguments
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))  # a wire waits for no program
    gc.disable()
    carry(_opened(one), _opened(other), float(seconds))


if __name__ == "__main__":
    main(sys.argv[1:])
