"""Three P4 programs to begin with, each in a Mininet network of its own:

    sudo .venv/bin/python -m topologies.mininet.example basic|ecn|telemetry

h1 and h2 are at s1, h3 is at s2, and 2 Mbit/s are between the switches. docs/mininet.md goes through it.
"""

import itertools
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mininet.log import setLogLevel
from mininet.net import Mininet

from topologies.mininet import CanopyLink, CanopySwitch

PROGRAMS = Path(__file__).resolve().parent / "programs"
HOSTS = {"h1": ("s1", 1), "h2": ("s1", 2), "h3": ("s2", 1)}
"""Host -> its switch and the port there."""
TRUNK = 3
"""The port of either switch towards the other."""
QUEUE_PACKETS = 50

RECEIVE = """
import socket, sys
IP_RECVTTL = 12  # linux/in.h; Python has no name for it
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", int(sys.argv[1])))
s.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
s.setsockopt(socket.IPPROTO_IP, IP_RECVTTL, 1)
s.settimeout(float(sys.argv[2]))
print("ready", flush=True)
try:
    while True:
        data, told, _, _ = s.recvmsg(2048, 128)
        said = {kind: value[0] for _, kind, value in told}
        print(said[socket.IP_TTL], said[socket.IP_TOS] & 3, data.hex(), flush=True)
except TimeoutError:
    pass
"""
"""Prints each datagram that comes to a port, after its TTL and ECN field, until none has come for so long."""

SEND = """
import socket, sys, time
host, port, ecn, count, size, gap = sys.argv[1], *map(float, sys.argv[2:])
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, int(ecn))
for _ in range(int(count)):
    s.sendto(bytes(int(size)), (host, int(port)))
    time.sleep(gap)
"""
"""Sends datagrams of zeros."""


def routes(switch: str) -> list[dict[str, Any]]:
    """A switch's way to each host: to its own port, or over the trunk."""
    entries = []
    for number, (host, (at, port)) in enumerate(HOSTS.items(), start=1):
        out = port if at == switch else TRUNK
        mac = f"00:00:00:00:00:{number:02x}"
        parameters = {"next_hop": mac, "port": out}
        match = {"ipv4.destination": [f"10.0.0.{host[1:]}", 32]}
        entries.append({"table": "routes", "match": match, "action_name": "forward", "action_params": parameters})
    return entries


def network(programs: Mapping[str, str]) -> Mininet:
    """The network, with a program for each switch."""
    net = Mininet(controller=None, link=CanopyLink, autoSetMacs=True, autoStaticArp=True)
    for host in HOSTS:
        net.addHost(host)
    for number, (switch, program) in enumerate(programs.items(), start=1):
        table = routes(switch)
        if program == "telemetry":
            identity = {"action_name": "write_hop", "action_params": {"switch_id": number}}
            table.append({"table": "identity", "default_action": True, **identity})
        net.addSwitch(switch, cls=CanopySwitch, program=PROGRAMS / f"{program}.json", entries={"table_entries": table})
    for host, (switch, port) in HOSTS.items():
        net.addLink(host, switch, port2=port)
    net.addLink("s1", "s2", port1=TRUNK, port2=TRUNK, bw=2, delay="5ms", max_queue_size=QUEUE_PACKETS)
    return net


def python(host: Any, code: str, *arguments: object) -> Any:
    """A Python program on a host."""
    return host.popen([sys.executable, "-c", code, *map(str, arguments)], text=True)


@dataclass(frozen=True, slots=True)
class Came:
    """A datagram as it came."""

    ttl: int
    ecn: int
    data: bytes


def datagrams(net: Mininet, port: int, *sender: object, quiet_s: float = 0.6) -> list[Came]:
    """What h3 gets of what h1 sends: ECN field, datagrams, bytes, and seconds between them (SEND)."""
    receiver = python(net["h3"], RECEIVE, port, quiet_s)
    receiver.stdout.readline()  # it is ready
    python(net["h1"], SEND, net["h3"].IP(), port, *sender).wait()
    lines = [line.split() for line in receiver.communicate()[0].splitlines()]
    return [Came(int(line[0]), int(line[1]), bytes.fromhex(line[2])) for line in lines]


def basic(net: Mininet) -> str:
    """h1 sends to h3 over two routers, each of which takes one off the TTL of 64."""
    came = datagrams(net, 5000, 0, 5, 100, 0)
    return f"{len(came)} of 5 datagrams came, with a TTL of {', '.join(sorted({str(one.ttl) for one in came}))}"


def ecn(net: Mininet) -> str:
    """h1 sends 40 packets at once: those that met ten or more others are marked."""
    came = datagrams(net, 5000, 2, 40, 500, 0)
    return f"{len(came)} of 40 datagrams came, {sum(one.ecn == 3 for one in came)} of them marked"


def telemetry(net: Mininet) -> str:
    """Ten probes, close behind each other, with what the switches wrote into them."""
    lines = []
    for number, one in enumerate(datagrams(net, 7777, 0, 10, 1200, 0)):
        hops = [
            f"s{switch} port {port}: {ahead} ahead, {waited_us / 1000:.1f} ms"
            for switch, port, ahead, waited_us in reversed(hops_of(one.data))
        ]
        lines.append(f"probe {number}: {'; '.join(hops)}")
    return "\n".join(lines)


def hops_of(data: bytes) -> list[tuple[int, int, int, int]]:
    """A probe's hops, the last one first: switch, port, packets ahead of it, microseconds in the queue."""
    hops = []
    for first in range(1, 1 + 12 * data[0], 12):
        cut = (0, 2, 4, 8, 12)
        part = [int.from_bytes(data[first + one : first + end]) for one, end in itertools.pairwise(cut)]
        hops.append((part[0], part[1], part[2], part[3]))
    return hops


EXAMPLES: Mapping[str, Callable[[Mininet], str]] = {"basic": basic, "ecn": ecn, "telemetry": telemetry}


def main(name: str) -> None:
    """Build the network with a program, show what it does, and take it down."""
    setLogLevel("warning")
    net = network({"s1": name, "s2": name})
    try:
        net.start()
        print(EXAMPLES[name](net).strip())
    finally:
        net.stop()


if __name__ == "__main__":
    if len(sys.argv) != 2 or not re.fullmatch("|".join(EXAMPLES), sys.argv[1]):
        sys.exit(f"which program? one of {', '.join(EXAMPLES)}")
    main(sys.argv[1])
