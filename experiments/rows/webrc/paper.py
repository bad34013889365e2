"""The rows of WEBRC: Luby, Goyal, Skaria and Horn, "Wave and Equation Based Rate Control Using Multicast RTT"."""

from collections.abc import Mapping

from experiments.harness.row import Experiment, Row
from experiments.rows.webrc.alone import FIG4, FIG5, FIG6, FIG7, FIG8
from experiments.rows.webrc.joins import JOINS
from experiments.rows.webrc.many import MANY
from experiments.rows.webrc.together import FIG9, FIG10, FIG11
from experiments.rows.webrc.users import USERS

_EXPERIMENTS: Mapping[int, Experiment] = {4: FIG4, 5: FIG5, 6: FIG6, 7: FIG7, 8: FIG8, 9: FIG9, 10: FIG10, 11: FIG11}


def _row(number: int, title: str, value: str, counts: str) -> Row:
    return Row(f"webrc-fig{number}", "webrc", "sim", title, value, counts, experiment=_EXPERIMENTS[number])


_SETTING = "one receiver, loss 0.01-10 %, RTT 0.0125-0.8 s, 500 s, 8 trials"
_REFERENCE = "Eq. (1) at the axis' loss probability times 0.869"

ROWS = (
    _row(4, _SETTING, "403 kbps at 1 %, 0.2 s", f"ARTT and LOSSP converge; within 10 % of {_REFERENCE}"),
    _row(5, _SETTING, "on the curves", f"within 10 % of {_REFERENCE}, 20 % at 10 % of loss; the mean within 5 %"),
    _row(6, "320 kbps, 4-packet buffer, RTT 0.1 s", "95 % utilisation", "at least 92 %"),
    _row(
        7,
        "3.2 Mbps, 160-packet buffer, RTT 0.1 s; the join that ends start-up is taken back",
        "99.5 % utilisation",
        "at least 98 %; no loss at all in four of five starts",
    ),
    _row(
        8,
        "1 Mbps, 6-packet buffer, RTT 0.05 s; UDP 500 kbps from 150 s, 250 kbps from 300 s",
        "takes what is free",
        "at least 80 % of it from two slots after each change on",
    ),
    _row(
        9,
        "3.2 Mbps, RTT 0.1 s, 40-packet buffer, one TCP, either first; 20 seeds",
        "shares 55, 56 %; together 95, 94 %",
        "share 0.40-0.65, together at least 90 %, less variation than TCP",
    ),
    _row(
        10,
        "Fig. 3: X = 0.2, Y = 0.05, Z = 0.1 s, 1 % shared loss; A at 8 s, B at 200 s",
        "sharing 96.8 %; MRTT 0.25 to 0.175 s",
        "at least 93 %; MRTT within 5 %; separate sessions 0.70 and 0.58 +- 0.08",
    ),
    _row(
        11,
        "n receivers behind a 0.198 s, 2 % loss link, 0.002 s tails",
        "grows with n; sharing about 95 %",
        "below n/(0.99 + 0.01 n), at least half of it; sharing at least 90 %",
    ),
    Row(
        "webrc-many",
        "webrc",
        "sim",
        "200 receivers in one session: half behind links of 0.1 to 10 Mbps, half with losses for 0.2 to 4 Mbps",
        "not in the paper",
        "each at least 85 % of its link, or within 15 % of 0.869 times Eq. (6) at its own ARTT and LOSSP",
        "the worst of them",
        MANY,
    ),
    Row(
        "webrc-joins",
        "webrc",
        "sim",
        "joins that the switch answers, or the controller 5 or 50 ms away; leaves at once, after 2 s or 260 s",
        "not in the paper",
        "MRTT longer by the controller's answer; nothing wasted at a quiescence of 300 s; throughput within 10 %",
        experiment=JOINS,
    ),
    Row(
        "webrc-users",
        "webrc",
        "sim",
        "the defaults: alone, behind eight links of 0.5 to 20 Mbps, eight behind one queue, beside one CUBIC",
        "not in the paper",
        "80 % of the link within 10 s of a join, and later; each of eight 85 % of its own; share 0.4-2.5",
        {"start, s": "s, the longest start"},
        USERS,
    ),
)
