"""One WEBRC session on live switches: eight receivers behind links of 0.5 to 20 Mbps."""

from pathlib import Path

import pytest
import yaml

from tests.topologies.emulation.whole.conftest import Start

pytestmark = [pytest.mark.root, pytest.mark.emulation]

WEBRC = Path(__file__).parents[4] / "topologies" / "webrc.yaml"
BYTES = 400_000


def test_every_receiver_gets_the_file_through_its_own_link(start: Start) -> None:
    """A small file and short time slots; no speed is asserted but what a link's rate forbids."""
    scenario = yaml.safe_load(WEBRC.read_text())
    session = scenario["sessions"][0]
    session["size"] = f"{BYTES} B"
    session["parameters"] |= {"carousel_s": 25, "base_rate": 5, "slot_s": 2, "quiescence_s": 10, "epoch_s": 0.1}
    run = start(yaml.safe_dump(scenario, sort_keys=False))
    assert run.wait() == 0, run.said()
    result = run.summary()["sessions"][0]
    receivers = {receiver["host"]: receiver for receiver in result["receivers"]}
    assert len(receivers) == 8
    assert all(receiver["complete"] for receiver in receivers.values()), result
    assert {receiver["sha256"] for receiver in receivers.values()} == {result["sha256"]}
    assert receivers["r1"]["goodput_bps"] <= 500e3
    assert receivers["r1"]["completed_at"] - result["sending_from"] >= BYTES * 8 / 500e3
    assert result["feedback_packets"] == 0
