"""Programs that send with a TTL of 1, as most do by default, over a P4 switch of which one port leads to a real Linux
bridge with several hosts. Needs root."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from controller.api import ApiClient, ApiError
from controller.statedir import SOCKET_NAME
from experiments.lan.namespaces import Namespaces
from tests.waiting import wait_for

pytestmark = [pytest.mark.root, pytest.mark.emulation]

ADDRESSES = {"a": "10.0.0.1", "b1": "10.0.0.2", "b2": "10.0.0.3"}
GROUP = "239.1.1.1"
LISTENER = f"""
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("{GROUP}", 7000))
s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton("{GROUP}") + bytes(4))
print("joined", flush=True)
s.settimeout(30)
print(s.recvfrom(2000)[1][0], flush=True)
"""
TALKER = f"""
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(100):
    s.sendto(b"hello", ("{GROUP}", 7000))
    time.sleep(0.1)
"""


def mac(host: str) -> str:
    return f"02:00:0a:00:00:0{ADDRESSES[host][-1]}"


class Office(Namespaces):
    """a at the switch's port 1, b1 and b2 behind the bridge at its port 2."""

    def build(self) -> None:
        for name in ("switch", "bridge", *ADDRESSES):
            self.add(name)
            self.on(name, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1")
        self.on("switch", "ip", "link", "set", "lo", "up")
        self.on("bridge", "ip", "link", "add", "office", "type", "bridge", "mcast_snooping", "1")
        self.on("bridge", "ip", "link", "set", "office", "up")
        for host, address in ADDRESSES.items():
            place, port = ("switch", "p1") if host == "a" else ("bridge", host)
            self.on(place, "ip", "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", self.path(host))
            self.on(place, "ip", "link", "set", port, "up", *(() if host == "a" else ("master", "office")))
            self.on(host, "ip", "link", "set", "eth0", "address", mac(host))
            self.on(host, "ip", "address", "add", f"{address}/8", "dev", "eth0")
            self.on(host, "ip", "link", "set", "eth0", "up")
            self.on(host, "ip", "route", "add", "224.0.0.0/4", "dev", "eth0")
            self.on(host, "ethtool", "-K", "eth0", "tx", "off")
        peer = ("peer", "name", "p2", "netns", self.path("switch"))
        self.on("bridge", "ip", "link", "add", "uplink", "type", "veth", *peer)
        self.on("bridge", "ip", "link", "set", "uplink", "up", "master", "office")
        self.on("switch", "ip", "link", "set", "p2", "up")


def network() -> dict[str, object]:
    switch = {"name": "s1", "device_id": 1, "address": "127.0.0.1:9559", "mac": "02:01:00:00:00:01"}
    hosts = [
        {"name": host, "ip": address, "mac": mac(host), "switch": "s1", "port": 1 if host == "a" else 2}
        for host, address in ADDRESSES.items()
    ]
    more = {"ports": {"1": "a", "2": "office"}, "shared": [2], "lan": True}
    return {"name": "office", "switches": [switch | more], "hosts": hosts, "links": []}


def ready(api: Path) -> bool:
    try:
        with ApiClient(api) as client:
            return bool(client.call("status")["switches_ready"])
    except (ApiError, OSError):
        return False


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    """With a switch and a controller that run."""
    state, described = tmp_path / "state", tmp_path / "network.json"
    with ExitStack() as stack:
        office = stack.enter_context(Office())
        described.write_text(json.dumps(network()))
        ports = ("-i", "1@p1", "-i", "2@p2", "--device-id", "1", "--cpu-port", "510")
        for words in (("engine.switch.cli", "run", *ports), ("controller.service", described, "--state-dir", state)):
            command = office.command("switch", sys.executable, "-m", *map(str, words))
            process = stack.enter_context(subprocess.Popen(command))
            stack.callback(process.terminate)
        wait_for(lambda: ready(state / SOCKET_NAME), "the switch is ready")
        yield office


def test_it_reaches_all_members_at_the_switch_and_behind_the_bridge(office: Office) -> None:
    for talker in ("a", "b1"):
        members = [host for host in ADDRESSES if host != talker]
        with ExitStack() as stack:

            def start(host: str, script: str) -> subprocess.Popen[str]:
                command = office.command(host, sys.executable, "-c", script)
                process = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
                stack.callback(process.kill)
                return process

            listeners = [start(host, LISTENER) for host in members]
            start(talker, TALKER)
            for listener in listeners:
                assert listener.communicate(timeout=40)[0].split() == ["joined", ADDRESSES[talker]]
