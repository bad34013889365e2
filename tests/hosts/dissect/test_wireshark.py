"""Wireshark's dissector, run by tshark on packets of every type."""

import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from canopy_engine import Seal
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet
from scapy.utils import wrpcap
from typer.testing import CliRunner

from hosts.dissect.layers import CanopyHeader, HopTrailer, SealTrailer
from hosts.dissect.wireshark import app, plugin
from hosts.protocols.mtcp.packets import encode_feedback
from hosts.wire.sealed import HOP, Hop
from tests.hosts.datagrams import EXAMPLES as ALL

EXAMPLES = [data for data, _ in ALL]


def in_frames(datagrams: list[bytes]) -> list[Packet]:
    udp = IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=40000, dport=5000)
    return [Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / udp / datagram for datagram in datagrams]


def dissected(folder: Path, datagrams: list[bytes], *options: str) -> list[list[tuple[str, str]]]:
    """For each datagram, (field, value as tshark shows it) in order; empty where it saw none of Canopy's."""
    script, capture = folder / "canopy.lua", folder / "capture.pcap"
    script.write_text(plugin())
    wrpcap(str(capture), in_frames(datagrams))
    command = ["tshark", "-X", f"lua_script:{script}", "-r", str(capture), "-T", "pdml", *options]
    shown = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "Lua" not in shown.stderr, shown.stderr
    packets = ElementTree.fromstring(shown.stdout).findall("packet")
    return [
        [(field.get("name", ""), field.get("show", "")) for field in packet.findall("proto[@name='canopy']//field")]
        for packet in packets
    ]


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> list[list[tuple[str, str]]]:
    return dissected(tmp_path_factory.mktemp("wireshark"), EXAMPLES)


def filter_of(layer: Packet) -> str:
    """As in "MTCP JOIN_ACK": canopy.mtcp.join_ack."""
    protocol, name = str(layer.name).lower().split()
    return f"canopy.{protocol}.{name}"


