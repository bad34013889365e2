"""What is measured of a session, whichever its protocol: rates in kbit/s of packets on the link, as TCP's beside it.

A receiver's rate is that of what its application gets: of a reliable protocol's stream in order, without repairs.
"""

from collections.abc import Sequence
from typing import Any, Final

from experiments.harness.measures import Counter, receiver_bytes, seconds_of, trace
from experiments.harness.runs import Finished
from experiments.rows.compare.networks import CONTENDERS, SECONDS, SETTLED_S
from experiments.rows.networks import PACKET_BYTES
from experiments.rows.rates import rate, tcp_rate, variation

_PATIENCE_S: Final = 45.0
"""A reaction that has not come by then is said to take so long (of a full run, as all times here)."""
_FULL: Final = 1.05
"""Of a link's rate: more than that is offered to it in congestion."""
_RECOVERED: Final = 0.8
_WINDOW_S: Final = 1.0


def pace(run: Finished) -> float:
    """Of a full run's times: 1, or less of a quick one."""
    return seconds_of(run) / SECONDS


def _payload_bytes(run: Finished) -> int:
    protocol = run.run.document["sessions"][0]["protocol"]
    return next(one.payload_bytes for one in CONTENDERS.values() if one.protocol == protocol)


def counter(run: Finished, receiver: str) -> Counter:
    """Bytes on the link of what a receiver's application had by time."""
    share = PACKET_BYTES / _payload_bytes(run)
    return [(at, octets * share) for at, octets in receiver_bytes(run, 0, receiver)]


def rates(run: Finished, receivers: Sequence[str], since: float = SETTLED_S, until: float = SECONDS) -> list[float]:
    """Of each receiver between two times of a full run."""
    return [rate(counter(run, receiver), since * pace(run), until * pace(run)) for receiver in receivers]


def tcp_share(run: Finished, receivers: Sequence[str]) -> float:
    """The slowest receiver's rate over that of the TCP."""
    return min(rates(run, receivers)) / tcp_rate(run, 0, SETTLED_S * pace(run), SECONDS * pace(run))


def unevenness(run: Finished, receiver: str) -> float:
    """Coefficient of variation of a receiver's rates in seconds."""
    return variation(counter(run, receiver), SETTLED_S * pace(run), SECONDS * pace(run))


def feedback(run: Finished) -> float:
    """Packets a second that come to the sender; 0 of a protocol that has none."""
    settled = SETTLED_S * pace(run)
    rows = [row for row in trace(run, 0, "sender") if row["t"] >= settled and "feedback_packets" in row]
    if len(rows) < 2:
        return 0.0
    return float((rows[-1]["feedback_packets"] - rows[0]["feedback_packets"]) / (rows[-1]["t"] - rows[0]["t"]))


def _bottleneck(run: Finished, since: float) -> list[dict[str, Any]]:
    """The counters of s0's port towards s1 from a time on. ValueError when there are none."""
    rows = [
        row
        for row in run.series("ports")
        if (row["switch"], row["neighbour"]) == ("s0", "s1") and row["t"] >= since - 1e-6
    ]
    if len(rows) < 2:
        raise ValueError(f"no counters of the bottleneck after {since:g} s")
    return rows


def _dropped(row: dict[str, Any]) -> int:
    return int(row["drop_queue"] + row["drop_red"] + row.get("drop_aqm", 0))


def loss(run: Finished, since: float = SETTLED_S) -> float:
    """Percent of the packets, of everybody, that the queue drops which drops the greatest part of what comes to it."""
    since *= pace(run)
    ends: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in run.series("ports"):
        if row["t"] >= since - 1e-6:
            ends.setdefault((row["switch"], row["neighbour"]), []).append(row)
    if not ends:
        raise ValueError(f"no counters of ports after {since:g} s")
    return max(_loss(rows[0], rows[-1]) for rows in ends.values())


def _loss(first: dict[str, Any], last: dict[str, Any]) -> float:
    dropped = _dropped(last) - _dropped(first)
    return float(100 * dropped / max(1, dropped + last["tx_packets"] - first["tx_packets"]))


def offered_settles(run: Finished, since: float, link_bps: float) -> float:
    """Seconds from a congestion's begin until no more is offered to the bottleneck, for a second, than it carries."""
    patience = _PATIENCE_S * pace(run)
    since *= pace(run)
    rows = _bottleneck(run, since)
    for start in rows:
        end = next((row for row in rows if row["t"] >= start["t"] + _WINDOW_S - 1e-6), None)
        if end is None:
            break
        packets = end["tx_packets"] - start["tx_packets"] + _dropped(end) - _dropped(start)
        if packets * PACKET_BYTES * 8 <= _FULL * link_bps * (end["t"] - start["t"]) and start["t"] >= since + _WINDOW_S:
            return float(min(start["t"] - since, patience))
    return patience


def recovers(run: Finished, receiver: str, since: float, before: tuple[float, float]) -> float:
    """Seconds from a time until a receiver has, for a second, four fifths of the rate that it had `before`."""
    found = counter(run, receiver)
    patience = _PATIENCE_S * pace(run)
    since *= pace(run)
    wanted = _RECOVERED * rate(found, *(time * pace(run) for time in before))
    at = since
    while at < since + patience:
        if rate(found, at, at + _WINDOW_S) >= wanted:
            return at - since
        at += _WINDOW_S / 4
    return patience
