"""A large file both ways between ours and flute-alc with its default settings, checked by its SHA-256:

    python -m tests.hosts.protocols.webrc.gigabyte [BYTES]

A gigabyte takes minutes, and three times its size on the disk, so it is no test. Packets go from one process to the
other as they are made; of ours one in a hundred is lost where there is a code. flute-alc sends none with RaptorQ from
Python, and with Reed-Solomon's code 23 MB at most.
"""

import hashlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Final

from hosts.endpoint import Compute, Send
from hosts.programs.shelf import FolderShelf, content_of_file
from hosts.protocol import Session
from hosts.protocols.webrc.flute.objects import SCHEMES, SPARE
from hosts.protocols.webrc.flute.reception import Reception
from hosts.protocols.webrc.options import WebrcOptions
from hosts.protocols.webrc.packets import parse
from hosts.protocols.webrc.sender import WebrcSender
from hosts.storage import FileChange
from tests.hosts.protocols.webrc.memory import GROUP, SENDER

LOSS: Final = 0.01
HEADERS: Final = 1.1
"""What leaves for each byte of a file, at most."""
RECEIVER: Final = """
import sys
from flute import receiver
endpoint = receiver.UDPEndpoint("232.6.0.0", 5000, "10.0.0.1")
multi = receiver.MultiReceiver(receiver.ObjectWriterBuilder(sys.argv[1]), receiver.Config())
while (size := sys.stdin.buffer.read(2)):
    multi.push(endpoint, sys.stdin.buffer.read(int.from_bytes(size, "big")))
"""
SENDING: Final = """
import sys
from flute import sender
session = sender.Sender(5, sender.Oti(), sender.Config())
session.add_file(sys.argv[1], 0, "application/octet-stream", None, None)
session.publish()
while (packet := session.read()) is not None:
    sys.stdout.buffer.write(len(packet).to_bytes(2, "big") + bytes(packet))
"""


def _packets(path: Path, scheme: str) -> Iterator[bytes]:
    """Of the carousel's first pass over a file."""
    options = WebrcOptions(fec=scheme)
    sender = WebrcSender(Session(GROUP, SENDER.host, 7), options, Random(1))
    sender.change(FileChange([content_of_file(path)], is_last=True), now=0.0)
    share = 1.25 if scheme == "reed-solomon" else 1 + SPARE
    until = path.stat().st_size * 8 / options.session_rate_bps * HEADERS * share
    while (now := sender.wake_at) is not None and now <= until:
        for effect in sender.handle_timer(now=now):
            if isinstance(effect, Compute):
                effect.work()
            elif isinstance(effect, Send):
                yield effect.data


def _to_peer(path: Path, scheme: str, folder: Path) -> bool:
    """Whether flute-alc has the file from us."""
    rng, loss = Random(2), 0.0 if scheme == "no-code" else LOSS
    folder.mkdir()
    with subprocess.Popen([sys.executable, "-c", RECEIVER, str(folder)], stdin=subprocess.PIPE) as peer:
        assert peer.stdin is not None
        for packet in _packets(path, scheme):
            if rng.random() >= loss:
                peer.stdin.write(len(packet).to_bytes(2, "big") + packet)
    return _is_there(path, folder)


def _from_peer(path: Path, folder: Path) -> bool:
    """Whether we have the file from flute-alc, which sends without a code."""
    folder.mkdir()
    reception = Reception(shelf=FolderShelf(folder, "refuse", lambda manifest, cache: None))
    with subprocess.Popen([sys.executable, "-c", SENDING, str(path)], stdout=subprocess.PIPE) as peer:
        assert peer.stdout is not None
        while size := peer.stdout.read(2):
            for file in reception.add(parse(peer.stdout.read(int.from_bytes(size, "big"))), 0.0):
                found = hashlib.sha256()
                for piece in file.pieces():
                    found.update(piece)
                return found.hexdigest() == _digest(path)
    return False


def _is_there(path: Path, folder: Path) -> bool:
    found = folder / path.name
    return found.exists() and _digest(found) == _digest(path)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def main() -> int:
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 10**9
    with tempfile.TemporaryDirectory(prefix="canopy-gigabyte-") as scratch:
        path = Path(scratch) / "file.bin"
        rng = Random(3)
        with path.open("wb") as file:
            for at in range(0, size, 1 << 20):
                file.write(rng.randbytes(min(1 << 20, size - at)))
        ways = [(f"ours, {scheme}", scheme) for scheme in SCHEMES] + [("flute-alc's, no-code", "")]
        failed = 0
        for number, (label, scheme) in enumerate(ways):
            folder, begun = Path(scratch) / str(number), time.monotonic()
            whole = _to_peer(path, scheme, folder) if scheme else _from_peer(path, folder)
            print(f"{label}: {size} bytes {'whole' if whole else 'NOT whole'} in {time.monotonic() - begun:.0f} s")
            for left in folder.rglob("*"):
                left.unlink()
            failed += not whole
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
