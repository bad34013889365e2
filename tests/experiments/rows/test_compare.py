"""What the comparison of all protocols measures, and that each of them is asked for the same."""

import json
from pathlib import Path
from typing import Any

import pytest

from experiments.harness.runs import Finished, Run
from experiments.rows.compare.comparison import ROWS
from experiments.rows.compare.measures import feedback, loss, offered_settles, rates, recovers
from experiments.rows.compare.networks import CONTENDERS, SECONDS, SETTLED_S
from experiments.rows.networks import PACKET_BYTES
from topologies.results.run_folder import RunFolder


def finished(folder: Path, series: dict[str, list[dict[str, Any]]]) -> Finished:
    """A run of VLMCC's."""
    (folder / "series").mkdir()
    for name, rows in series.items():
        (folder / "series" / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    document = {"duration": "150 s", "sessions": [{"id": 1, "protocol": "vlmcc"}]}
    return Finished(Run(document, 1), {"epoch": 0.0}, RunFolder(folder))


def trace(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"started_at": 0.0}, *rows]


def steps(*periods: tuple[float, float, float]) -> list[dict[str, Any]]:
    """A receiver's trace: (from, to, payload bytes a second)."""
    rows, octets = [], 0.0
    for since, until, rate in periods:
        at = since
        while at < until:
            rows.append({"t": at, "received_bytes": octets})
            octets += rate * 0.25
            at += 0.25
    return rows


def port(*periods: tuple[float, float, float, float], neighbour: str = "s1") -> list[dict[str, Any]]:
    """The counters of s0's port: (from, to, packets a second that pass, that are dropped)."""
    rows, sent, dropped = [], 0.0, 0.0
    for since, until, passes, drops in periods:
        at = since
        while at < until:
            counters = {"tx_packets": sent, "drop_queue": dropped, "drop_red": 0}
            rows.append({"t": at, "switch": "s0", "neighbour": neighbour, **counters})
            sent, dropped, at = sent + passes * 0.5, dropped + drops * 0.5, at + 0.5
    return rows


def test_a_rate_is_that_of_packets_on_the_link(tmp_path: Path) -> None:
    payload = CONTENDERS["VLMCC"].payload_bytes
    run = finished(tmp_path, {"session-1-r0": trace(steps((0, SECONDS + 1, 10 * payload)))})
    assert rates(run, ["r0"]) == pytest.approx([10 * PACKET_BYTES * 8 / 1e3])


def test_feedback_is_counted_from_when_all_has_settled(tmp_path: Path) -> None:
    rows = [{"t": float(at), "feedback_packets": 100 + 3 * at if at >= SETTLED_S else 0} for at in range(int(SECONDS))]
    assert feedback(finished(tmp_path, {"session-1-sender": trace(rows)})) == pytest.approx(3.0)


def test_who_has_no_feedback_has_none(tmp_path: Path) -> None:
    assert feedback(finished(tmp_path, {"session-1-sender": trace([{"t": SETTLED_S + 1}, {"t": SETTLED_S + 2}])})) == 0


def test_a_reaction_ends_the_overload(tmp_path: Path) -> None:
    run = finished(tmp_path, {"ports": port((0, 40, 100, 0), (40, 46, 125, 60), (46, 60, 124, 2))})
    assert offered_settles(run, 40.0, 1e6) == pytest.approx(6.0)
    assert loss(run, 46.0) == pytest.approx(200 / 126, rel=0.02)


def test_loss_is_that_of_the_worst_queue(tmp_path: Path) -> None:
    ports = [*port((0, 60, 100, 1)), *port((0, 60, 60, 20), neighbour="r0"), *port((0, 60, 900, 0), neighbour="r1")]
    assert loss(finished(tmp_path, {"ports": ports}), 10.0) == pytest.approx(25.0)


def test_an_overload_that_does_not_end(tmp_path: Path) -> None:
    run = finished(tmp_path, {"ports": port((0, 60, 125, 60))})
    assert offered_settles(run, 40.0, 1e6) == 45.0


def test_a_receiver_recovers_when_it_has_four_fifths_of_its_rate(tmp_path: Path) -> None:
    rows = steps((0, 30, 100e3), (30, 45, 20e3), (45, 60, 85e3))
    run = finished(tmp_path, {"session-1-r0": trace(rows)})
    assert recovers(run, "r0", 42.0, before=(20.0, 30.0)) == pytest.approx(3.0, abs=0.3)


def test_only_the_protocol_and_the_assistance_differ() -> None:
    for row in ROWS:
        assert row.experiment is not None
        cases = row.experiment.cases(False)
        assert [case.label for case in cases] == [
            *("MTCP", "MTCP, switches", "TFMCC", "TFMCC, switches", "RLA", "RLA, switches"),
            *("VLMCC", "VLMCC, switches", "WEBRC", "Arbor", "Arbor, switches"),
            *(("Arbor, several rates",) if row.id == "compare-heterogeneous" else ()),
        ]
        assisted = [case for case in cases if case.document["sessions"][0]["assist"] == "switch"]
        assert assisted == [case for case in cases if case.label.endswith(", switches")]
        rest = [
            {key: value for key, value in case.document.items() if key not in ("name", "sessions")} for case in cases
        ]
        assert all(one == rest[0] for one in rest)
        receivers = [case.document["sessions"][0]["receivers"] for case in cases]
        assert all(one == receivers[0] for one in receivers)


def test_networks_of_today_have_cubic_and_queues_of_a_product() -> None:
    found = {row.id: row for row in ROWS}
    for rate_mbps, packets in ((20, 115), (100, 575)):  # of 1,000 bytes in 46 ms
        for kind, limit in (("fq", 10_240), ("bdp", packets)):
            experiment = found[f"compare-{kind}-{rate_mbps}"].experiment
            assert experiment is not None
            assert len(experiment.cases(False)) == 11
            for case in experiment.cases(True):
                middle = next(link for link in case.document["links"] if link["between"] == ["s0", "s1"])
                assert middle["queue"]["packets"] == limit
                assert [flow["congestion_control"] for flow in case.document["traffic"]] == ["cubic"]
                assert "alpha" not in case.document["sessions"][0]["parameters"]  # defaults
