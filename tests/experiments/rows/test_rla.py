"""What RLA's rows ask of the model and of the network."""

import itertools
import math

import pytest

from experiments.figures.plot import draw
from experiments.harness.reproduce import Options, reproduce
from experiments.rows.rla.base import (
    CASES,
    DROPTAIL,
    FAST_BPS,
    HEADERS_BYTES,
    RECEIVERS,
    RED,
    TCP_ACK_BYTES,
    UPWARD_BPS,
    tree,
)
from experiments.rows.rla.model import FIGURES, bound, drift, neutral_window
from hosts.protocols.rla.packets import ACK
from topologies.scenario.scenario import Scenario


def test_the_drift_is_the_mean_of_what_can_happen() -> None:
    """4.4 counts i of n cuts by the binomial; the same by going through all 2^n outcomes."""
    n, own = 3, 8.0
    mean = 0.0
    for outcome in range(2**n):
        cuts = outcome.bit_count()
        probability = (1 / n) ** cuts * (1 - 1 / n) ** (n - cuts)
        mean += probability * (2 if cuts == 0 else own / 2**cuts - own)
    assert drift(own, 8.0, n, 10) == pytest.approx(mean)
    assert drift(own, 1.0, n, 10) == 2.0


def test_one_receiver_has_tcps_window() -> None:
    """Eq. (1); Eq. (2)'s lower bound is met with equality."""
    for p in (0.001, 0.01, 0.049):
        assert neutral_window([p]) == pytest.approx(bound(p))
        assert 1.0 <= neutral_window([p] + [p / 20] * 26) / bound(p) <= math.sqrt(27)


def test_the_drift_field_is_drawn_with_an_arrow_at_each_point() -> None:
    (result,) = reproduce([FIGURES[0]], Options(seeds=1), lambda done, total: None)
    assert result.holds
    assert len(result.curves) == 100
    svg = draw(result)
    assert svg.count("<path") > 100
    assert "the pipe is full" in svg


def last_through_the_tree(receivers: int, ack_bytes: int, bps: float) -> float:
    """Seconds from the receivers' sending, all at once, to when the root has the last acknowledgment; no delays.

    A plain model of links that send one packet after another, three of them into each."""
    service = 8 * ack_bytes / bps
    arrivals = [[0.0] for _ in range(receivers)]
    for level in range(4):
        if level:
            arrivals = [sorted(itertools.chain(*arrivals[i : i + 3])) for i in range(0, len(arrivals), 3)]
        for link, arriving in enumerate(arrivals):
            free, left = 0.0, []
            for at in arriving:
                free = max(free, at) + service
                left.append(free)
            arrivals[link] = left
    return max(arrivals[0])


@pytest.mark.parametrize("case", CASES)
def test_acknowledgments_meet_no_bottleneck(case: str) -> None:
    """Those of all receivers to one packet are through within a part of the time of a packet downwards."""
    bottleneck = CASES[case]
    scenario = Scenario.model_validate(tree(bottleneck, DROPTAIL, name="x", seconds=10))
    assert len(scenario.sessions[0].receivers) == len(scenario.traffic) == RECEIVERS
    rates = [link.toward[upper].rate for link in scenario.links for upper in link.between if upper in link.toward]
    assert len(rates) == 1 + 3 + 9 + 27
    assert {rate for rate in rates if rate} == {round(UPWARD_BPS)}
    assert bottleneck.service_s > 3 * last_through_the_tree(RECEIVERS, HEADERS_BYTES + ACK.size, UPWARD_BPS)


def test_27_acknowledgments_take_longer_than_a_tcps_by_as_much_as_ns_2s_do() -> None:
    def extra(rla_bytes: int, tcp_bytes: int, bps: float) -> float:
        return last_through_the_tree(RECEIVERS, rla_bytes, bps) - last_through_the_tree(1, tcp_bytes, bps)

    ours = extra(HEADERS_BYTES + ACK.size, TCP_ACK_BYTES, UPWARD_BPS)
    assert ours == pytest.approx(extra(40, 40, FAST_BPS))
    assert ours == pytest.approx(83.2e-6, rel=1e-3)


def test_every_sender_takes_a_random_time_with_droptail() -> None:
    """3.1: up to the bottleneck's service time; with RED none."""
    for queue, most in ((DROPTAIL, 0.005), (RED, None)):
        hosts = Scenario.model_validate(tree(CASES["case 3"], queue, name="x", seconds=10)).hosts
        senders = [hosts[name].sending for name in hosts if name[0] in "st"]
        assert len(senders) == 1 + RECEIVERS
        assert {sender and sender.most for sender in senders} == {most}
        assert all(hosts[name].receiving is None for name in hosts)


def test_a_tcp_without_a_bottleneck_on_its_way_takes_no_longer_than_its_fastest_link() -> None:
    """Else it could not fill what it has, and who shares that with it would lose nothing there."""
    assert _times("case 5") == pytest.approx([0.001] * 9 + [80e-6] * 18)
    assert _times("case 2", gateways=True) == pytest.approx([0.001] * (RECEIVERS + 9))


def _times(case: str, *, gateways: bool = False) -> list[float]:
    """The TCPs' longest times, seconds."""
    scenario = Scenario.model_validate(tree(CASES[case], DROPTAIL, name="x", seconds=10, gateways=gateways))
    times = (scenario.hosts[flow.source].sending for flow in scenario.traffic)
    return [sending.most for sending in times if sending]
