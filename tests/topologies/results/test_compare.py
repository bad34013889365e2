from typing import Any

from topologies.results.compare import compare, comparison_table


def summary(goodput: float, state: str = "done") -> dict[str, Any]:
    receiver = {"host": "r1", "expected": True, "complete": True, "goodput_bps": goodput, "lost_packets": 3}
    session = {"id": 1, "protocol": "mtcp", "state": state, "receivers": [receiver], "repair_packets": 4}
    return {
        "scenario": "x",
        "seed": 1,
        "switch": "simulated",
        "outcome": "done",
        "duration_s": 2.0,
        "bottleneck_utilisation": 0.5,
        "sessions": [{**session, "feedback_packets": 5}],
        "flows": [],
    }


def test_what_both_measured_stands_beside_each_other() -> None:
    rows = {name: (one, other) for name, one, other in compare(summary(8e6), summary(4e6, "failed"))}
    assert rows["session 1: lowest goodput_bps"] == (8e6, 4e6)
    assert rows["session 1: state"] == ("done", "failed")
    table = comparison_table(compare(summary(8e6), summary(4e6)))
    assert "-50.0%" in list(table.columns[3].cells)


def test_a_seed_is_no_measurement() -> None:
    for seed, told in (1, ""), (2, "differs"):
        table = comparison_table(compare(summary(8e6), {**summary(8e6), "seed": seed}))
        changes = dict(zip(table.columns[0].cells, table.columns[3].cells, strict=True))
        assert changes["seed"] == told
        assert changes["duration, s"] == "+0.0%"


def test_a_session_that_only_one_has_is_told() -> None:
    other = {**summary(4e6), "sessions": []}
    assert ("session 1: losses", 3, None) in compare(summary(8e6), other)
