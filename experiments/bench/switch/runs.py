"""Datagrams that a sender hands to its kernel at once (UDP_SEGMENT, as `canopy send` does): they come to a virtual
interface as one frame, which a device of hardware would cut (virtio-net header, OASIS virtio 1.2, 5.1.6)."""

import errno
import socket
import struct
import time

from experiments.bench.switch.workload import checksum
from experiments.lan.wire import PACKET_VNET_HDR, SOL_PACKET

RUN = 32
"""Datagrams handed over at once: half of what Linux takes (UDP_MAX_SEGMENTS, 64)."""

_ETHERNET_BYTES, _IP_BYTES, _UDP_BYTES = 14, 20, 8
HEADER_BYTES = _ETHERNET_BYTES + _IP_BYTES + _UDP_BYTES
_PROTOCOL_UDP = 17
_NEEDS_CSUM, _GSO_UDP_L4 = 1, 5
_CHECKSUM_AT = 6  # in UDP's header
_PAUSE_S = 100e-6


def packets(received_bytes: int, received_frames: int, frame_bytes: int) -> int:
    """How many datagrams, each of which would be a frame of `frame_bytes`, an interface has received in frames that
    have one header each."""
    return round((received_bytes - received_frames * HEADER_BYTES) / (frame_bytes - HEADER_BYTES))


def merged(frame: bytes, count: int) -> bytes:
    """A virtio-net header and the frame of `count` datagrams that are each as `frame`, an IPv4 datagram of UDP."""
    head, payload = frame[:HEADER_BYTES], frame[HEADER_BYTES:]
    length = _UDP_BYTES + count * len(payload)
    ip, udp = bytearray(head[_ETHERNET_BYTES:-_UDP_BYTES]), bytearray(head[-_UDP_BYTES:])
    struct.pack_into("!H", ip, 2, _IP_BYTES + length)
    struct.pack_into("!H", ip, 10, 0)
    struct.pack_into("!H", ip, 10, checksum(bytes(ip)))
    # Of the pseudo-header alone; whoever cuts it adds the rest of each datagram.
    partial = ~checksum(bytes(ip[12:]) + struct.pack("!HH", _PROTOCOL_UDP, length)) & 0xFFFF
    struct.pack_into("!HH", udp, 4, length, partial)
    checksum_from = _ETHERNET_BYTES + _IP_BYTES
    sizes = (HEADER_BYTES, len(payload), checksum_from, _CHECKSUM_AT)
    virtio = struct.pack("=BBHHHH", _NEEDS_CSUM, _GSO_UDP_L4, *sizes)
    return virtio + head[:_ETHERNET_BYTES] + bytes(ip) + bytes(udp) + payload * count


def flood(interface: str, frame: bytes, seconds: float, rate: float | None) -> int:
    """Sends `frame` in runs of `RUN` for so long, at `rate` packets/s or as fast as it goes; returns how many packets.

    Raises OSError: EPERM without the capability, EINVAL before Linux 6.2.
    """
    run, sent = merged(frame, RUN), 0
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as sock:
        sock.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
        sock.bind((interface, 0))
        start = time.monotonic()
        while (elapsed := time.monotonic() - start) < seconds:
            if rate is not None and sent > elapsed * rate:
                time.sleep(_PAUSE_S)
                continue
            try:
                sock.send(run)
            except OSError as error:
                if error.errno != errno.ENOBUFS:  # full for the moment
                    raise
                time.sleep(_PAUSE_S)
                continue
            sent += RUN
    return sent
