"""Beside Figs. 10 to 14 of MTCP: what the queue of the wide-area links does to its share beside TCP, simulated.

The paper's links were the Internet's, so their queues are unknown; ours have one size in all emulated rows. Here the
networks of Figs. 10, 12 and 13 are simulated over queues from too short to several times longer."""

from collections.abc import Mapping, Sequence
from typing import Any

from experiments.harness.relations import Every, Only, Ordered
from experiments.harness.row import Case, Experiment, Figure, Row
from experiments.rows.mtcp.base import PAPER, SENDING
from experiments.rows.mtcp.sites import FIRST, QUEUE_PACKETS, SECOND, THIRD, one_tcp_a_link, tcp_measure

_QUEUES = (5, 7, QUEUE_PACKETS, 12, 16, 24, 32)
"""Packets. One or two are on their way at 1.2 Mbps and 10 to 20 ms of round trip."""
_QUICK_QUEUES = (5, 32)
_EXPERIMENTS = {"Fig. 10": FIRST, "Fig. 12": SECOND, "Fig. 13": THIRD}


def _simulated(document: Mapping[str, Any]) -> dict[str, Any]:
    """The emulated network with plain routers in place of its P4 switches, and senders that are not in step."""
    nodes = {
        name: {**node, "kind": "router"} if node["kind"] == "p4" else node for name, node in document["nodes"].items()
    }
    for name in ("sender", *(flow["source"] for flow in document["traffic"])):
        nodes[name] = {**nodes[name], "sending": SENDING}
    # The simulated sender nearest to the kernel's reno that recovers by selective acknowledgments.
    traffic = [{**flow, "congestion_control": "sack"} for flow in document["traffic"]]
    return {**document, "nodes": nodes, "traffic": traffic}


def _cases(quick: bool) -> Sequence[Case]:
    return [
        Case(
            f"{figure}, {packets} packets",
            _simulated(one_tcp_a_link(experiment, quick=quick, queue_packets=packets)),
            x=packets,
            series=figure,
        )
        for figure, experiment in _EXPERIMENTS.items()
        for packets in (_QUICK_QUEUES if quick else _QUEUES)
    ]


ROWS = (
    Row(
        "mtcp-queue",
        PAPER,
        "sim",
        f"Figs. 10, 12 and 13 over queues of {_QUEUES[0]} to {_QUEUES[-1]} packets",
        "not in the paper",
        "the longer the queue, the smaller is MTCP's share, as Vegas' beside Reno",
        "MTCP / slowest TCP",
        Experiment(
            _cases,
            tcp_measure,
            Every([Only(Ordered(), quantity="ratio", series=figure) for figure in _EXPERIMENTS]),
            Figure("queue, packets", {"ratio": "MTCP / slowest TCP"}, log_x=True, log_y=True),
        ),
    ),
)
