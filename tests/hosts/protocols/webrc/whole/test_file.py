"""Files over WEBRC: any receiver at its own rate, late joiners, losses, and every way in which files are sent."""

from random import Random
from typing import Any

import pytest

from hosts.protocols.webrc.options import WebrcOptions
from tests.hosts.protocols.webrc.memory import FAST, play

DATA = Random(5).randbytes(300_000)


def test_receivers_complete_whenever_they_join() -> None:
    members = play(WebrcOptions(**FAST), DATA, [0.3, 2.0, 7.7, 30.0], 120.0)
    for member in members:
        assert member.ended is not None
        assert member.ended.complete
        assert member.sink.sha256
        assert member.groups == set()
        sample = member.endpoint.sample(now=0.0)
        assert sample["object_bytes"] == len(DATA)
        assert isinstance(sample["decoding_overhead"], float)
        assert 0 <= sample["decoding_overhead"] < 0.02
        assert member.endpoint.counters["resumed_symbols"] == 0
        assert "early_packets" not in member.endpoint.counters
    assert "resumed_symbols" in members[0].endpoint.counters  # so that --json has it


def test_losses_cost_time_and_no_bytes() -> None:
    rng = Random(3)
    shares = [0.0, 0.05, 0.3]
    members = play(WebrcOptions(**FAST), DATA, [0.3] * 3, 600.0, lambda number: rng.random() < shares[number])
    assert all(member.ended and member.ended.complete for member in members)
    lost = [member.endpoint.lost_packets for member in members]
    assert lost[0] == 0 < lost[1] < lost[2]


@pytest.mark.parametrize("how", [{"fec": "reed-solomon"}, {"fec": "no-code", "flute_version": 1}, {"gzip": True}])
def test_every_way_of_sending_is_read(how: dict[str, Any]) -> None:
    rng = Random(6)
    data = DATA[:60_001]
    members = play(
        WebrcOptions(**FAST, **how), data, [0.3, 4.0], 900.0, lambda number: number == 1 and rng.random() < 0.1
    )
    assert all(member.ended and member.ended.complete for member in members)


@pytest.mark.parametrize("size", [0, 1, 974, 975])
def test_the_smallest_files(size: int) -> None:
    (member,) = play(WebrcOptions(**FAST), DATA[:size], [0.3], 30.0)
    assert member.ended is not None
    assert member.ended.complete
