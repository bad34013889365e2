"""The comparison at the machine's speed: its numbers, and one small transfer."""

import json
import shutil
from pathlib import Path
from random import Random

import pytest
from typer.testing import CliRunner

from engine.command.assemble import build
from experiments.figures.peers import KeptLine
from experiments.peers.contenders import CONTENDERS
from experiments.peers.fast import FAST, Crowd, FastTransfer, fast_transfer, median_line


def test_a_line_has_the_medians() -> None:
    runs = [FastTransfer(rate, 2.0, 1.0, 0.5, 90_000_000, 80_000_000) for rate in (1e9, 9e9, 2e9)]
    line = median_line("rla", 4, runs)
    assert (line.contender, line.receivers, line.runs, line.goodput_bps) == ("rla", 4, 3, 2e9)
    with pytest.raises(ValueError, match="no runs"):
        median_line("rla", 4, [])


def test_who_is_compared_is_known() -> None:
    assert set(FAST) <= set(CONTENDERS)


@pytest.mark.root
@pytest.mark.parametrize(
    "lossy",
    [
        0,
        pytest.param(
            1, marks=pytest.mark.skipif(not (shutil.which("nft") and shutil.which("ethtool")), reason="nft, ethtool")
        ),
    ],
)
def test_a_small_file_to_two(lossy: int, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(Random(1).randbytes(2_000_000))
    one = fast_transfer(CONTENDERS["mtcp-default"], file, Crowd(2, lossy))
    assert one.goodput_bps > 0
    assert one.whole_s > 0
    assert min(one.sender_cpu_s, one.receiver_cpu_s) > 0
    assert min(one.sender_peak_bytes, one.receiver_peak_bytes) > 20_000_000


@pytest.mark.root
def test_a_link_carries_no_more_than_its_rate(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(Random(1).randbytes(2_000_000))
    one = fast_transfer(CONTENDERS["mtcp-default"], file, Crowd(1, link_bps=20e6))
    assert 1e6 < one.goodput_bps < 20e6 * 1.1, "but for what it sends at once"


def test_what_was_found_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    sizes: list[int] = []

    def transfer(contender: object, file: Path, crowd: Crowd) -> FastTransfer:
        sizes.append(file.stat().st_size)
        return FastTransfer(1e9 * crowd.receivers, 1.0, 0.5, 0.2, 90_000_000, 80_000_000)

    monkeypatch.setattr("experiments.peers.command.fast_transfer", transfer)
    words = ["compare-peers", "mtcp", "rla", "--fast", "--receivers", "2", "--size", "1.5", "--runs", "2", "--json"]
    done = CliRunner().invoke(build(["compare-peers"]), words)
    assert done.exit_code == 0
    lines = json.loads(done.stdout)["lines"]
    assert [(line["contender"], line["runs"], line["goodput_bps"]) for line in lines] == [
        ("mtcp", 2, 2e9),
        ("rla", 2, 2e9),
    ]
    assert sizes == [1_500_000] * 4


def test_medians_are_kept_for_the_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("experiments.peers.command.missing", lambda contenders: [])
    monkeypatch.setattr("experiments.peers.command.fast_transfer", lambda *_: FastTransfer(1e9, 1.0, 0.5, 0.2, 0, 0))
    kept: list[KeptLine] = []
    monkeypatch.setattr("experiments.peers.command.keep_lines", kept.extend)
    words = ["compare-peers", "mtcp", "uftp", "--fast", "--receivers", "3", "--size", "0.5", "--runs", "1", "--keep"]
    assert CliRunner().invoke(build(["compare-peers"]), words).exit_code == 0
    assert [(line.contender, line.is_ours, line.network) for line in kept] == [
        ("mtcp", True, (3, 0, 0.5)),
        ("uftp", False, (3, 0, 0.5)),
    ]
    assert CliRunner().invoke(build(["compare-peers"]), [*words, "--lossy", "4"]).exit_code == 2
    assert CliRunner().invoke(build(["compare-peers"]), [*words, "--link", "9", "--keep"]).exit_code == 2
