"""The rows of Arbor, our own protocol: what its page claims, and what is asked of a protocol of today (ours)."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from experiments.harness.measures import Counter, flow_bytes, trace
from experiments.harness.relations import EachBetween, Every, Only, RatioBetween
from experiments.harness.row import ONE_RUN, Bars, Case, Experiment, Figure, Row
from experiments.harness.runs import Finished
from experiments.harness.statistics import jain_index
from experiments.rows.networks import access, bottleneck, document
from experiments.rows.rates import rate
from hosts.protocols.arbor.packets import DATA_BYTES, DEFAULT_PAYLOAD_BYTES

_PACKET_BYTES: Final = 1500
_ASSISTED: Final = "switches"
"""The series of cases with P4 switches that help."""
_MIXED: Final = "mixed"
"""Of those in which some do."""
_OF_FILE: Final = "file"
_SECONDS: Final = 60.0
_QUICK_SECONDS: Final = 30.0
_FROM_SHARE: Final = 1 / 3
"""Of a run: rates are of what comes after."""


def _session(receivers: Sequence[str], **content: Any) -> dict[str, Any]:
    """With default parameters; real-time data, or `content`."""
    return {
        "id": 1,
        "protocol": "arbor",
        "sender": "s",
        "group": "232.1.1.1",
        "port": 5000,
        **(content or {"realtime": True}),
        "receivers": list(receivers),
    }


def _host(rate_bps: float) -> dict[str, Any]:
    """A host that holds each packet back for up to the bottleneck's time for one, as the survey's do: without it
    DropTail queues favour one flow for good (Floyd and Jacobson 1992)."""
    return {"kind": "host", "sending": {"most": f"{_PACKET_BYTES * 8e3 / rate_bps:g} ms"}}


def _received(run: Finished, receiver: str, session: int = 0) -> Counter:
    return [(row["t"], row["received_bytes"]) for row in trace(run, session, receiver) if "received_bytes" in row]


def _goodput(run: Finished, receiver: str) -> float:
    """kbit/s of payload."""
    return rate(_received(run, receiver), _FROM_SHARE * run.summary["duration_s"])


# --- beside one TCP

_RATE_BPS: Final = 20e6
_DELAY_MS: Final = 15.0
_TCPS: Final = ("cubic", "reno", "prague", "bbr")
_QUEUES: Final[Mapping[str, Mapping[str, Any]]] = {
    "DropTail": {"kind": "droptail", "packets": int(_RATE_BPS * 2 * _DELAY_MS / 8e3 / _PACKET_BYTES)},
    "CoDel": {"kind": "codel"},
    "FQ-CoDel": {"kind": "fq_codel"},
    "DualPI2": {"kind": "dualpi2"},
}
"""DropTail of one bandwidth-delay product; the others as their RFCs have them."""


def _share_cases(quick: bool) -> Sequence[Case]:
    return [
        Case(f"{queue}, {tcp}", _beside(tcp, given, quick), x=number, series=tcp)
        for tcp in _TCPS
        for number, (queue, given) in enumerate(_QUEUES.items())
    ]


def _beside(tcp: str, queue: Mapping[str, Any], quick: bool) -> dict[str, Any]:
    nodes: dict[str, Any] = {"left": {"kind": "router"}, "right": {"kind": "router"}}
    nodes |= {"s": _host(_RATE_BPS), "x": _host(_RATE_BPS), "r0": {"kind": "host"}, "r1": {"kind": "host"}}
    links = [{**bottleneck("left", "right", _RATE_BPS, delay_ms=_DELAY_MS), "queue": dict(queue)}]
    links += [access(host, "left", 10 * _RATE_BPS, 0.1) for host in ("s", "x")]
    links += [access("right", host, 10 * _RATE_BPS, 0.1) for host in ("r0", "r1")]
    flow = {"kind": "tcp", "source": "x", "destination": "r1", "start": "1 s", "congestion_control": tcp}
    seconds = _QUICK_SECONDS if quick else _SECONDS
    return document("arbor-share", seconds, nodes, links, _session(["r0", "r1"]), [flow])


def _share_measure(run: Finished) -> Mapping[str, float]:
    since = _FROM_SHARE * run.summary["duration_s"]
    return {"share": _goodput(run, "r0") / rate(flow_bytes(run, 0), since)}


# --- sessions beside each other

_SEVERAL: Final = (2, 4)
_APART_S: Final = 1.0
"""Between two sessions' beginnings (ours)."""


