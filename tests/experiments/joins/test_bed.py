"""A Linux bridge between namespaces. Needs root."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.joins.bed import Bed
from experiments.lan.namespaces import BedError
from tests.waiting import wait_for
from topologies.emulation.kernel import network_namespace, process_start_time

pytestmark = pytest.mark.root

SCRIPT = """
import subprocess, sys, time
from pathlib import Path
from experiments.joins.bed import Bed
from topologies.emulation.child import Child
with Bed(["r1"], 2e6, 50_000, fast_leave=False) as bed:
    child = Child("r1", bed.command("r1", "sleep", "60"), Path(sys.argv[1]))
    print(child.pid, flush=True)
    time.sleep(60)
"""


def bridge(bed: Bed, *words: str) -> str:
    return subprocess.run(bed.command("bridge", *words), check=True, capture_output=True, text=True).stdout


def descriptors() -> set[str]:
    """The network namespaces that this process holds."""
    links = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        try:
            links.add(os.readlink(descriptor))
        except OSError:  # the one that lists them
            continue
    return {link for link in links if link.startswith("net:")}


def named() -> set[str]:
    """The network namespaces with a name. Others on this machine may come and go."""
    listed = subprocess.run(["ip", "netns", "list"], check=True, capture_output=True, text=True).stdout
    return {line.split()[0] for line in listed.splitlines() if line.startswith("canopy-")}


def within(pid: int, inode: int) -> bool:
    return process_start_time(pid) is not None and network_namespace(pid) == inode


def test_a_bridge_snoops_and_shapes_and_leaves_nothing_behind() -> None:
    before, outside = descriptors(), network_namespace("thread-self")
    with Bed(["r1", "r2"], 2e6, 50_000, fast_leave=True) as bed:
        settings = bridge(bed, "ip", "-d", "link", "show", "br0")
        assert "mcast_snooping 1" in settings
        assert "mcast_querier 1" in settings
        assert "mcast_igmp_version 3" in settings
        assert "fastleave on" in bridge(bed, "bridge", "-d", "link", "show", "dev", "r1")
        assert "rate 2Mbit" in bridge(bed, "tc", "qdisc", "show", "dev", "r2")
        assert "tbf" not in bridge(bed, "tc", "qdisc", "show", "dev", "sender")
        done = subprocess.run(bed.command("r2", "ip", "-4", "address"), check=True, capture_output=True, text=True)
        assert bed.addresses["r2"] == "10.77.0.3"
        assert "10.77.0.3/24" in done.stdout
        assert len(descriptors() - before) == 4
    assert descriptors() == before
    assert network_namespace("thread-self") == outside


SPEAK = """
import socket, sys
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(sys.argv[1]))
sock.sendto(b"x" * 999, ("232.6.0.9", 5000))
"""


def test_the_bridge_has_done_flooding() -> None:
    """What a group is sent that nobody has joined goes nowhere, from the moment on at which hosts may start."""
    with Bed(["r1"], 2e6, 50_000, fast_leave=False) as bed:

        def octets(port: str, way: str) -> int:
            shown = json.loads(bridge(bed, "ip", "-s", "-j", "link", "show", "dev", port))
            return int(shown[0]["stats64"][way]["bytes"])

        came, sent = octets(bed.sender, "rx"), octets("r1", "tx")
        for _ in range(5):
            subprocess.run(bed.command(bed.sender, sys.executable, "-c", SPEAK, bed.addresses[bed.sender]), check=True)
        assert octets(bed.sender, "rx") - came > 5 * 999
        assert octets("r1", "tx") - sent < 2 * 999  # queries and the like


def test_what_cannot_be_built_is_one_line_and_is_removed() -> None:
    before = descriptors()
    with pytest.raises(BedError, match=r"^tc qdisc add dev r1 root tbf"), Bed(["r1"], 0.0, 50_000, fast_leave=False):
        pytest.fail("a rate of 0 was accepted")
    assert descriptors() == before


def test_kill_minus_9_leaves_neither_namespaces_nor_programs(tmp_path: Path) -> None:
    before = named()
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "log")], stdout=subprocess.PIPE, text=True
    ) as killed:
        assert killed.stdout is not None
        pid = int(killed.stdout.readline())
        wait_for(lambda: network_namespace(pid) not in (None, network_namespace()), "it is in another")
        inode = network_namespace(pid)
        assert inode is not None
        killed.kill()
    wait_for(lambda: process_start_time(pid) is None, "it is gone", 10.0)
    processes = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    assert not [process for process in processes if within(process, inode)]
    wait_for(lambda: named() <= before, "no names stay, as those of tests beside this one do not")
