"""A session from this machine to itself: sockets, groups, timers and files, all as in a real one."""

import asyncio
import contextlib
import random
import secrets
import tempfile
import time
from pathlib import Path
from typing import Final

from hosts import protocols
from hosts.doctor.finding import Finding
from hosts.endpoint import Address
from hosts.programs.file_source import FileSource
from hosts.programs.files import FileSink
from hosts.protocol import Session
from hosts.runtime import clock, sockets
from hosts.runtime.runtime import Runtime
from hosts.wire.manifest import FileError

FILE_BYTES: Final = 200_000
WITHIN_S: Final = 4.0
LOOPBACK: Final = sockets.Interface("127.0.0.1", ttl=0)


def check(within_s: float = WITHIN_S) -> Finding:
    """Send a small file over loopback."""
    begun = time.monotonic()
    try:
        with tempfile.TemporaryDirectory(prefix="canopy-doctor-") as folder:
            trouble = clock.run(_transfer(Path(folder), within_s), {})
    except (OSError, sockets.SocketError, FileError) as error:
        trouble = str(error)
    if trouble:
        return Finding(
            "session", "loopback", "missing", trouble,
            "a firewall on lo? nft list ruleset; ip link set lo up", ("agents",),
        )  # fmt: skip
    return Finding(
        "session", "loopback", "ok", f"{FILE_BYTES} bytes in {time.monotonic() - begun:.1f} s", parts=("agents",)
    )


async def _transfer(folder: Path, within_s: float) -> str:
    """What went wrong; empty when nothing did."""
    content = secrets.token_bytes(FILE_BYTES)
    (folder / "sent").write_bytes(content)
    with sockets.open_unicast(LOOPBACK) as free:
        group = Address(f"239.255.{secrets.randbelow(256)}.{secrets.randbelow(256)}", free.getsockname()[1])
    mtcp = protocols.get("mtcp")
    with contextlib.closing(FileSource(folder / "sent", "received")) as source, FileSink(folder, "refuse") as sink:
        receiver = Runtime(mtcp.receiver(Session(group, LOOPBACK.address), random.Random()), LOOPBACK, sink=sink)
        sender = Runtime(mtcp.sender(Session(group, None, wait=within_s), random.Random()), LOOPBACK, source=source)
        late = asyncio.get_running_loop().call_later(within_s, _stop, sender, receiver)
        results = await asyncio.gather(sender.run(), receiver.run())
        late.cancel()
    for end in results:
        if not end.complete:
            return end.reason
    return "" if (folder / "received").read_bytes() == content else "the file came out different"


def _stop(*runtimes: Runtime) -> None:
    for runtime in runtimes:
        if not runtime.endpoint.closed:
            runtime.stop(f"it did not come through within {WITHIN_S:g} s")
