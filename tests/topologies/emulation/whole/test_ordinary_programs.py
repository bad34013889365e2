"""Ordinary multicast programs over the emulated switches: plain sockets, iperf 2, uftp; and what `canopy exec` does."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from controller.api import ApiClient
from controller.statedir import SOCKET_NAME
from tests.topologies.emulation.whole.harness import Run
from tests.waiting import wait_for

pytestmark = [pytest.mark.root, pytest.mark.emulation]

LISTENER = """\
import socket, struct, sys
group, source = sys.argv[1], sys.argv[2]
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind((group, 7000))
if source == "any":
    s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(group) + socket.inet_aton("0.0.0.0"))
else:
    request = socket.inet_aton(group) + socket.inet_aton("0.0.0.0") + socket.inet_aton(source)
    s.setsockopt(socket.IPPROTO_IP, 39, request)  # IP_ADD_SOURCE_MEMBERSHIP
print("joined", flush=True)
s.settimeout(20)
data, sender = s.recvfrom(2000)
print(sender[0], data.decode(), flush=True)
"""

UFTP_HASTE = ("-r", "0.1:0.05:0.5")
"""Round trip time to begin with, and its bounds, seconds: with uftp's default of 0.5 every phase takes seconds."""

TALKER = """\
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 8)
for number in range(100):
    s.sendto(b"hello", (sys.argv[1], 7000))
    time.sleep(0.1)
"""

COUNTER = """\
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 7001))
print("bound", flush=True)
s.settimeout(20)
print([len(s.recv(2000)) for _ in range(20)], flush=True)
"""

MANY_AT_ONCE = """\
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_UDP, 103, 1000)  # UDP_SEGMENT
s.sendto(bytes(19_500), ("10.0.0.2", 7001))
"""


@pytest.mark.parametrize(("group", "source"), [("239.1.0.7", "any"), ("232.1.0.7", "10.0.0.1")])
def test_a_plain_socket_pair(held: Run, group: str, source: str) -> None:
    listeners = [held.start(host, sys.executable, "-c", LISTENER, group, source) for host in ("r1", "r2")]
    talker = held.start("sender", sys.executable, "-c", TALKER, group)
    try:
        for listener in listeners:
            output, _ = listener.communicate(timeout=30)
            assert output.splitlines() == ["joined", "10.0.0.1 hello"]
    finally:
        talker.kill()


def test_iperf_multicast(held: Run) -> None:
    command = ("iperf", "-s", "-u", "-B", "239.1.0.8", "-i", "0.5", "-t", "20")
    servers = [held.start(host, *command) for host in ("r1", "r2")]
    try:
        wait_for(lambda: members(held, "239.1.0.8") == {"r1", "r2"}, "both are members")
        sent = held.execute("sender", "iperf", "-c", "239.1.0.8", "-u", "-T", "8", "-t", "2", "-b", "2M")
        assert sent.returncode == 0, sent.stdout + sent.stderr
        datagrams = int(re.findall(r"Sent (\d+) datagrams", sent.stdout)[0])
        assert datagrams > 100  # of 340; a busy machine sends fewer in its time
        for server in servers:
            assert arrived(server, datagrams) >= 0.9 * datagrams
    finally:
        for server in servers:
            server.kill()


def test_uftp(held: Run, tmp_path: Path) -> None:
    payload = tmp_path / "payload.bin"
    payload.write_bytes(bytes(range(256)) * 2000)
    receivers = []
    for host in ("r1", "r2"):
        folder = tmp_path / host
        folder.mkdir()
        options = ["-d", "-D", str(folder), "-M", "239.1.0.9", "-I", f"{host}-eth0", "-t"]
        receivers.append(held.start(host, "uftpd", *options))
    try:
        wait_for(lambda: members(held, "239.1.0.9") == {"r1", "r2"}, "both daemons are members")
        options = ["-M", "239.1.0.9", "-P", "239.1.1.9", "-I", "sender-eth0", "-R", "5000", "-t", "8", *UFTP_HASTE]
        sent = held.execute("sender", "uftp", *options, str(payload), timeout_s=60)
        assert sent.returncode == 0, sent.stdout + sent.stderr
        for host in ("r1", "r2"):
            received = tmp_path / host / "payload.bin"
            wait_for(received.is_file, f"{host} has the file", 10)
            assert received.read_bytes() == payload.read_bytes()
    finally:
        for receiver in receivers:
            receiver.kill()


