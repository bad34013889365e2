"""What the rows of VLMCC share: one setting of alpha, beta and N_extra, and what is read from their runs.

The paper gives neither thresholds nor queues, and shares with TCP Reno depend on both: Reno fills a DropTail queue and
Vegas keeps between alpha and beta packets of its own in it, so that equality wants some half of the queue to be Vegas'
(the row vlmcc-sweep). Packets are 1,000 bytes on the link (the paper's, footnote 3) and the TCP is ns-2's Reno of 2001.
Nothing is random in the network, as in the paper; seeds differ in when receivers ask for the session's state.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from experiments.harness.measures import Counter, trace
from experiments.harness.runs import Finished
from experiments.rows.networks import PACKET_BYTES

PAYLOAD_BYTES: Final = PACKET_BYTES - 14 - 28 - 44
"""Ethernet, IPv4 and UDP, VLMCC's header."""
ALPHA: Final = 5.4
BETA: Final = 6.75
N_EXTRA: Final = 4.0
PAPER_PARAMETERS: Final[Mapping[str, Any]] = {"rules": "paper", "alpha": ALPHA, "beta": BETA, "n_extra": N_EXTRA}
"""Parameters of the paper's rows and of the comparison's."""
DUMBBELL_MS: Final = 70.0
"""Of Fig. 3's bottleneck, whose numbers are lost (ours): the link holds more than the queue, so that TCP empties the
queue when it halves its window, and who comes later sees the round trip as it is (experiments/results/NOTES.md)."""


def vlmcc(receivers: Sequence[str | Mapping[str, Any]], start: float = 0.0, **parameters: Any) -> dict[str, Any]:
    """The session, from the host `s`; `parameters` beside or in place of the rows' own."""
    return {
        "id": 1,
        "protocol": "vlmcc",
        "sender": "s",
        "group": "232.1.1.1",
        "port": 5000,
        "realtime": True,
        "start": f"{start:g} s",
        "receivers": [dict(given) if isinstance(given, Mapping) else given for given in receivers],
        "parameters": {"payload_bytes": PAYLOAD_BYTES, **PAPER_PARAMETERS, **parameters},
    }


def received(run: Finished, receiver: str, session: int = 0) -> Counter:
    """Bytes on the link that a receiver of the scenario's session of that place got, by time."""
    rows = trace(run, session, receiver)
    return [(row["t"], row["data_packets"] * PACKET_BYTES) for row in rows if "data_packets" in row]


def losses(run: Finished, receiver: str, since: float) -> float:
    """Packets that a receiver missed after a time."""
    rows = [row for row in trace(run, 0, receiver) if "lost_packets" in row]
    before = [row["lost_packets"] for row in rows if row["t"] <= since]
    if not rows or not before:
        raise ValueError(f"{receiver} has no trace at {since:g} s")
    return float(rows[-1]["lost_packets"] - before[-1])


def leaders(run: Finished) -> list[tuple[float, str | None]]:
    """(Time, address of the leader) by time; None: nobody."""
    return [(row["t"], row["leader"]) for row in trace(run, 0, "sender") if "leader" in row]
