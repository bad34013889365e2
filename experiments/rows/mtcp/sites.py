"""Figs. 10 to 14 of MTCP (4.2.1): beside TCP on the wide-area links between five sites, in emulation.

The text lost Fig. 5. Our reading, from what it says of the experiments: A1 is Emory with the sender, and A4 GaTech (the
first and fourth experiment have TCP between these two, and involve A1 and A4); A2 NCSU and A3 UNC hang below Emory, for
"the route from Emory to NCSU" is a link of the tree; A5 UTexas hangs below GaTech, as in Fig. 7's chain. Delays, and
rates other than the bottleneck's, are ours; a bottleneck's rate is that of the paper's MTCP and TCP together."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from experiments.harness.measures import by_interval, flow_bytes, flow_goodput, receiver_bytes, seconds_of, session_rate
from experiments.harness.relations import EachBetween, Every, NearReference, Only
from experiments.harness.row import Assisted, Case, Curve, Experiment, Row, Timeline
from experiments.harness.runs import Finished
from experiments.rows.mtcp.base import INTERNET_PAYLOAD_BYTES, LAN, PAPER, assisted, enough, session

_HOSTS_A_SITE = 3
"""Receivers at each site, the first of which is its agent; the sender is Emory's (ours)."""
QUEUE_PACKETS = 9
"""DropTail, of the wide-area links (ours). Much depends on it: mtcp-queue."""
_WIRE_SHARE = 1514 / 1448
"""Bytes on the link for a byte of TCP's payload."""
_PATIENCE_S = 0.004
"""For which leaves' datagrams wait to be read together: the 14 programs share few processors (ours)."""
_SECONDS, _QUICK_SECONDS = 100, 30
_TCP_START_S, _QUICK_TCP_START_S = 15.0, 8.0
"""All receivers have joined by then, in full runs on a busy machine, too, where starting 14 programs takes up to 8 s. A
TCP that was there before MTCP's first packet would hide from it how short the path is without a queue."""
_START_UP_S = 7.0
"""Of the TCPs: neither slow start nor the first losses say anything of a steady state."""
_INTERVAL_S = 5.0
"""Of the papers' averages."""
RATIO = (0.7, 1.15)
"""MTCP / slowest TCP (TARGETS of the papers)."""


@dataclass(frozen=True, slots=True)
class _Route:
    """A wide-area link; data flows from `upper` to `lower`."""

    upper: str
    lower: str
    delay: str
    free: float
    """KB/s of payload that it carries where it is not the bottleneck (ours: twice the most that any row needs)."""

    @property
    def name(self) -> str:
        return f"{self.upper}-{self.lower}"


_ROUTES = {
    "A2": _Route("emory", "ncsu", "5 ms", 600.0),
    "A3": _Route("ncsu", "unc", "5 ms", 600.0),
    "A4": _Route("emory", "gatech", "5 ms", 600.0),
    "A5": _Route("gatech", "utexas", "5 ms", 600.0),
}


def rate_of(payload: float) -> str:
    """The rate of a link that carries so many KB/s of TCP's payload."""
    return f"{payload * 8e3 * _WIRE_SHARE:.0f} bps"


