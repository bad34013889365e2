"""Sessions that have a group for each of their channels."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from topologies.plan import make_plan, network_description
from topologies.scenario.errors import ScenarioError
from topologies.scenario.load import load_scenario

SCENARIO: dict[str, Any] = {
    "name": "channels",
    "nodes": {"s1": {"kind": "p4"}, "a": {"kind": "host"}, "b": {"kind": "host"}},
    "links": [{"between": ["a", "s1"]}, {"between": ["b", "s1"]}],
    "sessions": [
        {
            "id": 1,
            "protocol": "webrc",
            "sender": "a",
            "group": "232.6.0.0",
            "port": 5000,
            "size": "1 MB",
            "receivers": ["b"],
        }
    ],
}


def write(folder: Path, *others: dict[str, object], **fields: object) -> Path:
    sessions = [dict(SCENARIO["sessions"][0], **fields), *(dict(SCENARIO["sessions"][0], **other) for other in others)]
    path = folder / "scenario.yaml"
    path.write_text(yaml.safe_dump(SCENARIO | {"duration": "10 s", "sessions": sessions}))
    return path


def test_the_controller_is_told_all_groups(tmp_path: Path) -> None:
    scenario = load_scenario(write(tmp_path))
    session = network_description(scenario, make_plan(scenario)).sessions[0]
    groups = session.all_groups()
    assert session.groups == 54  # 100 Mbps: N = 23, Q = 30, and the base channel
    assert (str(groups[0]), str(groups[-1])) == ("232.6.0.0", "232.6.0.53")


def test_a_session_that_is_not_announced_is_left_to_its_joins(tmp_path: Path) -> None:
    scenario = load_scenario(write(tmp_path, announced=False))
    assert network_description(scenario, make_plan(scenario)).sessions == []


def test_channels_of_two_sessions_do_not_overlap(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"232\.6\.0\.40 port 5000 is used by sessions\[0\]"):
        load_scenario(write(tmp_path, {"id": 2, "group": "232.6.0.40"}))
    load_scenario(write(tmp_path, {"id": 2, "group": "232.6.0.54"}))
    load_scenario(write(tmp_path, {"id": 2, "group": "232.6.0.40", "port": 5001}))


def test_channels_stay_among_the_multicast_addresses(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="not a multicast address"):
        load_scenario(write(tmp_path, group="239.255.255.250", membership="any-source"))
