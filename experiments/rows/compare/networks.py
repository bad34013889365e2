"""The contenders of the comparison, and the networks in which all of them are put.

All packets have 1,000 bytes on the link. Each protocol has the parameters that its paper's rows have, in networks of
today its defaults, and is asked for what it is made for: MTCP and RLA for a stream that everybody gets whole, from
where it is when they join, TFMCC, VLMCC, WEBRC and Arbor for real-time data. All networks are of P4 switches, so that
assistance changes nothing but itself. Where flows share a bottleneck of the papers' time its queue is RED: behind a
DropTail queue of a few packets phase effects, not the protocols, would decide on the shares
(experiments/results/NOTES.md).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from experiments.rows.mtcp import base as mtcp_base
from experiments.rows.networks import PACKET_BYTES, tcp
from experiments.rows.rla import base as rla_base
from experiments.rows.tfmcc import base as tfmcc_base
from experiments.rows.vlmcc import base as vlmcc_base
from experiments.rows.webrc import base as webrc_base
from hosts.protocols.arbor.packets import packet_bytes as arbor_packet_bytes

SESSION: Final = 1
RECEIVERS: Final = tuple(f"r{number}" for number in range(8))
BOTTLENECK_BPS: Final = 1e6
HOP_MS: Final = 20.0
SHARED_QUEUE: Final[Mapping[str, Any]] = {"kind": "red", "packets": 25, "min_threshold": 5, "max_threshold": 15}
OWN_QUEUE: Final[Mapping[str, Any]] = {"kind": "droptail", "packets": 25}
"""Of links that a session has for itself."""
DEEP: Final[Mapping[str, Any]] = {"kind": "droptail", "packets": 1000}
"""Of links that are nobody's bottleneck."""
WEBRC_RATE_BPS: Final = 5e6
"""SR: above the fastest receiver's link."""
SECONDS: Final = 150.0
QUICK_PACE: Final = 0.4
"""Of a full run's times: everything happens so much sooner."""
SETTLED_S: Final = 80.0
"""Averages begin here. TFMCC's and RLA's start-up takes some 20 s; WEBRC beside a TCP still
rises after 60 s."""
_WEBRC_HEADERS: Final = webrc_base.PACKET_BYTES - webrc_base.SYMBOL_BYTES
"""Ethernet's to ALC's: 62."""
_MTCP_HEADERS: Final = 64
"""Ethernet's to MTCP's."""
_ARBOR_HEADERS: Final = 14 + arbor_packet_bytes(0)
"""Ethernet's to Arbor's."""


@dataclass(frozen=True, slots=True)
class Contender:
    """A protocol in the comparison."""

    protocol: str
    payload_bytes: int
    """Of the application's data, in each packet."""
    group: str
    content: str
    """`endless` or `realtime`."""
    parameters: Mapping[str, Any]
    has_assistance: bool = True

    def session(self, receivers: Sequence[str | Mapping[str, Any]], assist: str) -> dict[str, Any]:
        """Its session, from the host `s`."""
        return {
            "id": SESSION,
            "protocol": self.protocol,
            "sender": "s",
            "group": self.group,
            "port": 5000,
            self.content: True,
            "assist": assist,
            "receivers": list(receivers),
            "parameters": dict(self.parameters),
        }


def _contender(protocol: str, payload_bytes: int, group: str, content: str, **parameters: Any) -> Contender:
    return Contender(protocol, payload_bytes, group, content, {"payload_bytes": payload_bytes, **parameters})


CONTENDERS: Final[Mapping[str, Contender]] = {
    "MTCP": _contender(
        "mtcp",
        PACKET_BYTES - _MTCP_HEADERS,
        mtcp_base.GROUP.format(1),
        "endless",
        from_start=False,
        **mtcp_base.PAPER_PARAMETERS,
    ),
    "TFMCC": _contender("tfmcc", tfmcc_base.PAYLOAD_BYTES, "232.2.0.1", "realtime", **tfmcc_base.PAPER_PARAMETERS),
    "RLA": _contender("rla", rla_base.PAYLOAD_BYTES, rla_base.GROUP.format(1), "endless", from_start=False),
    "VLMCC": _contender("vlmcc", vlmcc_base.PAYLOAD_BYTES, "232.5.0.1", "realtime", **vlmcc_base.PAPER_PARAMETERS),
    "WEBRC": Contender(
        "webrc",
        PACKET_BYTES - _WEBRC_HEADERS,
        webrc_base.GROUPS.format(1),
        "realtime",
        {**webrc_base.PAPER_PARAMETERS, "packet_bytes": PACKET_BYTES, "session_rate_bps": WEBRC_RATE_BPS},
        has_assistance=False,  # what switches do for it, fast joins, is no option
    ),
    "Arbor": _contender("arbor", PACKET_BYTES - _ARBOR_HEADERS, "232.6.0.1", "realtime"),
}


