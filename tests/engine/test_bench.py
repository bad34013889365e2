"""`canopy bench switch`: that it measures what it says, and how it reports. The numbers are the machine's."""

import json
import os
import shutil

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from typer.testing import CliRunner

from engine import bench
from engine.bench_program import (
    MEMBER_PORTS,
    SOURCE_PORT,
    checksum,
    data_frame,
    embedded_switch,
    join_frame,
    joined_switch,
)


def test_its_frames_are_what_a_kernel_sends() -> None:
    data = Ether(data_frame())
    assert len(data) == 1000
    assert (data.dst, data[IP].dst, data[UDP].len) == ("01:00:5e:01:01:01", "232.1.1.1", 966)
    join = Ether(join_frame(3))
    assert (join[IP].src, join[IP].dst, join[IP].ttl) == ("10.0.0.3", "224.0.0.22", 1)
    report = join_frame(3)[38:]  # behind Ethernet and an IPv4 header with one option
    assert report[:2] + report[4:] == bytes.fromhex("22 00 0000 0001 05 00 0001 e8010101 0a000001")
    assert checksum(report) == 0
    for packet in (data, join):
        rebuilt = packet.copy()
        del rebuilt[IP].chksum
        assert Ether(bytes(rebuilt))[IP].chksum == packet[IP].chksum


def test_every_member_gets_a_copy_once_it_has_joined() -> None:
    assert embedded_switch().process(SOURCE_PORT, data_frame()) == []
    copies = joined_switch().process(SOURCE_PORT, data_frame())
    assert [port for port, _ in copies] == list(MEMBER_PORTS)
    assert {len(packet) for _, packet in copies} == {1000}


def test_in_process_figure() -> None:
    figure = bench.in_process(0.05)
    assert figure.value > 0
    assert (figure.target, figure.peer) == (300_000, None)


@pytest.mark.root
def test_json_holds_both_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda program: None)
    result = CliRunner().invoke(bench.app, ["switch", "--json", "--seconds", "0.1"])
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    in_process, af_packet = answer["figures"]
    assert in_process["unit"] == af_packet["unit"] == "output packets/s"
    assert in_process["value"] > af_packet["value"] > 0
    assert af_packet["peer"] is None
    assert "not on PATH" in answer["notes"][0]


def test_without_root_it_says_what_it_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    result = CliRunner().invoke(bench.app, ["switch", "--seconds", "0.1"])
    assert result.exit_code == 0, result.output
    assert "Only root" in result.stdout
    assert "in process" in result.stdout


@pytest.mark.bmv2
@pytest.mark.root
def test_simple_switch_grpc_is_measured_the_same_way() -> None:
    program = shutil.which(bench.BMV2)
    if program is None:
        pytest.skip(f"{bench.BMV2} is not on PATH")
    figure = bench.af_packet(0.2, program)
    assert figure.peer == bench.BMV2
    assert figure.peer_value is not None
    assert figure.peer_value > 0
