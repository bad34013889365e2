"""The simulator's TCP against what theory says of it: equal shares, Padhye's equation, CUBIC's response function."""

import math
from collections.abc import Mapping, Sequence

from experiments.harness.measures import flow_goodput, flow_goodputs
from experiments.harness.relations import EachBetween, NearReference
from experiments.harness.row import Case, Experiment, Figure, Row
from experiments.harness.runs import Finished
from experiments.harness.statistics import jain_index
from experiments.rows.networks import dumbbell

_FLOW_COUNTS = (2, 4, 8, 16)
_START_UP_S = 10.0
"""Slow start and the first losses, which say nothing of a steady state."""
_CUBIC_START_UP_S = 40.0
"""The same of CUBIC, which comes down from a slow start without queues over several losses."""
_MSS = 946
"""Payload of a 1,000-byte packet of the classic TCP: Ethernet, IPv4 and TCP take 54."""
_MODERN_MSS = 1448
"""Of a full frame, with timestamps."""
_PADHYE_RTT = 0.05
"""So that the least time-out of 0.2 s is the equation's 4 RTT."""
_LOSSES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05)
_MODERN_MOST_LOSS = 0.01
_CUBIC_RTT = 0.2
"""So that the function is at least 1.6 times Reno's at all of these losses. Where they are equal (0.1 % and 100 ms),
CUBIC takes the faster of the two at each moment (RFC 9438, section 4.3), and is 1.2 times as fast as either."""
_CUBIC_LOSSES = (0.0001, 0.0002, 0.0005, 0.001)
_CUBIC_C, _CUBIC_BETA = 0.4, 0.7
_RANDOM_DISTANCES = 1.15
"""Mean window of the same curve, with fast convergence, when losses come at exponential distances, over that at even
ones; integrated numerically (ours)."""
_NAMES = ("cubic", "reno", "bbr")
_WIDE = {"rate": "1 Gbps", "queue": {"kind": "droptail", "packets": 10_000}}


def padhye_goodput(mss: float, rtt: float, loss: float) -> float:
    """Bit/s of TCP at a loss rate: the TFMCC paper's Eq. (1), b = 1 and RTO = 4 RTT. `mss` in bytes, `rtt` in s."""
    timeouts = 12 * math.sqrt(3 * loss / 8) * loss * (1 + 32 * loss**2)
    return 8 * mss / (rtt * (math.sqrt(2 * loss / 3) + timeouts))


def cubic_goodput(mss: float, rtt: float, loss: float) -> float:
    """Bit/s of CUBIC at a loss rate: RFC 9438, equation 5, with losses at random. `mss` in bytes, `rtt` in s."""
    factor = math.pow(_CUBIC_C * (3 + _CUBIC_BETA) / (4 * (1 - _CUBIC_BETA)), 0.25)
    return _RANDOM_DISTANCES * 8 * mss / rtt * factor * math.pow(rtt / loss, 0.75)


def _share_cases(quick: bool) -> Sequence[Case]:
    return [
        Case(
            f"{name}, {count} flows",
            dumbbell(
                # Starts half a second apart: flows that start as one lose as one.
                [{"kind": "tcp", "congestion_control": name, "start": f"{number * 500} ms"} for number in range(count)],
                name=f"tcp-share-{name}-{count}",
                duration="60 s" if quick else "300 s",
                bottleneck={"rate": "10 Mbps", "delay": "18 ms", "queue": {"kind": "droptail", "packets": 50}},
                access={"rate": "100 Mbps", "delay": "1 ms", "queue": {"kind": "droptail", "packets": 1000}},
                # Up to the bottleneck's time for a packet, against DropTail's phase effects.
                sending={"least": "0 s", "most": "1.2 ms"},
            ),
            x=count,
            series=name,
        )
        for name in _NAMES
        for count in (_FLOW_COUNTS[::3] if quick else _FLOW_COUNTS)
    ]


