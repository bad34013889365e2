"""Objects in rooms that last: memory stays within its bound, and a later receiver goes on."""

from pathlib import Path
from random import Random

import pytest

from hosts.programs.shelf import FolderRoom
from hosts.protocols.webrc.flute.coding import Encoders
from hosts.protocols.webrc.flute.decoding import ObjectDecoder
from hosts.protocols.webrc.flute.objects import object_encoder, plan
from hosts.protocols.webrc.flute.reed_solomon import RFC_POINTS, combine, interpolation
from hosts.protocols.webrc.flute.transmission import NO_CODE, RAPTORQ, REED_SOLOMON, Transmission
from hosts.storage import BytesContent
from tests.hosts.protocols.webrc.memory import next_packet

DATA = Random(1).randbytes(40 * 300 - 7)
SCHEMES = [RAPTORQ, REED_SOLOMON, NO_CODE]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hosts.protocols.webrc.flute.objects.BLOCK_SYMBOLS", 32)
    monkeypatch.setattr("hosts.protocols.webrc.flute.objects.NO_CODE_SYMBOLS", 32)


def packets(scheme: int, count: int, seed: int = 2) -> list[tuple[int, bytes]]:
    """What is sent, in any order."""
    encoder = object_encoder(1, BytesContent(DATA), plan(scheme, len(DATA), 40), Encoders())
    found: list[tuple[int, bytes]] = []
    while len(found) < count:
        found += [next_packet(encoder) for _ in range(encoder.visit(0.3))]
    return Random(seed).sample(found, len(found))


def room_in(folder: Path) -> FolderRoom:
    return FolderRoom(folder, "a", "01234567", "refuse", lambda manifest: None)


def decoder_in(folder: Path, scheme: int, key: str = "k") -> ObjectDecoder:
    found = ObjectDecoder(plan(scheme, len(DATA), 40))
    found.settle(room_in(folder), key)
    return found


def whole(decoder: ObjectDecoder) -> bytes:
    return next(b"".join(decoder.pieces()) for _ in decoder.candidates())


@pytest.mark.parametrize("scheme", SCHEMES)
def test_symbols_wait_on_disk_and_a_later_receiver_goes_on(tmp_path: Path, scheme: int) -> None:
    sent = packets(scheme, 500)
    decoders = 0
    while True:
        decoder = decoder_in(tmp_path, scheme)
        decoders += 1
        assert (decoder.resumed > 0) == (decoders > 1)
        for payload_id, data in sent[(decoders - 1) * 100 :][:100]:
            decoder.add(payload_id, data)
            while decoder.held > 40 * 200:
                assert decoder.spill()
        if decoder.is_whole:
            break
        assert decoder.needed > 0
        while decoder.spill():
            pass
        assert decoder.held == 0
    assert decoders >= 4
    assert whole(decoder) == DATA


@pytest.mark.parametrize("scheme", SCHEMES)
def test_what_was_stored_comes_again_and_counts_once(tmp_path: Path, scheme: int) -> None:
    decoder = decoder_in(tmp_path, scheme)
    sent = packets(scheme, 600)
    for _ in range(3):
        for payload_id, data in sent[:150]:
            assert not decoder.add(payload_id, data)
        while decoder.spill():
            pass
    for payload_id, data in sent:
        decoder.add(payload_id, data)
    assert decoder.is_whole
    assert whole(decoder) == DATA


def test_files_that_were_cut_off_or_damaged_have_fewer_symbols(tmp_path: Path) -> None:
    sent = packets(RAPTORQ, 700)
    decoder = decoder_in(tmp_path, RAPTORQ)
    for payload_id, data in sent[:270]:
        decoder.add(payload_id, data)
    while decoder.spill():
        pass
    files = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert len(files) == 2
    rng = Random(3)
    counts = set()
    for turn in range(60):
        for path, content in files.items():
            harmed = bytearray(content[: rng.randrange(len(content) + 1)])
            if turn % 2:
                harmed = bytearray(content)
                for _ in range(20):
                    harmed[rng.randrange(len(harmed))] ^= 1 << rng.randrange(8)
            path.write_bytes(harmed)
        again = decoder_in(tmp_path, RAPTORQ)
        counts.add(again.resumed)
        for payload_id, data in sent[::-1]:
            if again.add(payload_id, data):
                break
        assert whole(again) == DATA
    assert len(counts) > 20


def test_another_object_s_symbols_are_cleared_away(tmp_path: Path) -> None:
    decoder = decoder_in(tmp_path, RAPTORQ)
    for payload_id, data in packets(RAPTORQ, 100):
        decoder.add(payload_id, data)
    while decoder.spill():
        pass
    assert decoder_in(tmp_path, RAPTORQ).resumed
    assert not decoder_in(tmp_path, RAPTORQ, "other").resumed
    assert not list(tmp_path.iterdir())


def test_the_rfc_s_own_reed_solomon_points_are_tried_after_those_in_use(tmp_path: Path) -> None:
    data = Random(4).randbytes(4 * 24)
    source = [data[at : at + 24] for at in range(0, 96, 24)]
    repair = combine(source, interpolation(RFC_POINTS[:4], RFC_POINTS[5]))
    decoder = ObjectDecoder(Transmission(REED_SOLOMON, 96, 24, 4, 8))
    decoder.settle(room_in(tmp_path), "k")
    for symbol, payload in ((0, source[0]), (1, source[1]), (3, source[3]), (5, repair)):
        decoder.add(symbol, payload)
    assert decoder.is_whole
    first, second = [b"".join(decoder.pieces()) for _ in decoder.candidates()]
    assert first != data
    assert second == data


def test_a_block_that_no_symbols_make_whole_is_begun_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hosts.protocols.webrc.flute.decoding.decoded_block", lambda *given: None)
    decoder = decoder_in(tmp_path, RAPTORQ)
    for payload_id, data in packets(RAPTORQ, 1200):
        decoder.add(payload_id, data)
        decoder.spill()
    assert not decoder.is_whole
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 10 * 64 * 48 + 64
