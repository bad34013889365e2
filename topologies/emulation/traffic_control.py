"""A directed link as Linux's traffic control takes it, as far as this kernel has what that needs."""

import subprocess
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from topologies.scenario.network import QUEUE_NAMES, AnyQueue, DirectedLink, DropTail, GilbertElliott, Red
from topologies.scenario.quantity import format_duration, format_rate

TC_KINDS = {
    "tbf": "rate 1mbit burst 10k limit 10k",
    "netem": "delay 1ms",
    "red": "limit 100000 min 10000 max 30000 avpkt 1000 burst 20 bandwidth 10mbit probability 0.1",
    "pfifo": "limit 10",
    "bfifo": "limit 10000",
}
"""The queueing disciplines that emulating a link with tc may use, each with options to try it with."""

MTU_FRAME = 1514
"""Bytes of a full Ethernet frame on a veth: 1,500 and the header of 14."""

TBF_BURST_S = 0.002
"""Token bucket depth, seconds of the rate: a few timer ticks, so that a slow timer does not cost rate."""


@dataclass(frozen=True, slots=True)
class Lack:
    """A property that a link is to have and will not."""

    what: str
    """And why, as in `no delay (this kernel has no netem)`."""
    where: str
    """Which link, and how much of it."""


@dataclass(frozen=True, slots=True)
class TcPlan:
    """The tc commands that emulate a link on its sending interface, and what they cannot give."""

    commands: tuple[tuple[str, ...], ...]
    missing: tuple[Lack, ...]


def traffic_control_kinds() -> frozenset[str]:
    """The queueing disciplines of `TC_KINDS` that this kernel has; to be called in the run's own namespace."""
    root = ("dev", "lo", "root")
    found = []
    for kind, options in TC_KINDS.items():
        command = ("tc", "qdisc", "replace", *root, kind, *options.split())
        if subprocess.run(command, capture_output=True, check=False).returncode == 0:
            found.append(kind)
            subprocess.run(("tc", "qdisc", "del", *root), capture_output=True, check=False)
    return frozenset(found)


def describe_lacks(lacks: Iterable[Lack]) -> list[str]:
    """One line for each thing that is missing, with all the links that miss it."""
    links: dict[str, list[str]] = {}
    for lack in lacks:
        links.setdefault(lack.what, []).append(lack.where)
    return [f"{what}: {', '.join(where)}" for what, where in links.items()]


def tc_plan(link: DirectedLink, interface: str, kinds: Collection[str]) -> TcPlan:
    """Commands for `interface` with the queueing disciplines that this kernel has (`kinds`).

    A token bucket gives the rate; netem below it delay and loss, else a FIFO or RED below it the queue. With netem the
    queue's limit also counts what is on its way, so a bandwidth-delay product is added to it."""
    commands: list[tuple[str, ...]] = []
    name = f"{link.source} -> {link.destination}"
    disturbed = (("reordering", link.reorder), ("duplicates", link.duplicate), ("MTU", link.mtu))
    missing = [Lack(f"no {what} (only the embedded switch has it)", name) for what, wanted in disturbed if wanted]
    parent: tuple[str, ...] = ("root",)
    if link.rate_bps is not None and "tbf" in kinds:
        burst = max(int(link.rate_bps * TBF_BURST_S / 8), 2 * MTU_FRAME)
        rate = f"{link.rate_bps:.0f}bit"
        limit = str(_limit_bytes(link.queue))
        tbf = ("handle", "1:", "tbf", "rate", rate, "burst", str(burst), "limit", limit)
        commands.append(("tc", "qdisc", "replace", "dev", interface, "root", *tbf))
        parent = ("parent", "1:1")
    elif link.rate_bps is not None:
        missing.append(Lack("no rate limit (this kernel has no tbf)", f"{name} {format_rate(link.rate_bps)}"))
    if "netem" in kinds:
        if link.delay_s or link.loss:
            commands.append(("tc", "qdisc", "replace", "dev", interface, *parent, *_netem(link)))
            if isinstance(link.queue, Red):
                missing.append(Lack("no RED (tc cannot put it behind netem) but DropTail of its size", name))
            missing.extend(_no_aqm(link.queue, name))
            return TcPlan(tuple(commands), tuple(missing))
    else:
        if link.delay_s:
            missing.append(Lack("no delay (this kernel has no netem)", f"{name} {format_duration(link.delay_s)}"))
        if link.loss:
            how_much = "in bursts" if isinstance(link.loss, GilbertElliott) else f"{link.loss:.3g}"
            missing.append(Lack("no random loss (this kernel has no netem)", f"{name} {how_much}"))
    if parent != ("root",):
        commands.append(("tc", "qdisc", "replace", "dev", interface, *parent, *_queue(link, kinds)))
        if isinstance(link.queue, Red) and "red" not in kinds:
            missing.append(Lack("no RED (this kernel has none) but DropTail of its size", name))
        missing.extend(_no_aqm(link.queue, name))
    return TcPlan(tuple(commands), tuple(missing))


def _no_aqm(queue: AnyQueue, name: str) -> Iterator[Lack]:
    """CoDel and its like are the embedded switch's alone: not every kernel has them, and none has all."""
    if not isinstance(queue, DropTail | Red):
        yield Lack(f"no {QUEUE_NAMES[queue.kind]} (only the embedded switch has it) but DropTail of its size", name)


def _limit_bytes(queue: AnyQueue) -> int:
    return queue.bytes if queue.bytes is not None else (queue.packets or 1) * MTU_FRAME


def _netem(link: DirectedLink) -> tuple[str, ...]:
    in_flight = link.delay_s * (link.rate_bps or 1e9) / 8
    limit = int((_limit_bytes(link.queue) + in_flight) / MTU_FRAME) + 1
    command: tuple[str, ...] = ("handle", "10:", "netem", "limit", str(limit))
    if link.delay_s:
        command += ("delay", f"{link.delay_s * 1e6:.0f}us")
    if isinstance(link.loss, GilbertElliott):
        # tc-netem(8): loss gemodel P(good to bad), P(bad to good), loss when bad, loss when good
        values = (link.loss.good_to_bad, link.loss.bad_to_good, link.loss.bad, link.loss.good)
        command += ("loss", "gemodel", *(f"{value * 100:.6g}%" for value in values))
    elif link.loss:
        command += ("loss", "random", f"{link.loss * 100:.6g}%")
    return command


def _queue(link: DirectedLink, kinds: Collection[str]) -> tuple[str, ...]:
    queue = link.queue
    if isinstance(queue, Red) and "red" in kinds:
        unit = MTU_FRAME if queue.bytes is None else 1
        low, high = int(queue.min_threshold * unit), int(queue.max_threshold * unit)
        thresholds = ("min", str(low), "max", str(high), "probability", f"{queue.max_probability:.6g}")
        # tc-red(8): the burst that the average may ignore, at least (2 min + max) / (3 avpkt) packets
        burst = ("avpkt", "1000", "burst", str((2 * low + high) // 3000 + 1))
        rate = ("bandwidth", f"{link.rate_bps:.0f}bit")
        return ("handle", "10:", "red", "limit", str(_limit_bytes(queue)), *thresholds, *burst, *rate)
    if queue.bytes is not None:
        return ("handle", "10:", "bfifo", "limit", str(queue.bytes))
    return ("handle", "10:", "pfifo", "limit", str(queue.packets))
