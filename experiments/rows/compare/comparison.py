"""All protocols in the same networks, with and without help of the switches: what no paper has (docs/comparison.md)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from experiments.harness.relations import EachBetween, Every, Only
from experiments.harness.row import Bars, Case, Experiment, Row
from experiments.harness.runs import Finished
from experiments.rows.compare import networks
from experiments.rows.compare.measures import feedback, loss, offered_settles, rates, recovers, tcp_share, unevenness
from experiments.rows.compare.networks import BOTTLENECK_BPS, CONTENDERS, OWN_QUEUE, RECEIVERS, Contender

_TAIL_BPS: Final = (0.5e6, 1e6, 2e6, 4e6)
"""Of heterogeneous receivers, each twice."""
_TAIL_MS: Final = (5.0, 40.0)
_LOSS: Final = 0.01
_LOSSY_MS: Final = 10.0
_CONGESTED_S: Final = 100.0
_TAKEN_BPS: Final = BOTTLENECK_BPS / 2
_FAST_BPS: Final = 1e6
_SLOW_BPS: Final = 300e3
_SLOW: Final = "r7"
_SLOW_JOINS_S: Final = 90.0
_SLOW_LEAVES_S: Final = 110.0
_SLOW_SETTLED_S: Final = 95.0
_FQ_PACKETS: Final = 10_240
"""FQ-CoDel's limit (RFC 8290, section 5.2.3)."""
_WITHOUT: Final = ("none",)
_WITH_AND_WITHOUT: Final = (*_WITHOUT, "switch")
"""Kinds of assistance; quick cases of fast links have none."""
_MODERN_BPS: Final = ((20e6, 20.0), (100e6, 6.0))
"""Bit/s, and the seconds of a quick run."""
_MODERN_QUEUES: Final[Sequence[tuple[str, str, Callable[[float], Mapping[str, Any]]]]] = (
    ("fq", "FQ-CoDel", lambda _: {"kind": "fq_codel", "packets": _FQ_PACKETS}),
    ("bdp", "DropTail of one BDP", lambda rate_bps: {"kind": "droptail", "packets": networks.product(rate_bps)}),
)


def _with_tcp(contender: Contender, assist: str, pace: float) -> dict[str, Any]:
    return networks.network(contender, assist, pace, middle=networks.shared(), traffic=[networks.one_tcp()])


def _heterogeneous(contender: Contender, assist: str, pace: float) -> dict[str, Any]:
    tails = {
        name: {
            "rate": f"{_TAIL_BPS[number % 4]:g} bps",
            "delay": f"{_TAIL_MS[number // 4]:g} ms",
            "queue": dict(OWN_QUEUE),
        }
        for number, name in enumerate(RECEIVERS)
    }
    return networks.network(contender, assist, pace, middle=networks.wide(), tails=tails)


def _heterogeneous_cases(quick: bool) -> list[Case]:
    """Arbor with several rates, too."""
    pace = networks.QUICK_PACE if quick else 1.0
    several = _heterogeneous(networks.of_several_rates(CONTENDERS["Arbor"]), "none", pace)
    return [*_contenders(_heterogeneous, pace), Case("Arbor, several rates", several, series="Arbor")]


def _lossy(contender: Contender, assist: str, pace: float) -> dict[str, Any]:
    tails = {
        name: {"delay": f"{_LOSSY_MS:g} ms", "rate": "10 Mbps", "toward": {name: {"loss": _LOSS}}}
        for name in (*RECEIVERS, "b")
    }
    return networks.network(contender, assist, pace, middle=networks.wide(), tails=tails, traffic=[networks.one_tcp()])


def _congested(contender: Contender, assist: str, pace: float) -> dict[str, Any]:
    taken = {"kind": "udp", "source": "u", "destination": "v", "rate": f"{_TAKEN_BPS:g} bps", "packet": "1000 B"}
    traffic = [{**taken, "start": f"{_CONGESTED_S * pace:g} s"}]
    return networks.network(contender, assist, pace, middle=networks.shared(), traffic=traffic)


def _churn(contender: Contender, assist: str, pace: float) -> dict[str, Any]:
    """Half of the receivers stay; others come and go, and one of these has a slow link."""
    tails = {
        name: {"rate": f"{_SLOW_BPS if name == _SLOW else _FAST_BPS:g} bps", "queue": dict(OWN_QUEUE)}
        for name in RECEIVERS
    }
    stays: list[str | Mapping[str, Any]] = list(RECEIVERS[:4])
    comes = [
        {"host": name, "join": f"{(30 + 30 * number) * pace:g} s", "leave": f"{(70 + 30 * number) * pace:g} s"}
        for number, name in enumerate(RECEIVERS[4:7])
    ]
    slow = {"host": _SLOW, "join": f"{_SLOW_JOINS_S * pace:g} s", "leave": f"{_SLOW_LEAVES_S * pace:g} s"}
    return networks.network(
        contender, assist, pace, middle=networks.wide(), tails=tails, receivers=[*stays, *comes, slow]
    )


