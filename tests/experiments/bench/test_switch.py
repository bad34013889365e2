"""`canopy bench switch`: that it measures what it says, and how it reports. The numbers are the machine's."""

import json
import os
import random
import re
import shutil
import struct
from pathlib import Path
from typing import get_args

import canopy_engine
import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.utils import rdpcap
from typer.testing import CliRunner

from engine import p4c
from engine.switch.backend import Backend
from experiments.bench.switch import build_programs, cli, feedback, files, footprint, runs, tables
from experiments.bench.switch.forwarding import L2, L3
from experiments.bench.switch.in_process import in_process
from experiments.bench.switch.network import Bed
from experiments.bench.switch.replication import MEMBER_PORTS, REPLICATION, SOURCE_PORT, data_frame, join_frame
from experiments.bench.switch.workload import Workload, checksum, embedded_switch, joined_switch
from experiments.figures.bench import Figure
from tests.engine.compiled_again import assert_the_same, assert_unchanged
from tests.engine.crossbar import raw_socket
from tests.engine.namespaces import add_veth, namespaces

WORKLOADS = (REPLICATION, L2, L3)


def test_its_frames_are_what_a_kernel_sends() -> None:
    data = Ether(data_frame())
    assert len(data) == 1000
    assert (data.dst, data[IP].dst, data[UDP].len) == ("01:00:5e:01:01:01", "232.1.1.1", 966)
    join = Ether(join_frame(3))
    assert (join[IP].src, join[IP].dst, join[IP].ttl) == ("10.0.0.3", "224.0.0.22", 1)
    report = join_frame(3)[38:]  # behind Ethernet and an IPv4 header with one option
    assert report[:2] + report[4:] == bytes.fromhex("22 00 0000 0001 05 00 0001 e8010101 0a000001")
    assert checksum(report) == 0
    for packet in (data, join, Ether(L3.frame)):
        rebuilt = packet.copy()
        del rebuilt[IP].chksum
        assert Ether(bytes(rebuilt))[IP].chksum == packet[IP].chksum


def test_every_member_gets_a_copy_once_it_has_joined() -> None:
    assert embedded_switch(REPLICATION).process(SOURCE_PORT, data_frame()) == []
    copies = joined_switch(REPLICATION).process(SOURCE_PORT, data_frame())
    assert [port for port, _ in copies] == list(MEMBER_PORTS)
    assert {len(packet) for _, packet in copies} == {1000}


def test_l2_forwards_by_destination_and_reports_unknown_sources() -> None:
    switch = embedded_switch(L2)
    assert switch.process(1, L2.frame) == [(2, L2.frame)]
    assert switch.take_events() == []
    unknown = L2.frame[:6] + bytes(6) + L2.frame[12:]
    assert switch.process(1, unknown) == [(2, unknown)]
    (event,) = switch.take_events()
    assert event["kind"] == "digest"


def test_l3_rewrites_addresses_ttl_and_checksum() -> None:
    ((port, packet),) = embedded_switch(L3).process(1, L3.frame)
    before, after = Ether(L3.frame), Ether(packet)
    assert (port, after.src, after[IP].ttl) == (2, "02:00:00:00:00:02", before[IP].ttl - 1)
    assert after.dst != before.dst
    del before[IP].chksum
    before[IP].ttl -= 1
    assert after[IP].chksum == Ether(bytes(before))[IP].chksum
    damaged = bytearray(L3.frame)
    damaged[24] ^= 1
    assert embedded_switch(L3).process(1, bytes(damaged)) == []


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_in_process_figure(workload: Workload) -> None:
    figure = in_process(workload, 1.0, 0.02)
    assert figure.value > 0
    assert figure.is_met
    assert figure.peer is None


def test_all_feedback_that_is_measured_is_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feedback, "_ROUNDS", 1)
    monkeypatch.setattr(feedback, "_PACKETS", 120)
    for backend in get_args(Backend):
        mtcp, sealed, rla, sealed_rla, asked, sealed_asked = figures = feedback.feedback(backend)
        assert [figure.name.split(",")[0] for figure in figures] == [
            "MTCP's feedback",
            "MTCP's sealed feedback",
            "RLA's feedback",
            "RLA's sealed feedback",
            "Arbor's requests",
            "Arbor's sealed requests",
        ]
        assert sealed.value > mtcp.value > 0
        assert sealed_rla.value > rla.value > 0
        assert sealed_asked.value > asked.value > 0


