"""How long receivers wait, so that few of them speak."""

from math import inf, log
from random import Random

import pytest

from hosts.parts.spread import Wait, spread_rtts


@pytest.mark.parametrize("receivers", [2, 10, 1000])
def test_so_many_have_spoken_after_so_many_round_trips(receivers: int) -> None:
    rng = Random(1)
    waits = [spread_rtts(rng, receivers, 6.0) for _ in range(20_000)]
    longest = log(receivers) / log(6.0)
    assert all(0 <= wait <= longest for wait in waits)
    for rtts in (0.0, 0.3, 0.6 * longest, 0.9 * longest):
        share = sum(wait <= rtts for wait in waits) / len(waits)
        assert share == pytest.approx(min(1.0, 6.0**rtts / receivers), abs=0.012)


def test_who_is_alone_does_not_wait_nor_does_anybody_where_nobody_is_to_wait() -> None:
    assert spread_rtts(Random(1), 1, 6.0) == 0
    assert spread_rtts(Random(1), 0, 6.0) == 0
    assert spread_rtts(Random(1), 1000, 0.0) == 0


def test_a_wait_is_as_long_as_the_round_trips_are_when_it_ends() -> None:
    wait = Wait()
    wait.stretch(0.1)
    assert wait.at == inf  # nobody waits
    wait.begin(2.0, 0.1, 10.0)
    assert wait.at == 10.2
    wait.stretch(0.3)
    assert wait.at == 10.6
    wait.stretch(0.2)  # a queue that drains does not hasten it
    assert wait.at == 10.6
    wait.end()
    assert wait.at == inf