_RUNGS: Final = 10
"""As many as have bounds below 4 Mbit/s."""


def of_several_rates(contender: Contender) -> Contender:
    """Arbor with a rung for each third of rate from 0.4 Mbit/s on."""
    return replace(contender, parameters={**contender.parameters, "rungs": _RUNGS})


MODERN_SECONDS: Final = 60.0
"""Of a full run in a network of today: more packets, and shorter start-ups for their time (ours)."""
ROUND_TRIP_S: Final = 2 * (HOP_MS + 3) / 1e3
"""From `s` to a receiver and back: the link in the middle, and three of 1 ms."""


def modern(contender: Contender, rate_bps: float) -> Contender:
    """With the protocol's defaults, but packets of the same length, and WEBRC's sender knows the link's rate."""
    if contender.protocol == "webrc":
        return replace(contender, parameters={"packet_bytes": PACKET_BYTES, "session_rate_bps": rate_bps})
    kept = ("payload_bytes", "from_start")
    return replace(
        contender, parameters={name: contender.parameters[name] for name in kept if name in contender.parameters}
    )


def product(rate_bps: float) -> int:
    """Packets in a round trip at a rate."""
    return round(rate_bps * ROUND_TRIP_S / 8 / PACKET_BYTES)


def breaks_phases(document: dict[str, Any], rate_bps: float) -> dict[str, Any]:
    """Senders hold each packet back for up to the bottleneck's time for one (Floyd and Jacobson 1992): without that a
    DropTail queue drops those of one flow rather than another's, over and over, by when they come."""
    held = {"kind": "host", "sending": {"most": f"{PACKET_BYTES * 8e6 / rate_bps:g} us"}}
    return {**document, "nodes": {**document["nodes"], "s": held, "a": held}}


def _link(one: str, other: str, **more: Any) -> dict[str, Any]:
    return {"between": [one, other], "delay": "1 ms", "queue": DEEP, **more}


def network(
    contender: Contender,
    assist: str,
    pace: float,
    *,
    middle: Mapping[str, Any],
    tails: Mapping[str, Mapping[str, Any]] | None = None,
    receivers: Sequence[str | Mapping[str, Any]] = RECEIVERS,
    traffic: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """`s`, `a`, `u` - s0 - s1 - `b`, `v` and the switches e0, e1 - four receivers each.

    `middle`: the link from s0 to s1; `tails`: what the links to the receivers and to `b` have beside 1 ms; `pace`: of a
    full run's times, which is 1."""
    nodes: dict[str, Any] = {switch: {"kind": "p4"} for switch in ("s0", "s1", "e0", "e1")}
    nodes |= {host: {"kind": "host"} for host in ("s", "a", "u", "b", "v", *RECEIVERS)}
    links = [_link(host, "s0") for host in ("s", "a", "u")]
    links += [
        {"between": ["s0", "s1"], "delay": f"{HOP_MS:g} ms", **middle},
        _link("s1", "e0"),
        _link("s1", "e1"),
        _link("s1", "v"),
        _link("s1", "b", **(tails or {}).get("b", {})),
    ]
    links += [_link(f"e{number // 4}", name, **(tails or {}).get(name, {})) for number, name in enumerate(RECEIVERS)]
    return {
        "name": f"compare-{contender.protocol}",
        "duration": f"{SECONDS * pace:g} s",
        "simulation": {"trace": "200 ms", "sample": "500 ms"},
        "nodes": nodes,
        "links": links,
        "sessions": [contender.session(receivers, assist)],
        "traffic": list(traffic),
    }


def shared() -> dict[str, Any]:
    """The bottleneck that is shared with others."""
    return {"rate": f"{BOTTLENECK_BPS:g} bps", "queue": dict(SHARED_QUEUE)}


def wide() -> dict[str, Any]:
    """A link in the middle that is no bottleneck."""
    return {"rate": "10 Mbps", "queue": dict(DEEP)}


def one_cubic() -> dict[str, Any]:
    """A transfer from `a` to `b` by the TCP of today, a little later than the session."""
    flow: dict[str, Any] = {"kind": "tcp", "source": "a", "destination": "b", "start": "2 s"}
    return flow | {"congestion_control": "cubic", "simulated": {"packet": f"{PACKET_BYTES} B"}}


def one_tcp() -> dict[str, Any]:
    """A transfer from `a` to `b`, a little later than the session."""
    return tcp("a", "b", 2.0)