def sites(
    areas: Sequence[str],
    rates: Mapping[str, float],
    flows: Sequence[Mapping[str, Any]],
    *,
    name: str,
    seconds: float,
    sender_rate: float | None = None,
    queue_packets: int = QUEUE_PACKETS,
) -> dict[str, Any]:
    """The tree over Emory and these areas.

    `rates`: KB/s of payload that an area's link carries; `flows`: TCP, each with the `area` whose link it takes and
    its times; `sender_rate`: KB/s of the link from the sender to its site."""
    nodes: dict[str, Any] = {"emory": {"kind": "p4"}, "sender": {"kind": "host"}}
    access = LAN if sender_rate is None else {**LAN, "rate": rate_of(sender_rate)}
    links: list[dict[str, Any]] = [{"between": ["sender", "emory"], **access}]
    tree: dict[str, list[str]] = {"sender": []}
    agents = {"emory": "sender"}
    receivers: list[str] = []

    def attach(site: str, host: str) -> None:
        nodes[host] = {"kind": "host"}
        links.append({"between": [site, host], **LAN})

    def populate(site: str, parent: str, count: int) -> None:
        """Leaves at a site, children of this parent."""
        for _ in range(count):
            host = f"r{len(receivers) + 1}"
            attach(site, host)
            receivers.append(host)
            tree.setdefault(parent, []).append(host)

    populate("emory", "sender", _HOSTS_A_SITE - 1)
    for area in areas:
        route = _ROUTES[area]
        nodes[route.lower] = {"kind": "p4"}
        carried = rates.get(area, route.free)
        queue = {"kind": "droptail", "packets": queue_packets}
        links.append(
            {"between": [route.upper, route.lower], "rate": rate_of(carried), "delay": route.delay, "queue": queue}
        )
        populate(route.lower, agents[route.upper], 1)
        agents[route.lower] = receivers[-1]
        populate(route.lower, agents[route.lower], _HOSTS_A_SITE - 1)
    traffic = []
    for number, flow in enumerate(flows):
        route = _ROUTES[flow["area"]]
        attach(route.upper, f"t{number}")
        attach(route.lower, f"u{number}")
        times = {key: value for key, value in flow.items() if key != "area"}
        ends = {"source": f"t{number}", "destination": f"u{number}"}
        traffic.append({"kind": "tcp", "congestion_control": "reno", **ends, **times})
    fastest = max(rates.values()) * 8e3 * _WIRE_SHARE
    transfer = session("sender", receivers, enough(fastest, seconds), tree=tree, payload=INTERNET_PAYLOAD_BYTES)
    transfer["parameters"]["patience_s"] = _PATIENCE_S
    return {
        "name": name,
        "duration": f"{seconds:g} s",
        "nodes": nodes,
        "links": links,
        "sessions": [transfer],
        "traffic": traffic,
    }


_SCALED = 4.0
"""Rates of the paper's first and fourth experiment over ours; the others' are as low as that."""


# --- Figs. 10 to 13: one TCP on each link


@dataclass(frozen=True, slots=True)
class BesideTcp:
    """One of the paper's three."""

    areas: tuple[str, ...]
    bottleneck: str
    """The area behind the slowest link."""
    paper_rate: float
    """KB/s that MTCP and the TCP there got."""
    scaled: float = 1.0
    """By how much rates are less than the paper's, so that all bottlenecks have some 1.2 Mbps (ours)."""

    @property
    def rate(self) -> float:
        """KB/s for each of the two, scaled."""
        return self.paper_rate / self.scaled


FIRST = BesideTcp(("A4",), "A4", 280.0, _SCALED)
SECOND = BesideTcp(("A2", "A3", "A4"), "A2", 70.0)
THIRD = BesideTcp(("A2", "A3", "A4", "A5"), "A5", 60.0)


def one_tcp_a_link(experiment: BesideTcp, *, quick: bool, queue_packets: int = QUEUE_PACKETS) -> dict[str, Any]:
    """The session, and a TCP on each wide-area link."""
    start = _QUICK_TCP_START_S if quick else _TCP_START_S
    return sites(
        experiment.areas,
        {experiment.bottleneck: 2 * experiment.rate},
        [{"area": area, "start": f"{start:g} s"} for area in experiment.areas],
        name=f"mtcp-sites-{len(experiment.areas)}",
        seconds=_QUICK_SECONDS if quick else _SECONDS,
        queue_packets=queue_packets,
    )


def _with_tcp(experiment: BesideTcp, quick: bool) -> Sequence[Case]:
    document = one_tcp_a_link(experiment, quick=quick)
    references = {"MTCP": experiment.rate, "slowest TCP": experiment.rate}
    return [Case(f"{len(experiment.areas) + 1} areas", document, "emu", references=references)]


