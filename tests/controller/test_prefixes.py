from __future__ import annotations

import random
from ipaddress import IPv4Address, IPv4Network

import pytest

from controller.prefixes import merged


@pytest.mark.parametrize("seed", range(40))
def test_every_address_goes_the_way_that_it_went(seed: int) -> None:
    rng = random.Random(seed)
    base = int(IPv4Address("10.0.0.0")) + rng.randrange(1 << 10)
    ways = {base + number: rng.choice("aab") for number in range(80) if rng.random() < 0.9}
    found = list(merged((address, 32, way) for address, way in sorted(ways.items())))
    prefixes = [(IPv4Network((first, length)), way) for first, length, way in found]
    assert {int(address): way for prefix, way in prefixes for address in prefix} == ways
    assert sum(prefix.num_addresses for prefix, _ in prefixes) == len(ways)
    assert [first for first, _, _ in found] == sorted(first for first, _, _ in found)
    siblings = {(prefix.supernet(), way) for prefix, way in prefixes}
    assert len(siblings) == len(prefixes)  # no two that could be one


def test_prefixes_are_put_together_like_addresses() -> None:
    halves = [(0x0A000000, 25, "x"), (0x0A000080, 26, "x"), (0x0A0000C0, 26, "x"), (0x0A000100, 24, "y")]
    assert list(merged(halves)) == [(0x0A000000, 24, "x"), (0x0A000100, 24, "y")]
    assert list(merged([(0x0A000001, 32, "x"), (0x0A000002, 32, "x")])) == [
        (0x0A000001, 32, "x"),
        (0x0A000002, 32, "x"),
    ]
    assert list(merged([])) == []
    assert list(merged([(0, 1, "x"), (1 << 31, 1, "x")])) == [(0, 0, "x")]
