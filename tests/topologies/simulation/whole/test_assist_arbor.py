"""Arbor's receivers ask for repairs over real P4 switches in virtual time: with their help and without."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from hosts.endpoint import Address, Effect
from hosts.protocols.arbor.file_sender import ArborFileSender
from hosts.protocols.arbor.packets import Blocks, Join
from hosts.protocols.arbor.sender import ArborSender
from tests.topologies.simulation.runs import scenario_text, simulate

RECEIVERS = 24
SIZE = 360_000
FAN_OUT = 12
EDGES = tuple(f"e{index}" for index in range(RECEIVERS // FAN_OUT))


def scenario(assist: str, faults: Sequence[str] = (), content: str = f"size: {SIZE} B", helpless: str = "") -> str:
    """A file, or something else, to receivers that lose independently."""
    hosts = [f"r{index}" for index in range(RECEIVERS)]
    switches = {name: f"p4, assist: {str(name not in helpless).lower()}" for name in ("s0", *EDGES)}
    links = ["[sender, s0], rate: 5 Mbps, delay: 10 ms, queue: {kind: droptail, packets: 20}"]
    links += [f"[s0, {edge}], rate: 50 Mbps, delay: 1 ms" for edge in EDGES]
    links += [
        f"[{EDGES[index // FAN_OUT]}, {host}], rate: 50 Mbps, delay: {5 + index % 5} ms,"
        f" toward: {{{host}: {{loss: 2 %}}}}"
        for index, host in enumerate(hosts)
    ]
    return scenario_text(
        "name: lacking\nseed: 1\nduration: 60 s",
        switches | dict.fromkeys(("sender", *hosts), "host"),
        links,
        "sessions:",
        f"  - {{id: 1, protocol: arbor, sender: sender, group: 232.6.0.1, port: 5001, {content},",
        f"     assist: {assist}, parameters: {{challenges_per_rtt: 0}}, receivers: [{', '.join(hosts)}]}}",
        *(("faults:", *(f"  - {fault}" for fault in faults)) if faults else ()),
    )


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """What came to the sender."""
    found: Counter[str] = Counter()
    status = ArborFileSender._status

    def count(self: ArborFileSender, packet: Blocks, source: Address, now: float) -> Sequence[Effect]:
        found["requests"] += packet.needs != ()
        return status(self, packet, source, now)

    monkeypatch.setattr(ArborFileSender, "_status", count)
    return found


def test_all_speak_at_once_and_fewer_are_heard(tmp_path: Path, heard: Counter[str]) -> None:
    found: dict[str, tuple[int, int]] = {}
    for assist in ("none", "switch"):
        heard.clear()
        run = simulate(tmp_path / assist, scenario(assist))
        assert run.summary.ok
        found[assist] = heard["requests"], run.summary.sessions[0].repair_packets or 0
    assert 0 < found["switch"][0] <= 0.7 * found["none"][0]
    assert max(repairs for _, repairs in found.values()) <= 0.1 * SIZE / 1384


def test_a_switch_that_restarts_costs_no_receiver_the_file(tmp_path: Path) -> None:
    faults = ("{kind: switch-restart, at: 1 s, switch: s0, outage: 500 ms}",)
    assert simulate(tmp_path, scenario("switch", faults)).summary.ok


@pytest.mark.parametrize("helpless", ["", "s0", "e0"])
def test_a_few_joins_are_heard_and_all_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, helpless: str
) -> None:
    """Where all switches help, where the one at the sender does not, and where one at receivers does not."""
    stood_for: list[int] = []
    join = ArborSender._join

    def count(self: ArborSender, packet: Join, source: Address, at: float, now: float) -> Sequence[Effect]:
        stood_for.append(packet.stands_for)
        return join(self, packet, source, at, now)

    monkeypatch.setattr(ArborSender, "_join", count)
    text = scenario("switch", content="realtime: true", helpless=helpless).replace("duration: 60 s", "duration: 14 s")
    run = simulate(tmp_path, text)
    counted = range(RECEIVERS, RECEIVERS + 3)  # whose answer was late was counted again
    assert sum(stood_for) in counted
    assert len(stood_for) <= RECEIVERS / 2  # of 48 JOINs at least
    known = [row["known_receivers"] for row in run.series("session-1-sender") if "known_receivers" in row]
    assert known[-1] in counted
    for number in range(RECEIVERS):
        rtts = [(row["t"], row["rtt_s"]) for row in run.series(f"session-1-r{number}") if row.get("rtt_s")]
        assert rtts[0][0] < 1
        # The way there and back without a queue, and what of the sender's queue there may be.
        least = 2 * (0.011 + (0.005 + number % 5 / 1000))
        assert least <= rtts[-1][1] < least + 0.06
