from experiments.figures.survey import Count
from experiments.harness.origin import Made
from experiments.survey.distribution import Tcp
from experiments.survey.outcome import Outcome, judge
from experiments.survey.survey import Plan, Surveyed
from experiments.survey.verdict import verdict, verdicts
from tests.experiments.survey.cells import small
from tests.experiments.survey.test_outcome import run


def outcome(of_tcp: float, share: float | None = None, stall_s: float = 0.4) -> Outcome:
    metrics = run(of_tcp * 1e6, stall_s=stall_s, queue_p99_s=of_tcp, variation=None, feedback=0.5)
    if share is not None:
        metrics["tcps_bps"] = [of_tcp * 1e6 / share]
    cell = small(tcps=() if share is None else (Tcp("bbr", 0.0, 0.0),))
    return judge(cell, "tfmcc", metrics, [run(1e6)])


def test_a_verdict_counts_cells() -> None:
    found = verdict(
        "tfmcc",
        [
            *(outcome(0.9), outcome(0.5), outcome(1.0, share=1.5), outcome(0.05, share=0.1, stall_s=9.0)),
            *(Outcome(small(), "tfmcc", "left out"), Outcome(small(), "tfmcc", "failed", "why")),
        ],
    )
    assert (found.done, found.left_out, found.failed) == (4, 1, 1)
    assert found.enough == Count(cells=2, holds=1)
    assert found.fair == Count(cells=2, holds=1)
    assert found.recovers == Count(cells=0, holds=0)
    assert found.moves == found.stands == Count(cells=4, holds=3)
    assert (found.of_tcp_median, found.of_tcp_tenth, found.share_median) == (0.7, 0.5, 0.8)
    assert (found.queue_p99_median_s, found.variation_median, found.feedback_median) == (0.7, None, 0.5)
    assert found.goals.as_tcp == Count(cells=2, holds=1)
    assert not found.holds


def test_a_verdict_holds_when_everything_does() -> None:
    assert verdict("tfmcc", [outcome(0.9), outcome(1.0, share=1.5)]).holds
    assert not verdict("tfmcc", [outcome(0.9), Outcome(small(), "tfmcc", "failed", "why")]).holds
    assert not verdict("tfmcc", [Outcome(small(), "tfmcc", "left out")]).holds, "nothing was run"
    assert not verdict("tfmcc", [outcome(0.9), outcome(1.0, share=2.5)]).holds


def test_seeds_are_for_development_or_for_reporting() -> None:
    def kind(seed: int) -> str:
        return verdicts(Surveyed(Plan(["tfmcc"], 1, seed), [outcome(0.9)]), Made()).kind

    assert [kind(seed) for seed in (1, 20, 999, 1000, 1001)] == ["development"] * 3 + ["reporting"] * 2
