"""`canopy ctl` against a running controller: what a user sees."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

from controller import tables
from controller.ctl import app
from engine.command.tables import print_table
from tests.controller import networks
from tests.controller.conftest import MakeWorld
from tests.controller.world import controlled, controller, eventually

GROUP, SOURCE = "232.1.0.1", "10.0.0.1"
STATUS: dict[str, Any] = {
    "version": 1,
    "session": 1,
    "protocol": "mtcp",
    "group": GROUP,
    "port": 5001,
    "source": SOURCE,
    "state": "sending",
    "rate_bps": 7.8e6,
    "cwnd": 31.5,
    "rtt_s": 0.041,
    "total_bytes": 1000,
    "limiting": {"receiver": "10.0.0.4", "reason": "cwnd", "cwnd": 31.5, "rtt_s": 0.041, "loss_rate": 0.011},
    "receivers": {"10.0.0.4": {"acked_bytes": 400, "state": "active"}, "10.0.0.3": {"acked_bytes": 900}},
}


def ctl(*arguments: str) -> Coroutine[Any, Any, Result]:
    """Run `canopy ctl ARGUMENTS` beside the event loop, not on a terminal: no line may be broken for its columns."""
    return asyncio.to_thread(CliRunner(env={"COLUMNS": "40"}).invoke, app, list(arguments))


async def test_every_view(make_world: MakeWorld, tmp_path: Path) -> None:
    session = {"session": 1, "protocol": "mtcp", "group": GROUP, "source": SOURCE, "port": 5001}
    later = {"session": 2, "protocol": "mtcp", "group": "239.1.0.1"}
    world = make_world(networks.line() | {"sessions": [session, later]})
    directory = tmp_path / "state"
    option = ("--state-dir", str(directory))
    async with controlled(world, directory) as service:
        world.join("h4", GROUP, SOURCE)
        await eventually(lambda: len(service.core.members) == 3)
        await world.delivers("h1", GROUP, ["h4"])
        fresh = STATUS | {"updated_at": time.time() + 300}  # however long a busy machine takes from here
        (directory / "sessions" / "1.json").write_text(json.dumps(fresh))
        (directory / "sessions" / "9.json").write_text("{")

        async def show(command: str) -> tuple[str, Any]:
            table = await ctl(command, *option)
            as_json = await ctl(command, "--json", *option)
            assert (table.exit_code, as_json.exit_code) == (0, 0), table.output + as_json.output
            return table.output, json.loads(as_json.output)

        table, found = await show("switches")
        assert [(switch["name"], switch["status"]) for switch in found] == [(n, "ready") for n in ("s1", "s2", "s3")]
        assert "1:h1 2:h2 3:s2" in table

        table, found = await show("groups")
        assert [(group["slot"], group["pinned"], group["members"]) for group in found] == [
            (0, True, ["h4"]),
            (1, True, []),
        ]
        assert found[0]["packets_sent"].keys() == {"s1", "s2", "s3"}
        assert f"({SOURCE}, {GROUP})" in table

        table, found = await show("members")
        assert [(m["switch"], m["port"], m["peer"]) for m in found] == [
            ("s1", 3, "s2"),
            ("s2", 3, "s3"),
            ("s3", 1, "h4"),
        ]

        table, found = await show("trees")
        assert found[0]["switches"]["s2"] == {
            "upstream": [{"port": 2, "peer": "s1"}],
            "members": [{"port": 3, "peer": "s3"}],
        }

        table, found = await show("sessions")
        first, second = found["sessions"]
        assert first["limiting"]["host"] == "h4"
        assert (first["limiting"]["switch"], first["limiting"]["port"]) == ("s3", 1)
        assert (first["source_host"], first["members"], first["stale"]) == ("h1", ["h4"], False)
        assert (second["state"], second["members"]) == ("expected", [])
        assert [Path(problem["file"]).name for problem in found["problems"]] == ["9.json"]
        assert "h4 (10.0.0.4)" in table
        assert "cwnd (cwnd 31.5, rtt 41.0 ms, loss 1.10 %)" in table
        assert "400 (40%)" in table
        assert "9.json" in table

        result = await ctl("link", "s1-s2", "down", *option)
        assert result.output == "changed\n"
        result = await ctl("link", "s1-s2", "down", *option)
        assert result.output == "the link was down already\n"
        table, found = await show("links")
        assert [(link["name"], link["up"]) for link in found] == [("s1:3-s2:2", False), ("s2:3-s3:2", True)]

        result = await ctl("watch", "--json", "--history", "1", "--count", "1", *option)
        assert json.loads(result.output)["event"] in ("link_down", "leave", "join")
        result = await ctl("watch", "--history", "1000", "--count", "2", *option)
        assert "controller_start" in result.output


async def test_a_link_that_is_down_stays_down_over_a_restart(make_world: MakeWorld, tmp_path: Path) -> None:
    world = make_world(networks.line())
    directory = tmp_path / "state"
    async with controller(world.network, directory):
        result = await ctl("link", "s2-s3", "down", "--state-dir", str(directory))
        assert result.exit_code == 0
    async with controller(world.network, directory) as service:
        assert service.core.trees.down == {"s2:3-s3:2"}


def set_socket(directory: Path) -> None:
    (directory / "controller.sock").touch()


@pytest.mark.parametrize("prepare", [None, set_socket])
@pytest.mark.parametrize("command", [["switches"], ["sessions", "--json"], ["watch"], ["link", "s1-s2", "up"]])
def test_no_controller_is_one_line_and_status_2(
    tmp_path: Path, command: list[str], prepare: Callable[[Path], None] | None
) -> None:
    if prepare is not None:
        prepare(tmp_path)
    result = CliRunner().invoke(app, [*command, "--state-dir", str(tmp_path)])
    assert result.exit_code == 2
    assert result.output == (
        f"canopy ctl: no controller runs in {tmp_path} (there is no controller.sock that answers)\n"
    )


def test_nothing_runs_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("controller.statedir.default_roots", lambda: [tmp_path])
    result = CliRunner().invoke(app, ["members"])
    assert result.exit_code == 2
    assert result.output.startswith(f"canopy ctl: no emulation is running (looked in {tmp_path}")


def test_a_state_that_no_link_has(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["link", "s1-s2", "sideways", "--state-dir", str(tmp_path)])
    assert (result.exit_code, result.output) == (2, "canopy ctl: the state of a link is up or down, not sideways\n")


def test_sessions_of_thirty_receivers_fit_eighty_columns() -> None:
    console = Console(force_terminal=True, width=80, color_system=None, highlight=False)
    receiver = {
        "state": "complete",
        "acked_bytes": 204_012_800,
        "cwnd": 1431.5,
        "rtt_s": 0.2311,
        "loss_rate": 0.0123,
        "advertised_window": 11983.1,
        "lost_packets": 12345,
        "repaired_packets": 12345,
        "rate_bps": 941.2e6,
    }
    receivers = {
        f"10.0.0.{1 + n}": receiver | {"host": f"r{n}", "switch": "s12", "port": n % 16, "parent": None}
        for n in range(1, 31)
    }
    limiting = {"receiver": "10.0.0.18", "host": "r17", "reason": "cwnd", "advertised_window": None}
    session = {
        **STATUS,
        "source_host": "sender",
        "stale": False,
        "total_bytes": 204_012_800,
        "receivers": receivers,
        "limiting": {**STATUS["limiting"], **limiting},
    }
    found = {"sessions": [session], "problems": []}
    with console.capture() as capture:
        print_table(tables.sessions(found), console=console, narrow=tables.narrow_sessions(found))
    lines = capture.get().splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("session 1: mtcp from sender to 232.1.0.1:5001, sending")
    assert "limited by r17 (10.0.0.18): cwnd (cwnd 31.5, rtt 41.0 ms, loss 1.10 %)" in lines
    rows = [line.split()[0] for line in lines if "100%" in line]
    assert rows == ["r17", *(f"r{n}" for n in range(1, 31) if n != 17)]


def test_switches_are_sentences_where_their_table_does_not_fit() -> None:
    console = Console(force_terminal=True, width=80, color_system=None, highlight=False)
    switch = {
        "name": "s1",
        "address": "127.0.0.1:9559",
        "status": "ready",
        "problem": None,
        "connected_s": 32.7,
        "entries": 99,
        "writes": 101,
        "ports": {str(port): f"teacher{port}" for port in range(1, 16)},
        "drops": {"no_member": 2},
        "feedback": {},
    }
    away = switch | {"name": "s2", "status": "connecting", "problem": "[refused]", "connected_s": None, "ports": {}}
    found = [switch, away]
    with console.capture() as capture:
        print_table(tables.switches(found), console=console, narrow=tables.narrow_switches(found))
    lines = capture.get().splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0] == "s1 at 127.0.0.1:9559: ready for 32.7 s, 99 entries, 101 writes"
    words = " ".join(lines).split()
    assert all(f"{port}:teacher{port}" in words for port in range(1, 16))
    assert "  dropped no_member:2" in lines
    assert lines[-3:] == [
        "s2 at 127.0.0.1:9559: connecting, 99 entries, 101 writes",
        "  [refused]",
        "  dropped no_member:2",
    ]
