"""The rows of VLMCC, the leader-based protocol that reads congestion from queueing delay."""

from experiments.row import Row

_MISSING = "the protocol vlmcc"


def _row(name: str, title: str, value: str, counts: str) -> Row:
    return Row(f"vlmcc-{name}", "vlmcc", "sim", title, value, counts, missing=_MISSING)


ROWS = (
    _row(
        "fig4",
        "dumbbell, two receivers, one TCP Reno, varied start times",
        "an equal share, hardly any loss",
        "share 0.8-1.25; no loss after 10 s in 4 of 5 runs while TCP keeps losing",
    ),
    _row(
        "fig6",
        "two branches of 1 Mbps; TCP 1 in [10, 25] and [41, 60] s, TCP 2 in [27, 45] s",
        "the leader follows the congestion",
        "the leader changes at 27 and 45 s, within 3 s; fair on the loaded link",
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
)
