"""Both ways between ours and flute-alc, in every scheme, with loss and reordering, from 1 byte to some megabytes."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from hosts.endpoint import Datagram, Deliver, Effect, Send, SessionEnded, StreamEnded
from hosts.parts.doubt import SILENCE_S
from hosts.protocol import Session
from hosts.protocols.webrc.flute.content import content_of
from hosts.protocols.webrc.flute.objects import BETWEEN, OPEN_BYTES, SCHEMES, SPARE
from hosts.protocols.webrc.flute.reception import Reception
from hosts.protocols.webrc.options import WebrcOptions
from hosts.protocols.webrc.packets import FDT_TOI, parse
from hosts.protocols.webrc.receiver import WebrcReceiver
from hosts.protocols.webrc.sender import WebrcSender
from hosts.storage import FileChange
from hosts.wire.manifest import Manifest
from tests.hosts.protocols.webrc.memory import FAST, GROUP, SENDER, packets, session
from tests.hosts.protocols.webrc.peer import received, sent

DATA = Random(5).randbytes(3_000_000)
CLOSE = bytes.fromhex("10120300 00000000 00050000")
"""LCT with A = 1 and nothing else, session 5."""
LONG = (DATA * 4)[:11_000_000]
LONG_WAY: dict[str, Any] = {"session_rate_bps": 100e6, "slot_s": 2.0, "quiescence_s": 10.0}
FASTER = {**FAST, "session_rate_bps": 20e6}


def worn(found: list[bytes], share: float, seed: int) -> list[bytes]:
    """Packets of which some are lost, and that overtake each other by up to thirty places."""
    rng = Random(seed)
    kept = [packet for packet in found if rng.random() >= share]
    return [packet for _, packet in sorted(enumerate(kept), key=lambda one: one[0] + rng.random() * 30)]


@pytest.mark.parametrize("size", [1, 1500, 150_000, 3_000_000])
def test_the_peer_rebuilds_what_we_send_with_raptorq(tmp_path: Path, size: int) -> None:
    options = WebrcOptions(**(FASTER if size > 200_000 else FAST))
    found = [send.data for _, send in packets(options, DATA[:size], 4.0)]
    assert received(worn(found, 0.2, 4), tmp_path / "files") == {"song.ogg": DATA[:size]}


@pytest.mark.parametrize(
    ("how", "lost"),
    [
        ({"fec": "reed-solomon"}, 0.05),
        ({"fec": "no-code"}, 0.05),
        ({"flute_version": 1}, 0.2),
        ({"gzip": True}, 0.2),
        ({"fec": "no-code", "gzip": True, "flute_version": 1}, 0.05),
    ],
)
def test_the_peer_rebuilds_what_we_send_in_any_other_way(tmp_path: Path, how: dict[str, Any], lost: float) -> None:
    data = DATA[:100_001]
    found = [send.data for _, send in packets(WebrcOptions(**FASTER, **how), data, 2.0)]
    assert received(worn(found, lost, 4), tmp_path / "files") == {"song.ogg": data}


@pytest.mark.parametrize("scheme", ["raptorq", "reed-solomon"])
def test_the_peer_reads_a_coded_table_of_several_symbols(tmp_path: Path, scheme: str) -> None:
    """Of each FDT instance's source symbols one never comes."""
    files = {f"song{number}.ogg": DATA[number * 100 : number * 101] for number in range(1, 60)}
    sender = WebrcSender(session(), WebrcOptions(**{**FASTER, "base_rate": 40.0}, fec=scheme), Random(1))
    sender.change(FileChange([content_of(*file) for file in files.items()], is_last=True), now=0.0)
    found: list[bytes] = []
    while (now := sender.wake_at) is not None and now <= 3.0:
        found += [effect.data for effect in sender.handle_timer(now=now) if isinstance(effect, Send)]
    tables = [parse(data) for data in found if parse(data).toi == FDT_TOI]
    assert {packet.encoding for packet in tables} == {SCHEMES[scheme]}
    lost = min(packet.payload_id for packet in tables)
    heard = [data for data in found if parse(data).toi != FDT_TOI or parse(data).payload_id != lost]
    assert len(heard) < len(found)
    assert received(heard, tmp_path / "files") == files


