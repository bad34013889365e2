"""Memory does not grow with the file: what a sender and a receiver take at most, each in a process of its own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SIZE = 300_000_000
LIMIT_KB = 64 * 1024

PROGRAM = """
import json, resource, sys
from pathlib import Path
from hosts.programs.shelf import FileBytes, FolderRoom
from hosts.protocols.webrc.flute import objects
from hosts.protocols.webrc.flute.coding import Encoders
from hosts.protocols.webrc.flute.objects import object_encoder, plan
from hosts.protocols.webrc.flute.reception import HELD_BYTES
from hosts.protocols.webrc.flute.decoding import ObjectDecoder
from hosts.protocols.webrc.flute.transmission import RAPTORQ

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

path, folder = Path(sys.argv[1]), Path(sys.argv[2])
data = FileBytes(path)
objects.OPEN_BYTES = data.size  # no ordered pass: all blocks are open
sender = object_encoder(1, data, plan(RAPTORQ, data.size, 1376), Encoders())
receiver = ObjectDecoder(sender.transmission)
receiver.settle(FolderRoom(folder, "a", "01234567", "refuse", lambda manifest: None), "k")
before = peak()
for _ in range(2 * sender.transmission.blocks):  # a quarter of each block: as much as is seldom held otherwise
    count = sender.visit(0.125)
    for number in range(count):
        payload_id, (symbol,) = sender.next_packets(0, 1)
        receiver.add(payload_id, symbol)
    while receiver.held > HELD_BYTES:
        receiver.spill()
sender._sent = [symbols + 2048 for symbols in sender._sent]  # repair from now on
for _ in range(6):
    for _ in range(sender.visit(0.125)):
        payload_id, (symbol,) = sender.next_packets(0, 1)
        receiver.add(payload_id, symbol)
print(json.dumps({"grown_kb": peak() - before, "needed": receiver.needed, "symbols": sender.transmission.symbols}))
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    with path.open("wb") as sparse:
        sparse.truncate(SIZE)
    return path


def test_a_file_of_300_megabytes_takes_less_than_64(file: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(file), str(tmp_path)], capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    assert found["needed"] < 0.76 * found["symbols"]
    assert found["grown_kb"] < LIMIT_KB
