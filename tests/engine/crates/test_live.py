"""The live switch between real interfaces, each test in network namespaces of its own."""

import errno
import hashlib
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import canopy_engine
import pytest

from tests.engine.crossbar import CPU_PORT, cpu_seconds, frame, new_switch, raw_socket, rule, tag_of, wait_for, word
from tests.engine.namespaces import Namespace, add_veth, ip, namespaces

pytestmark = pytest.mark.root


@pytest.fixture
def live(wired: Namespace) -> Iterator[tuple[canopy_engine.Switch, canopy_engine.LiveSwitch]]:
    """A running switch with ports 1 and 2, joined both ways; their hosts' ends are h1 and h2."""
    switch = new_switch()
    live = canopy_engine.LiveSwitch(switch)
    for port, peer in ((1, 2), (2, 1)):
        rule(switch, port, "forward", peer)
        live.add_port(port, f"s{port}")
    live.start()
    yield switch, live
    live.stop()


_SO_RCVBUFFORCE = 33  # socket(7); Python's module does not name it
UDP_SEGMENT = 103  # linux/udp.h
THERE = ("10.0.0.2", 5000)

Live = tuple[canopy_engine.Switch, canopy_engine.LiveSwitch]


def test_frames_pass_both_ways_unchanged_and_are_counted(live: Live) -> None:
    _, running = live
    with raw_socket("h1") as one, raw_socket("h2") as two:
        for tag, length in enumerate((60, 61, 100, 1514)):
            one.send(frame(tag, length=length))
            assert two.recv(65_536) == frame(tag, length=length)
            two.send(frame(tag, length=length))
            assert one.recv(65_536) == frame(tag, length=length)
    stats = running.port_stats()
    for port in (1, 2):
        assert stats[port]["rx_packets"] == stats[port]["tx_packets"] == 4
        assert stats[port]["rx_bytes"] == stats[port]["tx_bytes"] == 60 + 61 + 100 + 1514


def test_what_the_machine_itself_sends_is_no_input(live: Live) -> None:
    """Frames that leave through the switch's own interface are not taken for arrivals."""
    _, running = live
    with raw_socket("s1") as own, raw_socket("h1") as host, raw_socket("h2") as other:
        own.send(frame(1))
        assert tag_of(host.recv(65_536)) == 1
        host.send(frame(2))
        assert tag_of(other.recv(65_536)) == 2
    assert running.port_stats()[1]["rx_packets"] == 1


def test_copies_reach_every_member(space: Namespace) -> None:
    switch = new_switch()
    live = canopy_engine.LiveSwitch(switch)
    for port in (1, 2, 3):
        add_veth(f"s{port}", f"h{port}")
        live.add_port(port, f"s{port}")
    switch.mcast_group_add(5, [(1, 0), (2, 0), (3, 0)])
    rule(switch, 1, "replicate", 5)
    live.start()
    with raw_socket("h1") as one, raw_socket("h2") as two, raw_socket("h3") as three:
        one.send(frame(9))
        assert [tag_of(raw.recv(65_536)) for raw in (one, two, three)] == [9, 9, 9]
    live.stop()


def test_a_vlan_tag_stays_in_its_frame(live: Live) -> None:
    """The kernel takes the tag out of a received frame; the pipeline sees it where it was."""
    switch, _ = live
    switch.table_modify("crossbar", [word(1)], "ingress.forward", [word(CPU_PORT)])
    tagged = frame(1)[:12] + bytes.fromhex("8100 6005") + frame(1)[12:]
    with raw_socket("h1") as one:
        one.send(tagged)
    (event,) = switch.wait_events(5000)
    assert event["packet"] == word(1) + tagged


def test_packet_out_packet_in_and_digest(live: Live) -> None:
    switch, running = live
    with raw_socket("h1") as one, raw_socket("h2") as two:
        running.inject(CPU_PORT, word(2) + frame(7))
        assert two.recv(65_536) == frame(7)
        two.send(frame(8))
        switch.table_modify("crossbar", [word(1)], "ingress.tell", [word(CPU_PORT)])
        one.send(frame(9))
        events = switch.wait_events(5000)
        while len(events) < 2:
            events += switch.wait_events(5000)
    by_kind = {event["kind"]: event for event in events}
    assert by_kind["packet_in"]["packet"] == word(1) + frame(9)
    assert by_kind["digest"]["values"] == [[word(1), b"\x02\0\0\0\0\x01"]]


