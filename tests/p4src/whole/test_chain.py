"""Three switches in a row, outputs wired to inputs: joins travel to the source, data to the members."""

from dataclasses import dataclass

import pytest
from scapy.layers.inet import IP

from tests.p4src.bench.packets import data, join, leave
from tests.p4src.bench.program import program
from tests.p4src.bench.setup import ENDLESS_EPOCH_SHIFT, EPOCH_SHIFT, install, route_group, route_source
from tests.p4src.bench.target import Embedded, Target
from tests.p4src.conftest import TargetFactory

SOURCE = "10.0.1.1"
GROUP = "232.1.1.1"
UP, DOWN = 1, 2
HOST_PORTS = (3, 4)

Host = tuple[int, int]
"""(switch, port)."""


@dataclass
class Chain:
    """Port 2 of each switch leads to port 1 of the next; hosts are at ports 3 and 4, the source at (0, 3)."""

    switches: list[Target]

    def install(self, epoch_shift: int = ENDLESS_EPOCH_SHIFT) -> None:
        for index in range(len(self.switches)):
            self.install_switch(index, epoch_shift)

    def install_switch(self, index: int, epoch_shift: int) -> None:
        switch = self.switches[index]
        install(switch, ports=4, epoch_shift=epoch_shift)
        first, last = index == 0, index == len(self.switches) - 1
        neighbours = [port for port, there in ((UP, not first), (DOWN, not last)) if there]
        accept = [HOST_PORTS[0]] if first else [UP]
        route_source(switch, SOURCE, GROUP, 5, upstream=[] if first else [UP], accept=accept)
        route_group(switch, "239.1.1.1", 6, upstream=neighbours, accept=[*neighbours, *HOST_PORTS])

    def send(self, host: Host, packet: bytes) -> list[tuple[Host, bytes]]:
        """What hosts receive when one sends, after everything that the switches told each other."""
        received = []
        waiting = [(host, packet)]
        budget = 100  # a loop would send for ever
        while waiting:
            budget -= 1
            assert budget > 0, "packets go round"
            (switch, port), arriving = waiting.pop(0)
            for out, sent in self.switches[switch].send(port, arriving):
                if out == UP and switch > 0:
                    waiting.append(((switch - 1, DOWN), sent))
                elif out == DOWN and switch < len(self.switches) - 1:
                    waiting.append(((switch + 1, UP), sent))
                else:
                    received.append(((switch, out), sent))
        return sorted(received)

    def wait(self, microseconds: int) -> None:
        for switch in self.switches:
            switch.advance(microseconds)

    def receivers(self, host: Host, group: str = GROUP, source: str = SOURCE) -> list[Host]:
        return [receiver for receiver, _ in self.send(host, bytes(data(source, group)))]


@pytest.fixture
def chain(targets: TargetFactory) -> Chain:
    made = Chain(targets(3))
    made.install()
    return made


@pytest.fixture
def timed_chain() -> Chain:
    """Of switches whose time the test moves."""
    made = Chain([Embedded(program()) for _ in range(3)])
    made.install(epoch_shift=EPOCH_SHIFT)
    return made


def test_join_reaches_the_source_and_data_the_member(chain: Chain) -> None:
    source = (0, 3)
    assert chain.receivers(source) == []
    assert chain.send((2, 3), join(GROUP, SOURCE)) == []
    ((receiver, packet),) = chain.send(source, bytes(data(SOURCE, GROUP, ttl=8)))
    assert receiver == (2, 3)
    assert IP(packet[14:]).ttl == 5
    # Every switch has one member: the host's port, or the one downstream.
    assert [[digest["ports"] for digest in switch.digests()] for switch in chain.switches] == [[2], [2], [4]]


def test_leave_prunes_back_to_the_branch(chain: Chain) -> None:
    source = (0, 3)
    for member in ((2, 3), (2, 4), (1, 3)):
        chain.send(member, join(GROUP, SOURCE))
    assert chain.receivers(source) == [(1, 3), (2, 3), (2, 4)]
    chain.send((2, 3), leave(GROUP, SOURCE))
    assert chain.receivers(source) == [(1, 3), (2, 4)]
    chain.send((2, 4), leave(GROUP, SOURCE))
    assert chain.receivers(source) == [(1, 3)]
    chain.send((1, 3), leave(GROUP, SOURCE))
    assert chain.receivers(source) == []
    assert chain.switches[0].dropped("no_members") == 1
    assert chain.switches[1].dropped("no_members") == 0


def test_any_source_members_everywhere_hear_everybody(chain: Chain) -> None:
    hosts = [(switch, port) for switch in range(3) for port in HOST_PORTS]
    group = "239.1.1.1"
    for member in hosts:
        chain.send(member, join(group))
    for sender in hosts:
        assert chain.receivers(sender, group, "10.0.7.7") == [host for host in hosts if host != sender]
    for index, member in enumerate(hosts):
        chain.send(member, leave(group))
        assert chain.receivers((1, 3), group, "10.0.7.7") == [host for host in hosts[index + 1 :] if host != (1, 3)]


def test_restart_in_the_middle_heals_with_the_next_refresh(timed_chain: Chain) -> None:
    source = (0, 3)
    timed_chain.send((2, 3), join(GROUP, SOURCE))
    assert timed_chain.receivers(source) == [(2, 3)]
    timed_chain.switches[1].reset()
    timed_chain.install_switch(1, EPOCH_SHIFT)
    assert timed_chain.receivers(source) == []
    timed_chain.wait(1 << EPOCH_SHIFT - 2)
    timed_chain.send((2, 3), join(GROUP, SOURCE))
    assert timed_chain.receivers(source) == [(2, 3)]


def test_refreshes_keep_the_whole_path_alive_and_silence_ends_it(timed_chain: Chain) -> None:
    source = (0, 3)
    for _ in range(20):
        timed_chain.send((2, 3), join(GROUP, SOURCE))
        assert timed_chain.receivers(source) == [(2, 3)]
        timed_chain.wait(1 << EPOCH_SHIFT - 2)
    timed_chain.wait(2 << EPOCH_SHIFT)
    assert timed_chain.receivers(source) == []
    assert timed_chain.switches[0].dropped("no_members") == 1


def test_lost_join_is_repaired_by_the_next_refresh(timed_chain: Chain) -> None:
    """The report from switch 2 to switch 1 is lost; the member itself does nothing but answer queries."""
    source = (0, 3)
    assert len(timed_chain.switches[2].send(3, join(GROUP, SOURCE))) == 1
    assert timed_chain.receivers(source) == []
    timed_chain.send((2, 3), join(GROUP, SOURCE))
    assert timed_chain.receivers(source) == []
    timed_chain.wait(1 << EPOCH_SHIFT - 2)
    timed_chain.send((2, 3), join(GROUP, SOURCE))
    assert timed_chain.receivers(source) == [(2, 3)]
