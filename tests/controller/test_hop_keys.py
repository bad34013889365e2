"""Keys of ports: both ends of a link have the same, each direction its own; files that hold the secret are private."""

from ipaddress import IPv4Address
from pathlib import Path

import pytest

from controller.hop_keys import HopKeys, read_secret
from controller.network import HostSpec, LinkSpec, Network, SwitchSpec

SECRET = bytes(range(32))


def network() -> Network:
    switches = [
        SwitchSpec(
            name=name,
            device_id=number,
            address=f"127.0.0.1:{9000 + number}",
            mac=f"02:00:00:00:00:0{number}",
            ports=ports,
        )
        for number, (name, ports) in enumerate({"a": {1: "h", 2: "b"}, "b": {1: "a", 2: "g"}}.items(), start=1)
    ]
    hosts = [
        HostSpec(name="h", ip=IPv4Address("10.0.0.1"), mac="02:00:00:00:01:01", switch="a", port=1),
        HostSpec(name="g", ip=IPv4Address("10.0.0.2"), mac="02:00:00:00:01:02", switch="b", port=2),
    ]
    return Network(switches=switches, hosts=hosts, links=[LinkSpec(a="a", a_port=2, b="b", b_port=1)])


def test_both_ends_of_a_link_have_the_same_and_nobody_else() -> None:
    keys = HopKeys(SECRET, network())
    assert keys.outward("a", 2) == keys.inward("b", 1)
    assert keys.outward("b", 1) == keys.inward("a", 2)
    places = [("a", 1), ("a", 2), ("b", 1), ("b", 2)]
    found = {keys.inward(*place) for place in places} | {keys.outward(*place) for place in places}
    assert len(found) == 6
    assert all(0 <= key < 2**64 for key in found)
    assert [keys.is_switch(*place) for place in places] == [False, True, True, False]
    assert keys.inward("a", 1) != HopKeys(bytes(32), network()).inward("a", 1)
    with pytest.raises(ValueError, match="32 bytes"):
        HopKeys(b"short", network())


def test_a_secret_s_file(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_text(SECRET.hex() + "\n")
    path.chmod(0o600)
    assert read_secret(path) == SECRET
    path.chmod(0o640)
    with pytest.raises(ValueError, match="others may read"):
        read_secret(path)
    path.chmod(0o600)
    for wrong in ("", "zz", SECRET.hex()[:-2], SECRET.hex() * 2):
        path.write_text(wrong)
        with pytest.raises(ValueError, match="hexadecimal"):
            read_secret(path)
