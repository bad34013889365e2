"""flute-alc (Rust), an independent implementation of ALC and FLUTE, as a peer with its default settings.

Each call is a process of its own, with packets on its standard streams: its threads and its log are none of ours.
"""

import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

RECEIVER = """
import sys
from flute import receiver
endpoint = receiver.UDPEndpoint("232.6.0.0", 5000, "10.0.0.1")
multi = receiver.MultiReceiver(receiver.ObjectWriterBuilder(sys.argv[1]), receiver.Config())
for line in sys.stdin:
    multi.push(endpoint, bytes.fromhex(line))
"""
SENDER = """
import sys
from flute import sender
kind, *paths = sys.argv[1:]
oti = {
    "no-code": lambda: sender.Oti(),
    "reed-solomon": lambda: sender.Oti.new_reed_solomon_rs28(1400, 64, 16),
}[kind]()
session = sender.Sender(5, oti, sender.Config())
for path in paths:
    session.add_file(path, int(path.endswith(".txt")) * 3, "application/octet-stream", None, None)
session.publish()
while (packet := session.read()) is not None:
    print(bytes(packet).hex())
"""


def received(packets: Iterable[bytes], folder: Path) -> dict[str, bytes]:
    """The files that flute-alc makes of packets, by name."""
    folder.mkdir()
    lines = "\n".join(packet.hex() for packet in packets)
    command = [sys.executable, "-c", RECEIVER, str(folder)]
    subprocess.run(command, input=lines, text=True, capture_output=True, check=True, timeout=60)
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def sent(scheme: str, files: Iterable[Path]) -> Iterator[bytes]:
    """One turn of what flute-alc sends of files; `.txt` files are transferred compressed."""
    command = [sys.executable, "-c", SENDER, scheme, *map(str, files)]
    shown = subprocess.run(command, text=True, capture_output=True, check=True, timeout=60).stdout
    return map(bytes.fromhex, shown.split())
