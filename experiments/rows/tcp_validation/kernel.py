"""The simulator's TCP beside the kernel's: alone, in pairs, under random losses, and the course of its window.

Both worlds have the same scenarios: P4 switches whose links are the same implementation, in real time between network
namespaces with the kernel's TCP, and in virtual time. The window is what `ss -ti` shows (TCP_INFO), four times a
second."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from experiments.harness.measures import flow_goodput, flow_goodputs, seconds_of
from experiments.harness.relations import SeriesRatioBetween
from experiments.harness.row import Bars, Case, Curve, Drawing, Experiment, Row, Timeline
from experiments.harness.runs import Finished
from experiments.rows.networks import dumbbell

_FRAME_BITS: Final = 1514 * 8
_ACCESS_MS: Final = 1
_WORLDS: Final = (("kernel", "emu"), ("simulated", "sim"))
_ALONE: Final = ("cubic", "bbr", "reno")
_PAIRS: Final = (("cubic", "cubic"), ("reno", "reno"), ("bbr", "bbr"), ("cubic", "reno"), ("cubic", "bbr"))
_QUICK_PAIRS: Final = (("cubic", "reno"),)
_SETTLED: Final = 0.25
"""The part of a run that is slow start and the first losses (ours)."""


@dataclass(frozen=True, slots=True)
class _Path:
    """A bottleneck: Mbit/s, round trip time in ms, its queue in bandwidth-delay products, and what it loses at random
    on the way there."""

    rate_mbps: float
    rtt_ms: float
    products: float
    loss_percent: float = 0.0

    @property
    def title(self) -> str:
        """In words."""
        loss = f", {self.loss_percent:g} % loss" if self.loss_percent else ""
        return f"{self.rate_mbps:g} Mbps, {self.rtt_ms:g} ms, {self.products:g} BDP{loss}"

    def document(self, names: Sequence[str], seconds: float) -> dict[str, Any]:
        """One flow for each name, 0.5 s apart."""
        packets = round(self.rate_mbps * 1e3 * self.rtt_ms / _FRAME_BITS * self.products)
        lossy = {"toward": {"right": {"loss": f"{self.loss_percent:g} %"}}} if self.loss_percent else {}
        return dumbbell(
            [
                {"kind": "tcp", "congestion_control": name, "start": f"{number * 500} ms"}
                for number, name in enumerate(names)
            ],
            name="tcp-kernel",
            duration=f"{seconds:g} s",
            bottleneck={
                "rate": f"{self.rate_mbps:g} Mbps",
                "delay": f"{self.rtt_ms / 2 - 2 * _ACCESS_MS:g} ms",
                "queue": {"kind": "droptail", "packets": packets},
                **lossy,
            },
            access={"rate": "100 Mbps", "delay": f"{_ACCESS_MS} ms", "queue": {"kind": "droptail", "packets": 1000}},
            switch="p4",
        )


_MIDDLE: Final = _Path(10, 40, 1)
_LOSSY: Final = (_Path(40, 30, 2, 2.0), _Path(40, 40, 2, 0.5))
"""Windows of about ten and twenty packets, whom no queue limits (ours)."""
_PATHS: Final = tuple(
    _Path(rate_mbps, rtt_ms, products) for rate_mbps in (2, 10, 40) for rtt_ms in (10, 40, 100) for products in (1, 2)
)
"""Three rates, three round trip times, two queues (ours)."""


def _cases(what: Sequence[tuple[_Path, Sequence[str]]], seconds: float) -> list[Case]:
    """Each in both worlds; a kernel's and a simulated case that belong together have one place."""
    return [
        Case(
            f"{', '.join(names)}: {path.title}, {title}",
            path.document(names, seconds),
            "emu" if world == "emu" else "sim",
            x=place,
            series=title,
        )
        for place, (path, names) in enumerate(what)
        for title, world in _WORLDS
    ]


def _alone_cases(quick: bool) -> Sequence[Case]:
    if quick:
        return _cases([(_MIDDLE, (name,)) for name in _ALONE], 12)
    return _cases([(path, (name,)) for name in _ALONE for path in _PATHS], 40)


