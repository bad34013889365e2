"""What Vegas compares, as 2.2 has it: expected and obtained throughput, in packets."""


def vegas_difference(cwnd: float, in_travel: float, rtt: float, base_rtt: float) -> float:
    """(W / base_rtt - packetsInTravel / rtt) base_rtt: the packets of a window that do not show as throughput.

    They wait in queues, or the application has not sent them. `cwnd`, `in_travel`: packets; the others seconds.
    """
    return cwnd - in_travel * base_rtt / rtt
