"""What senders and receivers show: the fields that docs/status.md and docs/trace.md promise."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from controller.sessions import SessionStatus
from hosts.programs.observe import Observer, plain
from tests.hosts.protocols.mtcp.world import World

DOCS = Path(__file__).parents[4] / "docs"


def row(world: World) -> dict[str, Any]:
    sample = Observer(world.sender_core, 0.0).row(world.sender.now)
    return dict(json.loads(json.dumps(plain(sample), allow_nan=False)))


def documented(page: str, heading: str) -> set[str]:
    """Field names in the first column of the tables below a heading."""
    section = (DOCS / page).read_text().split(heading)[1].split("\n## ")[0]
    cells = re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}


def test_the_controller_reads_it() -> None:
    world = World(3, size=None, losses={1: 0.02})
    world.network.run(4)
    fixed = {
        "version": 1,
        "session": 7,
        "protocol": "mtcp",
        "group": "232.1.1.1",
        "source": "10.0.0.1",
        "updated_at": 1.0,
    }
    status = SessionStatus.model_validate({**row(world), **fixed})
    assert status.state == "sending"
    assert status.limiting is not None
    assert status.limiting.receiver in status.receivers
    assert status.cwnd == pytest.approx(world.sender_core.agent.congestion.window.cwnd)
    lossy = status.receivers[world.receivers[1].address.host]
    assert lossy.state == "active"
    assert lossy.loss_rate == pytest.approx(0.02, abs=0.015)
    assert lossy.lost_packets
    assert lossy.repaired_packets
    assert lossy.rtt_s is not None
    assert status.receivers[world.receivers[0].address.host].lost_packets == 0


def test_all_documented_fields_are_there() -> None:
    world = World(2, size=None)
    world.network.run(2)
    sample = row(world)
    expected = documented("trace.md", "## Rows of a sender") - {"t"}
    assert expected >= {"acked_bytes", "twnd", "min_cwnd", "rto_rtd_s", "limit"}
    assert expected <= set(sample)
    names = "state detail rate_bps goodput_bps cwnd rtt_s sent_bytes repair_packets feedback_packets limiting receivers"
    assert set(names.split()) <= set(sample)
    for receiver in sample["receivers"].values():
        assert {"rtd_s", "rtd_min_s", "repair_cwnd", "feedback_packets", "acked_bytes", "rate_bps"} <= set(receiver)


def test_the_receiver_behind_the_queue_limits() -> None:
    """The second of three has a slow link of its own."""
    world = World(3, size=None, rate_bps=50e6)
    world.links[1][0].rate_bps = 5e6
    world.network.run(5)
    limiting = row(world)["limiting"]
    assert (limiting["receiver"], limiting["reason"]) == (world.receivers[1].address.host, "cwnd")


def test_the_receiver_that_does_not_read_limits() -> None:
    world = World(3, size=None, parameters={"buffer_bytes": 50_000})
    world.receivers[2].consume_bps = 1e6
    world.network.run(5)
    limiting = row(world)["limiting"]
    assert (limiting["receiver"], limiting["reason"]) == (world.receivers[2].address.host, "advertised_window")


def test_nobody_limits_an_application_that_has_nothing() -> None:
    world = World(1, size=None, parameters={"rate_limit_bps": 1e6})
    world.network.run(3)
    assert row(world)["limiting"] is None


def test_what_became_of_everybody_stays() -> None:
    world = World(3, size=500_000, parameters={"drop_after_s": 3})
    world.network.at(0.6, world.receivers[2].kill)
    world.receivers[1].confirm_complete = False
    world.finish()
    states = [row(world)["receivers"][host.address.host]["state"] for host in world.receivers]
    assert states == ["complete", "left", "lost"]
    assert row(world)["receivers"][world.receivers[0].address.host]["acked_bytes"] == 500_000
