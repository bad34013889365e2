"""Sessions whose datagrams are sent and received in runs, as on a fast network and a busy machine."""

import random
from typing import Any

import pytest

from hosts import protocols
from hosts.endpoint import Address
from hosts.protocol import Session
from tests.hosts.host import Host
from tests.hosts.network import Network

GROUP = Address("232.1.1.1", 5000)


def play(name: str, *, runs: bool, size: int, loss: float = 0.0, jitter_s: float = 0.0, **options: Any) -> list[Host]:
    """A file from one sender to two receivers, the second of which loses; the hosts, when all have ended."""
    protocol = protocols.get(name)
    network = Network(2)
    network.link("sender", "router", rate_bps=400e6, delay_s=0.002, limit_packets=2000)
    network.link("router", "r0", rate_bps=400e6, limit_packets=2000)
    network.link("router", "r1", rate_bps=400e6, limit_packets=2000, loss=loss, jitter_s=jitter_s)
    sender = protocol.sender(Session(GROUP, None, 7, 2, 5.0), random.Random(1), options)
    hosts = [network.host("sender", sender, source=random.Random(3).randbytes(size))]
    for number in range(2):
        receiver = protocol.receiver(Session(GROUP), random.Random(number), options)
        hosts.append(network.host(f"r{number}", receiver))
    for host in hosts:
        host.quantum_s = 0.001
        if runs:
            host.hand_over_runs()
    network.run_until_ended(60)
    assert all(host.end is not None and host.end.complete for host in hosts), [host.end for host in hosts]
    return hosts


def seconds(hosts: list[Host]) -> float:
    """From the first bytes that were delivered to the last."""
    receivers = hosts[1:]
    return max(host.progress[-1][0] for host in receivers) - min(host.progress[0][0] for host in receivers)


@pytest.mark.parametrize("name", ["mtcp", "rla", "tfmcc"])
@pytest.mark.parametrize(("loss", "jitter_s"), [(0.0, 0.0), (0.01, 0.0), (0.0, 0.0005)])
def test_a_file_in_runs_arrives_as_fast_as_packet_by_packet(name: str, loss: float, jitter_s: float) -> None:
    size = 1_200_000
    alone = play(name, runs=False, size=size, loss=loss, jitter_s=jitter_s)
    together = play(name, runs=True, size=size, loss=loss, jitter_s=jitter_s)
    for hosts in (alone, together):
        assert all(host.received == hosts[0].source for host in hosts[1:])
    assert all(host.runs > 10 for host in together[1:])
    assert seconds(together) < 1.25 * seconds(alone)
    sent = [hosts[0].endpoint.counters["data_packets"] for hosts in (alone, together)]
    assert sent[1] == pytest.approx(sent[0], rel=0.01 if name == "tfmcc" else 0)  # whose timers ask for a repair
