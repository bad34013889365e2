"""Packets of a simulated run, followed through its switches."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.topologies.simulation.runs import Run, session, simulate, tree
from topologies.explain.journey import Explainer
from topologies.explain.record import FILE_NAME, recorded
from topologies.explain.show import journey_lines
from topologies.explain.store import ExplainError, Store
from topologies.play import Play
from topologies.results.run_folder import RunFolder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A short transfer whose feedback the switches merge."""
    text = tree() + session("100 kB").replace("    slow_receivers", "    assist: switch\n    slow_receivers")
    return simulate(tmp_path_factory.mktemp("explain") / "run", text)


@pytest.fixture(scope="module")
def store(run: Run) -> Store:
    folder = RunFolder(run.folder)
    shares: list[float] = []
    store = recorded(folder, json.loads(folder.summary.read_text()), shares.append)
    assert shares[-1] == 1.0
    return store


def test_played_again_the_run_is_the_same(store: Store) -> None:
    assert store.fact("same") == "yes"
    assert store.fact("complete") == "yes"


def test_a_file_of_the_command_line_is_sent_again(tmp_path: Path) -> None:
    (tmp_path / "small").write_bytes(bytes(20_000))
    run = simulate(tmp_path / "run", tree() + session("100 kB"), file=tmp_path / "small")
    folder = RunFolder(run.folder)
    store = recorded(folder, json.loads(folder.summary.read_text()), lambda _: None)
    assert store.fact("same") == "yes"


def test_of_a_run_that_a_signal_ends_while_it_is_played_again_nothing_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = RunFolder(simulate(tmp_path / "run", tree() + session("20 kB")).folder)
    monkeypatch.setattr(Play, "run", lambda self, until: "interrupted")
    with pytest.raises(ExplainError, match="interrupted"):
        recorded(folder, json.loads(folder.summary.read_text()), lambda _: None)
    assert not [path for path in folder.path.iterdir() if FILE_NAME in path.name]


def test_a_data_packet_goes_from_the_sender_to_all_receivers(store: Store) -> None:
    explainer = Explainer(store)
    data = next(each for each in explainer.packets("s3", 0.1) if each.kind == "mtcp_data")
    stops = explainer.journey(data.name)
    assert [stop.account.switch for stop in stops] == ["s1", "s2", "s3"] or [stop.account.switch for stop in stops] == [
        "s1",
        "s3",
        "s2",
    ]
    assert stops[0].came_from == "sender"
    assert {departure.neighbour for stop in stops for departure in stop.departures} == {
        *("s2", "s3"),
        *("r1", "r2", "r3", "r4"),
    }
    assert data.name in [stop.account.name for stop in stops]
    text = "\n".join(journey_lines(stops))
    assert "ipv4.ttl 64 → 63" in text
    assert "route_sg hit" in text


def test_what_leaves_one_switch_for_another_arrives_there(store: Store) -> None:
    explainer = Explainer(store)
    leaving = explainer.packets("s1", 0.0, "s2", 200)
    journeys = [explainer.journey(copy.name) for copy in leaving[:40]]
    assert all(any(stop.account.switch == "s2" for stop in stops) for stops in journeys)


def test_merged_feedback_names_the_summary_that_carries_it_on(store: Store) -> None:
    explainer = Explainer(store)
    merged = []
    for packet in explainer.packets("s2", 0.1, limit=200):
        if packet.kind == "mtcp_data" or packet.came == 1:
            continue
        stop = next(stop for stop in explainer.journey(packet.name) if stop.account.switch == "s2")
        if stop.outcome == "absorbed":
            merged.append(stop)
        if len(merged) == 3:
            break
    assert merged
    assert all(not stop.departures and stop.merged_into.startswith("s2:") for stop in merged[:1])


def test_names_of_no_packet_are_refused(store: Store) -> None:
    explainer = Explainer(store)
    for name, words in (("s1:99999999", "no such packet"), ("s9:1", "no such switch"), ("s1:x", "SWITCH:NUMBER")):
        with pytest.raises(ExplainError, match=words):
            explainer.journey(name)


def test_runs_that_cannot_be_played_again_are_refused(run: Run, tmp_path: Path) -> None:
    summary = json.loads((run.folder / "summary.json").read_text())
    for summary_of, words in ((None, "no summary"), ({**summary, "switch": "embedded"}, "emulated")):
        with pytest.raises(ExplainError, match=words):
            recorded(RunFolder(tmp_path), summary_of, lambda _: None)
    assert not (tmp_path / FILE_NAME).exists()


def explain(folder: Path, *arguments: str, reader: str = "cat") -> subprocess.CompletedProcess[str]:
    """The command, with what it says to a reader."""
    command = [sys.executable, "-m", "topologies.explain.command", str(folder), *arguments]
    with subprocess.Popen([reader], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as reading:
        return subprocess.run(command, stdout=reading.stdin, stderr=subprocess.PIPE, text=True, check=False)


def test_who_lists_packets_sees_their_ends_and_a_few_lines_of_progress(run: Run) -> None:
    (run.folder / FILE_NAME).unlink(missing_ok=True)
    command = [sys.executable, "-m", "topologies.explain.command", str(run.folder), "--switch", "s3", "--at", "0.1"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "mtcp data      10.0.0.1 → 232.1.0.1" in listed.stdout
    assert max(map(len, listed.stdout.splitlines())) <= 80
    assert 1 <= len(listed.stderr.splitlines()) <= 5


def test_a_reader_that_goes_away_and_a_folder_that_is_none_are_told_so(run: Run, tmp_path: Path) -> None:
    assert explain(run.folder, "s1:5", reader="true").stderr == ""
    nowhere = explain(tmp_path / "nowhere")
    assert (nowhere.returncode, nowhere.stderr) == (2, f"canopy: explain: {tmp_path}/nowhere: no such folder\n")
    other = explain(tmp_path, "s1:5")
    assert (other.returncode, other.stderr) == (
        2,
        f"canopy: explain: {tmp_path}: no run folder, it has no scenario.yaml\n",
    )
    late = explain(run.folder, "--at", "999")
    assert (late.returncode, late.stderr[:55]) == (0, "no packet came to the first switch in the 10 s from 999")
