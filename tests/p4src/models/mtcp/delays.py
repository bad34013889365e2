"""What a switch learns of delays from the time that MTCP's feedback echoes."""

from hosts.protocols.mtcp.packets import Feedback
from tests.p4src.bench.program import number
from tests.p4src.models.mtcp.state import Least, Port, Slot

LEAST_MARGIN_US = number("MTCP_LEAST_MARGIN_US")


def measure(slot: Slot, port: int, mine: Port, packet: Feedback, others: list[Port], now: int) -> int | None:
    """Takes a sample of the relative time delay; returns it."""
    if not packet.echo_time_us:
        return None
    rtd = now - packet.echo_time_us - packet.held_us
    if packet.number not in slot.least:
        first = rtd - min((other.queue for other in others if other.echo), default=0)
        slot.least[packet.number] = Least(now, first, first)
    else:
        slot.least[packet.number].add(rtd, now, again=packet.relearn)
    mine.queue = rtd - slot.least[packet.number].value
    if packet.merged:
        mine.queue += packet.queue_us
        mine.bound = rtd + packet.bound_us
    elif packet.echo_time_us != mine.echo:
        if not mine.echo:
            mine.mean = rtd
            mine.deviation = slot.rtt.get(port, 0) // 2
        else:
            error = rtd - mine.mean
            mine.mean += error // 8
            mine.deviation += (abs(error) - mine.deviation) // 4
        mine.bound = mine.mean + max(4 * mine.deviation, LEAST_MARGIN_US)
    mine.echo = packet.echo_time_us
    return rtd
