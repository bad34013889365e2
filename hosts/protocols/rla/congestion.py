"""What receivers' losses and marks do to the sender's window (RLA, 3.3, rules 1 to 4): which of them are signs of
congestion, and what these are answered with.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from hosts.endpoint import Address, CongestionSignal, Effect
from hosts.protocols.rla.branch import LOSS_DISTANCE, PERIOD_ROUNDS, Branch
from hosts.protocols.rla.inflight import InFlight
from hosts.protocols.rla.listening import RandomListening
from hosts.protocols.rla.options import RlaOptions
from hosts.protocols.rla.packets import Ack
from hosts.protocols.rla.repairs import Repairs
from hosts.protocols.rla.window import Window


class Congestion:
    """Reads what the others keep of the session. Times are seconds of the sender's clock."""

    def __init__(
        self,
        options: RlaOptions,
        counters: Counter[str],
        listening: RandomListening,
        inflight: InFlight,
        repairs: Repairs,
        window: Window,
        branches: Mapping[Address, Branch],
    ) -> None:
        self._options = options
        self._counters = counters
        self._listening = listening
        self._inflight = inflight
        self._repairs = repairs
        self._window = window
        self._branches = branches

    def told(self, branch: Branch, ack: Ack, reach: int, now: float, effects: list[Effect]) -> None:
        """An acknowledgment has come from one that is listened to, who has no packet from `reach` on."""
        has = self._inflight.listened.has
        echo = ack.echo_time_us / 1e6
        lost_at = branch.answers_that_it_lacked(ack, has)
        if lost_at is not None:
            branch.losses += 1
            self._congested(branch, lost_at, now, effects)
        lost = branch.find_losses(reach if ack.sack else -1, echo, has)
        if lost:
            self.lost(branch, lost, now, effects)
        if ack.marked:  # RFC 3168 (6.1.2): as a loss
            self._counters["marks"] += 1
            self._congested(branch, echo - self._window.longest_wait, now, effects)
        if self._options.rules == "tcp" and len(self._branches) > 1:
            self._listen(branch, reach, echo, now, effects)

    def lost(self, branch: Branch, lost: Sequence[int], now: float, effects: list[Effect]) -> None:
        """It has lost these packets, and waits for their repair."""
        for seq in lost:
            self._repairs.request(branch, seq)
        packets = self._inflight.packets
        self._congested(branch, max(packets[seq].sent_at for seq in lost), now, effects)

    def _congested(self, branch: Branch, sent_at: float, now: float, effects: list[Effect]) -> None:
        """It has lost, or found marked, what was sent at `sent_at`."""
        branch.met_at = max(branch.met_at, sent_at)
        if branch.congested(now):
            self._window.listens_to_others()
            srtt_max = self._window.srtt_max
            cut = self._listening.congestion(branch.number, branch.rtt.mean, srtt_max, sent_at, now)
            if cut is not None:
                effects.append(CongestionSignal(f"{cut}_cut", branch.address))
        else:
            self._listening.goes_on(branch.number, branch.cperiod_start + PERIOD_ROUNDS * branch.rtt.mean)

    def _listen(self, branch: Branch, highest: int, echo: float, now: float, effects: list[Effect]) -> None:
        """It has told whether it has what was sent before the last three packets."""
        srtt_max = max(self._window.srtt_max, branch.rtt.mean)
        told_at = min(echo, self._told_at(highest - LOSS_DISTANCE))
        cut = self._listening.heard(branch.number, branch.rtt.mean, srtt_max, told_at, branch.met_at, now)
        if cut is not None:
            effects.append(CongestionSignal(f"{cut}_cut", branch.address))

    def _told_at(self, last: int) -> float:
        """When that packet was sent; what all have is kept no longer, and was sent before the first that is kept."""
        packets = self._inflight.packets
        if last in packets:
            return packets[last].first_sent_at
        first = packets.get(self._inflight.held_from)
        return math.inf if first is None else math.nextafter(first.first_sent_at, 0.0)
