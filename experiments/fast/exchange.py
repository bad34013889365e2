"""Whether a compiled copy of `hosts/` hands over each datagram once: what simulations have no part in, sockets and the
runtime around them, with a session over the loopback interface.
"""

import asyncio
import json
import os
import random
import socket
import subprocess
from pathlib import Path
from typing import Any, Final

from engine.command.programs import module_command
from experiments.fast.agreement import AgreementError
from hosts import compiled, protocols
from hosts.endpoint import Address
from hosts.protocol import Session
from hosts.runtime import clock
from hosts.runtime.runtime import Runtime
from hosts.runtime.sockets import Interface

SIZE: Final = 1_000_000
"""Bytes: packets enough for many batches."""
PATIENCE_S: Final = 30.0
"""For all of them (ours)."""
GROUP: Final = "239.77.77.77"


class _Bytes:
    """A source of so many octets, and a sink that keeps what comes."""

    def __init__(self, left: bytes) -> None:
        self.left = left
        self.kept = bytearray()

    @property
    def exhausted(self) -> bool:
        return not self.left

    def read(self, size: int) -> bytes:
        data, self.left = self.left[:size], self.left[size:]
        return data

    def write(self, data: bytes) -> None:
        self.kept += data

    def finish(self) -> None:
        pass


async def _exchange() -> dict[str, Any]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        session = Session(Address(GROUP, free.getsockname()[1]))
    rng, interface, mtcp = random.Random(1), Interface("127.0.0.1"), protocols.get("mtcp")
    data = rng.randbytes(SIZE)
    kept = _Bytes(b"")
    near, far = mtcp.sender(session, rng), mtcp.receiver(session, rng)
    sender = Runtime(near, interface, source=_Bytes(data))
    receiver = Runtime(far, interface, sink=kept)
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.gather(sender.run(), receiver.run())
    return {
        "compiled": compiled.standing is compiled.Standing.FITS,
        "whole": bytes(kept.kept) == data,
        "data": (near.counters["data_packets"], far.counters["data_packets"]),
        "feedback": (far.counters["feedback_packets"], near.counters["feedback_packets"]),
    }


def check(copy: Path) -> None:
    """Run a session with the copy. AgreementError when it fails, or more datagrams come than were sent."""
    environment = {**os.environ, compiled.VARIABLE: str(copy)}
    done = subprocess.run(module_command(__name__), env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise AgreementError(f"a session over real sockets failed: {done.stderr.strip()}")
    found = json.loads(done.stdout)
    if not found["compiled"]:
        raise AgreementError("hosts/ has changed meanwhile")
    if not found["whole"]:
        raise AgreementError("a session over real sockets brought other data than were sent")
    for kind in ("data", "feedback"):
        sent, came = found[kind]
        if came > sent:  # fewer may be a busy machine's doing
            raise AgreementError(f"over real sockets {sent} {kind} packets were sent, and {came} came")


if __name__ == "__main__":
    print(json.dumps(clock.run(_exchange(), {})))