@dataclass(frozen=True)
class Hosts:
    """Two hosts with addresses and ordinary interfaces (all offloads on), joined by a running switch."""

    live: canopy_engine.LiveSwitch
    one: Namespace
    two: Namespace

    @contextmanager
    def sockets(self, *options: tuple[int, int]) -> Iterator[tuple[socket.socket, socket.socket]]:
        """Of UDP: the first host's, with some options of its level, and the second's, which is bound to THERE."""
        with self.one.entered():
            sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            for option, value in options:
                sender.setsockopt(socket.IPPROTO_UDP, option, value)
        with self.two.entered():
            receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        receiver.bind(THERE)
        receiver.settimeout(5)
        with sender, receiver:
            yield sender, receiver


@pytest.fixture
def hosts() -> Iterator[Hosts]:
    """They know each other's hardware address, so that nothing but a test's own frames passes."""
    switch = new_switch()
    live = canopy_engine.LiveSwitch(switch)
    with namespaces(3) as made, made[0].entered():
        for port, peer in ((1, 2), (2, 1)):
            add_veth(f"s{port}", f"h{port}", made[port], f"10.0.0.{port}/24")
            with made[port].entered():
                ip("link", "set", f"h{port}", "address", f"02:00:00:00:00:0{port}")
                ip("neighbour", "add", f"10.0.0.{peer}", "lladdr", f"02:00:00:00:00:0{peer}", "dev", f"h{port}")
            rule(switch, port, "forward", peer)
            live.add_port(port, f"s{port}")
        live.start()
        yield Hosts(live, made[1], made[2])
        live.stop()


@pytest.mark.parametrize("size", [0, 1, 1001, 20_000])
def test_udp_of_ordinary_hosts_arrives(hosts: Hosts, size: int) -> None:
    """Their kernels leave the checksum to a network device; what is not finished, the receiver throws away."""
    payload = random.Random(size).randbytes(size)
    with hosts.sockets() as (sender, receiver):
        sender.sendto(payload, THERE)
        assert receiver.recv(65_536) == payload


def test_tcp_of_ordinary_hosts_arrives(hosts: Hosts) -> None:
    """Segmentation offload hands over up to 64 KiB in one frame; the wire carries segments."""
    payload = random.Random(1).randbytes(8 << 20)
    with hosts.two.entered():
        listener = socket.create_server(THERE)
    with hosts.one.entered():
        sender = socket.create_connection(THERE, timeout=5)
    receiver, _ = listener.accept()

    def send() -> None:
        sender.sendall(payload)
        sender.shutdown(socket.SHUT_WR)

    thread = threading.Thread(target=send)
    thread.start()
    digest = hashlib.sha256()
    while chunk := receiver.recv(1 << 20):
        digest.update(chunk)
    thread.join()
    for open_socket in (sender, receiver, listener):
        open_socket.close()
    stats = hosts.live.port_stats()
    assert digest.digest() == hashlib.sha256(payload).digest()
    assert stats[1]["rx_drop_malformed"] == stats[2]["drop_oversize"] == 0
    assert stats[2]["tx_packets"] > len(payload) / 1500  # segments, not pieces of 64 KiB


def test_segments_of_udp_gso_arrive_one_by_one(hosts: Hosts) -> None:
    payload = random.Random(2).randbytes(2500)
    with hosts.sockets((UDP_SEGMENT, 1000)) as (sender, receiver):
        sender.sendto(payload, THERE)
        assert [receiver.recv(65_536) for _ in range(3)] == [payload[:1000], payload[1000:2000], payload[2000:]]


