"""Whether a compiled copy of `hosts/` hands over each datagram once: what simulations have no part in, sockets and the
runtime around them, with two endpoints that only count.
"""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, cast

from experiments.fast.agreement import AgreementError
from hosts import clock, compiled
from hosts.endpoint import Address, Datagram, Effect, Endpoint, Send, SessionEnded
from hosts.runtime import Runtime
from hosts.sockets import Interface

COUNT: Final = 100
"""Datagrams: more than are read or sent at a time."""
PATIENCE_S: Final = 10.0
"""For all of them, over the loopback interface (ours)."""


class _Counting:
    """An endpoint that notes what comes, and says so until it has seen enough. Not derived from Endpoint: interpreted
    classes cannot be, of a compiled one."""

    patience_s = 0.0
    wake_at = None
    send_space = 0

    def __init__(self, peer: Address | None) -> None:
        """The one with a `peer` begins, and ends when all has come back."""
        self.peer = peer
        self.seen: list[int] = []
        self.closed = False

    def start(self, *, now: float) -> Sequence[Effect]:
        if self.peer is None:
            return ()
        return [Send(b"%d" % number, self.peer) for number in range(COUNT)]

    def receive(self, datagram: Datagram, *, now: float) -> Sequence[Effect]:
        self.seen.append(int(datagram.data))
        if self.peer is None:
            return [Send(datagram.data, datagram.source)]
        return self.close(now=now, reason="") if len(self.seen) >= COUNT else ()

    def close(self, *, now: float, reason: str) -> Sequence[Effect]:
        self.closed = True
        return [SessionEnded(True, reason)]


async def _exchange() -> dict[str, Any]:
    interface = Interface("127.0.0.1")
    far = _Counting(None)
    echo = Runtime(cast(Endpoint, far), interface)
    near = _Counting(echo.address)
    talk = Runtime(cast(Endpoint, near), interface)
    listening = asyncio.create_task(echo.run())
    await asyncio.sleep(0)
    try:
        async with asyncio.timeout(PATIENCE_S):
            await talk.run()
    except TimeoutError:
        pass  # what has come says so
    finally:
        echo.stop("")
        await listening
    return {"compiled": compiled.standing is compiled.Standing.FITS, "far": far.seen, "near": near.seen}


def check(copy: Path) -> None:
    """Exchange datagrams with the copy. AgreementError when one comes twice, never, or out of order."""
    environment = {**os.environ, compiled.VARIABLE: str(copy)}
    done = subprocess.run(
        [sys.executable, "-m", __name__], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise AgreementError(f"datagrams could not be exchanged: {done.stderr.strip()}")
    found = json.loads(done.stdout)
    if not found["compiled"]:
        raise AgreementError("hosts/ has changed meanwhile")
    for side in ("far", "near"):
        if found[side] != list(range(COUNT)):
            raise AgreementError(f"compiled code hands datagrams over otherwise than once each: {found[side]}")


if __name__ == "__main__":
    print(json.dumps(clock.run(_exchange(), {})))
