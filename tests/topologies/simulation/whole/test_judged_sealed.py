"""Feedback that switches judge though its packets are sealed: with honest switches, with a host that forges, replays
and changes what it says, and with a switch that drops more than it may."""

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from controller.program import BLOB_NAME, CONSTANTS_NAME, Program, default_directory
from hosts.endpoint import Effect, Send
from hosts.security.hop import HOP_BYTES
from hosts.security.sealing import Sealing
from hosts.wire.header import HEADED_VERSION
from tests.topologies.simulation.runs import Run, scenario_text, simulate
from topologies.simulation import switch
from topologies.simulation.switch import SimulatedSwitch

RECEIVERS = 8
MUST_PASS = {
    "arbor": ("key > worst",),
    "tfmcc": ("tfmcc_report.receiver == row", "least == TFMCC_NO_RATE", "is_far == 1"),
    "vlmcc": ("vlmcc_challenge.rate < worst",),
}
"""What the program asks before it lets a protocol's feedback pass."""


def stream(protocol: str, security: str, content: str = "realtime: true", assist: str = "switch") -> str:
    """A stream whose receivers want less at 3 s, when another one fills the link that they have in common."""
    hosts = [f"r{index}" for index in range(RECEIVERS)]
    queue = "queue: {kind: droptail, packets: 50}"
    links = [f"[sender, s0], rate: 20 Mbps, delay: 1 ms, {queue}", f"[s0, s1], rate: 8 Mbps, delay: 5 ms, {queue}"]
    links += [f"[s0, s2], rate: 12 Mbps, delay: 3 ms, {queue}"]
    links += [f"[s{1 + index % 2}, {host}], rate: 20 Mbps, delay: {2 + index} ms" for index, host in enumerate(hosts)]
    return scenario_text(
        "name: judged\nseed: 1\nduration: 14 s",
        dict.fromkeys(("s0", "s1", "s2"), "p4") | dict.fromkeys(("sender", "other", *hosts), "host"),
        [*links, "[s0, other], rate: 20 Mbps, delay: 1 ms"],
        "sessions:",
        f"  - {{id: 1, protocol: {protocol}, sender: sender, group: 232.6.0.1, port: 5001, {content},",
        f"     security: {security}, assist: {assist}, receivers: [{', '.join(hosts)}]}}",
        "traffic:",
        "  - {kind: udp, source: other, destination: r0, rate: 9 Mbps, start: 4 s, stop: 7 s}",
        "  - {kind: udp, source: other, destination: r2, rate: 5 Mbps, start: 8 s, stop: 12 s}",
    )


def mean_bps(run: Run) -> float:
    rows = [row["sent_bytes"] for row in run.series("session-1-sender") if "sent_bytes" in row]
    return float(rows[-1] * 8 / 14)


@pytest.fixture
def switches(monkeypatch: pytest.MonkeyPatch) -> list[SimulatedSwitch]:
    """Of the runs of a test."""
    return kept_switches(monkeypatch)


def kept_switches(monkeypatch: pytest.MonkeyPatch) -> list[SimulatedSwitch]:
    """Those that are made from now on."""
    made: list[SimulatedSwitch] = []

    class Kept(SimulatedSwitch):
        def __init__(self, name: str, program: Program, seed: int) -> None:
            super().__init__(name, program, seed)
            made.append(self)

    monkeypatch.setattr(switch, "SimulatedSwitch", Kept)
    return made


def counts(switches: Iterable[SimulatedSwitch]) -> Counter[str]:
    """What became of feedback, and what was dropped for which reason."""
    found: Counter[str] = Counter()
    for one in switches:
        found.update(one.feedback_outcomes())
        names = json.loads((default_directory() / CONSTANTS_NAME).read_text())["enums"]["drop_reason"]
        dropped = one.data_plane.counter_read_all("drops")
        found.update({name: dropped[index][0] for name, index in names.items() if name.startswith(("hop", "forged"))})
    return found


class Judged(NamedTuple):
    """A run, and what its switches counted."""

    run: Run
    counts: Counter[str]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Judged]:
    """A protocol's sealed stream with honest switches, which is run once."""

    @cache
    def run(protocol: str) -> Judged:
        with pytest.MonkeyPatch.context() as patch:
            switches = kept_switches(patch)
            found = simulate(tmp_path_factory.mktemp(protocol) / "run", stream(protocol, "group"))
            return Judged(found, counts(switches))

    return run


