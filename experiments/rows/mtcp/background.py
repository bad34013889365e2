"""Figs. 18 and 19 of MTCP (4.3): 100 receivers on a random topology with short TCP transfers, and independent loss.

The text lost Figs. 16 and 17. It says that GT-ITM made the topology, with three kinds of links, and that MTCP's 12 KB/s
were a little less than the rate of the bottleneck links. Ours: GT-ITM's 100-node graph with a receiver at each node and
the sender at a transit node; the rates and delays of the three kinds; the transfers; a logical tree by domains."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import networkx

from experiments.harness.measures import acknowledged_bytes, by_interval, flow_bytes, session_rate
from experiments.harness.relations import NearReference, RatioBetween
from experiments.harness.row import Assisted, Case, Curve, Experiment, Relation, Row, Timeline
from experiments.harness.runs import Finished
from experiments.rows.mtcp.base import LAN, PAPER, QUEUE, assisted, enough, ns2_tcp, session
from experiments.rows.mtcp.transit_stub import LinkKind, Shape, TransitStub, transit_stub

_TOPOLOGY_SEED = 1
_FAN_OUT = 5
_BOTTLENECK_BPS = 128e3
"""16 KB/s, two ISDN channels: 12 KB/s of payload are 15 with their headers, and there is some TCP."""
_LINKS: Mapping[LinkKind, Mapping[str, Any]] = {
    "transit": {"rate": "1.5 Mbps", "delay": "20 ms", "queue": QUEUE},
    "transit-stub": {"rate": f"{_BOTTLENECK_BPS:g} bps", "delay": "10 ms", "queue": QUEUE},
    "stub": {"rate": "1.5 Mbps", "delay": "2 ms", "queue": QUEUE},
}
_PAPER_RATE = 12.0
"""KB/s."""
_LOSS = 0.01
_SECONDS = 1500
_QUICK_SECONDS = 60
_START_UP_S = 30.0
_PAIRS = 8
"""Of TCP's ends, in different stub domains."""
_TRANSFERS: Mapping[str, Any] = {
    "kind": "web",
    "congestion_control": "reno-1990",
    "gap": "150 s",
    "size": "40 kB",
    "shape": 2.0,
    "simulated": ns2_tcp(),
}
"""Each pair's: a transfer takes some seconds alone."""
_INTERVAL_S = 10.0
"""Of the averages in the figures."""


def logical_tree(topology: TransitStub, sender: str) -> dict[str, list[str]]:
    """The transit nodes' hosts are the sender's children; the stubs' gateways are theirs; within a stub
    each node is the child of the nearest to the gateway that has room."""
    tree: dict[str, list[str]] = {sender: [f"n{node}" for node in topology.transit]}
    for stub in topology.stubs:
        tree.setdefault(f"n{stub.transit}", []).append(f"n{stub.gateway}")
        order = list(networkx.bfs_tree(topology.domain(stub), stub.gateway))
        for place, node in enumerate(order[1:]):
            tree.setdefault(f"n{order[place // _FAN_OUT]}", []).append(f"n{node}")
    return tree


def random_topology(seconds: int, loss: float) -> dict[str, Any]:
    """The session, its background, and the independent loss at its receivers."""
    topology = transit_stub(Shape(), _TOPOLOGY_SEED)
    graph = topology.graph
    nodes: dict[str, Any] = {f"s{node}": {"kind": "router"} for node in graph}
    links: list[dict[str, Any]] = [
        {"between": [f"s{one}", f"s{other}"], **_LINKS[graph.edges[one, other]["kind"]]} for one, other in graph.edges
    ]

    def attach(host: str, node: int, **link: Any) -> None:
        nodes[host] = {"kind": "host"}
        links.append({"between": [f"s{node}", host], **LAN, **link})

    receivers = [f"n{node}" for node in graph]
    for host, node in zip(receivers, graph, strict=True):
        attach(host, node, toward={host: {"loss": loss}})
    attach("sender", topology.transit[0])
    traffic = []
    for pair in range(_PAIRS):
        # Half a turn around the stubs, so that both ends' links to the transit domain are shared with the session.
        ends = [topology.stubs[(pair + turn) % len(topology.stubs)] for turn in (0, len(topology.stubs) // 2)]
        for host, stub in zip((f"t{pair}", f"u{pair}"), ends, strict=True):
            attach(host, stub.nodes[pair % len(stub.nodes)])
        traffic.append({**_TRANSFERS, "source": f"t{pair}", "destination": f"u{pair}"})
    return {
        "name": "mtcp-transit-stub",
        "duration": f"{seconds} s",
        "nodes": nodes,
        "links": links,
        "sessions": [
            session(
                "sender",
                receivers,
                enough(_BOTTLENECK_BPS, seconds),
                tree=logical_tree(topology, "sender"),
                fan_out=_FAN_OUT,
            )
        ],
        "traffic": traffic,
        "simulation": {"sample": "10 s", "trace": "1 s"},
    }


def _case(label: str, loss: float, quick: bool) -> Case:
    document = random_topology(_QUICK_SECONDS if quick else _SECONDS, loss)
    return Case(label, document, references={"throughput": _PAPER_RATE})


def _lossless(quick: bool) -> Sequence[Case]:
    return [_case("no loss", 0.0, quick)]


def _both(quick: bool) -> Sequence[Case]:
    return [_case("no loss", 0.0, quick), _case("1 % loss", _LOSS, quick)]


def _measure(run: Finished) -> Mapping[str, float]:
    return {"throughput": session_rate(run, since=_START_UP_S) / 8e3}


def _curves(run: Finished) -> Sequence[Curve]:
    """MTCP, and all TCP transfers of each pair."""
    mtcp = by_interval(acknowledged_bytes(run, 0), _INTERVAL_S)
    curves = [Curve("MTCP", [(at, rate / 1e3) for at, rate in mtcp])]
    for number in range(_PAIRS):
        rates = by_interval(flow_bytes(run, number), _INTERVAL_S)
        curves.append(Curve(f"TCP {number + 1}", [(at, rate / 1e3) for at, rate in rates]))
    return curves


def _row(
    number: int, cases: Callable[[bool], Sequence[Case]], relation: Relation, counts: str, unit: str, extra: str = ""
) -> Row:
    return Row(
        f"mtcp-fig{number}",
        PAPER,
        "sim",
        f"transit-stub topology, 100 receivers, short TCP transfers, 1,500 s{extra}",
        "12 KB/s, about the bottleneck's rate",
        counts,
        unit,
        Experiment(
            cases, _measure, relation, Timeline("throughput, KB/s"), curves=_curves, assisted=Assisted(assisted)
        ),
    )


ROWS = (
    _row(18, _lossless, NearReference(0.15), "within 15 % of it", "of the paper's rate"),
    _row(
        19,
        _both,
        RatioBetween("1 % loss", "no loss", 0.85),
        "at least 85 % of the lossless run",
        "of the lossless run",
        ", 1 % loss at the receivers",
    ),
)
