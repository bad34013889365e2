"""The ACK of a child that lacks nothing."""

from hosts.protocols.mtcp import packets
from hosts.protocols.mtcp.progress import encode_progress


def test_progress_is_an_ack_that_lacks_nothing() -> None:
    for marked in (False, True):
        short = encode_progress(7, 1, 2, 3, 4, 5, 6, 7, marked=marked)
        long = packets.encode_feedback(7, False, 1, 2, 3, 4, 5, 6, 7, 0, marked=marked)
        assert packets.parse(short) == packets.parse(long)
        assert len(short) < len(long) / 2
