"""The embedded switch and simple_switch_grpc, where the latter is installed, given the same entries and packets.

Longer, and with other programs (the test's own message names the seed of what it finds):

    CANOPY_DIFFERENTIAL_SEEDS=100 CANOPY_DIFFERENTIAL_PACKETS=2000 pytest tests/engine/whole/differential
    CANOPY_DIFFERENTIAL_PROGRAMS=p4c/testdata/p4_16_samples pytest tests/engine/whole/differential
"""

import os
from itertools import islice
from pathlib import Path

import pytest

from tests.engine.whole.differential.compare import differences
from tests.engine.whole.differential.folder import EXPECTED_DIFFERENCES
from tests.engine.whole.differential.programs import Program, compiled, own_programs
from tests.engine.whole.differential.switches import Embedded, NoReferenceError, Reference
from tests.simple_switch import find_simple_switch

SEEDS = range(int(os.environ.get("CANOPY_DIFFERENTIAL_SEEDS", "2")))
PACKETS = int(os.environ.get("CANOPY_DIFFERENTIAL_PACKETS", "300"))
FOLDER = os.environ.get("CANOPY_DIFFERENTIAL_PROGRAMS")
SHOWN = 5


def found(program: Program, seed: int, *, cut: bool) -> list[str]:
    """The first differences, as text; `cut`: see `differences`. Raises NoReferenceError."""
    executable = find_simple_switch()
    assert executable is not None
    reference = Reference(program, executable)
    try:
        found = differences(program, Embedded(program), reference, seed=seed, packets=PACKETS, cut=cut)
        return [str(difference) for difference in islice(found, SHOWN)]
    finally:
        reference.close()


if find_simple_switch() is not None:

    @pytest.mark.bmv2
    @pytest.mark.parametrize("seed", SEEDS)
    @pytest.mark.parametrize("program", own_programs(), ids=str)
    def test_both_switches_agree(program: Program, seed: int) -> None:
        assert found(program, seed, cut=True) == []

    if FOLDER is not None:
        SOURCES = sorted(source for source in Path(FOLDER).glob("*.p4") if source.stem not in EXPECTED_DIFFERENCES)

        @pytest.mark.bmv2
        @pytest.mark.parametrize("seed", SEEDS)
        @pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
        def test_both_switches_agree_on_other_programs(source: Path, seed: int, tmp_path: Path) -> None:
            program = compiled(source, tmp_path)
            if program is None:
                return
            try:
                assert found(program, seed, cut=False) == []
            except NoReferenceError:
                return  # simple_switch_grpc refuses the program, or crashes or hangs with a packet
