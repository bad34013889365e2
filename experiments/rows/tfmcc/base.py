"""What the simulated rows of TFMCC share: links, one dumbbell, and how the session's rate is read.

One setting for all (ours, where the paper says nothing): packets of 1,000 bytes on the link, for TFMCC and TCP alike;
the TCP is NewReno, the commonest of 2001, with an acknowledgment a packet and without limited transmit; bottlenecks
with DropTail queues of 50 packets; a round trip time of 160 ms without queues; senders that take up to the bottleneck's
time for a packet before each one, against DropTail's phase effects, and up to twice that time where they share it from
the beginning on. (With once that time a TCP's packets still come right after one of its own has made room: in Fig. 9
1 % of its packets are lost, but 4 % of TFMCC's, which no departure clocks. Where a flow may be alone, twice that time
would make the sender the bottleneck.)
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from experiments.harness.measures import Counter, receiver_bytes, trace
from experiments.harness.runs import Finished
from experiments.rows.networks import PACKET_BYTES, document, tcp
from experiments.rows.rates import rate

PAYLOAD_BYTES: Final = PACKET_BYTES - 14 - 28 - 64
"""Ethernet, IPv4 and UDP, TFMCC's header."""
PAPER_PARAMETERS: Final[Mapping[str, Any]] = {"rules": "paper"}
"""The rows are the paper's, not those of the default."""
QUEUE: Final[Mapping[str, Any]] = {"kind": "droptail", "packets": 50}
FAST: Final[Mapping[str, Any]] = {"rate": "1 Gbps", "queue": {"kind": "droptail", "packets": 10_000}}
"""Links that are nobody's bottleneck."""
SOON_S: Final = 10.0
"""Several flows that begin by then, and all that begin later, share the bottleneck from their beginning on."""
ONE_WAY_MS: Final = 80.0
ACCESS_MS: Final = 1.0


def fast(one: str, other: str, delay_ms: float = ACCESS_MS, **more: Any) -> dict[str, Any]:
    """A link that loses nothing unless `more` says so."""
    return {"between": [one, other], "delay": f"{delay_ms:g} ms", **FAST, **more}


def narrow(one: str, other: str, rate_bps: float, delay_ms: float, **more: Any) -> dict[str, Any]:
    """A bottleneck, in both directions."""
    return {"between": [one, other], "rate": f"{rate_bps:g} bps", "delay": f"{delay_ms:g} ms", "queue": QUEUE, **more}


def host(bottleneck_bps: float | None = None, *, shares: bool = False) -> dict[str, Any]:
    """A host; a sender takes its time (see above), more where it never has the bottleneck for itself."""
    if bottleneck_bps is None:
        return {"kind": "host"}
    most = (2 if shares else 1) * PACKET_BYTES * 8 / bottleneck_bps
    return {"kind": "host", "sending": {"least": "0 s", "most": f"{most * 1e6:g} us"}}


def tfmcc(receivers: Sequence[str | Mapping[str, Any]], **parameters: Any) -> dict[str, Any]:
    """The session, from the host `s`."""
    return {
        "id": 1,
        "protocol": "tfmcc",
        "sender": "s",
        "group": "232.1.1.1",
        "port": 5000,
        "realtime": True,
        "receivers": [dict(given) if isinstance(given, Mapping) else given for given in receivers],
        "parameters": {**PAPER_PARAMETERS, "payload_bytes": PAYLOAD_BYTES, **parameters},
    }


def add_tcp(
    nodes: dict[str, Any],
    links: list[dict[str, Any]],
    traffic: list[dict[str, Any]],
    ends: tuple[str, str],
    routers: tuple[str, str],
    start: float,
    sender: Mapping[str, Any],
    delays_ms: tuple[float, float] = (ACCESS_MS, ACCESS_MS),
) -> None:
    """A bulk transfer with hosts of its own: `ends` are source and sink, `routers` where they are attached."""
    source, sink = ends
    nodes |= {source: sender, sink: host()}
    links += [fast(source, routers[0], delays_ms[0]), fast(routers[1], sink, delays_ms[1])]
    traffic.append(tcp(source, sink, start))


def dumbbell(
    name: str,
    seconds: float,
    rate_bps: float,
    flows: Sequence[float],
    *,
    receivers: int = 1,
    delay_ms: float = ONE_WAY_MS - 2 * ACCESS_MS,
) -> dict[str, Any]:
    """`s` and TCP sources on one side of the link `left` - `right`, receivers r0, r1, ... and sinks on the other.

    `flows`: when each TCP starts, seconds."""
    many = sum(start < SOON_S for start in flows) > 1
    sender = host(rate_bps, shares=many)
    nodes: dict[str, Any] = {"left": {"kind": "router"}, "right": {"kind": "router"}, "s": sender}
    links = [narrow("left", "right", rate_bps, delay_ms), fast("s", "left")]
    names = [f"r{number}" for number in range(receivers)]
    for receiver in names:
        nodes[receiver] = host()
        links.append(fast("right", receiver))
    traffic: list[dict[str, Any]] = []
    for number, start in enumerate(flows):
        sender = host(rate_bps, shares=many or start >= SOON_S)
        add_tcp(nodes, links, traffic, (f"a{number}", f"b{number}"), ("left", "right"), start, sender)
    return document(name, seconds, nodes, links, tfmcc(names), traffic)


def spread_starts(count: int, seconds: float = 2.0) -> list[float]:
    """So many starts one after another: flows that start as one lose as one."""
    return [round(seconds * (number + 1) / (count + 1), 3) for number in range(count)]


# --- what is read; rates in kbit/s of packets on the link, so that both protocols' headers count


def session_counter(run: Finished, receiver: str | None = None) -> Counter:
    """Bytes on the link that a receiver got by time; without one what the sender sent."""
    if receiver is not None:
        return [(at, octets * PACKET_BYTES / PAYLOAD_BYTES) for at, octets in receiver_bytes(run, 0, receiver)]
    return [(row["t"], row["data_packets"] * PACKET_BYTES) for row in trace(run, 0, "sender") if "data_packets" in row]


def session_rate(run: Finished, since: float, until: float = float("inf"), receiver: str | None = None) -> float:
    """kbit/s of the session."""
    return rate(session_counter(run, receiver), since, until)


def clr_address_since(run: Finished, address: str, since: float) -> float:
    """Seconds from `since` until a receiver, by its address, is the CLR. ValueError when it never is."""
    for row in trace(run, 0, "sender"):
        if row["t"] >= since and row.get("clr") == address:
            return float(row["t"]) - since
    raise ValueError(f"{address} never became the CLR")
