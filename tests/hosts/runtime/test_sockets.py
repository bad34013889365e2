"""Sockets on loopback: what the kernel was really asked for."""

import socket
from pathlib import Path

import pytest

from hosts.endpoint import Address
from hosts.runtime import sockets
from hosts.runtime.sockets import Interface, SocketError
from hosts.wire.header import UNICAST_TTL

LOOPBACK = Interface("127.0.0.1")


def test_interfaces_by_name_and_address() -> None:
    assert sockets.resolve_interface("lo", "232.1.1.1") == "127.0.0.1"
    assert sockets.resolve_interface("127.0.0.1", "232.1.1.1") == "127.0.0.1"
    assert sockets.resolve_interface("lo", "232.1.1.1", "127.0.0.2") == "127.0.0.2"
    assert sockets.resolve_interface(None, "127.0.0.1") == "127.0.0.1"  # by route


@pytest.mark.parametrize(
    ("name", "source", "message"),
    [
        ("nosuch0", None, "no interface 'nosuch0' with an IPv4 address"),
        ("a-name-that-is-too-long", None, "no interface"),
        ("192.0.2.200", None, "192.0.2.200 is not an address of this machine"),
        ("lo", "192.0.2.200", "192.0.2.200 is not an address of this machine"),
    ],
)
def test_bad_interfaces(name: str, source: str | None, message: str) -> None:
    with pytest.raises(SocketError, match=message):
        sockets.resolve_interface(name, "232.1.1.1", source)


@pytest.mark.parametrize(("told", "bps"), [("100\n", 100e6), ("-1\n", 0.0), ("", 0.0), (None, 0.0)])
def test_a_link_s_rate_is_what_the_kernel_says(tmp_path: Path, told: str | None, bps: float) -> None:
    (tmp_path / "lo").mkdir()
    if told is not None:
        (tmp_path / "lo" / "speed").write_text(told)
    assert sockets.link_bps("127.0.0.1", tmp_path) == bps
    assert sockets.link_bps("192.0.2.200", tmp_path) == 0.0


def test_a_person_is_told_the_interface() -> None:
    assert sockets.describe("127.0.0.1") == "127.0.0.1 (lo)"
    assert sockets.describe("192.0.2.200") == "192.0.2.200"


def test_unicast_options() -> None:
    with sockets.open_unicast(Interface("127.0.0.1", ttl=7, loop=False)) as sock:
        assert sock.getsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL) == 7
        assert sock.getsockopt(socket.IPPROTO_IP, socket.IP_TTL) == UNICAST_TTL
        assert sock.getsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP) == 0
        chosen = sock.getsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, 4)
        assert socket.inet_ntoa(chosen) == "127.0.0.1"
        assert not sock.getblocking()
        with pytest.raises(SocketError, match="Address already in use"):
            sockets.open_unicast(LOOPBACK, sock.getsockname()[1])
    with sockets.open_unicast(LOOPBACK) as sock:
        assert sock.getsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL) == sockets.DEFAULT_TTL == 16


def test_a_receive_buffer_is_read_back() -> None:
    with sockets.open_unicast(LOOPBACK) as sock:
        assert 0 < sockets.size_receive_buffer(sock, 100_000) <= 100_000
        assert sockets.size_receive_buffer(sock, 1 << 40 >> 10) > 0


def _hears(sock: socket.socket, data: bytes) -> bool:
    sock.settimeout(0.2)
    try:
        return sock.recv(100) == data
    except TimeoutError:
        return False


@pytest.mark.parametrize("source", [None, "127.0.0.1"])
def test_membership(source: str | None) -> None:
    with sockets.open_unicast(LOOPBACK) as sender, sockets.open_group(Address("232.9.9.9", 0)) as member:
        port = member.getsockname()[1]
        sender.sendto(b"before", ("232.9.9.9", port))
        sockets.join(member, "232.9.9.9", source, LOOPBACK)
        sender.sendto(b"within", ("232.9.9.9", port))
        assert _hears(member, b"within")
        sockets.leave(member, "232.9.9.9", source, LOOPBACK)
        sender.sendto(b"after", ("232.9.9.9", port))
        assert not _hears(member, b"after")
        with pytest.raises(SocketError, match="cannot leave"):
            sockets.leave(member, "232.9.9.9", source, LOOPBACK)


def test_other_sources_and_groups_are_not_heard() -> None:
    other = Interface("127.0.0.2")
    with (
        sockets.open_unicast(LOOPBACK) as sender,
        sockets.open_unicast(other) as stranger,
        sockets.open_group(Address("232.9.9.8", 0)) as member,
    ):
        port = member.getsockname()[1]
        sockets.join(member, "232.9.9.8", "127.0.0.1", LOOPBACK)
        stranger.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))
        stranger.sendto(b"stranger", ("232.9.9.8", port))
        sender.sendto(b"elsewhere", ("232.9.9.7", port))
        sender.sendto(b"right", ("232.9.9.8", port))
        assert _hears(member, b"right")


def test_several_members_on_one_machine() -> None:
    with sockets.open_unicast(LOOPBACK) as sender, sockets.open_group(Address("232.9.9.6", 0)) as one:
        port = one.getsockname()[1]
        with sockets.open_group(Address("232.9.9.6", port)) as two:
            for member in (one, two):
                sockets.join(member, "232.9.9.6", None, LOOPBACK)
            sender.sendto(b"both", ("232.9.9.6", port))
            assert _hears(one, b"both")
            assert _hears(two, b"both")


def test_groups_that_cannot_be_joined() -> None:
    with sockets.open_group(Address("232.9.9.5", 0)) as member, pytest.raises(SocketError, match="cannot join"):
        sockets.join(member, "10.0.0.1", None, LOOPBACK)
    with pytest.raises(SocketError, match="cannot open"):
        sockets.open_group(Address("192.0.2.200", 5000))
