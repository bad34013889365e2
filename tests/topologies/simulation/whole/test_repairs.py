"""MTCP's losses above a switch, which all receivers share, over real P4 switches in virtual time."""

from pathlib import Path

import pytest

from tests.topologies.simulation.runs import scenario_text, simulate

BRANCHES_MS = (5, 10, 20, 40, 60, 100, 150, 200)
A_BRANCH = 5
"""Receivers."""
RECEIVERS = [f"r{branch}x{index}" for branch in range(len(BRANCHES_MS)) for index in range(A_BRANCH)]


def scenario(assist: str, *, first: str, branches: str = "", last: str = "", size: str = "1 MB") -> str:
    """Sender - s0 - eight edge switches far apart - five receivers each, all children of the sender. `first`,
    `branches` and `last` are fields for the links of each kind.
    """
    edges = [f"e{branch}" for branch in range(len(BRANCHES_MS))]
    links = [f"[sender, s0], rate: 10 Mbps, delay: 1 ms{first}"]
    for edge, delay in zip(edges, BRANCHES_MS, strict=True):
        links.append(f"[s0, {edge}], rate: 20 Mbps, delay: {delay} ms{branches}")
    for receiver in RECEIVERS:
        branch, index = receiver[1:].split("x")
        links.append(f"[e{branch}, {receiver}], rate: 50 Mbps, delay: {1 + int(index)} ms{last}")
    return scenario_text(
        "name: repairs\nseed: 1\nduration: 300 s",
        dict.fromkeys(("s0", *edges), "p4") | dict.fromkeys(("sender", *RECEIVERS), "host"),
        links,
        "sessions:",
        f"  - {{id: 1, protocol: mtcp, sender: sender, group: 232.1.0.1, port: 5001, size: {size},",
        f"     assist: {assist}, tree: one-level, receivers: [{', '.join(RECEIVERS)}]}}",
    )


def test_a_loss_near_the_sender_is_repaired_once_a_branch(tmp_path: Path) -> None:
    """Its repairs are what the first link carries. Branches ask one after another, for they are far apart."""
    loss = 0.02
    first = f", queue: {{kind: droptail, packets: 60}}, toward: {{s0: {{loss: {loss}}}}}"
    run = simulate(tmp_path / "run", scenario("switch", first=first))
    assert run.summary.ok
    last = run.sender()
    lost = loss * (last["data_packets"] + last["repair_packets"])
    assert 10 < last["repair_packets"] < 1.5 * lost * len(BRANCHES_MS)


@pytest.mark.parametrize("seed", [1, 2])
def test_all_get_the_file_whatever_is_lost_or_overtaken(tmp_path: Path, seed: int) -> None:
    disturbed = ", loss: 1 %, reorder: {probability: 2 %, delay: 15 ms}, duplicate: 1 %"
    text = scenario("switch", first=disturbed, branches=disturbed, last=disturbed, size="300 kB")
    run = simulate(tmp_path / "run", text, seed=seed)
    assert run.summary.ok
    assert all(receiver.complete for receiver in run.summary.sessions[0].receivers)
