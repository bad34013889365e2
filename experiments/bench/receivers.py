"""What complete receivers cost in the simulator: time for each datagram, and memory.

A session with one receiver is recorded first. Then the same datagrams are sent to the same receiver again, without the
sender: only delivery and the receiver itself are timed.
"""

import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from canopy_engine import Sim

from engine.command.programs import module_command
from experiments.bench.networks import star
from hosts import endpoint as seam
from hosts import protocols
from hosts.endpoint import (
    Address,
    Datagram,
    Deliver,
    Effect,
    JoinGroup,
    LeaveGroup,
    ReceiverEndpoint,
    Send,
    SenderEndpoint,
    StreamEnded,
)
from hosts.protocol import Session

_GROUP = Address("232.0.0.1", 5001)
_SOURCE = "10.0.0.1"
_SOURCE_PORT, _RECEIVER_PORT = 4000, 4001
_CHUNK = 65_536
_TIME_LIMIT_S = 600.0
_PAGE_BYTES = 4096
_SETTLED_S = 0.5
"""Virtual time after which every receiver has joined and asked to take part."""


class FeedingSender:
    """A sender whose application writes zeros as fast as they are taken."""

    def __init__(self, endpoint: SenderEndpoint, size: int) -> None:
        self._endpoint = endpoint
        self._left = size
        self._is_finished = False

    def start(self, *, now: float) -> Sequence[Effect]:
        return [*self._endpoint.start(now=now), *self._feed(now)]

    def receive(self, datagram: Datagram, /, *, now: float) -> Sequence[Effect]:
        return [*self._endpoint.receive(datagram, now=now), *self._feed(now)]

    def handle_timer(self, *, now: float) -> Sequence[Effect]:
        return [*self._endpoint.handle_timer(now=now), *self._feed(now)]

    @property
    def wake_at(self) -> float | None:
        return self._endpoint.wake_at

    def _feed(self, now: float) -> list[Effect]:
        effects: list[Effect] = []
        while self._left and (space := min(self._endpoint.send_space, self._left, _CHUNK)) > 0:
            self._left -= space
            effects += self._endpoint.write(bytes(space), now=now)
        if not self._left and not self._is_finished:
            self._is_finished = True
            effects += self._endpoint.finish(now=now)
        return effects


class Recorder:
    """A receiver, and what it was sent."""

    def __init__(self, endpoint: ReceiverEndpoint) -> None:
        self.recorded: list[tuple[float, Send]] = []
        self._endpoint = endpoint

    def start(self, *, now: float) -> Iterable[Effect]:
        return self._endpoint.start(now=now)

    def receive(self, datagram: Datagram, /, *, now: float) -> Iterable[Effect]:
        self.recorded.append((now, Send(datagram.data, datagram.destination)))
        return self._endpoint.receive(datagram, now=now)

    def handle_timer(self, *, now: float) -> Iterable[Effect]:
        return self._endpoint.handle_timer(now=now)

    @property
    def wake_at(self) -> float | None:
        return self._endpoint.wake_at


class Replay:
    """Sends what was recorded, and takes no notice of answers."""

    def __init__(self, recorded: Sequence[tuple[float, Send]]) -> None:
        self.wake_at: float | None = recorded[0][0]
        self._recorded = recorded
        self._next = 0

    def start(self, *, now: float) -> Iterable[Effect]:
        return ()

    def receive(self, datagram: Datagram, /, *, now: float) -> Iterable[Effect]:
        return ()

    def handle_timer(self, *, now: float) -> Iterable[Effect]:
        _, send = self._recorded[self._next]
        self._next += 1
        self.wake_at = self._recorded[self._next][0] if self._next < len(self._recorded) else None
        return (send,)


def deliveries_per_second(protocol: str, size: int) -> float:
    """Datagrams a second of processor time into a complete receiver of a stream of `size` bytes.

    RuntimeError when it did not work."""
    sim, _ = star(1)
    sender = FeedingSender(protocols.get(protocol).sender(_session(), random.Random(1)), size)
    recorder = Recorder(_receiver(protocol, 1))
    _add_receiver(sim, "receiver0", recorder, recorder._endpoint)
    sim.add_endpoint("source", "sender", sender, port=_SOURCE_PORT, seam=seam)
    sim.run(_TIME_LIMIT_S)
    if not recorder._endpoint.closed:
        raise RuntimeError(f"{protocol}: the session that is recorded did not end")
    sim, _ = star(1)
    receiver = _receiver(protocol, 1)
    _add_receiver(sim, "receiver0", receiver, receiver)
    sim.add_endpoint("source", "replay", Replay(recorder.recorded), port=_SOURCE_PORT, seam=seam)
    begin = time.process_time()
    sim.run(_TIME_LIMIT_S)
    seconds = time.process_time() - begin
    if not receiver.closed:
        raise RuntimeError(f"{protocol}: what was recorded is not a session for the receiver")
    return len(recorder.recorded) / seconds


def memory_of_receivers(kind: str, receivers: int) -> int:
    """Bytes that so many receivers take: complete ones of a protocol, or `sink`. Measured in a new process.

    RuntimeError when it fails."""
    command = module_command("experiments.bench.receivers", kind, str(receivers))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"memory of {receivers} receivers: {done.stderr.strip()[-300:]}")
    return int(done.stdout)


def _measure_memory(kind: str, receivers: int) -> int:
    if kind != "sink":
        protocols.get(kind)  # the protocol's own code is no receiver's
    before = _resident_bytes()
    sim, names = star(receivers)
    kept = []
    for number, name in enumerate(names):
        if kind == "sink":
            sim.add_udp_sink(name, _GROUP.port, join=(_GROUP.host, _SOURCE))
        else:
            kept.append(_receiver(kind, number))
            _add_receiver(sim, name, kept[-1], kept[-1])
    sim.run(_SETTLED_S)
    return _resident_bytes() - before


def _session() -> Session:
    return Session(_GROUP, source=_SOURCE, session=1, receivers=1)


def _receiver(protocol: str, seed: int) -> ReceiverEndpoint:
    return protocols.get(protocol).receiver(_session(), random.Random(seed))


def _add_receiver(sim: Sim, host: str, program: "Recorder | ReceiverEndpoint", endpoint: ReceiverEndpoint) -> None:
    sim.add_endpoint(host, "receiver", program, port=_RECEIVER_PORT, seam=seam, on_effect=_application(endpoint))


def _application(endpoint: ReceiverEndpoint) -> Callable[[object, float], Iterable[Effect]]:
    """Takes everything at once."""

    def on_effect(effect: object, now: float) -> Iterable[Effect]:
        if isinstance(effect, Deliver):
            return endpoint.consumed(len(effect.data), now=now)
        if isinstance(effect, StreamEnded):
            return endpoint.confirm(complete=True, now=now)
        assert not isinstance(effect, Send | JoinGroup | LeaveGroup), "the simulator knows these itself"
        return ()

    return on_effect


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * _PAGE_BYTES


if __name__ == "__main__":
    print(_measure_memory(sys.argv[1], int(sys.argv[2])))
