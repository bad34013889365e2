import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tests.topologies.scenarios import TEXT
from topologies.results.bottleneck import Bottleneck
from topologies.results.plots import group, limiting, progress, rates
from topologies.results.report import write_report
from topologies.results.run_folder import RunFolder, SeriesWriter
from topologies.results.summary import FlowResult, ReceiverResult, SessionResult, Summary


def measured(path: Path) -> RunFolder:
    """A run folder with three seconds of invented measurements."""
    folder = RunFolder(path)
    folder.series.mkdir()
    folder.scenario.write_text(TEXT)
    times = [n / 4 for n in range(12)]
    series: dict[str, list[dict[str, Any]]] = {
        "ports": [
            {"t": t, "switch": "s1", "port": 2, "neighbour": "s2", "tx_bytes": t * 1e6, "queue_packets": 5}
            for t in times
        ]
        + [{"t": t, "switch": "s2", "port": 1, "neighbour": "b", "tx_bytes": t * 1e6} for t in times],
        "sessions": [
            {
                "t": t,
                "session": 3,
                "cwnd": 10 + t,
                "repair_packets": int(t),
                "feedback_packets": int(t),
                "limiting": "c",
            }
            for t in times
        ],
        "members": [{"t": 0.5, "kind": "leave", "session": 3, "receiver": "c"}],
        "receivers": [
            {"t": t, "session": 3, "receiver": "b", "acked_bytes": int(t * 1e6), "lost_packets": 2} for t in times
        ],
        "events": [{"t": 1.0, "kind": "kill switch", "subject": "s2"}],
        "flow-0": [{"t": t, "cwnd": 20 - t} for t in times],
        "session-3-sender": [{"trace": 1, "started_at": 100.5}, *({"t": t, "cwnd": 5, "rate_bps": 1e6} for t in times)],
    }
    for name, rows in series.items():
        SeriesWriter(folder.series / f"{name}.jsonl").write(rows)
    done = ReceiverResult("b", "10.0.0.1", True, True, "", "00", 2.5, 8_049_999.0, 2, 3)
    lost = ReceiverResult("c", "10.0.0.3", True, False, "ended with status 1: <no> & such")
    summary = Summary(
        "small", 7, "embedded", "2026-03-04T05:06:07+00:00", 100.0, 3.0, False, "done",
        [SessionResult(3, "mtcp", "a", "/f", 1_000_000, "00", 0.5, 2.0, "failed", "", 40, 3, [done, lost])],
        [FlowResult("tcp", "a", "b", 2_500_000.0)],
        0.912,
        [Bottleneck(3, "s1", "s2", 10e6, 1.0, 2.0, 0.912)],
        [],
        ["a note"],
        str(path),
    )  # fmt: skip
    folder.summary.write_text(json.dumps(asdict(summary)))
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return measured(tmp_path)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Its report, drawn once for all who read it."""
    folder = measured(tmp_path_factory.mktemp("run"))
    write_report(folder)
    return folder.report.read_text()


def network(page: str) -> str:
    """The network's picture."""
    return page.split("<svg")[1].split("</svg>")[0]


def test_the_report_is_one_page_with_nothing_to_load(page: str) -> None:
    assert page.count("<svg") == 9
    for attribute in ("src=", "<script", "<link", "@import"):
        assert attribute not in page
    for text in (
        "1 of 2 receivers hold the whole file",
        "91.2%",
        "8.05 Mbps",
        "2.50 Mbps",
        "a note",
        "kill switch s2",
        ">1 %<",
    ):
        assert text in page


def test_the_report_says_what_failed_who_left_and_with_which_parameters(page: str) -> None:
    for text in ("session 3 failed", '<span class="verdict">failed</span>', "leaves", "ack_every 4", "Who limits"):
        assert text in page


def test_what_programs_say_cannot_become_markup(page: str) -> None:
    assert "&lt;no&gt; &amp; such" in page
    assert "<no>" not in page


def test_a_run_without_measurements_has_a_report_without_plots(folder: RunFolder) -> None:
    for path in folder.series.iterdir():
        path.unlink()
    write_report(folder)
    assert folder.report.read_text().count("<svg") == 1, "the network"


def test_receivers_of_several_sessions_have_curves_of_their_own() -> None:
    rows = [
        {"t": t, "session": session, "receiver": "b", "acked_bytes": 1000 * session * t}
        for t in range(3)
        for session in (3, 4)
    ]
    picture = progress(rows, [])
    assert picture is not None
    assert "<!-- b (session 3) -->" in picture
    assert "<!-- b (session 4) -->" in picture
    one = progress([row for row in rows if row["session"] == 3], [])
    assert one is not None
    assert "<!-- b -->" in one


def test_a_receiver_that_lacks_something_is_red_in_the_network(page: str, folder: RunFolder) -> None:
    assert "#b3261e" in network(page)
    summary = json.loads(folder.summary.read_text())
    summary["sessions"][0]["receivers"][1]["complete"] = True
    folder.summary.write_text(json.dumps(summary))
    write_report(folder)
    assert "#b3261e" not in network(folder.report.read_text())


def test_a_receiver_of_which_nothing_was_expected_is_no_success_in_the_network(page: str, folder: RunFolder) -> None:
    summary = json.loads(folder.summary.read_text())
    summary["sessions"][0]["receivers"][1]["expected"] = False  # it left, or was killed as the scenario says
    folder.summary.write_text(json.dumps(summary))
    write_report(folder)
    assert network(folder.report.read_text()).count("#0b6e4f") == network(page).count("#0b6e4f")


def test_rates_are_over_the_last_half_second() -> None:
    curve = [(0.0, 0.0), (0.25, 1000.0), (0.5, 2000.0), (0.75, 2000.0), (1.0, 2000.0), (1.25, 2000.0)]
    assert rates(curve) == [(0.25, 32000), (0.5, 32000), (0.75, 16000), (1.0, 0), (1.25, 0)]


def test_a_counter_that_starts_anew_is_no_negative_rate() -> None:
    assert rates([(0.0, 5000.0), (0.25, 0.0)]) == [(0.25, 0.0)]


def test_rows_are_grouped_in_order() -> None:
    assert list(group([{"x": "r10"}, {"x": "a"}, {"x": "r9"}, {"x": "r10"}], "x")) == ["a", "r9", "r10"]


def test_who_limits_stands_in_order_whoever_limits_first() -> None:
    picture = limiting([{"t": t, "session": 1, "limiting": f"r{r}"} for t, r in ((1, 10), (2, 9), (3, 1))], [])
    assert picture is not None
    assert re.findall(r"<!-- (r\d+) -->", picture) == ["r1", "r9", "r10"]
