"""Our packets against Scapy's idea of them."""

from __future__ import annotations

import random
from ipaddress import IPv4Address

import pytest
from scapy.layers.igmp import IGMPv3_MQ, IGMPv3_MR
from scapy.layers.inet import IP
from scapy.layers.l2 import Ether
from scapy.utils import checksum as scapy_checksum

from controller import igmp

MAC = "02:00:00:00:00:01"
SOURCE = IPv4Address("10.0.0.7")
GROUP = IPv4Address("232.129.2.3")
ZERO = IPv4Address("0.0.0.0")


@pytest.mark.parametrize("seed", range(20))
def test_checksum_is_the_internet_checksum(seed: int) -> None:
    rng = random.Random(seed)
    data = rng.randbytes(rng.randint(0, 100))
    assert igmp.checksum(data) == scapy_checksum(data + b"\0" * (len(data) % 2))


def test_group_mac_takes_23_bits() -> None:
    assert igmp.group_mac(GROUP).hex(":") == "01:00:5e:01:02:03"


def decode_time_code(code: int) -> int:
    return code if code < 128 else ((code & 0xF) | 0x10) << (((code >> 4) & 7) + 3)


def test_time_codes_are_the_greatest_not_above() -> None:
    values = [decode_time_code(code) for code in range(256)]
    assert values == sorted(values)
    for value in [*range(300), 1000, 31743, 31744, 31745, 10**6]:
        expected = max(v for v in values if v <= value)
        assert decode_time_code(igmp.encode_time_code(value)) == expected


def test_general_query() -> None:
    frame = igmp.query(MAC, ZERO, response_s=2.0, interval_s=10.0, robustness=2)
    packet = Ether(frame)
    assert (packet.src, packet.dst) == (MAC, "01:00:5e:00:00:01")
    ip = packet[IP]
    assert (ip.src, ip.dst, ip.ttl, ip.proto, ip.tos) == ("0.0.0.0", "224.0.0.1", 1, 2, 0xC0)
    assert ip.options[0].option == 20  # router alert
    assert scapy_checksum(frame[14:38]) == 0
    assert scapy_checksum(frame[38:]) == 0
    assert len(frame) == 14 + ip.len == 14 + 24 + 12
    query = packet[IGMPv3_MQ]
    assert (query.type, query.mrcode, query.gaddr) == (0x11, 20, "0.0.0.0")
    assert (query.s, query.qrv, query.qqic, query.numsrc) == (0, 2, 10, 0)


@pytest.mark.parametrize(("source", "sources"), [(SOURCE, ["10.0.0.7"]), (None, [])])
def test_query_of_one_group(source: IPv4Address | None, sources: list[str]) -> None:
    packet = Ether(igmp.query(MAC, ZERO, (source, GROUP), response_s=1.0, interval_s=10.0, robustness=2))
    assert (packet.dst, packet[IP].dst) == ("01:00:5e:01:02:03", str(GROUP))
    query = packet[IGMPv3_MQ]
    assert (query.mrcode, query.gaddr, query.numsrc, query.srcaddrs) == (10, str(GROUP), len(sources), sources)
    assert scapy_checksum(bytes(packet)[38:]) == 0


def test_a_response_time_of_zero_would_mean_version_1() -> None:
    assert igmp.query(MAC, ZERO, response_s=0.01, interval_s=10, robustness=2)[39] == 1


@pytest.mark.parametrize(
    ("source", "join", "record", "sources"),
    [(SOURCE, True, 5, ["10.0.0.7"]), (SOURCE, False, 6, ["10.0.0.7"]), (None, True, 4, []), (None, False, 3, [])],
)
def test_report(source: IPv4Address | None, join: bool, record: int, sources: list[str]) -> None:
    frame = igmp.report(MAC, ZERO, [(source, GROUP)], join=join)
    packet = Ether(frame)
    assert (packet.dst, packet[IP].dst, packet[IP].ttl) == ("01:00:5e:00:00:16", "224.0.0.22", 1)
    assert scapy_checksum(frame[38:]) == 0
    assert packet[IGMPv3_MR].numgrp == 1
    found = packet[IGMPv3_MR].records[0]
    assert (found.rtype, found.maddr, found.numsrc, found.srcaddrs) == (record, str(GROUP), len(sources), sources)


def test_a_report_of_many_groups_fits_a_frame() -> None:
    groups = [(SOURCE if n % 2 else None, GROUP + n) for n in range(igmp.MAX_RECORDS)]
    frame = igmp.report(MAC, ZERO, groups, join=True)
    assert len(frame) <= 1514
    assert scapy_checksum(frame[38:]) == 0
    records = Ether(frame)[IGMPv3_MR].records
    assert [(record.maddr, record.srcaddrs) for record in records] == [
        (str(group), [str(source)] if source else []) for source, group in groups
    ]
    with pytest.raises(ValueError, match="too many"):
        igmp.report(MAC, ZERO, [*groups, (None, GROUP)], join=True)
