"""`canopy bench seal`: what sealing packets costs, and how many of a million forged, replayed and mutated ones pass."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from canopy_engine import Seal

from hosts.wire.header import HEADED_VERSION

SECRET: Final = (1, bytes(range(32)))
SOURCE: Final = ("10.0.0.1", 4000)
GROUP: Final = ("239.1.1.1", 5000)
NOW_S: Final = 1_800_000_000
PACKET_BYTES: Final = 1436
"""What a sealed packet of Ethernet's size has in it."""
ROUND: Final = 20_000
"""Packets that are measured together."""
TARGET_BPS: Final = 2e9
"""Of a processor, of packets of this size (ours: twice the rate of a link of 1 Gbit/s)."""


@dataclass(frozen=True, slots=True)
class SealFigures:
    """One processor's, without the protocol and the sockets around it."""

    seal_bps: float
    open_bps: float
    """Bits of packets a second of the process's time."""
    tried: int
    """Packets that no member made for this receiver and this moment."""
    accepted: int


def measure(tried: int, repeat: int, seed: int = 1) -> SealFigures:
    """The best of `repeat` rounds, and what comes of so many packets of strangers."""
    packet = random.Random(seed).randbytes(PACKET_BYTES)
    bits = 8 * PACKET_BYTES * ROUND
    sealing, opening = [], []
    for number in range(repeat):
        sender, receiver = Seal([SECRET], 2 * number), Seal([SECRET], 2 * number + 1)
        begin = time.process_time()
        sealed = [sender.seal(packet, SOURCE, GROUP, NOW_S) for _ in range(ROUND)]
        middle = time.process_time()
        opened = [receiver.open(one, SOURCE, GROUP, NOW_S) for one in sealed]
        opening.append(bits / (time.process_time() - middle))
        sealing.append(bits / (middle - begin))
        assert all(one == packet for one in opened)
    return SealFigures(max(sealing), max(opening), tried, accepted(tried, seed))


def accepted(tried: int, seed: int) -> int:
    """How many of so many packets are taken by a receiver that knows the sender and has had all it sent."""
    rng = random.Random(seed)
    sender, stranger, receiver = Seal([SECRET], 1), Seal([(1, bytes(32))], 1), Seal([SECRET], 2)
    genuine = [sender.seal(rng.randbytes(rng.randrange(200)), SOURCE, GROUP, NOW_S) for _ in range(500)]
    genuine += [
        sender.seal_feedback(b"\1" + rng.randbytes(rng.randrange(200)), SOURCE, GROUP, NOW_S) for _ in range(500)
    ]

    def is_taken(packet: bytes) -> bool:
        readable = packet[:1] == bytes([HEADED_VERSION])
        opened = (receiver.open_feedback if readable else receiver.open)(packet, SOURCE, GROUP, NOW_S)
        return isinstance(opened, bytes)

    assert all(map(is_taken, genuine))

    def mutated() -> bytes:
        data = bytearray(rng.choice(genuine))
        for _ in range(rng.randint(1, 3)):
            data[rng.randrange(len(data))] ^= rng.randint(1, 255)
        return bytes(data)

    def cut() -> bytes:
        data = rng.choice(genuine)
        return data[: rng.randrange(len(data))] + rng.randbytes(rng.randrange(3))

    def mixed() -> bytes:
        one, other = rng.choice(genuine), rng.choice(genuine)
        return one[:20] + other[20:]

    def forged() -> bytes:
        seal = rng.choice((stranger.seal, stranger.seal_feedback))
        return seal(b"\1" + rng.randbytes(rng.randrange(200)), SOURCE, GROUP, NOW_S)

    kinds: list[Callable[[], bytes]] = [mutated, cut, mixed, forged, lambda: rng.choice(genuine)]
    return sum(is_taken(rng.choice(kinds)()) for _ in range(tried))
