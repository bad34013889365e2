"""The packets, byte by byte, and as Scapy and Wireshark's own ALC dissector read them."""

import contextlib
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.utils import wrpcap

from hosts.dissect.layers import HEADLESS
from hosts.protocols.webrc.flute.transmission import Transmission
from hosts.protocols.webrc.packets import (
    FDT_TOI,
    LINK_BYTES,
    NO_CODE,
    RAPTORQ,
    Alc,
    encode,
    encode_close,
    encode_head,
    header_bytes,
    parse,
    payload_bytes,
    read_plain,
)
from hosts.wire.header import PacketError

U32 = st.integers(0, 2**32 - 1)
PLAIN = {
    "fti": st.just(b""),
    "content_encoding": st.just(0),
    "sent_ntp": st.none(),
    "flute_version": st.just(2),
    "is_controlled": st.just(True),
}
SHORT = st.builds(
    Alc,
    U32,
    st.integers(0, 255),
    st.integers(0, 255),
    st.integers(0, 65535),
    st.just(False),
    U32,
    st.sampled_from([NO_CODE, RAPTORQ]),
    U32,
    st.binary(max_size=100),
    st.booleans(),
    fdt_instance=st.none(),
    description=st.just(b""),
    **PLAIN,
).filter(lambda packet: packet.slot_index or packet.channel or packet.psn)
LONG = st.builds(
    Alc,
    U32,
    st.integers(0, 65535),
    st.integers(0, 65535),
    U32,
    st.just(True),
    U32,
    st.just(RAPTORQ),
    U32,
    st.binary(max_size=100),
    st.booleans(),
    fdt_instance=st.none(),
    description=st.just(b""),
    **PLAIN,
).filter(lambda packet: packet.slot_index or packet.channel or packet.psn)
FTI = Transmission(NO_CODE, 6, 6, 1).encode()
DATA = Alc(7, 3, 47, 513, toi=1, encoding=RAPTORQ, payload_id=2 << 24 | 5, symbol=b"symbol..")
FDT = Alc(7, 3, 47, 514, toi=FDT_TOI, encoding=NO_CODE, symbol=b"<FDT/>", fdt_instance=1, fti=FTI)
WIDE = Alc(9, 300, 310, 70_000, is_long=True, payload_id=1, symbol=b"s")


def test_the_bytes_of_a_packet_of_data() -> None:
    # V = 1, C = 0, S = 1, O = 1; 4 words; codepoint 6; TSI 3, CN 47, PSN 513 (RFC 3738, 5.1); RFC 6330, 3.2.
    expected = "10a00406 032f0201 00000007 00000001 02000005" + b"symbol..".hex()
    assert encode(DATA) == bytes.fromhex(expected)
    assert len(encode(DATA)) == header_bytes(is_long=False) + 8


def test_the_long_format() -> None:
    assert encode(WIDE) == bytes.fromhex("14a00506 012c0136 00011170 00000009 00000001 00000001 73")


def test_a_packet_of_the_size_that_was_asked_for() -> None:
    for is_long in (False, True):
        symbol = bytes(payload_bytes(1024, is_long=is_long))
        data = encode(Alc(1, 2, 3, 4, is_long, symbol=symbol))
        assert len(data) + LINK_BYTES == 1024


@given(st.one_of(SHORT, LONG).filter(lambda packet: not packet.closes))
def test_packets_without_extensions_are_made_alike_both_ways(packet: Alc) -> None:
    head = packet.session, packet.slot_index, packet.channel, packet.psn, packet.is_long, packet.toi
    assert encode_head(*head, packet.encoding, packet.payload_id) + packet.symbol == encode(packet)


@given(st.one_of(SHORT, LONG))
def test_what_is_sent_is_read(packet: Alc) -> None:
    assert parse(encode(packet)) == packet