def _share_measure(run: Finished) -> Mapping[str, float]:
    return {"jain": jain_index(flow_goodputs(run, since=_START_UP_S + len(run.run.document["traffic"]) * 0.5))}


def _at_loss(name: str, rtt: float, loss: float, seconds: float, flow: Mapping[str, object]) -> dict[str, object]:
    """One flow on a path that is never full."""
    return dumbbell(
        [{"kind": "tcp", **flow}],
        name=name,
        duration=f"{seconds:g} s",
        bottleneck={**_WIDE, "delay": f"{rtt / 2 * 1e3:g} ms", "toward": {"right": {"loss": loss}}},
        access=_WIDE,
    )


def _padhye_cases(quick: bool) -> Sequence[Case]:
    # The equation's assumption: each packet is acknowledged.
    flows = {
        "reno-1990": (_MSS, {"packet": f"{_MSS + 54} B", "delayed_ack": "0 s", "initial_window": 2}),
        "reno": (_MODERN_MSS, {"delayed_ack": "0 s"}),
    }
    return [
        Case(
            f"{name}, loss {loss:.1%}",
            _at_loss(
                "tcp-padhye",
                _PADHYE_RTT,
                loss,
                60 if quick else 600,
                {"congestion_control": name, "simulated": simulated},
            ),
            x=loss,
            references={"goodput": padhye_goodput(mss, _PADHYE_RTT, loss) / 1e6},
            series=name,
        )
        for name, (mss, simulated) in flows.items()
        for loss in _LOSSES
        # Beyond, a modern sender repairs without the time-outs that the equation counts.
        if name == "reno-1990" or loss <= _MODERN_MOST_LOSS
    ]


def _cubic_cases(quick: bool) -> Sequence[Case]:
    flow = {"congestion_control": "cubic", "simulated": {"delayed_ack": "0 s"}}
    return [
        Case(
            f"loss {loss:.2%}",
            _at_loss("tcp-cubic", _CUBIC_RTT, loss, 400 if quick else 2000, flow),
            x=loss,
            references={"goodput": cubic_goodput(_MODERN_MSS, _CUBIC_RTT, loss) / 1e6},
        )
        for loss in _CUBIC_LOSSES
    ]


def _goodput(run: Finished, since: float = _START_UP_S) -> Mapping[str, float]:
    return {"goodput": flow_goodput(run, 0, since=since) / 1e6}


ROWS = (
    Row(
        "tcp-share",
        "tcp-validation",
        "sim",
        "2 to 16 flows of CUBIC, Reno or BBR share 10 Mbps, 40 ms",
        "equal shares",
        "Jain index above 0.9",
        "Jain index",
        Experiment(
            _share_cases, _share_measure, EachBetween(least=0.9), Figure("flows", {"jain": "Jain index"}, log_x=True)
        ),
    ),
    Row(
        "tcp-padhye",
        "tcp-validation",
        "sim",
        "Reno of 1990 under 0.1 to 5 % random loss, and of today under up to 1 %, 50 ms",
        "the Padhye equation (TFMCC paper, Eq. 1)",
        "within 20 % of it",
        "of the equation",
        Experiment(
            _padhye_cases,
            _goodput,
            NearReference(0.2),
            Figure("loss rate", {"goodput": "Mbit/s"}, "Padhye, b = 1, RTO = 4 RTT", log_x=True, log_y=True),
        ),
    ),
    Row(
        "tcp-cubic",
        "tcp-validation",
        "sim",
        "CUBIC under 0.01 to 0.1 % random loss, 200 ms",
        "the response function (RFC 9438, Eq. 5)",
        "within 20 % of it, at random distances",
        "of the function",
        Experiment(
            _cubic_cases,
            lambda run: _goodput(run, _CUBIC_START_UP_S),
            NearReference(0.2),
            Figure("loss rate", {"goodput": "Mbit/s"}, "RFC 9438, random losses", log_x=True, log_y=True),
        ),
    ),
)
