"""The document of a run on the LAN."""

import pytest
from pydantic import ValidationError

from experiments.lan.scenario import LanScenario

DOCUMENT = {
    "name": "lan",
    "duration": "2 s",
    "rate_bps": 5e6,
    "queue_bytes": 30_000,
    "receivers": 2,
    "sessions": [{"protocol": "mtcp"}],
}


def test_a_document_has_its_seconds_and_names() -> None:
    scenario = LanScenario.model_validate(DOCUMENT)
    assert scenario.seconds == 2.0
    assert scenario.names == ["r1", "r2"]


@pytest.mark.parametrize("wrong", [{"rate_bps": 0}, {"receivers": 0}, {"sessions": []}, {"delay": "1 ms"}])
def test_what_makes_no_network_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        LanScenario.model_validate({**DOCUMENT, **wrong})
