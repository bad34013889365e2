"""The rows of TFMCC: Widmer and Handley, "Extending Equation-based Congestion Control to Multicast Applications"."""

from collections.abc import Mapping
from typing import Final

from experiments.harness.row import Experiment, Row, RowWorld
from experiments.rows.tfmcc import assist as tfmcc_assist
from experiments.rows.tfmcc import crowd as tfmcc_crowd
from experiments.rows.tfmcc import fairness as tfmcc_fairness
from experiments.rows.tfmcc import feedback as tfmcc_feedback
from experiments.rows.tfmcc import many as tfmcc_many
from experiments.rows.tfmcc import mixture as tfmcc_mixture
from experiments.rows.tfmcc import response as tfmcc_response
from experiments.rows.tfmcc import scaling as tfmcc_scaling

_EXPERIMENTS: Final[Mapping[int, Experiment]] = {
    **tfmcc_feedback.EXPERIMENTS,
    **tfmcc_scaling.EXPERIMENTS,
    **tfmcc_fairness.EXPERIMENTS,
    **tfmcc_response.EXPERIMENTS,
    **tfmcc_many.EXPERIMENTS,
}
_UNITS: Final[Mapping[int, str]] = {
    1: "sqrt(n) times Kolmogorov's distance",
    4: "of the formula",
    5: "RTT between neighbours",
    6: "%",
    17: "of the reference",
}


def _row(number: int, world: RowWorld, title: str, value: str, counts: str) -> Row:
    experiment = _EXPERIMENTS[number]
    return Row(f"tfmcc-fig{number}", "tfmcc", world, title, value, counts, _UNITS.get(number, ""), experiment)


_CDF = ("feedback time: unbiased, modified N, offset", "CDFs and time-value picture", "the CDFs match the formulas")
_LOG = ("1 to 10,000 receivers, rates uniform in [0.5, 1], theta = 1", "delays fall logarithmically")
_TAIL = "a receiver behind 200 kbit/s joins from 50 to 100 s"

ROWS = (
    _row(1, "formulas", *_CDF),
    _row(
        2,
        "formulas",
        "timers and rates of one round of 1,000 receivers, unbiased and with the offset",
        "early reports are of low rates",
        "rates of the earliest tenth within 15 % of the formulas', and lower with the offset",
    ),
    _row(
        3,
        "formulas",
        "Monte Carlo of one round, n = 1 to 10,000, theta 0, 0.1, 1",
        "theta = 0.1 between theta = 0 and theta = 1",
        "below theta = 0 and at most 2.5 times theta = 1 up to 1,000; rate within 10 % of the minimum",
    ),
    _row(4, "formulas", "E[f] for T' of 2 to 6 RTT", "the formula", "Monte Carlo within 10 % of it"),
    _row(5, "formulas", *_LOG, "delays fall logarithmically"),
    _row(
        6,
        "formulas",
        _LOG[0],
        "deviation of the reported minimum by method",
        "plain 14-20 %, offset 5-7 %, modified offset 3-5 %",
    ),
    _row(
        7,
        "sim",
        "n = 1 to 10,000, loss 10 %, RTT 50 ms; m = 8, 16, 32 loss intervals",
        "300 kbit/s at n = 1; 1/6 of it at 10,000",
        "falls with n, rises with m, 1/6 lies between m = 8 and m = 32; the distribution loses 30 +- 10 points",
    ),
    _row(
        9,
        "sim",
        "1 TFMCC and 15 TCP through one 8 Mbps DropTail bottleneck",
        "as much as a TCP, smoother",
        "TFMCC / mean TCP 0.75-1.3, smaller coefficient of variation",
    ),
    _row(10, "sim", "16 tail circuits of 1 Mbps, one TCP on each", "0.7 of TCP", "0.5-0.9 of TCP"),
    _row(
        11,
        "sim",
        "star, loss 0.1, 0.5, 2.5, 12.5 %; joins from 100 s, leaves from 250 s",
        "matches TCP on each branch",
        "within 20 % (35 % at 12.5 %); a new CLR within 1-3 s",
    ),
    _row(
        12,
        "sim",
        "1,000 receivers, one bottleneck, RTT 60-140 ms, initial RTT 500 ms",
        "700 receivers have measured their RTT by 200 s",
        "700 +- 30 %; at least one new RTT a round",
    ),
    _row(
        13,
        "sim",
        "40, 200, 1,000 receivers; one receiver's RTT raised at time x",
        "the time to select it falls with x",
        "falls with x",
    ),
    _row(
        14,
        "sim",
        "slowstart alone, with one TCP, with several",
        "twice the bottleneck when alone",
        "alone 1.5-2.2 times; below the fair rate with TCP; falls with n",
    ),
    _row(
        15,
        "sim",
        f"8 receivers, 7 TCP on 8 Mbps; {_TAIL}",
        "200 kbit/s while it is there",
        "within 20 %; a new CLR in a few seconds; never zero; back to 1 Mbps",
    ),
    _row(
        16,
        "sim",
        f"8 receivers, 7 TCP on 8 Mbps; {_TAIL}, with a TCP there",
        "half of 200 kbit/s each",
        "each 60-140 kbit/s; never zero; back to 1 Mbps",
    ),
    _row(
        17,
        "formulas",
        "loss events per RTT by loss event rate, Appendix A",
        "a peak of 0.13",
        "the printed Eq. (1) peaks at 0.188, b = 2 gives 0.13",
    ),
    _row(18, "sim", "0, 1, 2, 4 TCPs on the return paths", "no effect", "within 10 % of the clean run"),
    _row(19, "sim", "0-30 % loss on the return paths", "no effect", "within 10 % of the clean run"),
    _row(20, "sim", "link delays 30-240 ms", "follows TCP", "follows TCP"),
    _row(
        21,
        "sim",
        "1, 2, 4, 8 more TCPs every 50 s over 16 Mbps, 60 ms",
        "halves with each step",
        "each step to 0.4-0.65 of the last",
    ),
    *tfmcc_mixture.ROWS,
    *tfmcc_assist.ROWS,
    *tfmcc_crowd.ROWS,
)