def tcp_measure(run: Finished) -> Mapping[str, float]:
    """KB/s of MTCP and of the slowest TCP, and their ratio."""
    flows = run.run.document["traffic"]
    since = max(_times(flow)[0] for flow in flows) + _START_UP_S
    mtcp = session_rate(run, since=since) / 8e3
    slowest = min(flow_goodput(run, number, since=since) for number in range(len(flows))) / 8e3
    return {"ratio": mtcp / slowest, "MTCP": mtcp, "slowest TCP": slowest}


def receiving_rates(run: Finished, interval: float, until: float | None = None) -> list[Curve]:
    """KB/s of MTCP's slowest receiver and of each TCP, averaged over intervals."""
    hosts = [receiver["host"] for receiver in run.summary["sessions"][0]["receivers"]]
    counters = [receiver_bytes(run, 0, host) for host in hosts]
    end = min(until or float("inf"), *(counter[-1][0] for counter in counters if counter))
    each = [by_interval(counter, interval, end) for counter in counters]
    slowest = [(column[0][0], min(rate for _, rate in column) / 1e3) for column in zip(*each, strict=True)]
    curves = [Curve("MTCP, slowest receiver", slowest)]
    sites_of = dict(reversed(link["between"]) for link in run.run.document["links"])
    for number, flow in enumerate(run.run.document["traffic"]):
        label = f"TCP{number + 1}, {sites_of[flow['source']]} to {sites_of[flow['destination']]}"
        rates = [(at, rate / 1e3) for at, rate in by_interval(flow_bytes(run, number), interval, end)]
        start, stop = _times(flow)
        curves.append(Curve(label, [(at, rate) for at, rate in rates if start <= at <= stop]))
    return curves


def _times(flow: Mapping[str, Any]) -> tuple[float, float]:
    """Seconds of a flow's start and end."""
    start, stop = (float(str(flow.get(name, default)).split()[0]) for name, default in (("start", 0), ("stop", "inf")))
    return start, stop


def _averages(run: Finished) -> Sequence[Curve]:
    return receiving_rates(run, _INTERVAL_S)


def _first_seconds(run: Finished) -> Sequence[Curve]:
    return receiving_rates(run, 1.0, 50.0)


# --- Fig. 14: TCPs that come and go

_COMPRESSED = 2.0
_QUICK_COMPRESSED = 10.0
"""Times of the paper over ours."""
_JOINS_S = (150.0, 300.0, 410.0)
_LEAVES_S = (520.0, 630.0, 740.0)
"""The paper gives no times (ours)."""
_END_S = 800.0
_ALONE = 400.0
"""KB/s that MTCP gets alone. With the TCPs the shared link carries 600 and more, so something else limits it: the
sender's own link (ours)."""
_SHARED = 660.0
"""KB/s of the link that they share: the most that the paper's flows had on it together (with TCP1 and TCP2)."""
_SETTLING_S = 5.0
"""After each change, not counted."""
_PHASES: Sequence[tuple[str, float, float, Mapping[str, float]]] = (
    ("alone", 0.0, _JOINS_S[0], {"MTCP": 400.0}),
    ("with TCP1", _JOINS_S[0], _JOINS_S[1], {"MTCP": 300.0, "TCP1": 300.0}),
    ("with TCP1, TCP2", _JOINS_S[1], _JOINS_S[2], {"MTCP": 240.0, "TCP1": 180.0, "TCP2": 240.0}),
    ("with TCP3 left", _LEAVES_S[1], _LEAVES_S[2], {"MTCP": 330.0}),
    ("alone again", _LEAVES_S[2], _END_S, {"MTCP": 400.0}),
)
"""From, to (seconds of the paper), and the paper's KB/s."""
_REFERENCES: Mapping[str, float] = {
    f"{who} {phase}": rate / _SCALED for phase, _, _, rates in _PHASES for who, rate in rates.items()
}
_ABOVE = 1.15
_SECONDS_ABOVE = "seconds above the best TCP"
_ABOVE_S = 20.0
"""MTCP is not above the best TCP by more than that for longer than this."""


