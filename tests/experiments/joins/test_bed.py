"""A Linux bridge between namespaces. Needs root."""

import subprocess

import pytest

from experiments.joins.bed import Bed, BedError

pytestmark = pytest.mark.root


def bridge(bed: Bed, *words: str) -> str:
    return subprocess.run(
        ["ip", "netns", "exec", bed._bridge, *words], check=True, capture_output=True, text=True
    ).stdout


def namespaces() -> str:
    return subprocess.run(["ip", "netns", "list"], check=True, capture_output=True, text=True).stdout


def test_a_bridge_snoops_and_shapes_and_leaves_nothing_behind() -> None:
    with Bed(["r1", "r2"], 2e6, 50_000, fast_leave=True) as bed:
        settings = bridge(bed, "ip", "-d", "link", "show", "br0")
        assert "mcast_snooping 1" in settings
        assert "mcast_querier 1" in settings
        assert "mcast_igmp_version 3" in settings
        assert "fastleave on" in bridge(bed, "bridge", "-d", "link", "show", "dev", "r1")
        assert "rate 2Mbit" in bridge(bed, "tc", "qdisc", "show", "dev", "r2")
        assert "tbf" not in bridge(bed, "tc", "qdisc", "show", "dev", "sender")
        done = subprocess.run(bed.command("r2", "ip", "-4", "address"), check=True, capture_output=True, text=True)
        assert bed.addresses["r2"] == "10.77.0.3"
        assert "10.77.0.3/24" in done.stdout
        name = bed._bridge
        assert name in namespaces()
    assert name not in namespaces()


def test_what_cannot_be_built_is_one_line_and_is_removed() -> None:
    before = namespaces()
    with pytest.raises(BedError, match="tbf"), Bed(["r1"], 0.0, 50_000, fast_leave=False):
        pytest.fail("a rate of 0 was accepted")
    assert namespaces() == before