def test_a_figure_meets_its_targets_or_not() -> None:
    assert Figure("rate", 10.0, "1/s", target=10.0).is_met
    assert not Figure("rate", 9.9, "1/s", target=10.0).is_met
    assert not Figure("rate", 10.0, "1/s", target=5.0, peer="other", peer_value=2.0, ratio_target=10.0).is_met
    assert Figure("rate", 20.0, "1/s", target=5.0, peer="other", peer_value=2.0, ratio_target=10.0).is_met
    assert not Figure("rate", 9.9, "1/s", target=10.0, peer="other", peer_value=0.1, ratio_target=10.0).is_met
    assert Figure("rate", 20.0, "1/s", ratio_target=10.0).is_met is None  # no peer was measured
    assert Figure("rate", 20.0, "1/s").is_met is None
    assert not Figure("cost", 2.1, "times", target=2.0, at_most=True).is_met


def test_full_tables_hold_what_they_say_and_every_packet_hits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "EXACT_ENTRIES", 500)
    monkeypatch.setattr(tables, "LPM_ENTRIES", 500)
    monkeypatch.setattr(tables, "TERNARY_ENTRIES", 200)
    monkeypatch.setattr(tables, "MANY_FLOWS", 100)
    empty, full, many, ratio = tables.full_tables(0.02)
    assert full.name == "500 exact, 500 lpm, 200 ternary entries"
    assert ratio.value == pytest.approx(many.value / empty.value)

    rng = random.Random(1)
    packets = tables.random_packets(rng)
    switch = tables.empty_switch()
    tables.fill(switch, packets, rng)
    assert len(switch.table_entries("TablesIngress.exact_match")) == 500
    assert len(switch.table_entries("TablesIngress.lpm_match")) == 500
    assert len(switch.table_entries("TablesIngress.ternary_match")) == 200
    for packet in packets:
        ((port, frame),) = switch.process(1, tables.frame(packet))
        assert (port, Ether(frame)[IP].tos) == (2, 0x2E)


def test_footprint_of_the_embedded_switch() -> None:
    seconds, mebibytes = footprint.embedded(REPLICATION)
    assert 0.0 < seconds < 60.0
    assert 1.0 < mebibytes < 1000.0


@pytest.mark.root
def test_json_holds_all_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda program: None)
    monkeypatch.setattr(cli, "full_tables", lambda seconds: [Figure("tables", 1.5, "times", 2.0, at_most=True)])
    monkeypatch.setattr(cli, "feedback", lambda how="native": [Figure(f"feedback, {how}", 1.0, "ns a packet", 2.0)])
    result = CliRunner().invoke(cli.app, ["switch", "--json", "--seconds", "0.1"])
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    figures = {figure["name"]: figure for figure in answer["figures"]}
    in_process = 3 + 1  # by either back end
    assert len(figures) == 2 * in_process + 1 + 2 * 3 + 2
    for workload in WORKLOADS:
        inside, outside = figures[f"{workload.title}, in process"], figures[f"{workload.title}, AF_PACKET"]
        assert inside["unit"] == outside["unit"] == "packets/s"
        assert inside["value"] > 0
        assert outside["value"] > 0
        assert outside["peer_value"] is None
    assert figures[f"{REPLICATION.title}, {runs.RUN} sent at once, AF_PACKET"]["value"] > 0
    assert "not on PATH" in answer["notes"][0]


def test_datagrams_sent_at_once_are_one_frame_that_can_be_cut() -> None:
    frame = REPLICATION.frame
    run = runs.merged(frame, 3)
    needs_csum, kind, headers, size, start, offset = struct.unpack("=BBHHHH", run[:10])
    assert (needs_csum, kind, headers, size, start, offset) == (1, 5, 42, len(frame) - 42, 34, 6)
    whole = Ether(run[10:])
    assert (whole[IP].len, whole[UDP].len) == (len(run) - 10 - 14, 8 + 3 * size)
    assert checksum(bytes(run[24:44])) == 0
    # What the kernel adds up makes the whole datagram's checksum of it.
    total = int.from_bytes(run[50:52], "big")
    complete = whole.copy()
    del complete[UDP].chksum
    assert checksum(run[44:50] + bytes(2) + run[52:] + total.to_bytes(2, "big")) == Ether(bytes(complete))[UDP].chksum


def test_packets_are_counted_by_bytes_where_frames_are_merged() -> None:
    size = len(REPLICATION.frame)
    assert runs.packets(5 * size, 5, size) == 5
    assert runs.packets(len(runs.merged(REPLICATION.frame, 32)) - 10, 1, size) == 32
    assert runs.packets(2 * len(L2.frame), 2, len(L2.frame)) == 2


