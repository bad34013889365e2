import json
import time
from collections.abc import Callable

import pytest
from typer.testing import CliRunner

from experiments.bench import broadcast
from experiments.bench.cli import app
from experiments.figures.bench import Figure


@pytest.fixture
def processor(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Has the clock go on by sleeping, and by so many times what is taken of the processor, which others hardly change:
    once, until it is called."""
    slept = [0.0]
    take = time.process_time

    def sleep(seconds: float) -> None:
        slept[0] += seconds

    def times(factor: int) -> None:
        monkeypatch.setattr(time, "process_time", lambda: factor * take())
        monkeypatch.setattr(time, "monotonic", lambda: factor * take() + slept[0])

    monkeypatch.setattr(time, "sleep", sleep)
    times(1)
    return times


@pytest.mark.usefixtures("processor")
def test_a_small_broadcast_is_measured_on_both_sides(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(broadcast, "RATE_BPS", 20e6)
    monkeypatch.setattr(broadcast, "PEER_BYTES", 500_000)
    found = {figure.name: figure for figure in broadcast.measure(1)}
    latest, left_out, sends, decodes, singly = found.values()
    assert capfd.readouterr().out == ""  # flute-alc writes there, and so does --json
    assert latest.value > 0
    assert left_out.value == 0
    for figure in (sends, decodes, singly):
        assert figure.value > 20  # Mbit/s: less than a core does by far
        assert figure.peer == "flute-alc"
        assert figure.peer_value is not None


def test_figures_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    figures = [Figure("decodes", 600.0, "Mbit/s", 500.0, False, "flute-alc", 2900.0)]
    monkeypatch.setattr(broadcast, "measure", lambda megabytes: figures)
    (figure,) = json.loads(CliRunner().invoke(app, ["broadcast", "--json"]).stdout)["figures"]
    assert (figure["value"], figure["peer_value"]) == (600.0, 2900.0)


def test_a_receiver_without_the_file_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(megabytes: int) -> list[Figure]:
        raise RuntimeError("WEBRC's receiver: not whole")

    monkeypatch.setattr(broadcast, "measure", fails)
    result = CliRunner().invoke(app, ["broadcast"])
    assert result.exit_code == 1
    assert "not whole" in result.output


def test_a_sender_that_is_too_slow_is_measured_all_the_same(
    monkeypatch: pytest.MonkeyPatch, processor: Callable[[int], None]
) -> None:
    """What it leaves out is none of the receiver's losses."""
    monkeypatch.setattr(broadcast, "RATE_BPS", 20e6)
    monkeypatch.setattr(broadcast, "PEER_BYTES", 100_000)
    processor(1000)
    latest, left_out, sends, decodes, _ = broadcast.measure(1)
    assert latest.value > broadcast.LATE_MS
    assert left_out.value > 0
    assert sends.value < 20
    assert decodes.value > 0
