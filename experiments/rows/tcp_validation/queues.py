"""The simulator's queues against queueing theory."""

from collections.abc import Mapping, Sequence

from experiments.harness.measures import last_port_row
from experiments.harness.relations import NearReference
from experiments.harness.row import Case, Experiment, Figure, Row
from experiments.harness.runs import Finished
from experiments.rows.networks import dumbbell

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


def md1_wait(load: float, service: float) -> float:
    """Mean wait in an M/D/1 queue, in the unit of the service time (Pollaczek and Khinchine)."""
    return load * service / (2 * (1 - load))


def mm1k(load: float, places: int, service: float) -> tuple[float, float]:
    """Loss probability, and mean wait of those who get in, of an M/M/1/K queue with `places` to wait; load not 1."""
    k = places + 1
    probability = [(1 - load) * load**n / (1 - load ** (k + 1)) for n in range(k + 1)]
    waiting = sum((n - 1) * probability[n] for n in range(1, k + 1))
    return probability[k], waiting * service / (load * (1 - probability[k]))


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
