import canopy_engine
import pytest

from tests.topologies.scenarios import link
from topologies.link_spec import link_spec


def test_the_engine_is_told_everything() -> None:
    red = "queue: {kind: red, packets: 90, min_threshold: 10, max_threshold: 30, weight: 0.01, gentle: false}"
    spec = link_spec(link(f"rate: 10 Mbps, delay: 5 ms, loss: 1 %, {red}"), 7)
    assert spec["rate_bps"] == 10e6
    assert spec["delay_us"] == 5000.0
    assert spec["loss"] == 0.01
    assert (spec["queue"], spec["limit_packets"], spec["red_min"], spec["red_max"]) == ("red", 90, 10, 30)
    assert (spec["red_weight"], spec["red_max_p"], spec["red_gentle"]) == (0.01, 0.1, False)
    assert "limit_bytes" not in spec
    assert spec["seed"] == link_spec(link("delay: 1 ms"), 7)["seed"] != link_spec(link("delay: 1 ms"), 8)["seed"]


_CODEL = {"target_us": 5e3, "interval_us": 1e5, "ecn": True}
_PIE = {"target_us": 15e3, "update_us": 15e3, "alpha": 0.125, "beta": 1.25, "max_burst_us": 15e4, "ecn": True}
_DUALPI2 = {
    "target_us": 15e3,
    "update_us": 16e3,
    "alpha": 0.16,
    "beta": 3.2,
    "coupling": 2,
    "step_us": 800,
    "ramp_us": 400,
}


@pytest.mark.parametrize(
    ("queue", "keys"),
    [
        ("kind: codel", {"limit_packets": 10_240, **_CODEL}),
        ("kind: codel, target: 1 ms, packets: 9", {**_CODEL, "limit_packets": 9, "target_us": 1e3}),
        ("kind: fq_codel", {"limit_packets": 10_240, **_CODEL, "flows": 1024, "quantum": 1514}),
        (
            "kind: fq_codel, flows: 8, quantum: 300 B, bytes: 1 MB",
            {"limit_bytes": 10**6, **_CODEL, "flows": 8, "quantum": 300},
        ),
        ("kind: pie", {"limit_packets": 10_240, **_PIE}),
        (
            "kind: pie, target: 20 ms, update: 10 ms, max_burst: 0 s, ecn: false",
            {"limit_packets": 10_240, **_PIE, "target_us": 2e4, "update_us": 1e4, "max_burst_us": 0, "ecn": False},
        ),
        ("kind: dualpi2", {"limit_packets": 10_240, **_DUALPI2}),
        (
            "kind: dualpi2, coupling: 3, step: 1 ms, ramp: 0 s",
            {"limit_packets": 10_240, **_DUALPI2, "coupling": 3, "step_us": 1e3, "ramp_us": 0},
        ),
    ],
)
def test_the_engine_is_told_of_every_queue(queue: str, keys: dict[str, float]) -> None:
    """With its RFC's parameters unless the scenario has others; and the engine takes it."""
    spec = link_spec(link(f"queue: {{{queue}}}"), 7)
    told = {key: value for key, value in spec.items() if key not in ("delay_us", "queue", "seed", "loss")}
    assert told == pytest.approx(keys)
    sim = canopy_engine.Sim(1)
    sim.add_host("h", "10.0.0.1")
    sim.add_router("r")
    sim.connect("h", "r", spec, spec)


def test_the_engine_is_told_of_paths_that_reorder_duplicate_and_bound() -> None:
    spec = link_spec(link("reorder: {probability: 2 %, delay: 3 ms}, duplicate: 1 %, mtu: 1500 B"), 7)
    assert (spec["reorder"], spec["reorder_delay_us"], spec["duplicate"], spec["mtu"]) == (0.02, 3000.0, 0.01, 1500)
    plain = link_spec(link("delay: 1 ms"), 7)
    assert not {"reorder", "reorder_delay_us", "duplicate", "mtu"} & plain.keys()


def test_a_link_without_a_rate_has_none() -> None:
    spec = link_spec(link("delay: 1 ms"), 0)
    assert "rate_bps" not in spec
    assert (spec["queue"], spec["limit_packets"]) == ("droptail", 64)
