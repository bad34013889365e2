"""WEBRC beside TCP (5.2: Fig. 9), and several receivers (5.3: Figs. 10 and 11)."""

import random
from collections.abc import Mapping, Sequence
from typing import Any, Final

from experiments.harness.measures import seconds_of, trace
from experiments.harness.relations import EachBetween, Every, NearReference, Only, Ordered, RatioBetween
from experiments.harness.row import Case, Curve, Experiment, Figure, Timeline
from experiments.harness.runs import Finished
from experiments.rows.rates import line, rate, tcp_counter
from experiments.rows.webrc.base import (
    PACKET_BITS,
    PACKET_BYTES,
    SECONDS,
    lossy,
    mean,
    narrow,
    network,
    port_packets,
    predicted,
    receiver_counter,
    receiver_values,
    session,
    variation,
)

# --- Fig. 9

_LINK_BPS: Final = 3.2e6
_SECOND_AT: Final = 100.0
"""When the second of the two begins, seconds (ours)."""
_TCP: Final[Mapping[str, Any]] = {
    "kind": "tcp",
    "congestion_control": "reno-1990",
    "simulated": {"packet": f"{PACKET_BYTES} B", "delayed_ack": "0 s", "initial_window": 1},
}
"""The paper does not say which of ns-2's TCPs it is, but 5 and 6 % of its link stay unused. Only Reno leaves so much:
NewReno 1 %, SACK nothing (ours, chosen after one run of each)."""
_TCP_SENDING: Final = {"most": f"{PACKET_BITS / _LINK_BPS * 1e6:.0f} us"}
"""Up to the bottleneck's time for a packet, against DropTail's phase effects, as in the other papers' rows (ours)."""


def _beside_tcp(name: str, webrc_at: float, tcp_at: float, seconds: float) -> dict[str, Any]:
    document = network("webrc-fig9", narrow(0.1, _LINK_BPS, 40), {"r1": "0 ms"}, seconds=seconds)
    document["name"] = name
    document["nodes"] |= {"a": {"kind": "host", "sending": _TCP_SENDING}, "b": {"kind": "host"}}
    document["links"] += [{"between": ["a", "core"]}, {"between": ["edge", "b"]}]
    receivers = [{"host": "r1", "join": f"{webrc_at:g} s"}]
    document["sessions"] = [session(1, "s1", receivers)]
    document["traffic"] = [{**_TCP, "source": "a", "destination": "b", "start": f"{tcp_at:g} s"}]
    return document


def _sharing_cases(quick: bool) -> Sequence[Case]:
    seconds = 300.0 if quick else SECONDS
    return [
        Case("WEBRC first", _beside_tcp("webrc-fig9", 1.0, _SECOND_AT, seconds)),
        Case("TCP first", _beside_tcp("webrc-fig9-tcp-first", _SECOND_AT, 1.0, seconds)),
    ]


def _sharing_measure(run: Finished) -> Mapping[str, float]:
    since = seconds_of(run) / 2
    webrc, tcp = receiver_counter(run, "r1"), tcp_counter(run, 0, PACKET_BYTES)
    rates = rate(webrc, since), rate(tcp, since)
    return {
        "WEBRC's share": rates[0] / sum(rates),
        "utilisation": sum(rates) * 1e3 / _LINK_BPS,
        "variation ratio": variation(webrc, since) / variation(tcp, since),
    }


def _sharing_curves(run: Finished) -> Sequence[Curve]:
    return [Curve("WEBRC", line(receiver_counter(run, "r1"))), Curve("TCP", line(tcp_counter(run, 0, PACKET_BYTES)))]


FIG9: Final = Experiment(
    _sharing_cases,
    _sharing_measure,
    Every(
        (
            Only(EachBetween(0.40, 0.65), "WEBRC's share"),
            Only(EachBetween(0.90), "utilisation"),
            Only(EachBetween(most=1.0), "variation ratio"),
        )
    ),
    Timeline("kbit/s"),
    curves=_sharing_curves,
)

# --- Fig. 10

_X, _Y, _Z = 0.2, 0.05, 0.1
_P10: Final = 0.01
_A_AT, _B_AT = 8.0, 200.0
_TAILS: Final = {"a": f"{_Y / 2 * 1e3:g} ms", "b": f"{_Z / 2 * 1e3:g} ms"}
"""The paper's receivers A and B."""


def _coordination_cases(quick: bool) -> Sequence[Case]:
    seconds = 320.0 if quick else SECONDS
    together = network("webrc-fig10", lossy(_X, _P10), _TAILS, seconds=seconds)
    receivers = [{"host": "a", "join": f"{_A_AT:g} s"}, {"host": "b", "join": f"{_B_AT:g} s"}]
    together["sessions"] = [session(1, "s1", receivers)]
    apart = network("webrc-fig10-separate", lossy(_X, _P10), _TAILS, seconds=seconds, senders=2)
    apart["sessions"] = [session(1, "s1", receivers[:1]), session(2, "s2", receivers[1:])]
    both = (_X + _Y + _Z) / 2
    references = {"ARTT of A, alone": _X + _Y, "ARTT of A": both, "ARTT of B": both}
    return [Case("one session", together, references=references), Case("separate", apart)]