def test_without_root_it_says_what_it_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(shutil, "which", lambda program: None)
    monkeypatch.setattr(cli, "full_tables", lambda seconds: [Figure("tables", 1.5, "times", 2.0, at_most=True)])
    monkeypatch.setattr(cli, "feedback", lambda how="native": [Figure(f"feedback, {how}", 1.0, "ns a packet", 2.0)])
    monkeypatch.setenv("COLUMNS", "200")
    result = CliRunner().invoke(cli.app, ["switch", "--seconds", "0.1"])
    assert result.exit_code == 0, result.output
    assert "Only root" in result.stdout
    assert "in process" in result.stdout


@pytest.mark.bmv2
@pytest.mark.root
def test_simple_switch_grpc_is_measured_the_same_way() -> None:
    program = shutil.which(cli.BMV2)
    if program is None:
        pytest.skip(f"{cli.BMV2} is not on PATH")
    for figure in (cli.af_packet(L2, 0.1, program), cli.af_packet_runs(L2, 0.1, program)):
        assert figure.peer == cli.BMV2
        assert figure.peer_value is not None
        assert figure.peer_value > 0


@pytest.mark.bmv2
def test_simple_switch_grpc_works_through_files() -> None:
    program = shutil.which(cli.BMV2)
    if program is None:
        pytest.skip(f"{cli.BMV2} is not on PATH")
    assert files.from_files(program, L2, 0.2) > 0


def test_files_for_simple_switch_grpc_are_captures(tmp_path: Path) -> None:
    """The joins come first by their times, and every port has a file, if an empty one."""
    files.write_inputs(tmp_path, REPLICATION, 3)
    packets = {port: rdpcap(str(tmp_path / f"p{port}_in.pcap")) for port in REPLICATION.ports}
    assert [bytes(packet) for packet in packets[SOURCE_PORT]] == [REPLICATION.frame] * 3
    first = min(packet.time for packet in packets[SOURCE_PORT])
    for port in MEMBER_PORTS:
        (join,) = packets[port]
        assert bytes(join) == join_frame(port)
        assert join.time < first
    files.write_inputs(tmp_path, L2, 1)
    assert list(rdpcap(str(tmp_path / "p2_in.pcap"))) == []


@pytest.mark.root
def test_a_flood_is_counted_behind_a_sink_too() -> None:
    """What a flood says it sent arrives at the other end of a pair; with a sink no socket there sees it."""
    with namespaces(1) as (space,), space.entered():
        add_veth("s1", "h1")
        with raw_socket("s1") as socket:
            assert canopy_engine.flood("h1", L2.frame, 0.02, 1000.0) > 0
            assert socket.recv(2048) == L2.frame
        sink = canopy_engine.Sink("s1")
        before = _received("s1")
        sent = canopy_engine.flood("h1", L2.frame, 0.02, 1000.0)
        assert _received("s1") - before == sent
        del sink
        with pytest.raises(OSError, match="h9"):
            canopy_engine.Sink("h9")


@pytest.mark.root
def test_a_switch_that_reads_no_merged_frames_gets_them_cut() -> None:
    with namespaces(1) as (space,), space.entered():
        bed = Bed(L2, in_runs=True)
        bed.make_interfaces()
        for of_a_run in (1, runs.RUN):
            if of_a_run > 1:
                bed.cut()
            with raw_socket("s1") as socket:
                sent = bed.send(0.02, 1000.0)
                frames = [socket.recv(65_536) for _ in range(sent // runs.RUN * of_a_run)]
            assert sent == runs.packets(sum(map(len, frames)), len(frames), len(L2.frame))
            assert {Ether(frame)[UDP].len for frame in frames} == {8 + (len(L2.frame) - 42) * runs.RUN // of_a_run}


def _received(interface: str) -> int:
    lines = Path("/proc/thread-self/net/dev").read_text().splitlines()
    (line,) = (line for line in lines if line.strip().startswith(f"{interface}:"))
    return int(line.partition(":")[2].split()[1])


def test_programs_have_not_changed_since_they_were_compiled() -> None:
    programs = build_programs.PROGRAMS
    assert_unchanged(programs)
    for name in programs.artifacts:
        assert re.findall(r'"(?:filename|program)"\s*:\s*"/[^"]*"', (programs.folder / name).read_text()) == []


if p4c.find_p4c() is not None:

    def test_compiling_again_gives_the_same(tmp_path: Path) -> None:
        programs = build_programs.PROGRAMS
        assert_the_same(programs.stamp, programs.artifacts, programs.compile_into, build_programs, tmp_path)
