"""Kept captures of each kind of session: read as they were, and dissected by Wireshark."""

import lzma
import subprocess
from pathlib import Path

import pytest

from hosts.protocols.webrc.flute.reception import Reception
from hosts.protocols.webrc.packets import Alc, parse
from tests.hosts.protocols.webrc.captures import DATA, KINDS, PATH, PEER, PEERS, REALTIME, sessions
from tests.hosts.protocols.webrc.memory import GROUP

FILES = dict(zip(range(GROUP.port, REALTIME), KINDS, strict=True)) | {PEER: "flute-alc"}


@pytest.fixture(scope="module")
def kept() -> dict[int, list[Alc]]:
    return {port: [parse(data) for _, data in found] for port, found in sessions().items()}


@pytest.mark.parametrize("port", FILES, ids=FILES.values())
def test_a_kept_session_is_still_read(kept: dict[int, list[Alc]], port: int) -> None:
    reception = Reception()
    found = [file for packet in kept[port] if not packet.closes for file in reception.add(packet, 0.0)]
    assert [file.data for file in found] == [PEERS if port == PEER else DATA]
    assert kept[port][-1].closes == (port != PEER)


def test_the_kinds_are_what_they_are_called(kept: dict[int, list[Alc]]) -> None:
    last = {name: kept[port] for port, name in FILES.items()}
    assert {packet.encoding for packet in last["reed-solomon"]} >= {0, 5}
    assert {packet.flute_version for packet in last["no-code, version 1"] if packet.fdt_instance is not None} == {1}
    assert all(packet.is_long for packet in last["long format"])
    assert {packet.encoding for packet in kept[REALTIME]} == {0}
    assert not any(packet.is_controlled for packet in kept[PEER])


def test_wireshark_finds_no_malformed_field(tmp_path: Path) -> None:
    """But in the FDTs of flute-alc, which have several symbols: each is shown as if it were a whole document."""
    capture = tmp_path / "sessions.pcap"
    capture.write_bytes(lzma.decompress(PATH.read_bytes()))
    command = ["tshark", "-r", str(capture), "-d", f"udp.port=={GROUP.port}-{PEER},alc", "-T", "fields"]
    for field in ("udp.dstport", "rmt-lct.toi", "frame.protocols", "_ws.malformed", "_ws.expert"):
        command += ["-e", field]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(shown) == sum(map(len, sessions().values()))
    for line in shown:
        port, toi, protocols, *faults = line.split("\t")
        assert protocols.startswith("eth:ethertype:ip:udp:alc:rmt-lct")
        if int(port) != PEER or int(toi, 0) != 0:
            assert not any(faults), line