def _several_cases(quick: bool) -> Sequence[Case]:
    return [
        Case(f"{queue}, {count}", _several(count, given, quick), x=number, series=str(count))
        for count in _SEVERAL
        for number, (queue, given) in enumerate(_QUEUES.items())
    ]


def _several(count: int, queue: Mapping[str, Any], quick: bool) -> dict[str, Any]:
    nodes: dict[str, Any] = {"left": {"kind": "router"}, "right": {"kind": "router"}}
    links = [{**bottleneck("left", "right", _RATE_BPS, delay_ms=_DELAY_MS), "queue": dict(queue)}]
    sessions = []
    for number in range(count):
        sender, receiver = f"s{number}", f"r{number}"
        nodes |= {sender: _host(_RATE_BPS), receiver: {"kind": "host"}}
        links += [access(sender, "left", 10 * _RATE_BPS, 0.1), access("right", receiver, 10 * _RATE_BPS, 0.1)]
        own = {"id": number + 1, "sender": sender, "group": f"232.1.1.{number + 1}"}
        sessions.append({**_session([receiver]), **own, "start": f"{number * _APART_S:g} s"})
    found = document("arbor-several", _QUICK_SECONDS if quick else _SECONDS, nodes, links, sessions[0])
    return {**found, "sessions": sessions}


def _several_measure(run: Finished) -> Mapping[str, float]:
    since = _FROM_SHARE * run.summary["duration_s"]
    count = len(run.summary["sessions"])
    rates = [rate(_received(run, f"r{number}", number), since) for number in range(count)]
    return {"jain": jain_index(rates)}


# --- many receivers that lose independently

_LOSS: Final = 0.005
_MANY: Final = (1, 10, 100, 1000)
_MANY_BPS: Final = 10e6
_MANY_MS: Final = 80.0


def _many_cases(quick: bool) -> Sequence[Case]:
    return [Case(f"{count} receivers", _many(count, quick), x=count) for count in _MANY]


def _many(count: int, quick: bool) -> dict[str, Any]:
    names = [f"r{number}" for number in range(count)]
    nodes: dict[str, Any] = {"left": {"kind": "router"}, "right": {"kind": "router"}, "s": _host(_MANY_BPS)}
    nodes |= {name: {"kind": "host"} for name in names}
    links = [bottleneck("left", "right", _MANY_BPS, 200, _MANY_MS), access("s", "left", 10 * _MANY_BPS, 0.1)]
    for number, name in enumerate(names):
        links.append({**access("right", name, 10 * _MANY_BPS, 1 + number % 7), "toward": {name: {"loss": _LOSS}}})
    return document("arbor-many", _QUICK_SECONDS if quick else 2 * _SECONDS, nodes, links, _session(names))


def _many_measure(run: Finished) -> Mapping[str, float]:
    rows = [row for row in trace(run, 0, "sender") if row.get("rtt_s")]
    sent = rate([(row["t"], row["sent_bytes"]) for row in rows], _FROM_SHARE * run.summary["duration_s"])
    return {"sent": sent, **_feedback(rows)}


_FEEDBACK: Final = {"feedback": "packets a round trip", "busiest": "in the busiest second"}
_WINDOW_S: Final = 1.0
"""Within which feedback is counted where it is most (ours)."""


