"""Beyond the WEBRC paper: what users have of the defaults, in networks as they have them."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from experiments.harness.measures import Counter, seconds_of, trace
from experiments.harness.relations import EachBetween, Every, Only
from experiments.harness.row import Bars, Case, Experiment
from experiments.harness.runs import Finished
from experiments.rows.rates import line, rate, tcp_counter
from experiments.rows.webrc.base import by_log, mean, network
from hosts.protocols.webrc.options import WebrcOptions

_SECONDS, _QUICK_SECONDS = 80.0, 50.0
_SETTLED_S: Final = 20.0
"""Two time slots."""
_JOIN_S: Final = 1.0
_PACKET_BYTES: Final = WebrcOptions().packet_bytes
_ENOUGH: Final = 0.8
_TCP: Final[Mapping[str, Any]] = {"kind": "tcp", "congestion_control": "cubic", "source": "a", "destination": "b"}
_RECEIVERS: Final = tuple(f"r{number}" for number in range(1, 9))
_LINKS_BPS: Final = by_log(0.5e6, 20e6, len(_RECEIVERS))
_RTTS: Final = (0.02, 0.05, 0.1)

START: Final = "start, s"
ALONE: Final = "of the link, alone"
OWN: Final = "of a link of one's own, least"
LEAST: Final = "of a link for eight, least"
MEAN: Final = "of a link for eight, mean"
SHARE: Final = "of a CUBIC's rate"
SERVED: Final = "of a CUBIC's rate, FQ-CoDel"


def _link(bps: float, rtt: float, queue: str = "droptail", bdp: float = 1.0) -> dict[str, Any]:
    packets = max(4, round(bdp * bps * rtt / 8 / _PACKET_BYTES))
    kind = {"kind": queue, "packets": packets} if queue == "droptail" else {"kind": queue}
    return {"delay": f"{rtt / 2 * 1e3:g} ms", "rate": f"{bps:.0f} bps", "queue": kind}


def _document(
    shared: Mapping[str, Any], receivers: Sequence[str], seconds: float, *, tcp: bool = False
) -> dict[str, Any]:
    document = network("webrc-users", shared, dict.fromkeys(receivers, "0 ms"), seconds=seconds)
    document["sessions"] = [
        {
            "id": 1,
            "protocol": "webrc",
            "sender": "s1",
            "group": "232.6.1.0",
            "port": 5001,
            "realtime": True,
            "receivers": [{"host": host, "join": f"{_JOIN_S:g} s"} for host in receivers],
        }
    ]
    if tcp:
        document["nodes"] |= {"a": {"kind": "host"}, "b": {"kind": "host"}}
        document["links"] += [{"between": ["a", "core"]}, {"between": ["edge", "b"]}]
        document["traffic"] = [dict(_TCP)]
    return document


def _own_links(seconds: float) -> dict[str, Any]:
    document = _document({}, (), seconds)
    for number, (host, bps) in enumerate(zip(_RECEIVERS, _LINKS_BPS, strict=True)):
        document["nodes"][host] = {"kind": "host"}
        document["links"].append({"between": ["edge", host], **_link(bps, _RTTS[number % len(_RTTS)])})
    document["sessions"][0]["receivers"] = [{"host": host, "join": f"{_JOIN_S:g} s"} for host in _RECEIVERS]
    return document


def _cases(quick: bool) -> Sequence[Case]:
    seconds = _QUICK_SECONDS if quick else _SECONDS
    found = [Case("eight links, 0.5 to 20 Mbps", _own_links(seconds))]
    for mbps in (5, 20) if quick else (1, 5, 20, 100):
        for rtt in (0.02,) if quick else (0.01, 0.1):
            label = f"alone, {mbps} Mbps, {rtt * 1e3:g} ms"
            found.append(Case(label, _document(_link(mbps * 1e6, rtt), _RECEIVERS[:1], seconds)))
    for rtt in (0.03,) if quick else (0.01, 0.03, 0.08):
        label = f"eight behind 5 Mbps, {rtt * 1e3:g} ms"
        found.append(Case(label, _document(_link(5e6, rtt), _RECEIVERS, seconds)))
    for mbps in (5,) if quick else (5, 10, 20, 50):
        for rtt in (0.05,) if quick else (0.02, 0.1):
            for queue, bdp in (("droptail", 0.5), ("droptail", 2.0), ("codel", 1.0), ("fq_codel", 1.0)):
                name = f"DropTail {bdp:g} BDP" if queue == "droptail" else {"codel": "CoDel"}.get(queue, "FQ-CoDel")
                label = f"beside CUBIC, {mbps} Mbps, {rtt * 1e3:g} ms, {name}"
                document = _document(_link(mbps * 1e6, rtt, queue, bdp), _RECEIVERS[:1], seconds, tcp=True)
                found.append(Case(label, document))
    return found


def _counter(run: Finished, host: str) -> Counter:
    """Bytes on the link that a receiver had by time."""
    return [(row["t"], row["data_packets"] * _PACKET_BYTES) for row in trace(run, 0, host) if "data_packets" in row]


def _kbps(link: Mapping[str, Any]) -> float:
    return float(link["rate"].split()[0]) / 1e3


def _measure(run: Finished) -> Mapping[str, float]:
    document = run.run.document
    links = {link["between"][1]: link for link in document["links"] if "rate" in link}
    shared = links.pop("edge", None)
    hosts = [receiver["host"] for receiver in document["sessions"][0]["receivers"]]
    counters = {host: _counter(run, host) for host in hosts}
    had = {host: rate(counter, _SETTLED_S) for host, counter in counters.items()}
    if document.get("traffic"):
        assert shared is not None
        kind = SERVED if shared["queue"]["kind"] == "fq_codel" else SHARE
        return {kind: had[hosts[0]] / rate(tcp_counter(run, 0), _SETTLED_S)}
    of = {host: had[host] / _kbps(links.get(host, shared)) for host in hosts}
    start = max(_start(counters[host], _kbps(links.get(host, shared)), seconds_of(run)) for host in hosts)
    if shared is None:
        return {OWN: min(of.values()), START: start}
    if len(hosts) > 1:
        return {LEAST: min(of.values()), MEAN: mean(list(of.values()))}
    return {ALONE: of[hosts[0]], START: start}


def _start(counter: Counter, kbps: float, seconds: float) -> float:
    """From the join to the first second with enough of the link; all of the time: there is none."""
    return next((at - _JOIN_S for at, value in line(counter) if value >= _ENOUGH * kbps), seconds)


USERS: Final = Experiment(
    _cases,
    _measure,
    Every(
        (
            Only(EachBetween(most=10.0), START),
            Only(EachBetween(_ENOUGH), ALONE),
            Only(EachBetween(0.85), OWN),
            Only(EachBetween(0.4, 2.5), SHARE),
            Only(EachBetween(0.4, 2.5), SERVED),
        )
    ),
    Bars({START: START, ALONE: ALONE, OWN: OWN, LEAST: LEAST, MEAN: MEAN, SHARE: SHARE, SERVED: SERVED}),
)
