"""What a scenario does to a network, in virtual time."""

import json
from pathlib import Path

from tests.topologies.simulation.runs import Run, session, simulate, tree


def controller_events(run: Run) -> list[dict[str, object]]:
    return [json.loads(line) for line in (run.folder / "logs" / "controller-events.jsonl").read_text().splitlines()]


def run_with(folder: Path, *faults: str, content: str = "") -> Run:
    """A session of 3 MB, unless `content` is another, in a tree where such things happen."""
    return simulate(
        folder / "run",
        tree() + (content or session("3 MB")) + "faults:\n" + "".join(f"  - {{{fault}}}\n" for fault in faults),
    )


def test_a_switch_that_comes_back_empty_is_set_up_again(tmp_path: Path) -> None:
    run = run_with(tmp_path, "kind: switch-restart, at: 1 s, switch: s2, outage: 300 ms")
    assert run.summary.ok
    assert [(row["kind"], row["t"]) for row in run.series("events")] == [("kill switch", 1.0), ("start switch", 1.3)]
    told = [(event["event"], event["time"]) for event in controller_events(run) if event.get("switch") == "s2"]
    assert ("switch_lost", 1.0) in told
    assert ("switch_ready", 1.8) in told
    sent = {row["t"]: row["tx_bytes"] for row in run.series("ports") if (row["switch"], row["port"]) == ("s2", 2)}
    assert sent[1.0] == sent[1.75]
    assert sent[2.25] > sent[1.75]


def test_a_link_that_was_down_is_used_again(tmp_path: Path) -> None:
    run = run_with(tmp_path, "kind: link-down, at: 1 s, link: [s1, s3], duration: 400 ms", content=session("2 MB"))
    assert run.summary.ok
    named = {
        event["event"]: event["time"] for event in controller_events(run) if str(event["event"]).startswith("link")
    }
    assert named == {"link_down": 1.005, "link_up": 1.405}  # a control delay later


def test_a_link_that_stays_down_costs_the_receivers_behind_it(tmp_path: Path) -> None:
    run = run_with(tmp_path, "kind: link-down, at: 1 s, link: [s2, r1]", content=session("2 MB"))
    receivers = run.summary.sessions[0].receivers
    assert [receiver.complete for receiver in receivers] == [False, True, True, True]
    assert receivers[0].expected
    assert not run.summary.ok


def test_a_receiver_that_dies_is_not_expected_and_not_waited_for(tmp_path: Path) -> None:
    run = run_with(tmp_path, "kind: receiver-dies, at: 1 s, session: 1, host: r2", content=session("2 MB"))
    receivers = run.summary.sessions[0].receivers
    assert [receiver.complete for receiver in receivers] == [True, False, True, True]
    assert (receivers[1].expected, receivers[1].detail) == (False, "killed, as the scenario says")
    assert run.summary.ok


def test_a_receiver_leaves_in_good_order(tmp_path: Path) -> None:
    text = (tree() + session("2 MB")).replace("{host: r3, join: 0.0 s}", "{host: r3, leave: 1 s}")
    run = simulate(tmp_path / "run", text)
    receivers = run.summary.sessions[0].receivers
    assert [receiver.complete for receiver in receivers] == [True, True, False, True]
    assert receivers[2].detail == "left, as the scenario says"
    assert run.summary.sessions[0].state == "done", "its sender cannot know that this was to be"
    left = [event for event in controller_events(run) if event["event"] == "leave" and event["peer"] == "r3"]
    assert left
    assert isinstance(left[0]["time"], float)
    assert 1.0 < left[0]["time"] < 1.1


def test_a_controller_that_restarts_finds_its_switches_as_they_are(tmp_path: Path) -> None:
    run = run_with(tmp_path, "kind: controller-restart, at: 1 s, outage: 500 ms")
    assert run.summary.ok
    ready = [event for event in controller_events(run) if event["event"] == "switch_ready" and event["time"] == 1.5]
    assert [(event["fresh"], event["changes"]) for event in ready] == [(False, "0 inserted, 0 modified, 0 deleted")] * 3


def test_a_switch_and_its_link_fail_at_the_same_time(tmp_path: Path) -> None:
    """The link is down until the later of the two ends, and each end is told of once."""
    run = run_with(
        tmp_path,
        "kind: link-down, at: 1 s, link: [s1, s2], duration: 1 s",
        "kind: switch-restart, at: 1200 ms, switch: s2, outage: 200 ms",
    )
    assert run.summary.ok
    sent = {row["t"]: row["rx_bytes"] for row in run.series("ports") if (row["switch"], row["port"]) == ("s2", 1)}
    assert sent[1.25] == sent[2.0]
    assert sent[2.5] > sent[2.0]


def test_two_failures_in_the_controllers_absence(tmp_path: Path) -> None:
    run = run_with(
        tmp_path,
        "kind: controller-restart, at: 1 s, outage: 1 s",
        "kind: switch-restart, at: 1200 ms, switch: s3, outage: 200 ms",
    )
    assert run.summary.ok
    ready = {
        event["switch"]: event["fresh"] for event in controller_events(run) if event["time"] == 2.0 and "fresh" in event
    }
    assert ready == {"s1": False, "s2": False, "s3": True}


TWO_LEVELS = "    tree: {sender: [r1, r3], r1: [r2], r3: [r4]}\n"


def test_the_children_of_an_agent_that_dies_find_another_parent(tmp_path: Path) -> None:
    content = session("3 MB").replace("3 s}\n", "8 s}\n" + TWO_LEVELS)
    run = run_with(tmp_path, "kind: receiver-dies, at: 1 s, session: 1, host: r1", content=content)
    result = run.summary.sessions[0]
    assert run.summary.ok
    assert (result.drop_after_s, result.dropped) == (8.0, ["r1"])
    assert [(receiver.host, receiver.complete) for receiver in result.receivers] == [
        ("r1", False), ("r2", True), ("r3", True), ("r4", True)
    ]  # fmt: skip
    parents = {receiver.host: receiver.parent for receiver in result.receivers}
    assert parents["r2"] in ("sender", "r3", "r4")
    assert (parents["r3"], parents["r4"]) == ("sender", "r3")


def test_an_agent_that_leaves_hands_its_children_over(tmp_path: Path) -> None:
    text = tree() + session("3 MB").replace("3 s}\n", "8 s}\n" + TWO_LEVELS).replace("join: 0.0 s}", "leave: 1 s}", 1)
    run = simulate(tmp_path / "run", text)
    result = run.summary.sessions[0]
    assert run.summary.ok
    assert result.dropped == []
    assert [receiver.complete for receiver in result.receivers] == [False, True, True, True]
    assert result.receivers[1].parent in ("sender", "r3", "r4")
    # Nobody had to wait for a time-out of the tree's.
    assert run.summary.duration_s < 8
