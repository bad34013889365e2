"""What a switch says for all its ports of an MTCP parent, and when."""

from hosts.protocols.mtcp.packets import SACK_BITS
from tests.p4src.bench.program import number
from tests.p4src.models.mtcp.state import Port, Sent

PERIOD_US, HOLDERS_US = number("FEEDBACK_PERIOD_US"), number("MTCP_HOLDERS_US")


def aggregate(ports: list[Port], now: int) -> Sent:
    cumulative = min(port.cumulative for port in ports)
    reach = frozenset(range(cumulative + 1, cumulative + 1 + SACK_BITS))
    return Sent(
        cumulative,
        reach.intersection(*({*range(cumulative + 1, port.cumulative), *port.above} for port in ports)),
        frozenset().union(*(port.children for port in ports)),
        frozenset().union(*(port.holders for port in ports if port.cumulative == cumulative)),
        min(port.cwnd for port in ports),
        max(port.twnd for port in ports),
        min(port.window for port in ports),
        now,
    )


def is_due(last: Sent | None, now: Sent, again: bool) -> tuple[bool, bool]:
    """Whether the aggregate has advanced, and whether a summary is due."""
    if last is None or now.cumulative > last.cumulative:
        return True, True
    if now.cumulative == last.cumulative and not now.above <= last.above:
        return True, True
    if now.children != last.children or now.cwnd != last.cwnd or now.twnd < last.twnd:
        return False, True
    if now.window > last.window and now.window // 2 >= last.window:
        return False, True
    ended = now.at - last.at >= PERIOD_US
    told = again or now.twnd != last.twnd or now.window != last.window
    return False, (ended and told) or (now.at - last.at >= HOLDERS_US and now.holders != last.holders)
