import json
import resource
import signal
from pathlib import Path

import pytest

from engine.command.signals import Interrupted
from tests.topologies.simulation.runs import Run, session, simulate, tree
from topologies.simulation import runner

LOSSY = tree(", toward: {r4: {loss: 1 %}}") + session()


@pytest.fixture(scope="module")
def lossy(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run with random loss at one receiver."""
    return simulate(tmp_path_factory.mktemp("lossy") / "run", LOSSY, report=True)


def test_every_receiver_gets_the_file(lossy: Run) -> None:
    result = lossy.summary.sessions[0]
    assert lossy.summary.ok
    assert lossy.summary.outcome == "done"
    assert result.state == "done"
    assert [receiver.complete for receiver in result.receivers] == [True] * 4
    assert {receiver.sha256 for receiver in result.receivers} == {result.sha256}
    assert result.receivers[3].lost_packets
    assert not any(receiver.lost_packets for receiver in result.receivers[:3])
    assert result.feedback_packets
    for receiver in result.receivers:
        assert receiver.goodput_bps
        assert 1e6 < receiver.goodput_bps < 10e6
        assert receiver.completed_at is not None


def test_a_signal_before_it_begins_leaves_no_run_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise Interrupted(signal.SIGTERM)

    monkeypatch.setattr(runner, "_build", interrupt)
    with pytest.raises(Interrupted):
        simulate(tmp_path / "run", tree() + session("1 kB"))
    assert not (tmp_path / "run").exists()


def test_as_many_files_may_be_open_as_there_are_traces(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))
    try:
        simulate(tmp_path / "run", tree() + session("1 kB"))
        assert 256 < resource.getrlimit(resource.RLIMIT_NOFILE)[0] < 300
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_goodput_counts_from_the_file_and_not_from_what_others_took_to_join(tmp_path: Path) -> None:
    """Who comes 3 s late, for its link is down, holds up the file, which then comes to all of them at once."""
    faults = "faults:\n  - {kind: link-down, at: 4 ms, link: [s3, r4], duration: 3 s}\n"
    result = simulate(tmp_path / "run", tree() + session() + faults).summary.sessions[0]
    assert result.sending_from is not None
    assert result.sending_from >= 2.8
    rates = [receiver.goodput_bps or 0 for receiver in result.receivers]
    assert min(rates) > 0.8 * max(rates)


def test_the_run_folder_is_that_of_an_emulation(lossy: Run) -> None:
    assert json.loads((lossy.folder / "summary.json").read_text()) == lossy.summary.as_json()
    report = (lossy.folder / "report.html").read_text()
    assert report.count("<svg") >= 5
    assert "all 4 receivers hold the whole file" in report
    assert {"ports.jsonl", "sessions.jsonl", "receivers.jsonl", "session-1-sender.jsonl"} <= set(lossy.files())
    assert {row["switch"] for row in lossy.series("ports")} == {"s1", "s2", "s3"}
    agent = json.loads((lossy.folder / "agents" / "session-1-r4.json").read_text())
    assert agent["complete"]
    assert agent["counters"]
    assert not (lossy.folder / "received").exists()
    assert not (lossy.folder / "sources").exists()


def test_traces_have_virtual_times(lossy: Run) -> None:
    header, *rows = lossy.series("session-1-sender")
    assert header["started_at"] == 0.0
    assert rows[0]["t"] == pytest.approx(0.2)
    assert rows[1]["t"] == pytest.approx(0.4)
    assert rows[-1]["state"] == "done"
    last = lossy.series("sessions")[-1]
    assert last["state"] == "done"
    assert last["t"] <= lossy.summary.duration_s + 1e-3


def test_counters_of_a_link_agree_at_both_ends(lossy: Run) -> None:
    rows = lossy.series("ports")
    last = {(row["switch"], row["neighbour"]): row for row in rows}
    assert last["s1", "s2"]["tx_bytes"] == last["s2", "s1"]["rx_bytes"] > 500_000
    assert last["s3", "r4"]["drop_loss"] == lossy.summary.sessions[0].receivers[3].lost_packets


def test_the_same_seed_gives_the_same_octets(lossy: Run, tmp_path: Path) -> None:
    again = simulate(tmp_path / "again", LOSSY)
    assert again.files() == lossy.files()


def test_another_seed_gives_another_run(lossy: Run, tmp_path: Path) -> None:
    other = simulate(tmp_path / "other", LOSSY, seed=2)
    assert other.summary.ok
    assert other.series("receivers") != lossy.series("receivers")
    assert other.summary.sessions[0].sha256 != lossy.summary.sessions[0].sha256


def test_plain_routers_deliver_the_same_packets_at_the_same_times(tmp_path: Path) -> None:
    """From 0.8 s to the next query, at 2.5 s, a network of P4 switches carries nothing that one of routers does not."""
    text = tree() + session("800 kB", start=0.9, join=0.8)
    switches = simulate(tmp_path / "switches", text)
    routers = simulate(tmp_path / "routers", text, routers=True)
    assert switches.summary.ok
    assert switches.summary.duration_s < 2.5
    assert switches.summary.duration_s == routers.summary.duration_s
    for name, content in switches.files().items():
        if name != "ports.jsonl":
            assert content == routers.files()[name], name


def test_it_ends_when_told(tmp_path: Path) -> None:
    run = simulate(tmp_path / "short", tree() + session("5 MB"), until=1.0)
    assert run.summary.outcome == "time limit"
    assert run.summary.duration_s == 1.0
    assert not run.summary.ok
    assert {receiver.detail for receiver in run.summary.sessions[0].receivers} == {"still receiving"}
    assert run.series("sessions")[-1]["t"] == 1.0


def test_received_files_can_be_kept(tmp_path: Path) -> None:
    run = simulate(tmp_path / "kept", tree() + session("50 kB"), keep_files=True)
    source = (run.folder / "sources" / "session-1.bin").read_bytes()
    assert len(source) == 50_000
    for host in ("r1", "r4"):
        assert (run.folder / "received" / "1" / host / "session-1.bin").read_bytes() == source


def test_a_host_clock_that_is_ahead_and_fast_changes_little(tmp_path: Path) -> None:
    text = tree() + session("200 kB")
    skewed = text.replace("r4: {kind: host}", "r4: {kind: host, clock: {offset: 1000 s, drift_ppm: 100}}")
    straight, run = simulate(tmp_path / "straight", text), simulate(tmp_path / "skewed", skewed)
    assert run.summary.ok
    assert run.summary.duration_s == pytest.approx(straight.summary.duration_s, rel=0.02)


def test_two_hundred_receivers_on_one_router(tmp_path: Path) -> None:
    hosts = [f"r{number}" for number in range(1, 201)]
    text = "\n".join(
        [
            "name: star",
            "duration: 60 s",
            "nodes:",
            "  core: {kind: router}",
            "  sender: {kind: host}",
            *(f"  {host}: {{kind: host}}" for host in hosts),
            "links:",
            "  - {between: [sender, core], rate: 100 Mbps, delay: 1 ms, queue: {kind: droptail, packets: 400}}",
            *(f"  - {{between: [core, {host}], rate: 10 Mbps, delay: 5 ms}}" for host in hosts),
            "sessions:",
            "  - {id: 1, protocol: mtcp, sender: sender, group: 232.1.0.1, port: 5001, size: 30 kB, "
            f"receivers: [{', '.join(hosts)}]}}",
        ]
    )
    run = simulate(tmp_path / "star", text)
    assert run.summary.ok
    assert len(run.summary.sessions[0].receivers) == 200
    assert "session-1-r7.jsonl" not in run.files()
    run = simulate(tmp_path / "traced", text + "\nsimulation: {traces: 200}")
    assert "session-1-r7.jsonl" in run.files()


def test_traces_are_as_fine_as_the_scenario_wants(tmp_path: Path) -> None:
    run = simulate(tmp_path, LOSSY.replace("duration: ", "simulation: {trace: 50 ms}\nduration: ", 1))
    assert [row["t"] for row in run.series("session-1-sender")[1:4]] == pytest.approx([0.05, 0.1, 0.15])