def _coordination_measure(run: Finished) -> Mapping[str, float]:
    settled = (_B_AT + seconds_of(run)) / 2
    is_one = len(run.run.document["sessions"]) == 1
    of = {"a": 0, "b": 0 if is_one else 1}
    found = {
        f"throughput of {host.upper()}": rate(receiver_counter(run, host, number), settled)
        for host, number in of.items()
    }
    if not is_one:
        return found
    crossed, _ = port_packets(run, "edge", "core", settled)
    forwarded = sum(port_packets(run, "edge", host, settled)[1] for host in of)
    return {
        **found,
        "ARTT of A, alone": mean(receiver_values(run, "a", "artt_s", _B_AT / 2, _B_AT)),
        "ARTT of A": mean(receiver_values(run, "a", "artt_s", settled)),
        "ARTT of B": mean(receiver_values(run, "b", "artt_s", settled)),
        # What crossed went to one of the two or to both.
        "forwarded to both": forwarded / crossed - 1,
    }


def _coordination_curves(run: Finished) -> Sequence[Curve]:
    curves = []
    for number in range(len(run.run.document["sessions"])):
        for receiver in run.run.document["sessions"][number]["receivers"]:
            host = receiver["host"]
            rows = trace(run, number, host)
            artt = [(row["t"], 1e3 * row["artt_s"]) for row in rows if row.get("artt_s") is not None]
            curves += [
                Curve(f"{host}, kbit/s", line(receiver_counter(run, host, number))),
                Curve(f"{host}, ARTT, ms", artt),
            ]
    return curves


_ALONE: Final = {"A": (0.62, 0.78), "B": (0.50, 0.66)}
"""5.3.1: 30 % and 42 % less in sessions of their own; 0.08 either way."""

FIG10: Final = Experiment(
    _coordination_cases,
    _coordination_measure,
    Every(
        (
            Only(NearReference(0.05), labels=("one session",), quantity="ARTT of A, alone"),
            Only(NearReference(0.05), labels=("one session",), quantity="ARTT of A"),
            Only(NearReference(0.05), labels=("one session",), quantity="ARTT of B"),
            Only(EachBetween(0.93), labels=("one session",), quantity="forwarded to both"),
            *(
                Only(RatioBetween("separate", "one session", *bounds), quantity=f"throughput of {host}")
                for host, bounds in _ALONE.items()
            ),
        )
    ),
    Timeline("kbit/s, ms"),
    curves=_coordination_curves,
)

# --- Fig. 11

_FAR, _NEAR, _P11 = 0.198, 0.002, 0.02
_SR11_BPS: Final = 20e6
"""Ours: twenty receivers' rate is four times the other rows'."""
_SLOT_S: Final = 10.0
"""TSD."""
_SECONDS11, _QUICK_SECONDS11 = 1000.0, 300.0
"""Ours; the steady state is the last half. 5.3.2 gives no time. A receiver's weight for a measurement of MRTT is the
Appendix's only after a hundred waves or so, and a wave comes every ten seconds (experiments/results/NOTES.md)."""


def _curve(n: int) -> float:
    """5.3.2: kbit/s with taut cycles at every measurement."""
    return predicted(_P11, _FAR + _NEAR) * n / (0.99 + 0.01 * n)


def _density_cases(quick: bool) -> Sequence[Case]:
    cases = []
    for n in (1, 4) if quick else (1, 2, 5, 10, 20):
        hosts = [f"r{number}" for number in range(n)]
        # "At a uniformly random time in [0, TSD]" (5.1.1), the same for every seed; the sender's phase differs.
        joins = random.Random(n)
        receivers = [{"host": host, "join": f"{joins.uniform(0, _SLOT_S):.3f} s"} for host in hosts]
        tails = dict.fromkeys(hosts, f"{_NEAR / 2 * 1e3:g} ms")
        seconds = _QUICK_SECONDS11 if quick else _SECONDS11
        document = network("webrc-fig11", lossy(_FAR, _P11), tails, seconds=seconds)
        document["sessions"] = [session(1, "s1", receivers, rate_bps=_SR11_BPS)]
        cases.append(Case(f"n = {n}", document, x=n, references={"throughput": _curve(n)}))
    return cases


def _density_measure(run: Finished) -> Mapping[str, float]:
    since = seconds_of(run) / 2
    hosts = [receiver["host"] for receiver in run.run.document["sessions"][0]["receivers"]]
    throughput = mean([rate(receiver_counter(run, host), since) for host in hosts])
    crossed, _ = port_packets(run, "edge", "core", since)
    forwarded = [port_packets(run, "edge", host, since)[1] for host in hosts]
    return {
        "throughput": throughput,
        "share of the curve": throughput / _curve(len(hosts)),
        "sharing": mean([packets / crossed for packets in forwarded]),
    }


FIG11: Final = Experiment(
    _density_cases,
    _density_measure,
    Every(
        (
            Only(Ordered(rises=True), "throughput"),
            Only(EachBetween(0.5, 1.0), "share of the curve"),
            Only(EachBetween(0.90), "sharing"),
        )
    ),
    Figure(
        "receivers",
        {"throughput": "kbit/s", "share of the curve": "measured / n/(0.99 + 0.01 n)", "sharing": "of what crosses"},
        "n/(0.99 + 0.01 n)",
    ),
)
