"""The rows of RLA: Wang and Schwartz, "Achieving Bounded Fairness for Multicast and TCP Traffic in the Internet"."""

from experiments.row import Row, RowWorld

_MISSING = "the protocol rla"


def _row(name: str, world: RowWorld, title: str, value: str, counts: str) -> Row:
    return Row(f"rla-{name}", "rla", world, title, value, counts, missing=_MISSING)


_TREE = "four-level tertiary tree, 27 receivers, one TCP each, 3,000 s, five cases"

ROWS = (
    _row("fig4", "formulas", "drift of one session, n = 3, pipe 10", "the drift field", "drawn"),
    _row(
        "fig5",
        "formulas",
        "two sessions, 27 receivers, pipe 60",
        "windows gather around (20, 20)",
        "mean (20, 20) +- 10 %",
    ),
    _row(
        "fig7",
        "sim",
        f"{_TREE}, DropTail 20",
        "RLA / slowest TCP 1-3",
        "0.85-3.3; cuts / signals 1/27 +- 25 %; cases 1, 2, 3 in falling order",
    ),
    _row("fig8", "sim", f"{_TREE}, DropTail 20", "signals per branch", "RLA within 25 % of TCP in cases 1-3"),
    _row("fig9", "sim", f"{_TREE}, RED (5, 15)", "closer to equal than DropTail", "above all in case 1"),
    _row("two", "sim", "two sessions, case 3", "65.1 and 65.9 pkt/s", "ratio 0.9-1.1"),
    _row(
        "fig10",
        "sim",
        "36 receivers, bottlenecks at level 2, then level 3, pthresh scaled by (rtt/rttmax)^2",
        "bounded by the slowest TCP",
        "0.5-4 times the slowest TCP",
    ),
    _row(
        "drift",
        "sim",
        "Section 4: W(n)/W(1) at equal p, n = 1 to 27",
        "between 1 and sqrt(n)",
        "the model satisfies Eq. (2) exactly; in [0.95, sqrt(n)]",
    ),
    _row(
        "theorems",
        "sim",
        "all fig7 and fig9 runs with p below 5 %",
        "RED: 1/3 to sqrt(3n); DropTail: 1/4 to 2n",
        "RED: 1/3 to sqrt(3n); DropTail: 1/4 to 2n",
    ),
)