def _alone_measure(run: Finished) -> Mapping[str, float]:
    return {"goodput": flow_goodput(run, 0, since=_SETTLED * seconds_of(run)) / 1e6}


def _loss_cases(quick: bool) -> Sequence[Case]:
    names, paths = (("cubic",), _LOSSY[:1]) if quick else (("cubic", "reno"), _LOSSY)
    return _cases([(path, (name,)) for name in names for path in paths], 20 if quick else 50)


def _pair_cases(quick: bool) -> Sequence[Case]:
    pairs = _QUICK_PAIRS if quick else _PAIRS
    return _cases([(_MIDDLE, pair) for pair in pairs], 25 if quick else 100)


def _pair_measure(run: Finished) -> Mapping[str, float]:
    first, second = flow_goodputs(run, since=_SETTLED * seconds_of(run))
    return {"share": first / (first + second)}


def _window_cases(quick: bool) -> Sequence[Case]:
    return _cases([(_MIDDLE, (name,)) for name in _ALONE], 12 if quick else 40)


def _window(run: Finished) -> list[tuple[float, float]]:
    """(Time, packets)."""
    return [(row["t"], row["cwnd"]) for row in run.series("flow-0")]


def _window_measure(run: Finished) -> Mapping[str, float]:
    windows = [cwnd for at, cwnd in _window(run) if at >= _SETTLED * seconds_of(run)]
    if not windows:
        raise ValueError("the flow wrote no windows")
    return {"window": sum(windows) / len(windows)}


def _window_curves(run: Finished) -> Sequence[Curve]:
    is_kernel = run.run.world == "emu"
    (flow,) = run.run.document["traffic"]
    world = "kernel" if is_kernel else "simulated"
    return [Curve(f"{flow['congestion_control']}, {world}", _window(run), is_reference=is_kernel)]


def _row(
    name: str,
    title: str,
    value: str,
    counts: str,
    cases: Callable[[bool], Sequence[Case]],
    measure: Callable[[Finished], Mapping[str, float]],
    relation: SeriesRatioBetween,
    drawing: Drawing,
    curves: Callable[[Finished], Sequence[Curve]] | None = None,
) -> Row:
    return Row(
        name,
        "tcp-validation",
        "sim, emu",
        title,
        value,
        counts,
        "of the kernel's",
        Experiment(cases, measure, relation, drawing, curves=curves),
    )


def _within(share: float) -> SeriesRatioBetween:
    """Of the kernel's."""
    return SeriesRatioBetween("simulated", "kernel", 1 - share, 1 + share)


_GOODPUT: Final = "the Linux kernel's goodput in emulation"

ROWS = (
    _row(
        "tcp-kernel",
        "CUBIC, BBR and Reno alone: three rates, three round trip times, two queues",
        _GOODPUT,
        "simulated within 5 % of it",
        _alone_cases,
        _alone_measure,
        _within(0.05),
        Bars({"goodput": "Mbit/s"}),
    ),
    _row(
        "tcp-pairs",
        f"Two flows, alike and not, on {_MIDDLE.title}",
        "the first one's share with the Linux kernel's TCP",
        "simulated within 20 % of it",
        _pair_cases,
        _pair_measure,
        _within(0.2),
        Bars({"share": "share of the first"}),
    ),
    _row(
        "tcp-loss",
        "CUBIC and Reno alone where a link loses 0.5 or 2 % at random",
        _GOODPUT,
        "simulated within 15 % of it",
        _loss_cases,
        _alone_measure,
        _within(0.15),
        Bars({"goodput": "Mbit/s"}),
    ),
    _row(
        "tcp-window",
        f"The window's course, {_MIDDLE.title}",
        "the Linux kernel's, by ss -ti",
        "simulated within 15 % of its mean",
        _window_cases,
        _window_measure,
        _within(0.15),
        Timeline("window, packets", by_place=True),
        _window_curves,
    ),
)
