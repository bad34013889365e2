from __future__ import annotations

import json
from collections.abc import Callable
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest

from controller.network import Network, NetworkError, load_network
from tests.controller import networks


def write(path: Path, data: Any) -> Path:
    file = path / "net.json"
    file.write_text(data if isinstance(data, str) else json.dumps(data))
    return file


def test_a_network_is_read_with_its_defaults(tmp_path: Path) -> None:
    network = load_network(write(tmp_path, networks.line()))
    assert [switch.name for switch in network.switches] == ["s1", "s2", "s3"]
    assert network.host_by_ip[IPv4Address("10.0.0.3")].switch == "s2"
    assert network.link_by_port["s2", 2].other("s2") == "s1"
    assert network.links[0].name == "s1:3-s2:2"
    assert network.timing.membership_interval_s == 22.0


def drop_host(data: dict[str, Any]) -> None:
    del data["hosts"][0]


def change(*path: Any, to: Any) -> Callable[[dict[str, Any]], None]:
    def apply(data: dict[str, Any]) -> None:
        place: Any = data
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = to

    return apply


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (change("switches", 0, "address", to="nowhere"), "switches[0].address: is no HOST:PORT"),
        (change("switches", 0, "address", to="a:99999"), "switches[0].address: the TCP port must be 1..65535"),
        (change("switches", 0, "mac", to="02:00"), "switches[0].mac: "),
        (
            change("switches", 1, "mac", to="02:00:00:00:00:01"),
            "switches[1].mac: 02:00:00:00:00:01 is also switches[0]",
        ),
        (change("switches", 1, "name", to="s1"), "switches[1].name: s1 is also switches[0].name"),
        (change("switches", 0, "ports", to={"257": "h1"}), "switches[0].ports.257: Input should be less"),
        (change("hosts", 0, "port", to=2), "hosts[0]: port 2 of s1 leads to h2, not h1"),
        (change("hosts", 1, "ip", to="10.0.0.1"), "hosts[1].ip: 10.0.0.1 is also hosts[0].ip"),
        (change("hosts", 1, "ip", to="10.0.0.256"), "hosts[1].ip: Input is not a valid IPv4 address"),
        (change("hosts", 1, "switch", to="s9"), "hosts[1]: there is no switch s9"),
        (change("hosts", 1, "nonsense", to=1), "hosts[1].nonsense: Extra inputs"),
        (change("links", 0, "cost", to=0), "links[0].cost: "),
        (change("links", 0, "b", to="s1"), "links[0]: leads from s1 to itself"),
        (drop_host, "switches[0].ports.1: no host or link says that h1 is there"),
        (change("version", to=2), "version: "),
        (change("switches", 0, "shared", to=[9]), "switches[0].shared: there is no port 9 in `ports`"),
        (change("switches", 0, "shared", to=[3]), "links[0].a: port 3 of s1 is shared: only hosts may be there"),
        (change("timing", to={"query_interval_s": 1, "query_response_s": 1}), "timing: query_response_s must be below"),
        (
            change("sessions", to=[{"session": 1, "protocol": "mtcp", "group": "224.0.0.5"}]),
            "sessions[0].group: not a multicast group that a router forwards",
        ),
    ],
)
def test_an_error_names_file_and_field(tmp_path: Path, spoil: Callable[[dict[str, Any]], None], message: str) -> None:
    data = networks.line()
    spoil(data)
    file = write(tmp_path, data)
    with pytest.raises(NetworkError) as caught:
        load_network(file)
    assert str(caught.value).startswith(f"{file}: {message}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", ":1:2: "), ("[]", ": "), ("[" * 100_000, ": nested too deeply"), ("", ":1:1: "), ("1" * 5000, ": Exceeds")],
)
def test_a_file_that_is_no_network(tmp_path: Path, text: str, message: str) -> None:
    file = write(tmp_path, text)
    with pytest.raises(NetworkError) as caught:
        load_network(file)
    assert str(caught.value).startswith(f"{file}{message}")


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(NetworkError, match="No such file"):
        load_network(tmp_path / "missing.json")
    (tmp_path / "net.json").write_bytes(b"\xff\xfe")
    with pytest.raises(NetworkError, match="not UTF-8"):
        load_network(tmp_path / "net.json")


def test_a_shared_port_has_several_hosts(tmp_path: Path) -> None:
    data = networks.shared()
    network = load_network(write(tmp_path, data))
    assert [(host.name, host.port) for host in network.hosts] == [("h1", 1), ("h2", 1), ("h3", 2)]
    data["switches"][0]["shared"] = []
    with pytest.raises(NetworkError, match="port 1 of s1 leads to lan, not h1"):
        load_network(write(tmp_path, data))


def test_a_network_survives_its_own_json() -> None:
    network = networks.ring()
    assert Network.model_validate_json(network.model_dump_json()) == network
