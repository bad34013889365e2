"""Entries from a JSON file."""

import json
from pathlib import Path
from typing import Any

import finsy as fy
import pytest

from topologies.mininet.entries import EntriesError, describe, read_entries
from topologies.mininet.programs import build

ROUTE = {
    "table": "BasicIngress.route.routes",
    "match": {"ipv4.destination": ["10.0.0.1", 32]},
    "action_name": "BasicIngress.route.forward",
    "action_params": {"next_hop": "00:00:00:00:00:01", "port": 3},
}


@pytest.fixture(scope="module")
def p4info() -> fy.P4Schema:
    return fy.P4Schema(build.PROGRAMS.folder / "basic.p4info.txtpb")


def entries(**kinds: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    return {"table_entries": [], "multicast_group_entries": [], "clone_session_entries": [], **kinds}


def test_the_tutorials_form(p4info: fy.P4Schema) -> None:
    default = {"table": "routes", "default_action": True, "action_name": "drop", "action_params": {}}
    updates = describe(
        entries(
            table_entries=[ROUTE, default],
            multicast_group_entries=[{"multicast_group_id": 1, "replicas": [{"egress_port": 2, "instance": 1}]}],
            clone_session_entries=[{"clone_session_id": 5, "replicas": [{"egress_port": 2}]}],
        ),
        p4info,
    )
    route, other, group, session = (update.encode_update(p4info) for update in updates)
    entry = route.entity.table_entry
    assert (entry.match[0].lpm.value, entry.match[0].lpm.prefix_len) == (bytes([10, 0, 0, 1]), 32)
    assert [parameter.value for parameter in entry.action.action.params] == [b"\1", b"\3"]
    assert (other.type, other.entity.table_entry.is_default_action) == (2, True)
    assert group.entity.packet_replication_engine_entry.multicast_group_entry.multicast_group_id == 1
    assert session.entity.packet_replication_engine_entry.clone_session_entry.session_id == 5


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"table": "ways"}, r"table_entries\[0\]: .*BasicIngress.route.routes"),
        ({"action_name": "fly"}, r"table_entries\[0\]: .*fly"),
        ({"action_params": {"next_hop": "1"}}, r"table_entries\[0\]"),
        ({"match": {"ipv4.source": ["10.0.0.1", 32]}}, r"table_entries\[0\]: .*ipv4.source"),
        ({"match": {"ipv4.destination": [1, 2, 3]}}, "takes one value, or a pair"),
        ({"match": {"ipv4.destination": ["10.0.0.1", 33]}}, r"table_entries\[0\]"),
    ],
)
def test_a_wrong_entry_is_named(changes: dict[str, Any], told: str, p4info: fy.P4Schema) -> None:
    with pytest.raises(EntriesError, match=told):
        describe(entries(table_entries=[{**ROUTE, **changes}]), p4info)


@pytest.mark.parametrize("text", ["", "[]", '{"tables": []}', '{"table_entries": {}}', '{"table_entries": [1]}'])
def test_a_file_that_is_none_is_told(text: str, tmp_path: Path) -> None:
    (tmp_path / "entries.json").write_text(text)
    with pytest.raises(EntriesError, match=r"entries\.json"):
        read_entries(tmp_path / "entries.json")


def test_the_tutorials_other_fields_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "s1-runtime.json"
    path.write_text(json.dumps({"target": "bmv2", "p4info": "x", "bmv2_json": "y", "table_entries": [ROUTE]}))
    assert read_entries(path)["table_entries"] == [ROUTE]