@pytest.mark.parametrize(("rate_bps", "together"), [(None, True), (1e8, False)])
def test_datagrams_that_leave_at_one_moment_leave_as_one(hosts: Hosts, rate_bps: float | None, together: bool) -> None:
    """Not those that an emulated link sends one after the other; and either way they are the same datagrams."""
    payload = random.Random(2).randbytes(20 * 1000 + 7)
    pieces = [payload[at : at + 1000] for at in range(0, len(payload), 1000)]
    if rate_bps is not None:
        hosts.live.set_link(2, tx={"rate_bps": rate_bps})
    with hosts.sockets((UDP_SEGMENT, 1000)) as (sender, receiver):
        receiver.setsockopt(socket.IPPROTO_UDP, 104, 1)  # UDP_GRO
        sender.sendto(payload, THERE)
        if together:
            assert receiver.recv(65_536) == payload
        else:
            assert [receiver.recv(65_536) for _ in pieces] == pieces
    assert hosts.live.port_stats()[2]["tx_packets"] == len(pieces)  # each counts by itself, however they left


def test_datagrams_beyond_the_mtu_do_not_slip_through_together(hosts: Hosts) -> None:
    with hosts.one.entered():
        ip("link", "set", "h1", "mtu", "9000")
    ip("link", "set", "s1", "mtu", "9000")
    with hosts.sockets((UDP_SEGMENT, 2000)) as (sender, _):
        sender.sendto(bytes(8000), THERE)
        wait_for(lambda: hosts.live.port_stats()[2]["drop_oversize"] == 4)
    assert hosts.live.port_stats()[2]["tx_packets"] == 0


def test_frames_beyond_the_mtu_are_counted(live: Live) -> None:
    _, running = live
    for interface in ("h1", "s1"):
        ip("link", "set", interface, "mtu", "9000")
    with raw_socket("h1") as one, raw_socket("h2") as two:
        one.send(frame(1, length=3000))
        one.send(frame(2))
        assert tag_of(two.recv(65_536)) == 2
    assert running.port_stats()[2]["drop_oversize"] == 1


def test_frames_of_all_sizes_keep_their_order(live: Live) -> None:
    """Those larger than a slot of the receive ring come by another way."""
    for name in ("s1", "h1", "s2", "h2"):
        ip("link", "set", name, "mtu", "9000")
    lengths = [random.Random(5).choice((60, 1400, 1990, 2040, 2100, 5000, 9014)) for _ in range(200)]
    with raw_socket("h1") as one, raw_socket("h2") as two:
        for tag, length in enumerate(lengths):
            one.send(frame(tag, length=length))
        for tag, length in enumerate(lengths):
            assert two.recv(65_536) == frame(tag, length=length)


def test_frames_keep_their_order_while_helpers_send(live: Live) -> None:
    _, running = live
    with raw_socket("h1") as one, raw_socket("h2") as two:
        two.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, 64 << 20)
        count = 20_000
        for tag in range(count):
            one.send(frame(tag, length=60))
        wait_for(lambda: running.port_stats()[2]["tx_packets"] + _dropped(running) >= count)
        tags = [tag_of(two.recv(65_536)) for _ in range(running.port_stats()[2]["tx_packets"])]
    assert tags == sorted(tags)
    assert len(tags) > 0


def _dropped(running: canopy_engine.LiveSwitch) -> int:
    stats = running.port_stats()
    return stats[1]["rx_drop_kernel"] + stats[2]["drop_queue"] + stats[2]["drop_device"]


def test_an_interface_may_go_down_and_come_back(live: Live) -> None:
    _, running = live
    with raw_socket("h1") as one:
        ip("link", "set", "s2", "down")
        one.send(frame(1))
        wait_for(lambda: running.port_stats()[2]["drop_device_down"] == 1)
        assert running.port_stats()[2]["device_up"] == 0
        ip("link", "set", "s2", "up")
        wait_for(lambda: running.port_stats()[2]["device_up"] == 1)
        with raw_socket("h2") as two:
            one.send(frame(2))
            assert tag_of(two.recv(65_536)) == 2
            two.send(frame(3))
            assert tag_of(one.recv(65_536)) == 3


