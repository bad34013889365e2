from tests.topologies.scenarios import link
from topologies.plan.link_spec import link_spec


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


def test_a_link_without_a_rate_has_none() -> None:
    spec = link_spec(link("delay: 1 ms"), 0)
    assert "rate_bps" not in spec
    assert (spec["queue"], spec["limit_packets"]) == ("droptail", 64)
