"""TFMCC beside kernel TCP, and other implementations' transfers, through two emulated switches in real time."""

from pathlib import Path
from random import Random

import pytest

from experiments.peers.command import mean_line, missing
from experiments.peers.contenders import CONTENDERS
from experiments.peers.transfer import transfer

pytestmark = [pytest.mark.root, pytest.mark.emulation]

MOST_ATTEMPTS = 3
"""On a busy machine the programs miss their turns, and the rates are the scheduler's."""


@pytest.fixture(scope="module")
def payload(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("payload") / "payload.bin"
    path.write_bytes(Random(1).randbytes(5_000_000))
    return path


@pytest.mark.parametrize("congestion_control", ["reno", "cubic"])
def test_tfmcc_and_a_kernel_tcp_share_a_bottleneck(payload: Path, congestion_control: str) -> None:
    for _ in range(MOST_ATTEMPTS):
        found = transfer(CONTENDERS["tfmcc"], payload, congestion_control, "embedded", print)
        share = mean_line("tfmcc", congestion_control, [found]).share
        assert share is not None
        if 0.4 < share < 2.5 and found.filled > 0.7:
            return
    pytest.fail(f"TFMCC has {share:.2f} of the TCP's rate; the link is {found.filled:.0%} full")


@pytest.mark.parametrize("name", ["uftp", "norm"])
def test_others_bring_the_file_to_all(payload: Path, name: str) -> None:
    assert not missing([CONTENDERS[name]])
    found = transfer(CONTENDERS[name], payload, None, "embedded", print)
    assert 0 < found.goodput_bps < 10e6
    assert found.sender_cpu_s > 0
