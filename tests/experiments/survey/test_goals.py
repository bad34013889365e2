from experiments.figures.survey import Count
from experiments.survey.distribution import Losses, Tcp
from experiments.survey.goals import count, goals
from experiments.survey.outcome import Outcome, judge
from tests.experiments.survey.cells import small
from tests.experiments.survey.test_outcome import run

CHANCE = Losses("independent", 0.01, True, (0.01, 0.01), 2.0)
NONE = small().losses


def alone(of_tcp: float, losses: Losses = NONE) -> Outcome:
    return judge(small(losses=losses), "tfmcc", run(of_tcp * 1e6), [run(1e6)])


def beside(share: float, *kinds: str, of_tcp: float = 1.0) -> Outcome:
    cell = small(tcps=tuple(Tcp(kind, 0.0, 0.0) for kind in kinds))
    return judge(cell, "tfmcc", run(of_tcp * 1e6, tcps_bps=[of_tcp * 1e6 / share]), [run(1e6)])


def test_alone_counts_where_nothing_is_lost_but_in_queues() -> None:
    found = goals([alone(0.9), alone(0.89), alone(0.2, CHANCE), beside(1.0, "reno")])
    assert (found.lossless, found.lossless_least) == (Count(cells=2, holds=1), 0.89)


def test_shares_count_where_all_tcps_are_loss_based() -> None:
    found = goals([beside(0.4, "reno"), beside(2.0, "cubic", "reno"), beside(0.1, "cubic", "bbr"), alone(1.0)])
    assert found.beside_loss_based == Count(cells=2, holds=1)
    assert (found.beside_least, found.beside_most) == (0.4, 2.0)


def test_a_tcp_in_its_place_is_the_measure_beside_any() -> None:
    found = goals([beside(0.1, "bbr", of_tcp=1.0), beside(1.0, "prague", of_tcp=2.1), alone(1.0)])
    assert found.as_tcp == Count(cells=2, holds=1)


def test_nothing_measured_is_nothing_counted() -> None:
    found = goals([Outcome(small(), "tfmcc", "left out")])
    assert found.lossless == found.beside_loss_based == found.as_tcp == count([None])
    assert (found.lossless_least, found.beside_least, found.beside_most) == (None, None, None)
