"""Hundreds of random sessions: whoever survives ends with the exact bytes, and everybody ends.

CANOPY_CHAOS_SEEDS=10000 pytest tests/hosts/protocols/mtcp/whole/test_chaos.py looks longer.
"""

import os

import pytest

from tests.hosts.protocols.mtcp.chaos import Chaos, describe

SEEDS = int(os.environ.get("CANOPY_CHAOS_SEEDS", "400"))


@pytest.mark.parametrize("seed", range(SEEDS))
def test_survivors_end_with_the_exact_bytes(seed: int) -> None:
    chaos = Chaos(seed)
    print(describe(chaos))
    chaos.run()
    chaos.check()
