"""A packet's way, for reading and as plain data."""

from collections.abc import Iterator, Sequence
from typing import Any

from topologies.explain.journey import Explainer, Stop
from topologies.explain.store import Account


def seconds(us: int) -> str:
    """A time in the run."""
    return f"{us / 1e6:.6f} s"


def milliseconds(us: int) -> str:
    """How long something took."""
    return f"{us / 1e3:.3f} ms"


def stop_lines(stop: Stop) -> Iterator[tuple[str, str]]:
    """What a switch did with a packet: name of the line, and the line; one after the other."""
    passage = stop.passage
    for table in passage.tables:
        yield "table", table
    for register in passage.written:
        yield "register written", register
    if passage.read:
        yield "registers read", ", ".join(dict.fromkeys(passage.read))
    if passage.counted:
        yield "counted", ", ".join(f"{name}[{cell}]" for name, cell in passage.counted)
    for change in passage.changes:
        yield "changed", change
    if stop.outcome:
        yield "feedback", stop.outcome.replace("_", " ")
    if stop.merged_into:
        yield "merged", f"goes on in the summary {stop.merged_into}"
    for end in passage.ends:
        yield "then", end
    if not stop.departures and not any(end.startswith("Dropping") for end in passage.ends):
        yield "then", "no copy left: full queue, or nobody to go to"
    for departure in stop.departures:
        wait = (
            f"waited {milliseconds(departure.waited_us)} behind {departure.behind or 'what was being sent'}"
            if departure.waited_us
            else "no wait"
        )
        at = "" if departure.arrives_us is None else f" at {seconds(departure.arrives_us)}"
        sent = f"sent at {seconds(departure.us)}, {departure.fate}{at}"
        yield f"to {departure.neighbour}", f"port {departure.port}: {wait}, {sent}"


def journey_lines(stops: Sequence[Stop]) -> Iterator[str]:
    """The whole way."""
    if stops:
        yield stops[0].title
    for stop in stops:
        yield ""
        yield f"{seconds(stop.account.us)}  {stop.account.name}  at {stop.account.switch}, from {stop.came_from}"
        for name, line in stop_lines(stop):
            yield f"  {name:<17} {line}"


def list_lines(explainer: Explainer, accounts: Sequence[Account]) -> Iterator[str]:
    """Packets to choose from."""
    for account in accounts:
        kind = account.kind.replace("_", " ")
        what = f"{account.size:>5} bytes  {kind:<14} {explainer.ends(account)}".rstrip()
        yield f"{account.name:<10} {seconds(account.us):>12} {what}"


def journey_json(stops: Sequence[Stop]) -> list[dict[str, Any]]:
    """For the page."""
    return [
        {
            "name": stop.account.name,
            "switch": stop.account.switch,
            "t": stop.account.us / 1e6,
            "from": stop.came_from,
            "title": stop.title,
            "lines": list(stop_lines(stop)),
            "to": [departure.neighbour for departure in stop.departures],
        }
        for stop in stops
    ]


def list_json(accounts: Sequence[Account]) -> list[dict[str, Any]]:
    """For the page."""
    return [
        {"name": each.name, "t": each.us / 1e6, "size": each.size, "kind": each.kind.replace("_", " ")}
        for each in accounts
    ]
