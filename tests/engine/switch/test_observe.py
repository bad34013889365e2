"""What a running switch shows: metrics, captures and traces, from the process that users start."""

import io
import re
import subprocess
import urllib.request
from pathlib import Path

import pytest
from finsy.proto import p4r
from prometheus_client.parser import text_string_to_metric_families
from scapy.utils import rdpcap

from engine.switch.observe import ObserveOptions, TraceWriter
from tests.engine.crossbar import frame as crossbar_frame
from tests.engine.crossbar import new_switch, raw_socket, rule, wait_for
from tests.engine.entities import action, frame, table_entry
from tests.engine.namespaces import Namespace
from tests.engine.switch.test_cli import controller, process

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def scrape(address: str) -> Samples:
    """(name, labels) -> value, read by the client library's own parser."""
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    families = text_string_to_metric_families(text)
    return {(s.name, tuple(sorted(s.labels.items()))): s.value for family in families for s in family.samples}


def value(samples: Samples, name: str, **labels: str) -> float:
    return samples[name, tuple(sorted(labels.items()))]


@pytest.mark.root
def test_metrics_captures_and_trace_of_a_running_switch(wired: Namespace, tmp_path: Path) -> None:
    address, folder = f"unix:{tmp_path}/switch", tmp_path / "captures"
    options = ["-i", "1@s1", "-i", "2@s2", "--grpc-server-addr", address, "--metrics", "127.0.0.1:9101"]
    with (
        process(*options, "--pcap", str(folder), "--trace") as switch,
        controller(address) as client,
        raw_socket("h1") as host1,
        raw_socket("h2") as host2,
    ):
        assert switch.ready() == f"ready {address} device 1"
        assert scrape("127.0.0.1:9101")
        client.arbitrate(1)
        client.push()
        client.insert(table_entry("l2", {"dst": 2}, action("forward", port=2)))
        client.read(p4r.TableEntry())
        host1.send(frame(2, src=5))
        assert host2.recv(2000).startswith(frame(2, src=5))
        host1.send(frame(7, src=5))
        wait_for(lambda: value(scrape("127.0.0.1:9101"), "canopy_packets_total", direction="in") == 2)
        samples = scrape("127.0.0.1:9101")
        wait_for(lambda: len(rdpcap(str(folder / "s1_in.pcap"))) == 2)
        status, stderr = switch.stop()

    assert status == 0
    at_1, at_2 = {"port": "1", "interface": "s1"}, {"port": "2", "interface": "s2"}
    assert value(samples, "canopy_port_up", **at_1) == 1
    assert value(samples, "canopy_port_packets_total", direction="rx", **at_1) == 2
    assert value(samples, "canopy_port_packets_total", direction="tx", **at_2) == 1
    assert value(samples, "canopy_port_queue_packets", direction="tx", **at_2) == 0
    assert value(samples, "canopy_port_drops_total", direction="tx", reason="queue", **at_2) == 0
    assert sum(count for (name, _), count in samples.items() if name == "canopy_drops_total") == 1
    l2 = next(dict(labels)["table"] for name, labels in samples if "l2" in str(labels) and "table_entries" in name)
    assert value(samples, "canopy_table_entries", table=l2) == 1
    assert value(samples, "canopy_table_capacity", table=l2) >= 1
    assert value(samples, "canopy_p4runtime_calls_total", method="Write", code="OK") == 1
    assert value(samples, "canopy_p4runtime_calls_total", method="Read", code="OK") == 1
    assert value(samples, "canopy_p4runtime_open_calls", method="StreamChannel") == 1
    assert value(samples, "process_resident_memory_bytes") > 1e6

    arrived, left = ([bytes(packet) for packet in rdpcap(str(folder / name))] for name in ("s1_in.pcap", "s2_out.pcap"))
    assert arrived == [frame(2, src=5).ljust(len(arrived[0]), b"\0"), frame(7, src=5).ljust(len(arrived[0]), b"\0")]
    assert left == arrived[:1]
    assert len(rdpcap(str(folder / "s1_out.pcap"))) == 0

    assert re.search(r"^\[\d+\.\d{6}\] \[1\] Processing packet of \d+ bytes received on port 1$", stderr, re.MULTILINE)
    assert re.search(r"^\[\d+\.\d{6}\] \[1\] Table '.*l2': hit with handle 0$", stderr, re.MULTILINE)
    assert re.search(r"^\[\d+\.\d{6}\] \[1>2\] Transmitting packet of size \d+ out of port 2$", stderr, re.MULTILINE)
    assert re.search(r"^\[\d+\.\d{6}\] \[2\] Table '.*l2': miss$", stderr, re.MULTILINE)


@pytest.mark.root
def test_tshark_reads_the_captures_of_one_port_while_they_grow(wired: Namespace, tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/switch"
    limits = ["--pcap", str(tmp_path), "--pcap-port", "2", "--pcap-limit-mb", "0.01"]
    with (
        process("-i", "1@s1", "-i", "2@s2", "--grpc-server-addr", address, *limits) as switch,
        controller(address) as client,
        raw_socket("h1") as host1,
        raw_socket("h2") as host2,
    ):
        switch.ready()
        client.arbitrate(1)
        client.push()
        client.insert(table_entry("l2", {"dst": 2}, action("forward", port=2)))
        for number in range(30):
            host1.send(frame(2, src=number).ljust(1000, b"\0"))
            host2.recv(2000)
        # Nine frames of 1,016 bytes fit a file.
        wait_for(lambda: len(rdpcap(str(tmp_path / "s2_out.pcap"))) == 30 - 3 * 9)
        assert not list(tmp_path.glob("s1*"))
        command = ["tshark", "-r", str(tmp_path / "s2_out.pcap"), "-T", "fields", "-e", "eth.src", "-e", "frame.len"]
        shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert shown.splitlines() == [f"00:00:00:00:00:{number:02x}\t1000" for number in (27, 28, 29)]
        aside = rdpcap(str(tmp_path / "s2_out.pcap.1"))
        assert len(aside) == 9
        assert switch.stop()[0] == 0


def test_the_trace_follows_the_switch_that_forwards() -> None:
    first, second = new_switch(), new_switch()
    for switch in (first, second):
        switch.set_trace(1000)
        rule(switch, 1, "forward", 2)
    out = io.StringIO()
    current = first
    writer = TraceWriter(lambda: current, out)
    first.process(1, crossbar_frame(1))
    wait_for(lambda: "Transmitting" in out.getvalue())
    current = second
    second.process(1, crossbar_frame(2))
    second.process(1, crossbar_frame(3))
    writer.stop()
    lines = out.getvalue().splitlines()
    assert [line.split()[1] for line in lines if "Processing" in line] == ["[1]", "[1]", "[2]"]


def test_ports_that_are_captured() -> None:
    assert not ObserveOptions().captures(1)
    assert ObserveOptions(pcap=Path("x")).captures(1)
    some = ObserveOptions(pcap=Path("x"), pcap_ports=frozenset({2}))
    assert (some.captures(1), some.captures(2)) == (False, True)
