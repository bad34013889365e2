import dataclasses
import os
from pathlib import Path
from random import Random

import pytest
from typer.testing import CliRunner

from engine.command.assemble import build
from experiments.peers import command
from experiments.peers.command import mean_line, missing
from experiments.peers.contenders import CONTENDERS, GROUP
from experiments.peers.network import RECEIVERS, document
from experiments.peers.transfer import Transferred
from topologies.scenario.scenario import Scenario


def one(goodput: float, tcp: float | None) -> Transferred:
    return Transferred(8.0, goodput, 0.9, tcp, 0.01, 1.0, 0.5)


def test_a_line_has_the_means_and_the_share() -> None:
    line = mean_line("tfmcc", "reno", [one(4e6, 5e6), one(6e6, 3e6)])
    assert (line.runs, line.goodput_bps, line.tcp_bps) == (2, 5e6, 4e6)
    assert line.share == pytest.approx(1.25)


def test_alone_there_is_no_share() -> None:
    line = mean_line("uftp", None, [one(4e6, None)])
    assert line.tcp_bps is None
    assert line.share is None


def test_without_runs_there_is_no_line() -> None:
    with pytest.raises(ValueError, match="no runs"):
        mean_line("uftp", None, [])


def test_the_file_is_made_piece_by_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Small(Random):
        def randbytes(self, n: int) -> bytes:
            assert n <= 10**6, "of 268 million Python makes none"
            return super().randbytes(n)

    monkeypatch.setattr(command, "Random", Small)
    path = command._payload(tmp_path, 2.5)
    assert path.read_bytes() == Random(1).randbytes(2_500_000)


def test_the_network_is_a_scenario() -> None:
    for congestion_control, flows in ((None, 0), ("cubic", 1)):
        scenario = Scenario.model_validate(document(congestion_control))
        assert len(scenario.traffic) == flows
        assert len(scenario.nodes) == 2 + 3 + RECEIVERS


def test_every_contender_receives_and_sends_by_the_same_interfaces_and_group() -> None:
    for contender in CONTENDERS.values():
        receive = list(contender.receive(3, Path("/tmp/x")))
        send = list(contender.send(Path("/tmp/payload.bin"), RECEIVERS))
        assert {"r3-eth0", "/tmp/x", GROUP} <= set(receive)
        assert {"sender-eth0", "/tmp/payload.bin", GROUP} <= set(send)


def test_mtcp_is_told_how_much_of_the_queue_to_keep() -> None:
    told = list(CONTENDERS["mtcp"].send(Path("/tmp/payload.bin"), RECEIVERS))
    default = list(CONTENDERS["mtcp-default"].send(Path("/tmp/payload.bin"), RECEIVERS))
    settings = ["--set", "rules=paper", "--set", "alpha=10", "--set", "beta=14"]
    at = told.index("--set")
    assert told[at : at + len(settings)] == settings
    assert [*told[:at], *told[at + len(settings) :]] == default


def test_what_is_missing_is_named() -> None:
    none = [
        dataclasses.replace(CONTENDERS["uftp"], program="no-such-program"),
        dataclasses.replace(CONTENDERS["norm"], library="libnosuch.so.1"),
        CONTENDERS["mtcp"],
    ]
    assert missing(none) == ["no-such-program", "libnosuch.so.1"]


def test_an_unknown_contender_and_no_root_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    app = build(["compare-peers"])
    wrong = CliRunner().invoke(app, ["compare-peers", "kermit"])
    assert wrong.exit_code == 2
    assert "no `kermit`" in wrong.output
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert CliRunner().invoke(app, ["compare-peers"]).exit_code == 2
