import json
from pathlib import Path

import pytest

from experiments.harness.measures import flow_goodput, flow_goodputs, last_port_row, session_goodput
from experiments.harness.runs import Finished, Run
from topologies.results.run_folder import RunFolder


def finished(folder: Path, series: dict[str, list[dict[str, float | str]]], **summary: object) -> Finished:
    (folder / "series").mkdir()
    for name, rows in series.items():
        (folder / "series" / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return Finished(Run({"traffic": [{}, {}]}, 1), summary, RunFolder(folder))


def test_a_flows_goodput_leaves_its_start_up_out(tmp_path: Path) -> None:
    tcp: list[dict[str, float | str]] = [
        {"t": at, "acked_bytes": octets} for at, octets in ((0, 0), (1, 10), (3, 2010))
    ]
    udp: list[dict[str, float | str]] = [{"t": at, "received_bytes": 125 * at} for at in range(4)]
    run = finished(tmp_path, {"flow-0": tcp, "flow-1": [], "flow-1-sink": udp})
    assert flow_goodput(run, 0, since=1) == 8000
    assert flow_goodputs(run, since=1) == [8000, 1000]
    with pytest.raises(ValueError, match="flow 0 measured nothing after 2 s"):
        flow_goodput(run, 0, since=2)


def test_the_last_counters_of_a_port(tmp_path: Path) -> None:
    rows: list[dict[str, float | str]] = [
        {"t": at, "switch": switch, "neighbour": "b", "drop_queue": at} for at in (1, 2) for switch in ("a", "c")
    ]
    run = finished(tmp_path, {"ports": rows})
    assert last_port_row(run, "a", "b")["drop_queue"] == 2
    with pytest.raises(ValueError, match="port of a towards x"):
        last_port_row(run, "a", "x")


def test_a_sessions_goodput_is_its_slowest_receivers(tmp_path: Path) -> None:
    receivers: list[dict[str, object]] = [
        {"expected": True, "complete": True, "goodput_bps": 7e6},
        {"expected": True, "complete": True, "goodput_bps": 5e6},
        {"expected": False, "complete": False, "goodput_bps": None},
    ]
    run = finished(tmp_path, {}, sessions=[{"receivers": receivers}])
    assert session_goodput(run) == 5e6
    receivers[0]["complete"] = False
    with pytest.raises(ValueError, match="not every receiver"):
        session_goodput(run)
