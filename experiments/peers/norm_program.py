"""A small program on libnorm (NRL's NORM, RFC 5740) with its TFMCC: sends a file, or receives one.

    python -m experiments.peers.norm_program send GROUP PORT INTERFACE FILE RECEIVERS
    python -m experiments.peers.norm_program recv GROUP PORT INTERFACE FOLDER NUMBER

The sender is NORM's node 1 and ends when receivers 1 to RECEIVERS have acknowledged the whole file; receiver NUMBER is
node NUMBER + 1. A receiver stays, to acknowledge, until it is told to end.
"""

import ctypes
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NoReturn

LIBRARY: Final = "libnorm.so.1"
SENDER_NODE: Final = 1
SEGMENT_BYTES: Final = 1400
BLOCK_SEGMENTS: Final = 64
PARITY_SEGMENTS: Final = 16
BUFFER_BYTES: Final = 16 * 1024 * 1024
SOCKET_BYTES: Final = 4 * 1024 * 1024
FIRST_RTT_S: Final = 0.1
"""What uftp is told, too."""
TX_WATERMARK_COMPLETED: Final = 4
RX_OBJECT_COMPLETED: Final = 20
"""NormEventType, in normApi.h."""
ACK_FAILURE: Final = 1
ACK_SUCCESS: Final = 3
"""NormAckingStatus."""
_NAME_BYTES: Final = 4096


class _Event(ctypes.Structure):
    _fields_ = (
        ("type", ctypes.c_int),
        ("session", ctypes.c_void_p),
        ("sender", ctypes.c_void_p),
        ("object", ctypes.c_void_p),
    )


def load() -> ctypes.CDLL:
    """The library with the types of what is used of it. OSError when it is not installed."""
    norm = ctypes.CDLL(LIBRARY)
    pointer, text, flag, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_bool, ctypes.c_uint32
    short, real = ctypes.c_uint16, ctypes.c_double
    for name, result, arguments in (
        ("NormCreateInstance", pointer, (flag,)),
        ("NormCreateSession", pointer, (pointer, text, short, number)),
        ("NormSetMulticastInterface", flag, (pointer, text)),
        ("NormSetTTL", flag, (pointer, ctypes.c_uint8)),
        ("NormSetRxSocketBuffer", flag, (pointer, ctypes.c_uint)),
        ("NormSetCongestionControl", None, (pointer, flag, flag)),
        ("NormSetGrttEstimate", None, (pointer, real)),
        ("NormStartSender", flag, (pointer, short, number, short, short, short, ctypes.c_uint8)),
        ("NormFileEnqueue", pointer, (pointer, text, text, ctypes.c_uint)),
        ("NormAddAckingNode", flag, (pointer, number)),
        ("NormSetWatermark", flag, (pointer, pointer, flag)),
        ("NormResetWatermark", flag, (pointer,)),
        ("NormGetAckingStatus", ctypes.c_int, (pointer, number)),
        ("NormSetCacheDirectory", flag, (pointer, text)),
        ("NormStartReceiver", flag, (pointer, number)),
        ("NormSetDefaultUnicastNack", None, (pointer, flag)),
        ("NormFileGetName", flag, (pointer, text, ctypes.c_uint)),
        ("NormObjectGetInfo", short, (pointer, text, short)),
        ("NormGetNextEvent", flag, (pointer, ctypes.POINTER(_Event), flag)),
    ):
        function = getattr(norm, name)
        function.restype, function.argtypes = result, arguments
    return norm


def _session(norm: ctypes.CDLL, group: str, port: int, interface: str, node: int) -> tuple[int, int]:
    instance = norm.NormCreateInstance(False)
    session = norm.NormCreateSession(instance, group.encode(), port, node)
    if not session or not norm.NormSetMulticastInterface(session, interface.encode()):
        raise OSError(f"NORM cannot use {group}:{port} on {interface}")
    norm.NormSetTTL(session, 8)
    return instance, session


def _wait(norm: ctypes.CDLL, instance: int) -> _Event:
    event = _Event()
    if not norm.NormGetNextEvent(instance, ctypes.byref(event), True):
        raise OSError("NORM has ended")
    return event


def send(group: str, port: int, interface: str, file: Path, receivers: int) -> None:
    """Send a file; returns when all receivers have it. OSError when NORM cannot."""
    norm = load()
    instance, session = _session(norm, group, port, interface, SENDER_NODE)
    norm.NormSetCongestionControl(session, True, True)
    norm.NormSetGrttEstimate(session, FIRST_RTT_S)
    if not norm.NormStartSender(session, 1, BUFFER_BYTES, SEGMENT_BYTES, BLOCK_SEGMENTS, PARITY_SEGMENTS, 0):
        raise OSError("NORM's sender does not start")
    nodes = range(SENDER_NODE + 1, SENDER_NODE + 1 + receivers)
    for node in nodes:
        norm.NormAddAckingNode(session, node)
    handle = norm.NormFileEnqueue(session, str(file).encode(), file.name.encode(), len(file.name.encode()))
    norm.NormSetWatermark(session, handle, False)
    while _wait(norm, instance).type != TX_WATERMARK_COMPLETED or any(
        norm.NormGetAckingStatus(session, node) != ACK_SUCCESS for node in nodes
    ):
        # Where it gave up waiting for somebody it asks again.
        if any(norm.NormGetAckingStatus(session, node) == ACK_FAILURE for node in nodes):
            norm.NormResetWatermark(session)


def receive(group: str, port: int, interface: str, folder: Path, number: int) -> NoReturn:
    """Receive files into a folder under their own names, until the process is ended. OSError when NORM cannot."""
    norm = load()
    instance, session = _session(norm, group, port, interface, SENDER_NODE + number)
    parts = folder / "parts"
    parts.mkdir()
    norm.NormSetCacheDirectory(instance, f"{parts}/".encode())
    norm.NormSetDefaultUnicastNack(session, True)
    if not norm.NormStartReceiver(session, BUFFER_BYTES):
        raise OSError("NORM's receiver does not start")
    norm.NormSetRxSocketBuffer(session, SOCKET_BYTES)
    while True:
        event = _wait(norm, instance)
        if event.type == RX_OBJECT_COMPLETED:
            kept = _text(norm.NormFileGetName, event.object)
            Path(kept).rename(folder / Path(_text(norm.NormObjectGetInfo, event.object)).name)


def _text(get: Callable[[int, ctypes.Array[ctypes.c_char], int], int], handle: int) -> str:
    buffer = ctypes.create_string_buffer(_NAME_BYTES)
    get(handle, buffer, _NAME_BYTES - 1)
    return buffer.value.decode()


def main(arguments: Sequence[str]) -> None:
    """See the module."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # the library's threads are of no use to anybody afterwards
    role, group, port, interface, path, number = arguments
    run = send if role == "send" else receive
    run(group, int(port), interface, Path(path), int(number))


if __name__ == "__main__":
    main(sys.argv[1:])
