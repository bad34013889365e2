"""What the P4 program does with each protocol's feedback, against its plain model, packet for packet."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.p4src.assist.arbor.test_arbor import MODELLED as ARBOR
from tests.p4src.assist.mtcp.merging import MODELLED as MTCP
from tests.p4src.assist.rla.test_rla import MODELLED as RLA
from tests.p4src.assist.tfmcc.test_tfmcc import MODELLED as TFMCC
from tests.p4src.assist.vlmcc.test_vlmcc import MODELLED as VLMCC
from tests.p4src.bench.runs import RANDOM_STEPS, Modelled, agree_on_any, agree_on_embedded, outcomes_of
from tests.p4src.bench.target import Target

NAMES = ("arbor", "mtcp", "rla", "tfmcc", "vlmcc")
of_each = pytest.mark.parametrize("modelled", [ARBOR, MTCP, RLA, TFMCC, VLMCC], ids=NAMES)


@of_each
@RANDOM_STEPS
@given(st.integers(0, 2**32), st.integers(0, 2), st.integers(1, 200))
@example(1, 0, 400)
@example(2, 1, 400)
def test_every_packet_leaves_as_the_model_says(modelled: Modelled, seed: int, start: int, steps: int) -> None:
    agree_on_embedded(modelled.begin_at(start), seed, steps)


@of_each
def test_all_outcomes_occur(modelled: Modelled) -> None:
    assert outcomes_of(modelled.begin, seeds=modelled.runs, steps=modelled.steps) == modelled.outcomes


@of_each
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_kind_of_switch_does_it(modelled: Modelled, target: Target, seed: int) -> None:
    agree_on_any(modelled.begin_at(1), target, seed)