def _joining_cases(quick: bool) -> Sequence[Case]:
    compressed = _QUICK_COMPRESSED if quick else _COMPRESSED
    flows = [
        {"area": "A4", "start": f"{join / compressed:g} s", "stop": f"{leave / compressed:g} s"}
        for join, leave in zip(_JOINS_S, _LEAVES_S, strict=True)
    ]
    document = sites(
        ("A4",),
        {"A4": _SHARED / _SCALED},
        flows,
        name="mtcp-fig14",
        seconds=_END_S / compressed,
        sender_rate=_ALONE / _SCALED,
    )
    return [Case("A1, A4", document, "emu", references=_REFERENCES)]


def _joining_measure(run: Finished) -> Mapping[str, float]:
    compressed = _compressed(run)
    found = {}
    for phase, start, end, rates in _PHASES:
        since, until = start / compressed + _SETTLING_S, end / compressed
        for who in rates:
            number = None if who == "MTCP" else int(who[-1]) - 1
            rate = session_rate(run, 0, since, until) if number is None else flow_goodput(run, number, since, until)
            found[f"{who} {phase}"] = rate / 8e3
    found[_SECONDS_ABOVE] = longest_above(run, 1.0)
    return found


def longest_above(run: Finished, interval: float) -> float:
    """For how many seconds on end MTCP was above the best TCP by more than `_ABOVE`, in averages over intervals."""
    mtcp, *flows = receiving_rates(run, interval)
    rates = [dict(curve.points) for curve in flows]
    longest = current = 0.0
    for at, rate in mtcp.points:
        present = [of[at] for of in rates if at in of]
        current = current + interval if present and rate > _ABOVE * max(present) else 0.0
        longest = max(longest, current)
    return longest


def _compressed(run: Finished) -> float:
    """The paper's times over the run's."""
    return _END_S / seconds_of(run)


def _joining_curves(run: Finished) -> Sequence[Curve]:
    return receiving_rates(run, _INTERVAL_S / _compressed(run))


def _beside_tcp(
    number: int, experiment: BesideTcp, areas: str, curves: Callable[[Finished], Sequence[Curve]], extra: str = ""
) -> Row:
    scaled = f" (here a {experiment.scaled:g}th)" if experiment.scaled > 1 else ""
    return Row(
        f"mtcp-fig{number}",
        PAPER,
        "emu",
        f"tree of Fig. 5, {areas}, bottleneck on one inter-site link, one TCP on each{extra}",
        f"MTCP and the slowest TCP at about {experiment.paper_rate:g} KB/s{scaled}",
        "MTCP / slowest TCP in 0.7-1.15",
        "MTCP / slowest TCP",
        Experiment(
            partial(_with_tcp, experiment),
            tcp_measure,
            Only(EachBetween(*RATIO), quantity="ratio"),
            Timeline("receiving rate, KB/s"),
            curves=curves,
            assisted=Assisted(assisted),
        ),
    )


ROWS = (
    _beside_tcp(10, FIRST, "areas A1 and A4", _averages),
    _beside_tcp(11, FIRST, "areas A1 and A4", _first_seconds, "; the first 50 s at 1 s"),
    _beside_tcp(12, SECOND, "areas A1 to A4", _averages),
    _beside_tcp(13, THIRD, "areas A1 to A5", _averages),
    Row(
        "mtcp-fig14",
        PAPER,
        "emu",
        f"one bottleneck; TCPs join at 150, 300, 410 s and leave; 1/{_COMPRESSED:g} of times, 1/{_SCALED:g} of rates",
        "400 KB/s alone, 300/300 with TCP1, 240 with TCP2 (TCP1 180), 330 with TCP3 left",
        "within 25 %; not above the best TCP by more than 15 % for more than 20 s",
        {_SECONDS_ABOVE: "s", **dict.fromkeys(_REFERENCES, "of the paper's rate")},
        Experiment(
            _joining_cases,
            _joining_measure,
            Every(
                [
                    *(Only(NearReference(0.25), quantity=quantity) for quantity in _REFERENCES),
                    Only(EachBetween(most=_ABOVE_S), quantity=_SECONDS_ABOVE),
                ]
            ),
            Timeline("receiving rate, KB/s"),
            curves=_joining_curves,
            assisted=Assisted(assisted),
        ),
    ),
)
