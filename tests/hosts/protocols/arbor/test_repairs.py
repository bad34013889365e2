"""What repairs of a stream are made of, and how many are sent unasked."""

import random

import pytest

from hosts.protocols.arbor.repairs import MISSED, MOST_PACKETS, of_stream, parse_head, repair, unasked
from hosts.wire.header import PacketError


def test_heads() -> None:
    assert parse_head(of_stream(2**32 + 5, b"x")) == (5, 0, 0)
    assert parse_head(repair(7, 32, 3, b"packet")) == (7, 32, 3)
    for wrong in (b"", of_stream(5, b""), repair(7, MOST_PACKETS + 1, 0, b"packet")):
        with pytest.raises(PacketError):
            parse_head(wrong)


@pytest.mark.parametrize(("count", "loss"), [(8, 0.02), (32, 0.02), (128, 0.02), (32, 0.1)])
def test_few_blocks_lose_more_than_their_repairs(count: int, loss: float) -> None:
    rng = random.Random(1)
    repairs = unasked(count, loss)
    blocks = 20_000
    missed = sum(sum(rng.random() < loss for _ in range(count + repairs)) > repairs for _ in range(blocks))
    assert missed <= 5 * blocks * MISSED + 2
    less = sum(sum(rng.random() < loss for _ in range(count + repairs // 2)) > repairs // 2 for _ in range(blocks))
    assert less > blocks * MISSED


def test_a_block_without_losses_has_one() -> None:
    assert unasked(32, 0.0) == 1