@pytest.mark.parametrize("protocol", MUST_PASS)
def test_switches_judge_what_is_sealed_and_nobody_is_refused(
    tmp_path: Path, switches: list[SimulatedSwitch], undisturbed: Callable[[str], Judged], protocol: str
) -> None:
    open_run = simulate(tmp_path / "none", stream(protocol, "none"))
    plain = counts(switches)
    run, sealed = undisturbed(protocol)
    assert "misquoted" not in open_run.sender()
    assert "misquoted" not in run.sender()
    assert plain["lower"] > 2
    assert sealed["lower"] > 2
    assert sealed["suppressed"] > plain["suppressed"] / 4
    assert 0.9 < mean_bps(run) / mean_bps(open_run) < 1.1
    assert not sealed["hop_tag"] | sealed["hop_replay"] | sealed["forged_feedback"]
    again = simulate(tmp_path / "again", stream(protocol, "group"))
    assert again.files() == run.files(), "a seed gives the same run"


@pytest.mark.parametrize("protocol", MUST_PASS)
def test_what_was_forged_changed_or_came_before_ends_at_the_first_switch(
    tmp_path: Path,
    switches: list[SimulatedSwitch],
    undisturbed: Callable[[str], Judged],
    monkeypatch: pytest.MonkeyPatch,
    protocol: str,
) -> None:
    """Each packet that neighbours vouch for comes once more, changed, and once more as it was."""
    seal, sent = Sealing.seal, Counter[str]()
    members: dict[int, dict[str, int]] = {}

    def twice(self: Sealing, effects: Iterable[Effect]) -> list[Effect]:
        sealed: list[Effect] = []
        members[id(self)] = self._counters
        for effect in seal(self, effects):
            sealed.append(effect)
            heads = self._open
            if type(effect) is Send and effect.data[0] == HEADED_VERSION and heads[effect.data[2]].is_vouched:
                data = bytearray(effect.data)
                sent["packets"] += 1
                size = heads[effect.data[2]].size
                place = 4 + sent["packets"] * 7 % (size - 4 + HOP_BYTES)
                data[place if place < size else place - size - HOP_BYTES] ^= 1 << sent["packets"] % 8
                sealed += [Send(bytes(data), effect.destination, effect.ecn), effect]
        return sealed

    plain, _ = undisturbed(protocol)
    switches.clear()
    monkeypatch.setattr(Sealing, "seal", twice)
    run = simulate(tmp_path / "run", stream(protocol, "group"))
    found = counts(switches)
    counters = sum((Counter(one) for one in members.values()), Counter[str]())
    assert sent["packets"] > 20
    assert found["hop_replay"] >= sent["packets"] - 1  # one may be on its way
    assert found["hop_tag"] >= sent["packets"] - 1
    assert counters["drop_forged"] == 0
    assert counters["drop_replayed"] == 0
    assert 0.98 < mean_bps(run) / mean_bps(plain) < 1.02
    assert "misquoted" not in run.sender()


class Dropper:
    """A program that lets no feedback pass that it may judge: with the keys of its switch."""

    def __init__(self, folder: Path, name: str, protocol: str) -> None:
        shutil.copytree(default_directory(), folder, ignore=shutil.ignore_patterns("*.p4", "*.xz", "*.py"))
        program = json.loads((folder / BLOB_NAME).read_text())
        changed = 0
        for line in program["pipelines"]:
            for one in line["conditionals"]:
                if any(text in one["source_info"]["source_fragment"] for text in MUST_PASS[protocol]):
                    one["true_next"] = one["false_next"]
                    changed += 1
        assert changed >= len(MUST_PASS[protocol])
        (folder / BLOB_NAME).write_text(json.dumps(program))
        self._program = Program(folder)
        self._name = name

    def __call__(self, name: str, program: Program, seed: int) -> SimulatedSwitch:
        return SimulatedSwitch(name, self._program if name == self._name else program, seed)


@pytest.mark.parametrize("protocol", MUST_PASS)
def test_a_switch_that_drops_what_it_must_not_is_found_and_passed_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protocol: str
) -> None:
    """Behind it are the receivers of the link that is full from 4 s on: then at the latest they ask for less."""
    monkeypatch.setattr(switch, "SimulatedSwitch", Dropper(tmp_path / "program", "s1", protocol))
    honest = simulate(tmp_path / "none", stream(protocol, "group", assist="none"))
    run = simulate(tmp_path / "run", stream(protocol, "group"))
    rows = run.series("session-1-sender")
    found_at = next(row["t"] for row in rows if row.get("misquoted"))
    assert found_at < 9.0
    behind = {f"{one.address}" for one in run.summary.sessions[0].receivers if int(one.host[1:]) % 2 == 0}
    assert {peer.rpartition(":")[0] for peer in rows[-1]["misquoted"]} <= behind
    assert 0.8 < mean_bps(run) / mean_bps(honest) < 1.25