def test_an_interface_may_be_deleted_and_made_anew(live: Live) -> None:
    _, running = live
    ip("link", "delete", "s2")
    wait_for(lambda: running.port_stats()[2]["device_up"] == 0)
    with raw_socket("h1") as one:
        one.send(frame(1))
        wait_for(lambda: running.port_stats()[2]["drop_device_down"] == 1)
        add_veth("s2", "h2")
        wait_for(lambda: running.port_stats()[2]["device_up"] == 1)
        with raw_socket("h2") as two:
            one.send(frame(2))
            assert tag_of(two.recv(65_536)) == 2


def test_control_operations_get_through_a_flood(live: Live) -> None:
    switch, running = live
    flood = threading.Thread(target=canopy_engine.flood, args=("h1", frame(length=1000), 1.0))
    flood.start()
    wait_for(lambda: running.port_stats()[1]["rx_packets"] > 1000)
    waits = []
    while flood.is_alive():
        start = time.perf_counter()
        switch.counter_read("arrivals", 1)
        running.port_stats()
        waits.append(time.perf_counter() - start)
        time.sleep(0.005)
    waits.sort()
    # The median: the machine's other programs may hold up single ones.
    assert waits[len(waits) // 2] < 0.02, waits


def test_an_idle_switch_takes_no_time(live: Live) -> None:
    before = cpu_seconds()
    time.sleep(0.5)
    assert cpu_seconds() - before <= 0.02


def test_it_stops_and_starts_again(live: Live) -> None:
    _, running = live
    with raw_socket("h1") as one, raw_socket("h2") as two:
        running.stop()
        running.stop()
        one.send(frame(1))  # nobody is there to take it, then or later
        running.start()
        running.start()
        one.send(frame(2))
        assert tag_of(two.recv(65_536)) == 2
    running.stop()
    with pytest.raises(canopy_engine.EngineError, match="not running"):
        running.inject(CPU_PORT, b"")


def test_ports_come_and_go_while_it_runs(live: Live) -> None:
    _, running = live
    running.remove_port(2)
    with raw_socket("h1") as one, raw_socket("h2") as two:
        one.send(frame(1))
        wait_for(lambda: running.port_stats()[1]["rx_packets"] == 1)
        running.add_port(2, "s2")
        one.send(frame(2))
        assert tag_of(two.recv(65_536)) == 2
        running.set_port_up(2, False)
        one.send(frame(3))
        wait_for(lambda: running.port_stats()[2]["drop_down"] == 1)
        running.set_port_up(2, True)
        one.send(frame(4))
        assert tag_of(two.recv(65_536)) == 4


def test_what_is_refused(live: Live) -> None:
    _, running = live
    with pytest.raises(OSError, match="nowhere") as missing:
        running.add_port(3, "nowhere")
    assert missing.value.errno == errno.ENODEV
    operations: list[tuple[Callable[[], None], str]] = [
        (lambda: running.add_port(1, "s1"), "already_exists"),
        (lambda: running.add_port(CPU_PORT, "s1"), "invalid_argument"),
        (lambda: running.add_port(512, "s1"), "invalid_argument"),
        (lambda: running.remove_port(9), "not_found"),
        (lambda: running.set_link(9), "not_found"),
        (lambda: running.set_port_up(9, True), "not_found"),
        (lambda: running.inject(600, b""), "invalid_argument"),
    ]
    for operation, code in operations:
        with pytest.raises(canopy_engine.EngineError) as refused:
            operation()
        assert refused.value.code == refused.value.args[0] == code


def test_random_frames_do_no_harm(live: Live) -> None:
    _, running = live
    source = random.Random(3)
    with raw_socket("h1") as one, raw_socket("h2") as two:
        for _ in range(20):
            for _ in range(100):  # what a port's ring holds, however late the switch gets its turn
                one.send(source.randbytes(source.randrange(14, 200)))
            one.send(frame(77))
            while tag_of(two.recv(65_536)) != 77:
                pass
    assert running.port_stats()[1]["rx_packets"] >= 2000
