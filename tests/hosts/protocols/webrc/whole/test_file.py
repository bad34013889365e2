"""Files over WEBRC: any receiver at its own rate, late joiners, losses, and an independent implementation."""

import hashlib
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from hosts.protocols.webrc.download import Download
from hosts.protocols.webrc.fdt import encode_fdt, parse_fdt
from hosts.protocols.webrc.objects import MAX_BLOCK_SYMBOLS, Layout, ObjectDecoder, ObjectEncoder
from hosts.protocols.webrc.options import WebrcOptions
from hosts.protocols.webrc.packets import FDT_TOI, parse
from hosts.wire.header import PacketError
from hosts.wire.manifest import Manifest
from tests.hosts.protocols.webrc.memory import FAST, GROUP, packets, play

DATA = Random(5).randbytes(300_000)


def test_receivers_complete_whenever_they_join() -> None:
    members = play(WebrcOptions(**FAST), DATA, [0.3, 2.0, 7.7, 30.0], 120.0)
    for member in members:
        assert member.ended is not None
        assert member.ended.complete
        assert member.sink.sha256
        assert member.groups == set()
        sample = member.endpoint.sample(now=0.0)
        assert isinstance(sample["decoding_overhead"], float)
        assert 0 <= sample["decoding_overhead"] < 0.02


def test_losses_cost_time_and_no_bytes() -> None:
    rng = Random(3)
    shares = [0.0, 0.05, 0.3]
    members = play(WebrcOptions(**FAST), DATA, [0.3] * 3, 600.0, lambda number: rng.random() < shares[number])
    assert all(member.ended and member.ended.complete for member in members)
    lost = [member.endpoint.lost_packets for member in members]
    assert lost[0] == 0 < lost[1] < lost[2]


def test_every_channel_goes_through_all_blocks() -> None:
    data = bytes(10 * 200)
    layout = Layout(len(data), 40, 5)
    assert [layout.block(number) for number in range(5)] == [(400 * n, 400 * n + 400) for n in range(5)]
    assert Layout(401, 40, 2).block(0) == (0, 240)  # 11 symbols: 6 and 5
    assert Layout(401, 40, 2).block(1) == (240, 401)
    encoder = ObjectEncoder(data, 40)
    assert encoder.layout.blocks == 1
    with pytest.raises(ValueError, match="bytes"):
        Layout.of(256 * MAX_BLOCK_SYMBOLS * 40 + 1, 40)
    with pytest.raises(ValueError, match="bytes"):
        Layout.of(0, 40)


def test_several_blocks_and_a_carousel_that_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hosts.protocols.webrc.objects.BLOCK_SYMBOLS", 8)
    monkeypatch.setattr("hosts.protocols.webrc.objects.MOST_SENT", 32)
    data = Random(1).randbytes(40 * 30 - 7)
    encoder = ObjectEncoder(data, 40)
    assert encoder.layout.blocks == 4
    decoder = ObjectDecoder(encoder.layout)
    sent = [encoder.next_packet(channel=3) for _ in range(40 * 8)]
    assert [payload_id >> 24 for payload_id, _ in sent[:5]] == [3, 0, 1, 2, 3]
    assert len(set(sent)) == 4 * 32  # all that may be sent, then the same again
    taken = Random(2).sample(sent, len(sent))
    while not decoder.add(*taken.pop()):
        pass
    assert decoder.data == data
    assert decoder.needed == 0
    with pytest.raises(PacketError):
        decoder.add(4 << 24, bytes(40))


def test_the_fdt_is_read_back_and_hostile_ones_are_refused() -> None:
    layout = Layout.of(5000, 960)
    manifest = Manifest("a & b.txt", 5000, hashlib.sha256(b"x" * 5000).hexdigest())
    table = encode_fdt(manifest, layout, b"x" * 5000)
    read = parse_fdt(table)
    assert read.layout == layout
    assert read.manifest(b"x" * 5000) == manifest
    no_symbols = [table.replace(b'"960"', size) for size in (b'"0"', b'"964"', b'"65536"', b'"9223372036854775808"')]
    no_encoding = table.replace(b"'utf-8'", b"'none'")
    assert table not in (no_encoding, *no_symbols)
    for bad in (
        b"",
        b"<a/>",
        table.replace(b'"6"', b'"5"'),
        b"<!DOCTYPE x>" + table,
        table * 9,
        table[:-20],
        no_encoding,
        *no_symbols,
    ):
        with pytest.raises(PacketError):
            parse_fdt(bad)


def test_packets_of_the_file_are_of_no_use_before_the_fdt() -> None:
    download = Download()
    found = [parse(send.data) for _, send in packets(WebrcOptions(**FAST), b"y" * 5000, 3.0)]
    first_fdt = next(number for number, packet in enumerate(found) if packet.toi == FDT_TOI)
    for packet in found[:first_fdt]:
        assert download.add(packet) is None
    assert download.early == first_fdt
    for packet in found[first_fdt:]:
        stream = download.add(packet)
        if stream is not None:
            assert stream.endswith(b"y" * 5000)
            break
    else:
        pytest.fail("the file did not become whole")


FOREIGN = """
import sys
from flute import receiver
folder, packets = sys.argv[1], sys.argv[2]
endpoint = receiver.UDPEndpoint("{group}", {port}, "10.0.0.1")
multi = receiver.MultiReceiver(receiver.ObjectWriterBuilder(folder), receiver.Config())
for line in open(packets):
    multi.push(endpoint, bytes.fromhex(line))
"""


def test_an_independent_implementation_rebuilds_the_file(tmp_path: Path) -> None:
    """flute-alc (Rust) reads our LCT headers, FDT and RaptorQ symbols; a fifth of the packets is lost."""
    rng = Random(4)
    data = DATA[:150_000]
    lines = [send.data.hex() for _, send in packets(WebrcOptions(**FAST), data, 4.0) if rng.random() < 0.8]
    capture = tmp_path / "packets"
    capture.write_text("\n".join(lines))
    folder = tmp_path / "files"
    folder.mkdir()
    program = FOREIGN.format(group=GROUP.host, port=GROUP.port)
    subprocess.run([sys.executable, "-c", program, str(folder), str(capture)], check=True, timeout=60)
    assert [path.name for path in folder.iterdir()] == ["song.ogg"]
    assert (folder / "song.ogg").read_bytes() == data


def test_the_fdt_announces_one_sub_block_as_the_symbols_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A block of 8,192 symbols of 1,368 bytes: RFC 6330's recommendation has two sub-blocks for it."""
    monkeypatch.setattr("hosts.protocols.webrc.objects.BLOCK_SYMBOLS", MAX_BLOCK_SYMBOLS)
    data = Random(9).randbytes(1368) * MAX_BLOCK_SYMBOLS
    encoder = ObjectEncoder(data, 1368)
    table = encode_fdt(Manifest("a", len(data), hashlib.sha256(data).hexdigest()), encoder.layout, data)
    assert b'Scheme-Specific-Info="AQABCA=="' in table  # Z = 1, N = 1, Al = 8
    assert [encoder.next_packet(0)[1] for _ in range(3)] == [data[:1368]] * 3


def test_blocks_are_small_as_long_as_there_are_not_too_many() -> None:
    assert Layout.of(1368 * 2048, 1368).blocks == 1
    assert Layout.of(1368 * 2049, 1368).blocks == 2
    assert Layout.of(1368 * 8192 * 256, 1368).blocks == 256