@pytest.mark.parametrize(("scheme", "lost"), [("raptorq", 0.02), ("reed-solomon", 0.02), ("no-code", 0.0)])
def test_the_peer_rebuilds_more_than_it_keeps_open(tmp_path: Path, scheme: str, lost: float) -> None:
    """With its defaults it gives up an object when 10 MiB of its blocks are open."""
    assert len(LONG) > 10 << 20 > OPEN_BYTES
    once = len(LONG) * 8 / LONG_WAY["session_rate_bps"] * 1.1  # with headers
    code = 1.25 if scheme == "reed-solomon" else 1 + SPARE
    found = [send.data for _, send in packets(WebrcOptions(**LONG_WAY, fec=scheme), LONG, code * once)]
    assert received(worn(found, lost, 4), tmp_path / "files") == {"song.ogg": LONG}


def test_the_peer_may_join_when_the_blocks_are_sent_in_another_order(tmp_path: Path) -> None:
    """It has begun with blocks that it cannot keep, gives them up, and has all after the next ordered pass."""
    once = len(LONG) * 8 / LONG_WAY["session_rate_bps"] * 1.1
    begun, until = (1 + SPARE) * once, (2 * (1 + SPARE) + BETWEEN) * once
    found = [send.data for now, send in packets(WebrcOptions(**LONG_WAY), LONG, until) if now > begun]
    assert received(worn(found, 0.02, 4), tmp_path / "files") == {"song.ogg": LONG}


@pytest.mark.parametrize("scheme", ["no-code", "reed-solomon"])
@pytest.mark.parametrize("size", [1, 1400, 500_000, 3_000_000])
def test_we_rebuild_what_the_peer_sends(tmp_path: Path, scheme: str, size: int) -> None:
    path = tmp_path / "song.ogg"
    path.write_bytes(DATA[:size])
    text = tmp_path / "words.txt"
    text.write_bytes(b"word " * (1 + size // 50))
    turn = list(sent(scheme, [path, text]))
    # Without repair symbols what is lost comes with the next turn.
    heard = worn(turn, 0.05, 1) + worn(turn, 0.05, 2) + worn(turn, 0.05, 3)
    reception = Reception()
    files = {}
    for packet in heard:
        for file in reception.add(parse(packet), 0.0):
            files[file.manifest.name] = file.data
    assert files == {"song.ogg": path.read_bytes(), "words.txt": text.read_bytes()}
    assert not reception.counters["damaged_files"]


def test_a_receiver_takes_a_session_without_congestion_control(tmp_path: Path) -> None:
    """All of the peer's packets come on one channel, and their congestion control information is 0."""
    paths = [tmp_path / name for name in ("a.bin", "b.bin")]
    for number, path in enumerate(paths):
        path.write_bytes(DATA[number : 40_000 + number])
    found = list(sent("reed-solomon", paths))
    for every_file, whole in ((False, 1), (True, 2)):
        options = WebrcOptions(every_file=every_file)
        receiver = WebrcReceiver(Session(GROUP), options, Random(1))
        receiver.start(now=0.0)
        effects: list[Effect] = []
        for number, packet in enumerate([*found, CLOSE]):
            now = 0.001 * number
            effects += receiver.handle_timer(now=now)
            effects += receiver.receive(Datagram(packet, SENDER, GROUP), now=now)
        effects += receiver.handle_timer(now=now + 2 * SILENCE_S)  # nothing came after the close, so it was one
        streams = [bytearray(effect.data) for effect in effects if isinstance(effect, Deliver)]
        assert sum(isinstance(effect, StreamEnded) for effect in effects) == 1
        manifests = [Manifest.take(stream) for stream in streams]
        assert len(manifests) == whole
        for manifest, stream in zip(manifests, streams, strict=True):
            assert manifest is not None
            assert stream == (tmp_path / manifest.name).read_bytes()


def test_a_session_without_congestion_control_may_rest_but_not_for_ever(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(DATA[:40_000])
    receiver = WebrcReceiver(Session(GROUP), WebrcOptions(), Random(1))
    receiver.start(now=0.0)
    receiver.receive(Datagram(next(sent("no-code", [path])), SENDER, GROUP), now=0.0)
    assert not receiver.handle_timer(now=59.0)
    *_, end = receiver.handle_timer(now=61.0)
    assert isinstance(end, SessionEnded)
    assert "silent" in end.reason
