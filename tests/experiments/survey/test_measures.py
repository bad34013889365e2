import json
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from experiments.harness.runs import Finished, Programs, Run, execute
from experiments.survey.distribution import Cell, Change, Tcp
from experiments.survey.measures import (
    frame,
    longest_stall,
    measure_reference,
    measure_session,
    reference_measure,
    session_measure,
)
from experiments.survey.scenario import reference_document, session_document
from tests.experiments.survey.cells import FAR, NEAR, small
from topologies.results.run_folder import RunFolder

STEP = 0.4
TIMES = [round(STEP * number, 4) for number in range(1, 51)]


def write(folder: Path, name: str, rows: Sequence[dict[str, Any]]) -> None:
    (folder / "series").mkdir(exist_ok=True)
    (folder / "series" / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def trace(folder: Path, agent: str, octets: Sequence[float], **more: Sequence[int]) -> None:
    """A member's, from bytes by time."""
    rows: list[dict[str, Any]] = [{"trace": 1, "started_at": 0.0}]
    for place, at in enumerate(TIMES):
        rows.append({"t": at, "received_bytes": octets[place]} | {name: values[place] for name, values in more.items()})
    write(folder, f"session-1-{agent}", rows)


def ports(folder: Path, queued: Sequence[int]) -> None:
    """The bottleneck's, with so many bytes in its queue; a packet of eleven is dropped, half of 2 Mbit/s used."""
    rows = [
        {
            "t": at,
            "switch": "g0",
            "neighbour": "g1",
            "queue_bytes": queued[place],
            "drop_queue": 6 * place,
            "drop_aqm": 4 * place,
            "tx_packets": 100 * place,
            "tx_bytes": 125_000 * STEP * place,
        }
        for place, at in enumerate(TIMES)
    ]
    write(folder, "ports", [*rows, {**rows[0], "neighbour": "s", "queue_bytes": 10**9}])


def session(cell: Cell, folder: Path) -> Finished:
    summary = {"epoch": 0.0, "sessions": [{"state": "sending", "detail": ""}]}
    return Finished(Run(session_document(cell, "tfmcc"), 1), summary, RunFolder(folder))


def at_rate(bps: float, until: float = 20.0) -> list[float]:
    """Bytes by time at a rate, up to a time."""
    return [bps / 8 * min(at, until) for at in TIMES]


def test_the_measures_of_a_session(tmp_path: Path) -> None:
    cell = small(tcps=(Tcp("reno", 0.0, 0.0),))
    trace(tmp_path, NEAR, at_rate(1e6))
    # 800 kbit/s for 10 s, nothing for 2 s, and 800 kbit/s again.
    trace(tmp_path, FAR, [1e5 * (at if at <= 10 else max(10.0, at - 2)) for at in TIMES])
    counts = {
        "data_packets": [100 * place for place in range(50)],
        "feedback_packets": [25 * place for place in range(50)],
    }
    trace(tmp_path, "sender", at_rate(0), **counts)
    write(tmp_path, "flow-0", [{"t": at, "acked_bytes": 5e4 * at} for at in TIMES])
    ports(tmp_path, [2500] * 49 + [25_000])
    found = measure_session(frame(cell), session(cell, tmp_path))
    assert found["slowest"] == FAR
    assert found["goodput_bps"] == 640_000
    assert found["fastest_bps"] == pytest.approx(1e6)
    assert (found["stalled"], found["stall_s"]) == (FAR, pytest.approx(2.0 + STEP, abs=0.01))
    assert found["tcps_bps"] == [400_000]
    assert found["feedback"] == 0.25
    assert found["late_bps"] is None
    assert len(found["rates_bps"]) == 50
    assert set(found["rates_bps"]) == {800_000, 0}
    # Of 25 windows 5 have nothing: a mean of 0.8, a deviation of 0.4.
    assert found["variation"] == pytest.approx(0.5 * (25 / 24) ** 0.5)
    assert found["queue_median_s"] == pytest.approx(0.01)
    assert found["queue_p99_s"] > 0.05
    assert found["dropped"] == pytest.approx(1 / 11)
    assert found["utilisation"] == pytest.approx(0.5)
    assert json.loads(json.dumps(found)) == found


def test_a_changed_rate_is_the_bottlenecks(tmp_path: Path) -> None:
    cell = small(change=Change("rate", 1e6))
    write(tmp_path, "flow-0", [{"t": at, "acked_bytes": 1e5 * at} for at in TIMES])
    ports(tmp_path, [2500] * 50)
    run = Finished(Run(reference_document(cell, FAR), 1), {}, RunFolder(tmp_path))
    found = measure_reference(frame(cell), run)
    assert found["goodput_bps"] == 800_000
    assert found["variation"] == pytest.approx(0.0, abs=1e-9)
    assert found["tcps_bps"] == []
    assert found["queue_median_s"] == pytest.approx(0.02)
    assert found["utilisation"] == pytest.approx(1.0)


def test_who_joins_late_or_gets_nothing(tmp_path: Path) -> None:
    cell = small(late={NEAR: 5.0})
    trace(tmp_path, NEAR, at_rate(1e6))
    ports(tmp_path, [0] * 50)
    found = measure_session(frame(cell), session(cell, tmp_path))
    assert found["late_bps"] == pytest.approx(1e6)
    assert (found["goodput_bps"], found["stall_s"], found["variation"], found["feedback"]) == (0, 20.0, None, None)


def test_a_run_without_counters_of_the_bottleneck_is_none(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no counters of the bottleneck"):
        measure_session(frame(small()), session(small(), tmp_path))


@pytest.mark.parametrize(
    ("counter", "longest"),
    [
        ([(0.0, 0), (1.0, 5), (2.0, 6), (3.0, 7)], 1.0),
        ([(0.0, 0), (1.0, 5), (2.0, 5), (3.0, 5), (3.5, 9)], 2.5),
        ([(0.0, 0), (1.0, 5), (2.0, 6)], 2.0),
        ([(0.0, 0)], 4.0),
    ],
    ids=["none", "between", "at the end", "never"],
)
def test_stalls(counter: list[tuple[float, float]], longest: float) -> None:
    assert longest_stall(counter, 4.0) == longest


def test_a_tcp_alone_fills_the_link_and_its_queue() -> None:
    cell = small()
    found = execute(Run(reference_document(cell, FAR), 1), Programs(), reference_measure(cell))
    # Of each frame of 1,514 bytes 1,460 are data (less, with options); the queue has 33 frames.
    assert 0.93 * 2e6 < found["goodput_bps"] < 2e6 * 1460 / 1514
    assert found["utilisation"] == pytest.approx(1.0, abs=0.01)
    assert 0.0 < found["queue_median_s"] <= found["queue_p99_s"] <= 33 * 1514 * 8 / 2e6 + 1e-9


def test_a_session_that_no_queue_stops_has_its_own_rate() -> None:
    cell = small(rate_bps=2e7)
    document = session_document(cell, "webrc")
    document["sessions"][0]["parameters"] = {"session_rate_bps": 4e6}  # of packets
    measure = pickle.loads(pickle.dumps(session_measure(cell)))  # as Dask sends it
    found = execute(Run(document, 1), Programs(), measure)
    assert found["goodput_bps"] < 4e6
    assert found["dropped"] == 0
    assert found["queue_p99_s"] < 0.02
    assert found["feedback"] == 0
    assert found["stall_s"] < 5
