"""Datagrams to and from real sockets on the loopback interface, and a kernel that has no room."""

import random
import socket
import time
from collections import Counter
from collections.abc import Sequence

import pytest
from canopy_engine import DatagramReader, DatagramSender

from hosts.endpoint import Address, Datagram, DatagramRun, Send, SendRun
from hosts.runtime import sockets
from hosts.runtime.datagrams import BACKLOG, BATCH, PEERS, Inbox, Outbox
from hosts.runtime.sockets import Interface
from hosts.wire.header import CE, ECT_0, ECT_1, NOT_ECT

LOOPBACK = Interface("127.0.0.1")
HERE = Address("127.0.0.1", 4000)
NOW = 1000.0


def take(sock: socket.socket, *, unicast: bool = True, inbox: Inbox | None = None) -> list[Datagram]:
    """What waits, each datagram by itself."""
    found: list[Datagram] = []
    for one in (inbox or Inbox(lambda: NOW)).take(sock, HERE, unicast=unicast):
        found += [one] if isinstance(one, Datagram) else one.datagrams()
    return found


def test_what_waits_comes_in_order_a_batch_at_a_time() -> None:
    with sockets.open_unicast(LOOPBACK) as sender, sockets.open_unicast(LOOPBACK) as receiver:
        assert take(receiver) == []
        for number in range(BATCH + 3):
            sender.sendto(b"%d" % number, receiver.getsockname())
        first, second = take(receiver), take(receiver)
        assert [datagram.data for datagram in first + second] == [b"%d" % number for number in range(BATCH + 3)]
        assert len(first) == BATCH
        assert {datagram.source for datagram in first} == {Address(*sender.getsockname())}
        assert {datagram.destination for datagram in first} == {HERE}


def test_empty_and_largest_datagrams() -> None:
    with sockets.open_unicast(LOOPBACK) as sender, sockets.open_unicast(LOOPBACK) as receiver:
        for data in (b"", bytes(range(256)) * 255):
            sender.sendto(data, receiver.getsockname())
            (datagram,) = take(receiver)
            assert datagram.data == data


def test_the_kernel_says_when_a_datagram_arrived() -> None:
    with sockets.open_unicast(LOOPBACK) as sender, sockets.open_unicast(LOOPBACK) as receiver:
        sender.sendto(b"x", receiver.getsockname())
        assert take(receiver)[0].arrived_at is None
        sockets.stamp_arrivals(receiver)
        # The kernel switches its timestamps on by and by; until then, a datagram has the time at which it is read.
        assert any(_stamped_on_arrival(sender, receiver) for _ in range(50))


def _stamped_on_arrival(sender: socket.socket, receiver: socket.socket) -> bool:
    """Whether a datagram that is read late carries the time at which it was sent, not that of reading."""
    sender.sendto(b"x", receiver.getsockname())
    time.sleep(0.05)
    (datagram,) = take(receiver)
    if datagram.arrived_at is None:  # it was stamped when it was read, after the clock was
        return False
    assert NOW - 1 < datagram.arrived_at <= NOW
    return datagram.arrived_at <= NOW - 0.045


def test_a_timestamp_from_the_future_or_long_ago_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system clock was set between the datagram's arrival and its reading."""
    with sockets.open_unicast(LOOPBACK) as sender, sockets.open_unicast(LOOPBACK) as receiver:
        sockets.stamp_arrivals(receiver)
        true_time = time.time
        for moved in (-3600.0, 3600.0):
            sender.sendto(b"x", receiver.getsockname())
            monkeypatch.setattr(time, "time", lambda moved=moved: true_time() + moved)
            assert take(receiver)[0].arrived_at is None


def test_a_program_that_waits_between_looks_at_two_clocks_takes_nothing_for_earlier(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else a round trip would look shorter than the network's, for as long as the least one is remembered."""
    ours, system, waits = 100.0, 1000.0, 0.0

    def system_time() -> float:
        nonlocal ours, system
        ours, system = ours + waits, system + waits
        return system

    monkeypatch.setattr(time, "time", system_time)
    inbox = Inbox(lambda: ours)
    for waits, error in ((0.004, 0.005), (0.0, 1e-9), (0.003, 1e-9)):  # noqa: B007 (read by system_time)
        inbox._look_at_clocks()
        assert inbox._offset == pytest.approx(-900.0, abs=error)
    system += 0.5  # it is set
    inbox._look_at_clocks()
    assert inbox._offset == pytest.approx(-900.5, abs=0.004)


def test_hops_are_counted_from_the_time_to_live() -> None:
    with sockets.open_unicast(LOOPBACK) as sender, sockets.open_unicast(LOOPBACK) as receiver:
        for ttl, expected in ((64, 0), (61, 3), (1, 63), (65, None), (255, None)):
            sender.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, ttl)
            for unicast in (True, False):
                sender.sendto(b"x", receiver.getsockname())
                assert take(receiver, unicast=unicast)[0].hops == (expected if unicast else None)


