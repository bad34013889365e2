"""What a receiver calculates of its path: by today's rules as a TCP of today."""

import pytest

from hosts.parts.throughput import throughput
from hosts.protocols.tfmcc.options import TfmccOptions
from hosts.protocols.tfmcc.packets import Data
from hosts.protocols.tfmcc.path import Path
from hosts.protocols.tfmcc.rate_float import NO_RATE, encode_rate, encode_rtt

RTT_S = 0.1
GAP_S = 0.01


class Line:
    """Packets that arrive evenly at 1.2 Mbit/s, and a measured round trip time."""

    def __init__(self, rules: str) -> None:
        self.path = Path(TfmccOptions(rules=rules))
        self.seq = 0

    def run(self, seconds: float, *, lost: int = 0) -> None:
        """`lost`: so many packets at the beginning."""
        path = self.path
        end = self.seq + round(seconds / GAP_S)
        self.seq += lost
        while self.seq < end:
            at = self.seq * GAP_S
            rate, rtt = encode_rate(1.2e6), encode_rtt(RTT_S)
            packet = Data(7, 0, self.seq, 1, rate, NO_RATE, NO_RATE, rtt, 9, 0, 0, 0, int(at * 1e6), 0, bytes(1400))
            path.history.arrived(self.seq, at, path.round_trip.rtt)
            path.receive_rate.add(path.packet_bytes, at, RTT_S)
            path.note(packet, at)
            if not path.round_trip.has_measurement:
                path.answered(RTT_S, at, at - RTT_S / 2)
            self.seq += 1


def test_the_papers_rules_have_the_papers_equation() -> None:
    line = Line("paper")
    line.run(5.0)
    line.run(30.0, lost=1)
    path = line.path
    rate = throughput(path.history.loss_event_rate, RTT_S, path.packet_bytes) * 8
    assert path.calculated_bps == pytest.approx(rate)


def test_the_time_since_the_last_loss_raises_the_rate_as_a_tcps() -> None:
    line = Line("today")
    line.run(5.0)
    line.run(5.0, lost=1)
    path = line.path
    history = throughput(path.history.loss_event_rate, RTT_S, path.packet_bytes) * 8
    packets = 4.95 / RTT_S  # one more a round trip time
    assert path.calculated_bps == pytest.approx(packets * path.packet_bytes * 8 / RTT_S, rel=0.05)
    assert path.calculated_bps > 1.5 * history


def test_a_loss_then_begins_the_history_anew() -> None:
    line = Line("today")
    line.run(2.0)
    for _ in range(6):
        line.run(0.3, lost=1)
    path = line.path
    before = path.calculated_bps
    line.run(20.0)
    line.run(0.1, lost=1)
    assert before < 0.8e6
    # 0.85 of what arrives, and no more than that remembers the losses before.
    renewed = path.calculated_bps
    assert renewed == pytest.approx(0.85 * 1.2e6, rel=0.1)
    line.run(0.3, lost=1)  # the same queue, a moment later: one short interval is not half of the history
    assert path.calculated_bps > 0.8 * renewed
