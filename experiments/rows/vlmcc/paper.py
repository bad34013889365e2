"""The rows of VLMCC, the leader-based protocol that reads congestion from queueing delay."""

from collections.abc import Mapping
from typing import Final

from experiments.harness.row import Experiment, Row
from experiments.rows.vlmcc import assist as vlmcc_assist
from experiments.rows.vlmcc import defaults as vlmcc_defaults
from experiments.rows.vlmcc import response as vlmcc_response
from experiments.rows.vlmcc import sharing as vlmcc_sharing

_EXPERIMENTS: Final[Mapping[str, Experiment]] = {
    **vlmcc_sharing.EXPERIMENTS,
    **vlmcc_response.EXPERIMENTS,
    **vlmcc_defaults.EXPERIMENTS,
}


def _row(name: str, title: str, value: str, counts: str, unit: str = "") -> Row:
    return Row(f"vlmcc-{name}", "vlmcc", "sim", title, value, counts, unit, _EXPERIMENTS[name])


ROWS = (
    _row(
        "fig4",
        "dumbbell, two receivers, one TCP Reno, varied start times",
        "an equal share, hardly any loss",
        "average over the start times 0.8-1.25 of TCP's; no loss after 10 s in 4 of 5 runs while TCP keeps losing",
    ),
    _row(
        "fig6",
        "two branches of 1 Mbps; TCP 1 in [10, 25] and [41, 60] s, TCP 2 in [27, 45] s",
        "the leader follows the congestion",
        "the leader stays at 10 and 41 s, changes at 27 and 45 s, within 3 s; fair on the loaded link",
    ),
    _row(
        "fig8",
        "Fig. 7: TCP, UDP and HTTP cross traffic on 10 Mbps hops",
        "smoother than TCP, and as fast",
        "TCP ratio 0.7-1.4; the window's coefficient of variation below TCP's",
    ),
    _row(
        "loss",
        "the leader dies",
        "a receiver's challenge makes it the leader",
        "a new leader by challenge; the rate holds meanwhile",
    ),
    _row(
        "sweep",
        "Fig. 4, begun together, over beta (alpha is four fifths of it), the queue and the bottleneck's delay (ours)",
        "the paper gives neither",
        "the rows' own setting within 0.8-1.25, with Fig. 5's delay and Fig. 3's; the others are drawn",
    ),
    _row(
        "self",
        "two and four sessions, started 30 s apart, one bottleneck: by the default rules and the paper's",
        "sessions with similar conditions should have equal rates",
        "default rules: Jain's index at least 0.97 from 60 s after the last start on; the paper's are drawn",
    ),
    _row(
        "queue",
        "Fig. 4, begun together, with queues of 8 to 64 packets: by the default rules and the paper's (ours)",
        "the paper does not give the queue",
        "default rules: 0.5-2 throughout; the paper's are drawn",
    ),
    *vlmcc_assist.ROWS,
)
