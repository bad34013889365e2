"""A file of 100 GB with the default parameters: parts of it, from any place, through packets to a receiver's folder."""

import hashlib
from pathlib import Path
from random import Random

import pytest

from hosts.endpoint import Send
from hosts.programs.shelf import FileBytes, FolderShelf
from hosts.protocol import Session
from hosts.protocols.webrc.flute.coding import finite_symbol
from hosts.protocols.webrc.flute.reception import HELD_BYTES, Reception
from hosts.protocols.webrc.flute.transmission import REED_SOLOMON, Transmission
from hosts.protocols.webrc.options import WebrcOptions
from hosts.protocols.webrc.packets import Alc, parse
from hosts.protocols.webrc.sender import WebrcSender
from hosts.storage import Content, FileChange
from hosts.wire.manifest import Manifest
from tests.hosts.protocols.webrc.memory import GROUP, SENDER

SIZE = 100_000_000_000
PIECE = Random(5).randbytes(200_000)
PLACES = (0, 49_999_999_999, SIZE - len(PIECE))


def test_parts_of_a_file_of_100_gigabytes_come_to_their_places_and_are_there_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hosts.programs.shelf.check_space", lambda folder, needed: None)  # its parts have room
    path, folder = tmp_path / "huge", tmp_path / "received"
    folder.mkdir()
    with path.open("wb") as sparse:
        sparse.truncate(SIZE)
        for place in PLACES:
            sparse.seek(place)
            sparse.write(PIECE)
    data = FileBytes(path)
    manifest = Manifest("huge", SIZE, hashlib.sha256(b"of which nobody here asks").hexdigest())
    sender = WebrcSender(Session(GROUP, SENDER.host, 7), WebrcOptions(), Random(1))
    sender.change(FileChange([Content(manifest, bytes(16), data)], is_last=True), now=0.0)
    reception, transmission = _described(sender, folder)
    assert (transmission.scheme, transmission.length) == (REED_SOLOMON, SIZE)

    size = transmission.most_source * transmission.symbol
    wanted = {at // size for place in PLACES for at in range(place, place + len(PIECE), size)}
    wanted |= {(place + len(PIECE) - 1) // size for place in PLACES}
    for number in sorted(wanted, reverse=True):
        source = transmission.source(number)
        repair = range(source, source * transmission.most_encoding // transmission.most_source)
        symbols = [*range(len(repair), source), *repair]  # the first ones are lost
        Random(number).shuffle(symbols)
        for symbol in symbols:
            found = finite_symbol(data, transmission, number, symbol)
            reception.add(_packet(transmission.payload_id(number, symbol), found), 1.0)
    for number in Random(2).sample(range(transmission.blocks), 12_000):  # more than a receiver keeps in memory
        reception.add(_packet(transmission.payload_id(number, 0), finite_symbol(data, transmission, number, 0)), 2.0)
        assert reception.decoder is not None
        assert reception.decoder.held <= HELD_BYTES + 2000
    reception.flush()
    assert reception.decoder is not None
    needed = reception.decoder.needed
    (part,) = folder.glob(".huge.data-*")
    with part.open("rb") as file:
        for place in PLACES:
            file.seek(place)
            assert file.read(len(PIECE)) == PIECE
    again, _ = _described(sender, folder)
    assert again.decoder is not None
    assert again.decoder.resumed >= transmission.symbols - needed


def _described(sender: WebrcSender, folder: Path) -> tuple[Reception, Transmission]:
    """A receiver that has the FDT of what is sent, and how that is cut."""
    reception = Reception(shelf=FolderShelf(folder, "refuse", lambda manifest, cache: None))
    transmission = None
    while transmission is None:
        for effect in sender.handle_timer(now=sender.wake_at or 0.0):
            assert isinstance(effect, Send)
            packet = parse(effect.data)
            reception.add(packet, 0.5)
            if packet.toi and reception.decoder is not None:
                assert packet.encoding == reception.decoder.transmission.scheme
                transmission = reception.decoder.transmission
    return reception, transmission


def _packet(payload_id: int, symbol: bytes) -> Alc:
    return Alc(7, 0, 0, 1, toi=1, encoding=REED_SOLOMON, payload_id=payload_id, symbol=symbol)
