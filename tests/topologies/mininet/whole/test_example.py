"""Two of the programs in Mininet, in one network: what each switch runs is its own affair."""

import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from mininet.net import Mininet

from topologies.mininet.example import QUEUE_PACKETS, Came, datagrams, hops_of, network, telemetry

pytestmark = pytest.mark.emulation


@pytest.fixture(scope="module")
def net() -> Iterator[Mininet]:
    """h1 - s1 (marks) - s2 (telemetry) - h3; both forward as `basic` does."""
    made = network({"s1": "ecn", "s2": "telemetry"})
    try:
        made.start()
        yield made
    finally:
        made.stop()
        assert list(Path(tempfile.gettempdir()).glob("canopy-s[12]-*")) == []


def test_of_probes_at_once_later_ones_wait_longer() -> None:
    """In a network that is there before the others'."""
    net = network({"s1": "telemetry", "s2": "telemetry"})
    try:
        net.start()
        waits = [float(wait) for wait in re.findall(r"s1 port 3: \d+ ahead, ([\d.]+) ms", telemetry(net))]
    finally:
        net.stop()
    assert len(waits) == 10
    assert 2 < max(waits) == waits[-1]


def test_datagrams_are_forwarded_and_lose_a_hop_each(net: Mininet) -> None:
    assert datagrams(net, 5000, 0, 5, 100, 0) == [Came(62, 0, bytes(100))] * 5


def test_the_link_has_its_rate_and_queue_and_long_queues_mark(net: Mininet) -> None:
    came = datagrams(net, 5001, 2, 300, 1400, 0)
    assert QUEUE_PACKETS <= len(came) < 300
    marks = [one.ecn == 3 for one in came]
    assert not any(marks[:8])
    assert sum(marks) > QUEUE_PACKETS // 2


def test_probes_bring_back_where_they_were(net: Mininet) -> None:
    came = datagrams(net, 7777, 0, 5, 20, 0.01)
    assert len(came) == 5
    for one in came:
        ((switch, port, _ahead, _waited_us),) = hops_of(one.data)
        assert (switch, port, one.data[13:]) == (2, 1, bytes(19))


def test_tcp_works_with_hosts_that_came_with_offloads(net: Mininet) -> None:
    server = net["h3"].popen(["iperf", "-s", "-P", "1"], text=True)
    try:
        for _ in range(100):  # until it listens
            if ":5001 " in net["h3"].cmd("ss --no-header --listening --tcp --numeric"):
                break
            time.sleep(0.05)
        said = net["h1"].cmd("iperf -n 200K -c", net["h3"].IP())
        assert "connected" in said
        assert "Kbits/sec" in said or "Mbits/sec" in said
    finally:
        server.kill()