def test_a_flood_of_sources_takes_bounded_memory() -> None:
    inbox = Inbox(lambda: NOW)
    for source in range(2 * PEERS):
        peer = inbox._remember(10 << 40 | source << 16 | 99)
        assert peer == Address(socket.inet_ntoa((10 << 24 | source).to_bytes(4, "big")), 99)
    assert len(inbox._peers) <= PEERS


def test_a_socket_that_is_closed_is_an_error() -> None:
    sock = sockets.open_unicast(LOOPBACK)
    sock.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        take(sock)


@pytest.mark.parametrize("limit", [0, 1025])
def test_the_readers_limit(limit: int) -> None:
    with pytest.raises(ValueError, match="limit must be in"):
        DatagramReader(limit)


def test_what_cannot_go_is_counted_and_the_rest_goes() -> None:
    counters: Counter[str] = Counter()
    with sockets.open_unicast(LOOPBACK) as sender, sockets.open_unicast(LOOPBACK) as receiver:
        there = Address(*receiver.getsockname())
        outbox = Outbox(sender, counters)
        assert not outbox.send([Send(b"1", there), Send(bytes(65_508), there), Send(b"2", there)])
        assert not outbox.send([Send(b"3", Address("255.255.255.255", 9)), Send(b"4", there)])
        assert [datagram.data for datagram in take(receiver)] == [b"1", b"2", b"4"]
    assert counters["send_errors"] == 2
    assert counters["backlog_drops"] == 0


def test_the_ecn_field_leaves_and_arrives_with_each_datagram() -> None:
    with sockets.open_unicast(LOOPBACK) as sender, sockets.open_unicast(LOOPBACK) as receiver:
        there = Address(*receiver.getsockname())
        fields = [NOT_ECT, ECT_1, ECT_0, CE, NOT_ECT]
        Outbox(sender, Counter()).send([Send(b"x", there, ecn) for ecn in fields])
        assert [datagram.ecn for datagram in take(receiver)] == fields


def test_more_than_one_system_call_takes() -> None:
    with sockets.open_unicast(LOOPBACK) as sender, sockets.open_unicast(LOOPBACK) as receiver:
        there = receiver.getsockname()
        way = DatagramSender(segments=True)
        assert way.send(sender.fileno(), [(b"%d" % number, there, 0) for number in range(100)]) == (100, 0)
        found: list[bytes] = []
        while batch := take(receiver):
            found += [datagram.data for datagram in batch]
        assert found == [b"%d" % number for number in range(100)]
        with pytest.raises(ValueError, match="'nowhere' is not an IPv4 address"):
            way.send(sender.fileno(), [(b"x", ("nowhere", 9), 0)])
        with pytest.raises(ValueError, match="no length"):
            way.send(sender.fileno(), [(b"xy", there, 0, 0)])


@pytest.mark.parametrize("put_together", [False, True])
@pytest.mark.parametrize("cuts", [False, True])
def test_a_run_leaves_and_arrives_as_one(monkeypatch: pytest.MonkeyPatch, cuts: bool, put_together: bool) -> None:
    """With the kernel's help, and without."""
    monkeypatch.setattr(sockets, "cuts_messages", lambda sock: cuts)
    with sockets.open_unicast(LOOPBACK) as sender, sockets.open_unicast(LOOPBACK) as receiver:
        if put_together:
            sockets.put_together(receiver)
        sockets.stamp_arrivals(receiver)
        there = Address(*receiver.getsockname())
        outbox = Outbox(sender, Counter())
        outbox.send([SendRun(b"aaabbbc", there, ECT_0, 3), Send(b"alone", Address(*sender.getsockname()))])
        (run,) = Inbox(lambda: NOW).take(receiver, HERE, unicast=True)
        assert isinstance(run, DatagramRun)
        assert (run.data, run.size, run.packets, run.ecn, run.hops) == (b"aaabbbc", 3, 3, ECT_0, 0)
        assert [one.data for one in run.datagrams()] == [b"aaa", b"bbb", b"c"]
        assert {one.source for one in run.datagrams()} == {Address(*sender.getsockname())}
        outbox.send([Send(b"x", there, ECT_0), Send(b"y", there, ECT_1), Send(b"z", there, ECT_1)])
        one, two = Inbox(lambda: NOW).take(receiver, HERE, unicast=True)
        assert (one.data, two.data) == (b"x", b"yz")