def _feedback(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """A sender's, in a round trip: on average and in its busiest second."""
    rtt_s = sum(row["rtt_s"] for row in rows) / len(rows)
    told = [(row["t"], row["feedback_packets"]) for row in rows]
    busiest, first = 0.0, 0
    for at, count in told:
        while told[first + 1][0] <= at - _WINDOW_S:
            first += 1
        since, before = told[first]
        if at - since >= _WINDOW_S:
            busiest = max(busiest, (count - before) / (at - since))
    (began, least), (ended, most) = told[0], told[-1]
    return {"feedback": (most - least) / (ended - began) * rtt_s, "busiest": busiest * rtt_s}


# --- a file to many that lose independently

_FILE_BYTES: Final = 3_000_000
_FILE_LOSS: Final = 0.01
_FILE_BPS: Final = 10e6
_FILE_MS: Final = 10.0
_FILE_MANY: Final = (1, 10, 100, 1000)
_SYMBOL_BYTES: Final = 1384
"""Of a packet with the default payload."""
_FILE_SECONDS: Final = 120.0


def _file_cases(quick: bool) -> Sequence[Case]:
    counts = _FILE_MANY[:-1] if quick else _FILE_MANY
    return [Case(f"{count} receivers", _file(count), x=count) for count in counts]


def _file(count: int) -> dict[str, Any]:
    names = [f"r{number}" for number in range(count)]
    nodes: dict[str, Any] = {"left": {"kind": "router"}, "right": {"kind": "router"}, "s": _host(_FILE_BPS)}
    nodes |= {name: {"kind": "host"} for name in names}
    links = [bottleneck("left", "right", _FILE_BPS, 50, _FILE_MS), access("s", "left", 10 * _FILE_BPS, 0.1)]
    links += [{**access("right", name, 10 * _FILE_BPS, 5), "toward": {name: {"loss": _FILE_LOSS}}} for name in names]
    session = _session(names, size=f"{_FILE_BYTES} B")
    return document("arbor-repairs", _FILE_SECONDS, nodes, links, session)


def _file_measure(run: Finished) -> Mapping[str, float]:
    rows = [row for row in trace(run, 0, "sender") if row.get("rtt_s")]
    return {"repairs": 100 * rows[-1]["repair_packets"] * _SYMBOL_BYTES / _FILE_BYTES, **_feedback(rows)}


# --- a crowd

_CROWD: Final = 10_000
_CROWD_QUICK: Final = 1000
_CROWD_EDGE: Final = 100
"""Receivers at a switch, and switches (ours)."""
_CROWD_BPS: Final = 50e6
_CROWD_MS: Final = 8.0
_CROWD_SECONDS: Final = 6.0
_CROWD_FILE_BYTES: Final = 1_000_000
_CROWDS: Final = {"crowd, switches": _ASSISTED, "some of them, mixed": _MIXED}
"""Cases of real-time data, and their series. Without switches to join would take most of a run, and of the machine's
time; a file's receivers join before its data."""


def _crowd_cases(quick: bool) -> Sequence[Case]:
    """A file behind routers; real-time data behind switches that help, and behind some that do, of fewer receivers."""
    count = _CROWD_QUICK if quick else _CROWD
    counts = {_ASSISTED: count, _MIXED: _CROWD_QUICK}
    return [
        Case("crowd, a file", _crowd(count, _OF_FILE), x=count, series=_OF_FILE),
        Case("one receiver", _crowd(1, ""), x=1),
        *(
            Case(name, _crowd(counts[series], series), x=counts[series], series=series)
            for name, series in _CROWDS.items()
        ),
    ]


def _crowd(count: int, series: str) -> dict[str, Any]:
    names = [f"r{number}" for number in range(count)]
    edges = [f"e{number}" for number in range(-(-count // _CROWD_EDGE))]
    is_file = series == _OF_FILE
    kind: dict[str, Any] = {"kind": "p4" if series in _CROWDS.values() else "router"}
    # Every other switch at the edge, and the one in the middle, only forward.
    helpless = {"assist": False} if series == _MIXED else {}
    nodes: dict[str, Any] = {"left": dict(kind), "right": {**kind, **helpless}, "s": _host(_CROWD_BPS)}
    nodes |= {name: {**kind, **(helpless if number % 2 else {})} for number, name in enumerate(edges)}
    nodes |= {name: {"kind": "host"} for name in names}
    links = [bottleneck("left", "right", _CROWD_BPS, 200, _CROWD_MS), access("s", "left", 2 * _CROWD_BPS, 0.1)]
    links += [access("right", name, 2 * _CROWD_BPS, 0.5) for name in edges]
    for number, name in enumerate(names):
        link = access(edges[number // _CROWD_EDGE], name, 2 * _CROWD_BPS, 1 + number % 7)
        links.append({**link, "toward": {name: {"loss": _LOSS}}})
    session = _session(names, **({"size": f"{_CROWD_FILE_BYTES} B"} if is_file else {}))
    session |= {"assist": "switch"} if series in _CROWDS.values() else {}
    return document("arbor-crowd", _FILE_SECONDS if is_file else _CROWD_SECONDS, nodes, links, session)


def _crowd_measure(run: Finished) -> Mapping[str, float]:
    rows = [row for row in trace(run, 0, "sender") if row.get("rtt_s")]
    if "repair_packets" in rows[-1]:
        repairs = 100 * rows[-1]["repair_packets"] * _SYMBOL_BYTES / _CROWD_FILE_BYTES
        return {"repairs": repairs, **_feedback(rows)}
    sent = rate([(row["t"], row["sent_bytes"]) for row in rows], _FROM_SHARE * run.summary["duration_s"])
    return {"sent": sent, **_feedback(rows)}


# --- a link that is halved

_HALVED_BPS: Final = 20e6
_HALVED_AT_S: Final = 20.0
_HALVED_S: Final = 30.0
_HALVED_RTT_S: Final = 2 * (_DELAY_MS + 0.2) / 1e3
_SETTLES_S: Final = 5.0
"""A reaction that has not come by then is said to take so long."""


def _halved_cases(quick: bool) -> Sequence[Case]:
    """Behind routers, and behind switches."""
    return [
        Case(queue if not series else f"{queue}, {series}", _halved(given, bool(series)), x=number, series=series)
        for series in ("", _ASSISTED)
        for number, (queue, given) in enumerate(_QUEUES.items())
    ]


def _halved(queue: Mapping[str, Any], assisted: bool) -> dict[str, Any]:
    kind = {"kind": "p4" if assisted else "router"}
    nodes: dict[str, Any] = {"left": kind, "right": dict(kind), "s": _host(_HALVED_BPS)}
    nodes |= {"r0": {"kind": "host"}, "r1": {"kind": "host"}}
    links = [{**bottleneck("left", "right", _HALVED_BPS, delay_ms=_DELAY_MS), "queue": dict(queue)}]
    links += [access("s", "left", 10 * _HALVED_BPS, 0.1)]
    links += [access("right", host, 10 * _HALVED_BPS, 0.1) for host in ("r0", "r1")]
    fault = {
        "kind": "link-rate",
        "at": f"{_HALVED_AT_S:g} s",
        "link": ["left", "right"],
        "rate": f"{_HALVED_BPS / 2:g} bps",
    }
    fine = {"trace": "10 ms", "sample": "500 ms"}
    session = _session(["r0", "r1"])
    session |= {"assist": "switch"} if assisted else {}
    return document("arbor-halved", _HALVED_S, nodes, links, session, faults=[fault], simulation=fine)


def _halved_measure(run: Finished) -> Mapping[str, float]:
    """Round trips until no more is sent than the link carries; what comes later of the new rate."""
    rows = [row for row in trace(run, 0, "sender") if row["t"] >= _HALVED_AT_S and row.get("allowed_bps")]
    until = next((row["t"] for row in rows if row["allowed_bps"] <= _HALVED_BPS / 2), _HALVED_AT_S + _SETTLES_S)
    later = rate(_received(run, "r0"), _HALVED_AT_S + 20 * _HALVED_RTT_S)
    payload = _SYMBOL_BYTES + 16  # with the piece's own header
    full = _HALVED_BPS / 2 / 1e3 * payload / (payload + _OVERHEAD_BYTES)
    return {"reaction": (until - _HALVED_AT_S) / _HALVED_RTT_S, "later": 100 * later / full}


# --- receivers behind links of their own

_LINKS_BPS: Final = (0.5e6, 1.3e6, 3e6, 7e6, 12e6, 20e6)
_LAYERS_MS: Final = (5.0, 40.0)
_RUNGS: Final = 17
_SETTLED: Final = 1 / 2
"""Of a run: all have found their rung."""


def _layers_cases(quick: bool) -> Sequence[Case]:
    return [Case(f"{delay_ms:g} ms", _layers(delay_ms, quick), x=delay_ms) for delay_ms in _LAYERS_MS]


def _layers(delay_ms: float, quick: bool) -> dict[str, Any]:
    names = [f"r{number}" for number in range(len(_LINKS_BPS))]
    nodes: dict[str, Any] = {"left": {"kind": "router"}, "right": {"kind": "router"}, "s": _host(_LINKS_BPS[-1])}
    nodes |= {name: {"kind": "host"} for name in names}
    fast_bps = 10 * sum(_LINKS_BPS)
    links = [access("s", "left", fast_bps, 0.1), access("left", "right", fast_bps, 1)]
    for name, link_bps in zip(names, _LINKS_BPS, strict=True):
        packets = max(20, int(link_bps * 2 * delay_ms / 8e3 / _PACKET_BYTES))
        links.append(bottleneck("right", name, link_bps, packets, delay_ms))
    session = _session(names, realtime=True, parameters={"rungs": _RUNGS})
    return document("arbor-layers", _QUICK_SECONDS if quick else _SECONDS, nodes, links, session)


def _layers_measure(run: Finished) -> Mapping[str, float]:
    """What the application gets of each receiver's link, whose packets have headers, too."""
    payload = DEFAULT_PAYLOAD_BYTES / (DEFAULT_PAYLOAD_BYTES + _OVERHEAD_BYTES)
    since = _SETTLED * run.summary["duration_s"]
    shares = [
        100 * rate(_received(run, f"r{number}"), since) / (link_bps / 1e3 * payload)
        for number, link_bps in enumerate(_LINKS_BPS)
    ]
    return {"least": min(shares), "most": max(shares)}


_OVERHEAD_BYTES: Final = 14 + 28 + DATA_BYTES
"""Ethernet's, IPv4's, UDP's and DATA's headers."""


ROWS: Final = (
    Row(
        "arbor-share",
        "arbor",
        "sim",
        "one TCP beside it in 20 Mbps, 30 ms, by its kind and the queue's",
        "what a TCP would have in its place",
        "0.67-1.5 of a CUBIC's, a Reno's and a Prague's rate behind each queue; 0.4-2.5 of BBR's",
        "",
        Experiment(
            _share_cases,
            _share_measure,
            Every(
                [
                    *(Only(EachBetween(0.67, 1.5), "share", tcp) for tcp in _TCPS if tcp != "bbr"),
                    Only(EachBetween(0.4, 2.5), "share", "bbr"),
                ]
            ),
            Figure("queue: " + ", ".join(_QUEUES), {"share": "Arbor / TCP"}),
        ),
    ),
    Row(
        "arbor-several",
        "arbor",
        "sim",
        "2 and 4 sessions in 20 Mbps, 30 ms, by the kind of the queue",
        "sessions share as TCPs do",
        "Jain index of their rates at least 0.9 behind each queue",
        "",
        Experiment(
            _several_cases,
            _several_measure,
            EachBetween(least=0.9),
            Figure("queue: " + ", ".join(_QUEUES), {"jain": "Jain index"}),
        ),
    ),
    Row(
        "arbor-many",
        "arbor",
        "sim",
        "1 to 1,000 receivers, 160 ms, each with 0.5 % of loss of its own",
        "the least of many is not less than each",
        "at 10 to 1,000 at least 0.7 of the rate of one; below 20 feedback packets a round trip, in any second",
        "",
        Experiment(
            _many_cases,
            _many_measure,
            Every(
                [
                    *(Only(RatioBetween(f"{count} receivers", "1 receivers", 0.7), "sent") for count in _MANY[1:]),
                    *(Only(EachBetween(most=20), quantity) for quantity in _FEEDBACK),
                ]
            ),
            Figure("receivers", {"sent": "kbit/s", **_FEEDBACK}, log_x=True),
        ),
    ),
    Row(
        "arbor-repairs",
        "arbor",
        "sim",
        "3 MB to 1 to 1,000 receivers, each with 1 % of loss of its own",
        "repairs are as many as the worst receiver lacks",
        "repairs below 5 % of the data; below 20 feedback packets a round trip, in any second",
        "",
        Experiment(
            _file_cases,
            _file_measure,
            Every(
                [
                    Only(EachBetween(most=5.0), "repairs"),
                    *(Only(EachBetween(most=20.0), quantity) for quantity in _FEEDBACK),
                ]
            ),
            Figure("receivers", {"repairs": "% of the data", **_FEEDBACK}, log_x=True),
        ),
    ),
    Row(
        "arbor-crowd",
        "arbor",
        "sim",
        "10,000 receivers, 20 ms, 0.5 % of loss of their own: a file; behind switches; 1,000 where some of these help",
        "nothing grows with the receivers",
        "0.7 of the rate of one; repairs below 5 %; below 20 feedback packets a round trip, in any second",
        "",
        Experiment(
            _crowd_cases,
            _crowd_measure,
            Every(
                [
                    *(Only(RatioBetween(name, "one receiver", 0.7), "sent") for name in _CROWDS),
                    Only(EachBetween(most=5.0), "repairs"),
                    *(Only(EachBetween(most=20.0), quantity) for quantity in _FEEDBACK),
                ]
            ),
            Bars({"sent": "kbit/s", "repairs": "% of the data", **_FEEDBACK}),
            quick_runs=ONE_RUN,
        ),
    ),
    Row(
        "arbor-halved",
        "arbor",
        "sim",
        "20 Mbps become 10 after 20 s, 30 ms, by the kind of the queue",
        "the reaction takes some round trips",
        "within 6 round trips (3 with switches) no more is sent than the link carries; after 20 come 90 % of it",
        "",
        Experiment(
            _halved_cases,
            _halved_measure,
            Every(
                [
                    Only(EachBetween(most=6.0), "reaction"),
                    Only(EachBetween(most=3.0), "reaction", _ASSISTED),
                    Only(EachBetween(90.0), "later"),
                ]
            ),
            Figure("queue: " + ", ".join(_QUEUES), {"reaction": "round trips", "later": "% of the new rate"}),
        ),
    ),
    Row(
        "arbor-layers",
        "arbor",
        "sim",
        "receivers behind 0.5 to 20 Mbps, 17 rungs, by their delay",
        "no receiver holds another back",
        "each has at least 70 % of its own link",
        "",
        Experiment(
            _layers_cases,
            _layers_measure,
            Every([Only(EachBetween(70.0), "least")]),
            Figure("delay, ms", {"least": "% of its link, worst", "most": "% of its link, best"}),
        ),
    ),
)
"""In the page's order."""
