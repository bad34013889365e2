"""The simulator against what is known: the kernel's TCP, the Padhye equation, queueing theory."""

import math
from collections.abc import Mapping, Sequence

from experiments.harness.measures import flow_goodput, flow_goodputs, last_port_row
from experiments.harness.relations import EachBetween, NearReference, RatioBetween
from experiments.harness.row import Case, Experiment, Figure, Row
from experiments.harness.runs import Finished
from experiments.harness.statistics import jain_index
from experiments.rows.networks import dumbbell

_RTT = 0.04
_BDP_PACKETS = 33
"""10 Mbps times 40 ms, in packets of 1,514 bytes."""
_FLOW_COUNTS = (2, 4, 8, 16)
_SHARING = {"kind": "tcp", "congestion_control": "sack"}
_START_UP_S = 10.0
"""Slow start and the first losses, which say nothing of a steady state."""

_MSS = 946
"""Payload of a 1,000-byte packet: Ethernet, IPv4 and TCP take 54."""
_PADHYE_RTT = 0.05
"""So that the least time-out of 0.2 s is the equation's 4 RTT."""
_LOSSES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05)

_QUEUE_RATE = 100e6
_UDP_HEADERS = 42
_MD1_BYTES = 1000
_MD1: Mapping[float, int] = {0.5: 30, 0.6: 40, 0.7: 60, 0.8: 120, 0.9: 400}
"""Load -> seconds of a quick run. The higher the load, the more alike are waits one after another, and the longer it
takes until the mean of five runs is known to half a percent."""
_MM1K_BYTES = 6000
"""Mean size on the link: large beside the headers, small beside the largest packet, so that it is exponential."""
_MM1K_PLACES = 9
"""In the queue, beside the one in transmission."""
_MM1K: Mapping[float, int] = {0.7: 1500, 0.8: 1000, 0.95: 500, 1.2: 500}
"""Load -> seconds of a quick run; what is seldom lost takes longer."""
_FULL = 3
"""How much longer a full run of a queue is."""


def padhye_goodput(mss: float, rtt: float, loss: float) -> float:
    """Bit/s of TCP at a loss rate: the TFMCC paper's Eq. (1), b = 1 and RTO = 4 RTT. `mss` in bytes, `rtt` in s."""
    timeouts = 12 * math.sqrt(3 * loss / 8) * loss * (1 + 32 * loss**2)
    return 8 * mss / (rtt * (math.sqrt(2 * loss / 3) + timeouts))


def md1_wait(load: float, service: float) -> float:
    """Mean wait in an M/D/1 queue, in the unit of the service time (Pollaczek and Khinchine)."""
    return load * service / (2 * (1 - load))


def mm1k(load: float, places: int, service: float) -> tuple[float, float]:
    """Loss probability, and mean wait of those who get in, of an M/M/1/K queue with `places` to wait; load not 1."""
    k = places + 1
    probability = [(1 - load) * load**n / (1 - load ** (k + 1)) for n in range(k + 1)]
    waiting = sum((n - 1) * probability[n] for n in range(1, k + 1))
    return probability[k], waiting * service / (load * (1 - probability[k]))


def _kernel_cases(quick: bool) -> Sequence[Case]:
    document = dumbbell(
        [{"kind": "tcp", "congestion_control": "reno"}],
        name="tcp-kernel",
        duration="15 s" if quick else "60 s",
        bottleneck={"rate": "10 Mbps", "delay": "18 ms", "queue": {"kind": "droptail", "packets": _BDP_PACKETS}},
        access={"rate": "100 Mbps", "delay": "1 ms", "queue": {"kind": "droptail", "packets": 1000}},
        switch="p4",
    )
    return [Case("kernel", document, "emu", x=0), Case("simulated", document, "sim", x=1)]


def _kernel_measure(run: Finished) -> Mapping[str, float]:
    return {"goodput": flow_goodput(run, 0) / 1e6}


def _share_cases(quick: bool) -> Sequence[Case]:
    return [
        Case(
            f"{count} flows",
            dumbbell(
                # Starts half a second apart: flows that start as one lose as one.
                [{**_SHARING, "start": f"{number * 500} ms"} for number in range(count)],
                name=f"tcp-share-{count}",
                duration="80 s" if quick else "300 s",
                bottleneck={"rate": "10 Mbps", "delay": "18 ms", "queue": {"kind": "droptail", "packets": 50}},
                access={"rate": "100 Mbps", "delay": "1 ms", "queue": {"kind": "droptail", "packets": 1000}},
                # Up to the bottleneck's time for a packet, against DropTail's phase effects.
                sending={"least": "0 s", "most": "1.2 ms"},
            ),
            x=count,
        )
        for count in _FLOW_COUNTS
    ]


def _share_measure(run: Finished) -> Mapping[str, float]:
    return {"jain": jain_index(flow_goodputs(run, since=_START_UP_S + len(run.run.document["traffic"]) * 0.5))}