def test_tcp(held: Run) -> None:
    server = held.start("r2", "iperf", "-s")
    try:
        wait_for(lambda: ":1389 " in held.execute("r2", "cat", "/proc/self/net/tcp").stdout, "iperf listens on 5001")
        client = held.execute("sender", "iperf", "-c", "10.0.0.3", "-t", "2", "-f", "m")
        rates = [float(rate) for rate in re.findall(r"([\d.]+) Mbits/sec", client.stdout)]
        assert rates, client.stdout + client.stderr
        assert 8 < rates[-1] < 24
    finally:
        server.kill()


def test_datagrams_that_leave_a_host_in_one_frame(held: Run, request: pytest.FixtureRequest) -> None:
    """The first switch gets one frame, and cuts it: what its link with a rate carries are packets. BMv2 cannot cut, so
    that the host itself has to."""
    counter = held.start("r1", sys.executable, "-c", COUNTER)
    assert counter.stdout is not None
    try:
        assert counter.stdout.readline() == "bound\n"
        before = frames(held, "sender", "tx")
        assert held.execute("sender", sys.executable, "-c", MANY_AT_ONCE).returncode == 0
        output, _ = counter.communicate(timeout=30)
    finally:
        counter.kill()
    assert output == f"{[1000] * 19 + [500]}\n"
    sent = frames(held, "sender", "tx") - before  # what else a host says is not much
    assert 20 <= sent < 30 if request.node.callspec.params["held"] == "bmv2" else sent < 10
    assert frames(held, "r1", "rx") >= 20


def test_exec_passes_status_output_and_place(held: Run, tmp_path: Path) -> None:
    ended = held.execute("r1", "sh", "-c", "ip -4 -o addr show r1-eth0; getent hosts r2; pwd; exit 7")
    assert ended.returncode == 7
    assert "10.0.0.2/8" in ended.stdout
    assert re.search(r"10\.0\.0\.3\s+r2", ended.stdout)
    assert str(Path.cwd()) in ended.stdout


@pytest.mark.parametrize(
    ("node", "command", "status", "message"),
    [
        ("r9", ["true"], 2, "no node `r9` (it has "),
        ("r1", ["no-such-program"], 127, "no-such-program: no such program"),
        ("r1", ["/etc/passwd"], 126, "/etc/passwd: Permission denied"),
    ],
)
def test_exec_says_what_cannot_be(held: Run, node: str, command: list[str], status: int, message: str) -> None:
    ended = held.execute(node, *command)
    assert ended.returncode == status
    assert message in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_nothing_of_it_shows_in_the_machines_own_namespace(held: Run) -> None:
    shown = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True).stdout
    assert not re.search(r"\b(s1|s2|r1|r2|sender)-eth", shown)


def frames(run: Run, host: str, direction: str) -> int:
    """That have gone through the host's interface."""
    return int(run.execute(host, "cat", f"/sys/class/net/{host}-eth0/statistics/{direction}_packets").stdout)


def members(run: Run, group: str) -> set[str]:
    """The hosts that the controller knows as members of a group."""
    assert run.state is not None
    with ApiClient(run.state / SOCKET_NAME) as client:
        groups = client.call("groups", counters=False)
    return {host for found in groups if found["group"] == group for host in found["members"]}


def arrived(server: subprocess.Popen[str], expected: int) -> int:
    """Datagrams that an iperf server counts in its interval reports, until it has nearly all or ends."""
    assert server.stdout is not None
    count = 0
    for line in server.stdout:
        for lost, total in re.findall(r"(\d+)/\s*(\d+) \(", line):
            count += int(total) - int(lost)
        if count >= 0.9 * expected:
            break
    return count