@given(st.one_of(SHORT, LONG))
def test_packets_without_extensions_are_read_alike_both_ways(packet: Alc) -> None:
    data = encode(packet)
    is_plain = bool(packet.symbol) and not packet.closes
    for is_long in (False, True):
        found = read_plain(data + b"behind it", len(data), is_long=is_long)
        assert found == (packet if is_plain and is_long == packet.is_long else None)
    assert read_plain(data, len(data) + 1, is_long=packet.is_long) is None


@pytest.mark.parametrize("packet", [FDT, DATA._replace(slot_index=0, channel=0, psn=0)])
def test_what_is_not_as_usual_is_read_by_the_long_way(packet: Alc) -> None:
    assert read_plain(encode(packet), len(encode(packet)), is_long=False) is None


def test_the_fdt_and_the_end_of_the_session_are_read() -> None:
    assert parse(encode(FDT)) == FDT
    for is_long in (False, True):
        data = encode_close(7, 1, 2, 3, is_long=is_long)
        end = parse(data)
        assert end.closes
        assert (end.session, end.slot_index, end.channel, end.psn, end.is_long) == (7, 1, 2, 3, is_long)
        layer = HEADLESS["webrc"](data)
        assert (layer.session, layer.channel, layer.close_session, bytes(layer.payload)) == (7, 2, 1, b"")
        assert not hasattr(layer, "toi")  # a packet without payload is of no object (RFC 6726, 3.1)
        with pytest.raises(PacketError):
            parse(data + b"....")
    with_object = encode(Alc(7, 1, 2, 3, closes=True))[:-4]  # as other senders may say it
    assert parse(with_object).closes


@given(st.binary(max_size=80))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(PacketError):
        parse(data)


@given(st.integers(0, 35), st.integers(0, 255))
def test_a_changed_byte_is_read_or_refused(at: int, value: int) -> None:
    data = bytearray(encode(FDT))
    data[at % len(data)] = value
    with contextlib.suppress(PacketError):
        parse(bytes(data))


def test_scapy_reads_the_same_fields() -> None:
    webrc = HEADLESS["webrc"]
    layer = webrc(encode(DATA))
    assert (layer.session, layer.toi, layer.codepoint) == (7, 1, RAPTORQ)
    assert (layer.slot_index, layer.channel, layer.psn, layer.payload_id) == (3, 47, 513, 2 << 24 | 5)
    assert bytes(layer.payload) == b"symbol.."
    wide = webrc(encode(WIDE))
    assert (wide.slot_index, wide.channel, wide.psn, wide.session) == (300, 310, 70_000, 9)
    table = webrc(encode(FDT))
    assert len(table.extensions) == 5
    assert bytes(table.payload) == b"<FDT/>"
    assert bytes(layer) == encode(DATA)


@pytest.mark.parametrize("packet", [DATA, FDT, WIDE])
def test_wiresharks_own_dissector_reads_them_as_alc(tmp_path: Path, packet: Alc) -> None:
    capture = tmp_path / "capture.pcap"
    udp = IP(src="10.0.0.1", dst="232.6.0.1") / UDP(sport=40000, dport=5000)
    wrpcap(str(capture), [Ether(src="02:00:00:00:00:01", dst="01:00:5e:06:00:01") / udp / encode(packet)])
    fields = ["rmt-lct.version", "rmt-lct.tsi", "rmt-lct.toi", "rmt-lct.codepoint", "rmt-lct.cci"]
    fields += ["rmt-fec.sbn", "rmt-fec.esi"]
    command = ["tshark", "-r", str(capture), "-d", "udp.port==5000,alc", "-T", "fields"]
    for field in fields:
        command += ["-e", field]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip("\n").split("\t")
    version, session, toi, codepoint, cci, block, symbol = shown
    assert (int(version), int(session, 0), int(toi, 0), int(codepoint)) == (
        1,
        packet.session,
        packet.toi,
        packet.encoding,
    )
    assert cci.replace(":", "") == encode(packet)[4 : 12 if packet.is_long else 8].hex()
    bits = 24 if packet.encoding == RAPTORQ else 16
    assert (int(block, 0), int(symbol, 0)) == (packet.payload_id >> bits, packet.payload_id & (1 << bits) - 1)