def _modern_cases(rate_bps: float, queue: Mapping[str, Any], quick_s: float) -> Callable[[bool], list[Case]]:
    """Beside one CUBIC."""
    middle = {"rate": f"{rate_bps:g} bps", "queue": dict(queue)}

    def make(contender: Contender, assist: str, pace: float) -> dict[str, Any]:
        found = networks.modern(contender, rate_bps)
        document = networks.network(found, assist, pace, middle=middle, traffic=[networks.one_cubic()])
        return networks.breaks_phases(document, rate_bps) if queue["kind"] == "droptail" else document

    def cases(quick: bool) -> list[Case]:
        pace = (quick_s if quick else networks.MODERN_SECONDS) / networks.SECONDS
        return _contenders(make, pace, _WITHOUT if quick else _WITH_AND_WITHOUT)

    return cases


def _contenders(
    make: Callable[[Contender, str, float], dict[str, Any]], pace: float, assists: Sequence[str] = _WITH_AND_WITHOUT
) -> list[Case]:
    """Each protocol with each kind of assistance that there is for it."""
    return [
        Case(name if assist == "none" else f"{name}, switches", make(contender, assist, pace), series=name)
        for name, contender in CONTENDERS.items()
        for assist in assists
        if assist == "none" or contender.has_assistance
    ]


def _cases(make: Callable[[Contender, str, float], dict[str, Any]]) -> Callable[[bool], list[Case]]:
    return lambda quick: _contenders(make, networks.QUICK_PACE if quick else 1.0)


def _everywhere(run: Finished) -> dict[str, float]:
    """What is measured in every network."""
    found = rates(run, RECEIVERS)
    return {
        "slowest": min(found),
        "variation": unevenness(run, RECEIVERS[0]),
        "loss": loss(run),
        "feedback": feedback(run),
    }


def _measure_tcp(run: Finished) -> Mapping[str, float]:
    return {**_everywhere(run), "share": tcp_share(run, RECEIVERS)}


def _measure_heterogeneous(run: Finished) -> Mapping[str, float]:
    return {**_everywhere(run), "fastest": max(rates(run, RECEIVERS))}


def _measure_lossy(run: Finished) -> Mapping[str, float]:
    return {**_everywhere(run), "share": tcp_share(run, RECEIVERS)}


def _measure_congested(run: Finished) -> Mapping[str, float]:
    return {
        **_everywhere(run),
        "loss": loss(run, _CONGESTED_S),
        "reaction": offered_settles(run, _CONGESTED_S, BOTTLENECK_BPS),
    }


def _measure_churn(run: Finished) -> Mapping[str, float]:
    stay = RECEIVERS[:4]
    return {
        "slowest": min(rates(run, stay)),
        "slow": min(rates(run, [_SLOW], _SLOW_SETTLED_S, _SLOW_LEAVES_S)),
        "variation": unevenness(run, stay[0]),
        "loss": loss(run),
        "feedback": feedback(run),
        "reaction": recovers(run, stay[0], _SLOW_LEAVES_S, before=(_SLOW_JOINS_S - 10, _SLOW_JOINS_S)),
    }


_LABELS: Final[Mapping[str, str]] = {
    "slowest": "slowest receiver, kbit/s",
    "fastest": "fastest receiver, kbit/s",
    "slow": "who comes to 300 kbit/s, kbit/s",
    "share": "of the TCP's rate",
    "variation": "coefficient of variation, 1 s",
    "loss": "dropped by the worst queue, %",
    "feedback": "feedback packets/s at the sender",
    "reaction": "reaction, s",
}


def _row(
    name: str,
    title: str,
    cases: Callable[[bool], Sequence[Case]],
    measure: Callable[[Finished], Mapping[str, float]],
    quantities: Sequence[str],
) -> Row:
    return Row(
        f"compare-{name}",
        "compare",
        "sim",
        f"all protocols: {title}",
        "not in any paper",
        "everybody goes on receiving",
        "kbit/s",
        Experiment(
            cases,
            measure,
            Every([Only(EachBetween(1.0), name) for name in ("slowest", "slow") if name in quantities]),
            Bars({quantity: _LABELS[quantity] for quantity in quantities}),
        ),
    )


ROWS: Final = (
    _row(
        "tcp",
        "one bottleneck of 1 Mbit/s with one TCP",
        _cases(_with_tcp),
        _measure_tcp,
        ("slowest", "share", "variation", "loss", "feedback"),
    ),
    _row(
        "heterogeneous",
        "receivers behind 0.5 to 4 Mbit/s",
        _heterogeneous_cases,
        _measure_heterogeneous,
        ("slowest", "fastest", "variation", "loss", "feedback"),
    ),
    _row(
        "loss",
        "1 % of independent loss at each receiver, and at a TCP's",
        _cases(_lossy),
        _measure_lossy,
        ("slowest", "share", "variation", "loss", "feedback"),
    ),
    _row(
        "congestion",
        "half of 1 Mbit/s is suddenly taken by UDP",
        _cases(_congested),
        _measure_congested,
        ("slowest", "variation", "loss", "feedback", "reaction"),
    ),
    _row(
        "churn",
        "receivers come and go, one of them slow",
        _cases(_churn),
        _measure_churn,
        ("slowest", "slow", "variation", "loss", "feedback", "reaction"),
    ),
    *(
        _row(
            f"{name}-{rate_bps / 1e6:g}",
            f"one bottleneck of {rate_bps / 1e6:g} Mbit/s with one CUBIC, {title}",
            _modern_cases(rate_bps, make(rate_bps), quick_s),
            _measure_tcp,
            ("slowest", "share", "variation", "loss", "feedback"),
        )
        for rate_bps, quick_s in _MODERN_BPS
        for name, title, make in _MODERN_QUEUES
    ),
)
