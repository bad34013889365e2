"""Makes the fuzz targets' corpus from our own programs and packets: `python -m tests.engine.whole.fuzz_corpus`, which
`scripts/fuzz.sh` does.

What a fuzzer has found is kept by hand, as corpus/TARGET/found-WHAT, and is left alone here.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.engine.whole.differential.programs import read_json
from tests.hosts.protocols.mtcp.test_packets import examples
from tests.p4src.bench.fuzz import sound_packets
from tests.p4src.bench.packets import data, join, unicast

ROOT = Path(__file__).parents[3]
CORPUS = ROOT / "engine/fuzz/corpus"
PROGRAMS = [
    *(ROOT / f"engine/crates/p4vm/tests/data/{name}" for name in ("checksums", "l2", "matching", "parsing")),
    *(ROOT / f"tests/engine/data/{name}" for name in ("crossbar", "entities")),
]
CONTROLLER = 17
"""What targets/packets.rs takes for the controller's port."""
CANOPY = 8
"""The bit by which targets/headers.rs tells a Canopy datagram from an IGMP message."""
TO_HOST_1 = (2 * 1 + 1) << 4
"""The bits above it: to a group (0), or to host n (2 * n + 1)."""


def without_source(value: Any) -> Any:
    """A program without the lines of its source, which make most of its size and mean nothing to the switch."""
    if isinstance(value, dict):
        return {key: without_source(inner) for key, inner in value.items() if key != "source_info"}
    return [without_source(inner) for inner in value] if isinstance(value, list) else value


def step(word: int, pause: int, body: bytes) -> bytes:
    """One frame of an input, as engine/fuzz/src/frames.rs reads it."""
    return bytes([word, pause]) + len(body).to_bytes(2, "big") + body


def programs() -> Iterator[tuple[str, bytes]]:
    for path in PROGRAMS:
        yield path.name, json.dumps(without_source(json.loads(read_json(path))), separators=(",", ":")).encode()


def packets() -> Iterator[tuple[str, bytes]]:
    sound = sound_packets()
    for number, packet in enumerate(sound):
        yield f"sound-{number}", step(1 + number % 8, 1, packet)
    yield "all", b"".join(step(1 + number % 8, 1, packet) for number, packet in enumerate(sound))
    member, source = step(2, 0, join("232.1.1.1", "10.0.1.1")), bytes(data("10.0.1.1", "232.1.1.1"))
    yield "join-and-data", member + step(1, 0, source) + step(1, 255, source)
    # packet_out {port bit<9>, mode bit<7>, ports bit<16>}: out of port 3, in at port 3, out of ports 1 to 8.
    heads = [(3 << 7 | 0, 0), (3 << 7 | 1, 0), (2, 0x00FF)]
    packet = bytes(unicast("10.0.0.1", "10.0.0.2"))
    outs = [first.to_bytes(2, "big") + ports.to_bytes(2, "big") + packet for first, ports in heads]
    yield "packet-outs", b"".join(step(CONTROLLER, 0, out) for out in outs)


def headers() -> Iterator[tuple[str, bytes]]:
    igmp = [packet[38:] for packet in sound_packets() if packet[23] == 2 and packet[14] == 0x46]
    for number, message in enumerate(igmp):
        yield f"igmp-{number}", step(number % 8, 1, message)
    member = step(1, 0, join("232.1.1.1", "10.0.1.1")[38:])
    for datagram in examples():
        down, up = step(CANOPY, 0, datagram), step(2 | CANOPY | TO_HOST_1, 0, datagram)
        yield f"mtcp-{datagram[2]}", member + down + up


TARGETS = {"program": programs, "packets": packets, "headers": headers}


def make(corpus: Path) -> None:
    """A folder for each target, whose inputs it replaces."""
    for target, entries in TARGETS.items():
        folder = corpus / target
        folder.mkdir(parents=True, exist_ok=True)
        for path in folder.iterdir():
            if not path.name.startswith("found-"):
                path.unlink()
        for name, content in entries():
            (folder / name).write_bytes(content)


if __name__ == "__main__":
    make(CORPUS)