def expected(layer: Packet, filter_name: str) -> list[tuple[str, str]]:
    """What Scapy makes of the same bytes, as tshark writes it; fields without bytes are not shown."""
    pairs = []
    description: list[Any] = layer.fields_desc
    for field in description:
        value: Any = layer.getfieldval(field.name)
        if isinstance(value, list):
            for item in value:
                pairs += expected(item, filter_of(item))
            continue
        if isinstance(value, bytes):
            text = ":".join(f"{byte:02x}" for byte in value)
        elif field.name in ("sack", "children", "holders"):
            text = ":".join(f"{byte:02x}" for byte in value.to_bytes(field.size // 8, "big"))
        else:
            text = str(value)
        if text:
            pairs.append((f"{filter_name}.{field.name}", text))
    return pairs


@pytest.mark.parametrize("number", range(len(EXAMPLES)), ids=[f"{data[1]}-{data[2]}" for data in EXAMPLES])
def test_every_field_of_every_type_is_shown_as_scapy_reads_it(number: int, shown: list[list[tuple[str, str]]]) -> None:
    layers = CanopyHeader(EXAMPLES[number])
    header = [
        ("canopy.version", "1"),
        ("canopy.protocol", str(layers.protocol)),
        ("canopy.type", str(layers.type)),
        ("canopy.flags", f"0x{layers.flags:02x}"),
        ("canopy.session", str(layers.session)),
    ]
    named = [pair for pair in shown[number] if pair[0].startswith("canopy")]
    assert named == header + expected(layers.payload, filter_of(layers.payload))


def test_a_data_packet_by_hand(tmp_path: Path) -> None:
    """Against the bytes themselves: nothing here comes from the description."""
    datagram = bytes.fromhex("01 01 01 01 00000007 0000002a 0003 0005 0000000000000064 0000000000000200 616263")
    (fields,) = dissected(tmp_path, [datagram])
    assert [pair for pair in fields if pair[0].startswith("canopy.mtcp")] == [
        ("canopy.mtcp.data.seq", "42"),
        ("canopy.mtcp.data.length", "3"),
        ("canopy.mtcp.data.cwnd", "5"),
        ("canopy.mtcp.data.send_time_us", "100"),
        ("canopy.mtcp.data.offset", "512"),
        ("canopy.mtcp.data.data", "61:62:63"),
    ]


def test_columns_and_filters(tmp_path: Path) -> None:
    script, capture = tmp_path / "canopy.lua", tmp_path / "capture.pcap"
    result = CliRunner().invoke(app, ["print"])
    script.write_text(result.output)
    wrpcap(str(capture), in_frames(EXAMPLES))
    command = ["tshark", "-X", f"lua_script:{script}", "-r", str(capture), "-Y", "canopy.mtcp.data.seq == 3"]
    line = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert line.count("\n") == 1
    assert "MTCP" in line
    assert "MTCP DATA session=7 seq=3" in line


def test_what_is_not_canopys_is_left_alone_and_what_is_cut_is_said(tmp_path: Path) -> None:
    data = EXAMPLES[0]
    foreign = [
        b"",
        b"\x01",
        bytes(40),
        b"\x02" + data[1:],
        data[:1] + b"\xfe" + data[2:],
        data[:2] + b"\xfe" + data[3:],
    ]
    cut = [data[:-1], data[:20]]
    shown = dissected(tmp_path, [*foreign, *cut])
    assert shown[: len(foreign)] == [[]] * len(foreign)
    # The payload is shorter than the length says; the header alone is too short to be taken for one.
    assert "canopy.truncated" in [name for name, _ in shown[-2]]
    assert shown[-1] == []


def test_it_is_installed_where_wireshark_looks(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["install", "--folder", str(tmp_path / "plugins")])
    assert result.exit_code == 0
    assert (tmp_path / "plugins/canopy.lua").read_text() == plugin()
    (tmp_path / "file").write_text("")
    result = CliRunner().invoke(app, ["install", "--folder", str(tmp_path / "file/plugins")])
    assert result.exit_code == 2
    assert result.stderr.startswith("canopy wireshark: ")


def test_of_a_sealed_packet_the_beginning_is_shown(tmp_path: Path) -> None:
    data = Seal([(1, bytes([7] * 32))], 0x0102030405060708).seal(
        EXAMPLES[0], ("10.0.0.1", 40000), ("10.0.0.2", 5000), 1_800_000_000
    )
    # As "Decode As" does, for other protocols' heuristics may come first.
    (fields,) = dissected(tmp_path, [data], "-d", "udp.port==5000,canopy")
    assert (
        dict(fields).items()
        >= {
            "canopy.version": "2",
            "canopy.protocol": str(EXAMPLES[0][1]),
            "canopy.type": str(EXAMPLES[0][2]),
            "canopy.sealed.epoch": "1",
            "canopy.sealed.sender": "0x0102030405060708",
            "canopy.sealed.counter": "0",
            "canopy.sealed.sealed_at": "1800000000",
            "canopy.sealed.packet": data[20:-16].hex(":"),
            "canopy.sealed.tag": data[-16:].hex(":"),
        }.items()
    )
    assert dissected(tmp_path, [data[:30]], "-d", "udp.port==5000,canopy") == [[]], "too short"


def test_feedback_that_switches_may_merge_is_shown_whole(tmp_path: Path) -> None:
    """With who sealed it and who vouches for it; Scapy's layers say the same."""
    packet = encode_feedback(7, False, 40, 1, 2, 3, 4, 5, 6, 7, merge=True, number=9)
    seal = Seal([(1, bytes([7] * 32))], 0x0102030405060708)
    data = seal.seal_feedback(packet, ("10.0.0.1", 40000), ("10.0.0.2", 5000), 1_800_000_000)
    data += HOP.pack(Hop(0x01020304050607, 0x1112131415161718))
    (fields,) = dissected(tmp_path, [data], "-d", "udp.port==5000,canopy")
    assert (
        dict(fields).items()
        >= {
            "canopy.mtcp.feedback.cumulative": "40",
            "canopy.sealed.epoch": "1",
            "canopy.sealed.sender": "0x0102030405060708",
            "canopy.sealed.counter": "0",
            "canopy.sealed.sealed_at": "1800000000",
            "canopy.sealed.tag": data[-23:-15].hex(":"),
            "canopy.hop.counter": str(0x01020304050607),
            "canopy.hop.tag": "0x1112131415161718",
        }.items()
    )
    layer = CanopyHeader(data)
    assert (layer[SealTrailer].sender, layer[SealTrailer].sealed_at) == (0x0102030405060708, 1_800_000_000)
    assert (layer[HopTrailer].counter, layer[HopTrailer].tag) == (0x01020304050607, 0x1112131415161718)
    assert dissected(tmp_path, [data[:-1]], "-d", "udp.port==5000,canopy") == [[]]