def _padhye_cases(quick: bool) -> Sequence[Case]:
    tcp = {"packet": f"{_MSS + 54} B", "delayed_ack": "0 s", "initial_window": 2}
    return [
        Case(
            f"loss {loss:.1%}",
            dumbbell(
                [{"kind": "tcp", "congestion_control": "reno-1990", "simulated": tcp}],
                name="tcp-padhye",
                duration="150 s" if quick else "600 s",
                bottleneck={
                    "rate": "1 Gbps",
                    "delay": f"{_PADHYE_RTT / 2 * 1e3:g} ms",
                    "queue": {"kind": "droptail", "packets": 10_000},
                    "toward": {"right": {"loss": loss}},
                },
                access={"rate": "1 Gbps", "queue": {"kind": "droptail", "packets": 10_000}},
            ),
            x=loss,
            references={"goodput": padhye_goodput(_MSS, _PADHYE_RTT, loss) / 1e6},
        )
        for loss in _LOSSES
    ]


def _padhye_measure(run: Finished) -> Mapping[str, float]:
    return {"goodput": flow_goodput(run, 0, since=_START_UP_S) / 1e6}


def _queue_case(
    load: float, packet: int, sizes: str, places: int, seconds: int, references: Mapping[str, float]
) -> Case:
    """A Poisson stream of packets of `packet` bytes on the link, on average, into a link of 100 Mbps."""
    payload = packet - _UDP_HEADERS
    flow = {
        "kind": "udp",
        # The scenario's rate is of payload, the load of whole packets.
        "rate": f"{load * _QUEUE_RATE * payload / packet!r} bps",
        "packet": f"{payload} B",
        "gaps": "exponential",
        "sizes": sizes,
    }
    bottleneck = {"rate": f"{_QUEUE_RATE!r} bps", "delay": "0 s", "queue": {"kind": "droptail", "packets": places}}
    document = dumbbell([flow], name="queue", duration=f"{seconds} s", bottleneck=bottleneck, access={})
    document["simulation"] = {"sample": "10 s"}
    return Case(f"load {load:g}", document, x=load, references=references)


def _md1_cases(quick: bool) -> Sequence[Case]:
    service = _MD1_BYTES * 8 / _QUEUE_RATE
    return [
        _queue_case(
            load,
            _MD1_BYTES,
            "constant",
            1_000_000,
            seconds if quick else seconds * _FULL,
            {"wait": md1_wait(load, service) * 1e6},
        )
        for load, seconds in _MD1.items()
    ]


def _mm1k_cases(quick: bool) -> Sequence[Case]:
    service = _MM1K_BYTES * 8 / _QUEUE_RATE
    cases = []
    for load, seconds in _MM1K.items():
        loss, wait = mm1k(load, _MM1K_PLACES, service)
        references = {"wait": wait * 1e6, "loss": loss}
        length = seconds if quick else seconds * _FULL
        cases.append(_queue_case(load, _MM1K_BYTES, "exponential", _MM1K_PLACES, length, references))
    return cases


def _queue_measure(run: Finished) -> Mapping[str, float]:
    """Little's law gives the mean wait in us, of those who got in; and the part that did not."""
    row = last_port_row(run, "left", "right")
    offered, dropped = row["offered_packets"], row["drop_queue"]
    if offered == dropped:
        raise ValueError("nothing went through the queue")
    wait = row["mean_queue_packets"] * row["t"] / (offered - dropped) * 1e6
    return {"wait": wait, "loss": dropped / offered} if dropped else {"wait": wait}


ROWS = (
    Row(
        "tcp-kernel",
        "tcp-validation",
        "sim, emu",
        "TCP reno alone on 10 Mbps, 40 ms, a buffer of one bandwidth-delay product",
        "the Linux kernel's goodput in emulation",
        "simulated within 5 % of it",
        "of the kernel's",
        Experiment(
            _kernel_cases,
            _kernel_measure,
            RatioBetween("simulated", "kernel", 0.95, 1.05),
            Figure("", {"goodput": "Mbit/s"}),
        ),
    ),
    Row(
        "tcp-share",
        "tcp-validation",
        "sim",
        "2 to 16 TCP flows share 10 Mbps, 40 ms",
        "equal shares",
        "Jain index above 0.95",
        "Jain index",
        Experiment(
            _share_cases, _share_measure, EachBetween(least=0.95), Figure("flows", {"jain": "Jain index"}, log_x=True)
        ),
    ),
    Row(
        "tcp-padhye",
        "tcp-validation",
        "sim",
        "TCP under 0.1 to 5 % random loss, 50 ms",
        "the Padhye equation (TFMCC paper, Eq. 1)",
        "within 20 % of it",
        "of the equation",
        Experiment(
            _padhye_cases,
            _padhye_measure,
            NearReference(0.2),
            Figure("loss rate", {"goodput": "Mbit/s"}, "Padhye, b = 1, RTO = 4 RTT", log_x=True, log_y=True),
        ),
    ),
    Row(
        "queue-md1",
        "tcp-validation",
        "sim",
        "Poisson stream of equal packets into a link (M/D/1)",
        "Pollaczek and Khinchine's mean wait",
        "within 2 % of it",
        "of theory",
        Experiment(
            _md1_cases,
            _queue_measure,
            NearReference(0.02),
            Figure("load", {"wait": "mean wait, us"}, "M/D/1", log_y=True),
        ),
    ),
    Row(
        "queue-mm1k",
        "tcp-validation",
        "sim",
        "Poisson stream of exponential packets into a queue with 9 places (M/M/1/K)",
        "mean wait and loss of theory",
        "both within 2 % of it",
        "of theory",
        Experiment(
            _mm1k_cases,
            _queue_measure,
            NearReference(0.02),
            Figure("load", {"wait": "mean wait, us", "loss": "loss probability"}, "M/M/1/K"),
        ),
    ),
)
