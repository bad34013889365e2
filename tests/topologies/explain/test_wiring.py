import pytest

from tests.topologies.scenarios import small_scenario
from topologies.explain.wiring import Wire, Wiring, wiring_of
from topologies.plan import make_plan


def test_it_is_kept_as_text() -> None:
    scenario = small_scenario()
    wiring = wiring_of(scenario, make_plan(scenario))
    assert Wiring.from_json(wiring.as_json()) == wiring
    there = wiring.towards("s1", "s2")
    assert there is not None
    assert there.back == 7


def test_a_frame_takes_its_bits_and_the_delay_as_faults_have_changed_them() -> None:
    wire = Wire(1, "s2", 1, 10e6, 0.005, False, ((2.0, "rate", 1e6), (3.0, "delay", 0.0)))
    assert [wire.travel_us(1250, us) for us in (0, 2_000_000, 3_000_000)] == pytest.approx([6000, 15000, 10000])
