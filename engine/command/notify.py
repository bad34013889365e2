"""What a service tells systemd of itself: sd_notify(3), a datagram to a Unix socket."""

import contextlib
import os
import socket
from typing import Final

SOCKET: Final = "NOTIFY_SOCKET"
WATCHDOG: Final = "WATCHDOG_USEC"


def notify(state: str) -> None:
    """Send assignments such as `READY=1`. Nothing when nobody wants to know; what fails is not told."""
    address = os.environ.get(SOCKET, "")
    if not address.startswith(("/", "@")):
        return
    place = "\0" + address[1:] if address.startswith("@") else address
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.setblocking(False)
        sender.sendto(state.encode(), place)


def watchdog_interval_s() -> float | None:
    """How often systemd has to hear `WATCHDOG=1`: half of the time after which it kills; None: it does not."""
    text = os.environ.get(WATCHDOG, "")
    return int(text) / 2e6 if text.isdecimal() and int(text) else None