def test_what_was_read_together_came_as_each_message_did() -> None:
    with sockets.open_unicast(LOOPBACK) as sender, sockets.open_unicast(LOOPBACK) as receiver:
        sockets.stamp_arrivals(receiver)
        assert any(_stamped_on_arrival(sender, receiver) for _ in range(50))
        began = time.time()
        for pause in (0.0, 0.03, 0.0):
            time.sleep(pause)
            sender.sendto(b"xx", receiver.getsockname())
        (run,) = Inbox(lambda: NOW + time.time() - began).take(receiver, HERE, unicast=True)
        assert isinstance(run, DatagramRun)
        first, second, third = (one.arrived_at for one in run.datagrams())
        assert first is not None
        assert second is not None
        assert third is not None
        assert first >= NOW
        assert second - first >= 0.03
        assert third - second < second - first


@pytest.mark.parametrize("size", [1, 900])
def test_a_run_that_is_longer_than_a_message_leaves_as_several(size: int) -> None:
    """As one grows that is sealed; of the least datagrams one message holds 64 only."""
    with sockets.open_unicast(LOOPBACK) as sender, sockets.open_unicast(LOOPBACK) as receiver:
        there = Address(*receiver.getsockname())
        data = random.Random(1).randbytes(100 * size)
        assert not Outbox(sender, Counter()).send([SendRun(data, there, ECT_0, size)])
        came: list[Datagram] = []
        while more := take(receiver):
            came += more
        assert b"".join(one.data for one in came) == data


def test_what_the_kernel_had_no_room_for_is_counted() -> None:
    with sockets.open_unicast(LOOPBACK) as sender, sockets.open_unicast(LOOPBACK) as receiver:
        sockets.count_drops(receiver)
        room = sockets.size_receive_buffer(receiver, 4096)
        inbox = Inbox(lambda: NOW)
        for lost_before in (0, 1):  # the kernel's count goes on, and so does ours
            for _ in range(100):
                sender.sendto(bytes(1000), receiver.getsockname())
            got = len(take(receiver, inbox=inbox))
            assert 0 < got <= room / 1000 + 2
            sender.sendto(b"next", receiver.getsockname())
            take(receiver, inbox=inbox)
            assert inbox.dropped >= (1 + lost_before) * (100 - got)


def test_a_kernel_that_takes_no_more() -> None:
    """Datagrams wait in order, and beyond the bound they are dropped and counted."""
    there = Address("10.0.0.2", 9)
    sent: list[bytes] = []
    room = 0

    def transmit(descriptor: int, packets: Sequence[Send | SendRun]) -> tuple[int, int]:
        nonlocal room
        taken = min(room, sum(len(packet.data) // getattr(packet, "size", len(packet.data)) for packet in packets))
        room -= taken
        each = [packet.data[at : at + size] for packet in packets for size in [getattr(packet, "size", 99)]
                for at in range(0, len(packet.data), size)]  # fmt: skip
        sent.extend(each[:taken])
        return taken, 0

    counters: Counter[str] = Counter()
    with sockets.open_unicast(LOOPBACK) as sock:
        outbox = Outbox(sock, counters, transmit)
        room = 2
        assert outbox.send([Send(b"%d" % number, there) for number in range(5)])
        for number in range(5, BACKLOG + 12):
            assert outbox.send([Send(b"%d" % number, there)])
        assert counters["backlog_drops"] == 10
        room = 100
        assert outbox.resume()
        room = BACKLOG
        assert not outbox.resume()
        assert sent == [b"%d" % number for number in range(BACKLOG + 2)]
        assert not outbox.send([Send(b"last", there)])
        assert sent[-1] == b"last"

    sent.clear()
    room = 2
    with sockets.open_unicast(LOOPBACK) as sock:
        outbox = Outbox(sock, counters, transmit)
        assert outbox.send([Send(b"1", there), SendRun(b"2345", there, NOT_ECT, 1), Send(b"6", there)])
        room = 1
        assert outbox.resume()
        room = 9
        assert not outbox.resume()
        assert sent == [b"1", b"2", b"3", b"4", b"5", b"6"]
