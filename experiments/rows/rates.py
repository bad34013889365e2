"""How rows of several papers read rates: in kbit/s of packets on the link, so that each protocol's headers count."""

from typing import Final

from experiments.harness.measures import Counter, by_interval, flow_bytes
from experiments.harness.runs import Finished
from experiments.rows.networks import PACKET_BYTES
from topologies.results.bottleneck import rate_between

_TCP_HEADERS: Final = 54
"""Ethernet's, IPv4's and TCP's."""


def tcp_counter(run: Finished, number: int, packet_bytes: int = PACKET_BYTES) -> Counter:
    """Bytes on the link of what a TCP brought by time."""
    return [(at, octets * packet_bytes / (packet_bytes - _TCP_HEADERS)) for at, octets in flow_bytes(run, number)]


def rate(counter: Counter, since: float, until: float = float("inf")) -> float:
    """kbit/s between two times. ValueError when nothing was measured there."""
    found = rate_between(list(counter), since, until)
    if found is None:
        raise ValueError(f"nothing measured from {since:g} s on")
    return found / 1e3


def tcp_rate(run: Finished, number: int, since: float, until: float = float("inf")) -> float:
    """kbit/s of a TCP."""
    return rate(tcp_counter(run, number), since, until)


def tcp_rates(run: Finished, since: float) -> list[float]:
    """kbit/s of each TCP."""
    return [tcp_rate(run, number, since) for number in range(len(run.run.document["traffic"]))]


def line(counter: Counter, seconds: float = 1.0) -> list[tuple[float, float]]:
    """(Time, kbit/s) for a figure."""
    return [(at, octets * 8 / 1e3) for at, octets in by_interval(counter, seconds)]


def variation(counter: Counter, since: float, until: float) -> float:
    """Coefficient of variation of the rates of the intervals of a second."""
    rates = [value for at, value in line(counter) if since <= at <= until]
    if len(rates) < 2 or not any(rates):
        raise ValueError(f"nothing measured from {since:g} s on")
    mean = sum(rates) / len(rates)
    return float((sum((value - mean) ** 2 for value in rates) / (len(rates) - 1)) ** 0.5 / mean)


def receiver_address(run: Finished, name: str) -> str:
    """A receiver's IPv4 address in the run."""
    for receiver in run.summary["sessions"][0]["receivers"]:
        if receiver["host"] == name:
            return str(receiver["address"])
    raise ValueError(f"{name} is no receiver")
