"""Interfaces and what filters on them, from files like the kernel's."""

from pathlib import Path

import pytest

from hosts.doctor import interfaces
from hosts.doctor.interfaces import Interface, check
from hosts.runtime import sockets


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(
    ("flags", "address", "usable"),
    [(0x1003, "10.0.0.1", True), (0x1002, "10.0.0.1", False), (0x3, "10.0.0.1", False), (0x1003, "", False)],
)
def test_what_is_usable(flags: int, address: str, usable: bool) -> None:
    assert Interface("eth0", flags, address).is_usable == usable


def test_two_interfaces_that_filter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    two = [Interface("eth0", 0x1003, "10.0.0.1"), Interface("eth1", 0x1003, "10.1.0.1")]
    monkeypatch.setattr(interfaces, "interfaces", lambda: two)
    monkeypatch.setattr(sockets, "resolve_interface", lambda name, group: "127.0.0.1")
    monkeypatch.setenv("PATH", "")
    conf = tmp_path / "net/ipv4/conf"
    write(conf / "all/rp_filter", "0")
    write(conf / "eth0/rp_filter", "1")
    write(conf / "eth1/rp_filter", "2")
    write(conf / "all/force_igmp_version", "0")
    write(conf / "eth1/force_igmp_version", "2")
    found = {finding.subject: finding.verdict for finding in check(tmp_path)}
    assert found["rp_filter on eth0"] == "advice"
    assert "rp_filter on eth1" not in found
    assert found["IGMP on eth1"] == "missing"
    assert found["route to 232.0.0.1"] == "ok"
    assert found["eth0"] in ("ok", "unknown")


def test_no_interface_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_route(name: str | None, group: str) -> str:
        raise sockets.SocketError("no route")

    monkeypatch.setattr(interfaces, "interfaces", lambda: [Interface("eth0", 0x1002, "")])
    monkeypatch.setattr(sockets, "resolve_interface", no_route)
    found = {finding.subject: finding for finding in check(tmp_path)}
    assert found["eth0"].found == "not used: down, no IPv4 address"
    assert found["any"].verdict == found["route to 239.0.0.1"].verdict == "missing"
