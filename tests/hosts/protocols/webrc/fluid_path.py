"""A receiver's control alone, fed with what the joined channels carry."""

import math
from typing import Any

import pytest

from hosts.protocols.webrc.control import ReceptionControl
from hosts.protocols.webrc.options import WebrcOptions
from hosts.protocols.webrc.waves import Waves, joined_rate
from tests.hosts.protocols.webrc.memory import PAPER

EPOCH = 0.5


class FluidPath:
    """Feeds a control with what the joined channels carry, as fluids, up to a bottleneck without a queue.

    The parameters are the paper's but for `options`."""

    def __init__(self, *, bottleneck: float = math.inf, rtt: float = 0.1, **options: object) -> None:
        settings: dict[str, Any] = {**PAPER, "session_rate_bps": 16_384_000, **options}
        self.control = ReceptionControl(Waves(2000.0), WebrcOptions(**settings))
        self.bottleneck = bottleneck
        self.rtt = rtt
        self.now = 0.0
        self.joins: list[float] = []
        self.control.session_joined(-rtt)
        self.control.first_base_packet(0, 0.0)
        self._owed = 0.0

    def epoch(self, lost: int = 0, *, join: bool = True) -> bool:
        """One epoch later: whether the control wants to join (which it then does)."""
        control, waves = self.control, self.control.waves
        before = self.now
        self.now += EPOCH
        x = (self.now - EPOCH / 2) / waves.slot_s % 1
        rate = joined_rate(control.rates.waves_joined, 1.0, waves.p) * waves.p**x
        if int(self.now / waves.slot_s) > int(before / waves.slot_s):
            control.slot_changed(-1)
        self._owed += min(rate, self.bottleneck) * EPOCH
        received, self._owed = int(self._owed), self._owed % 1
        control.packets(received, lost, self.now)
        wants = control.epoch(self.now)
        if wants and join:
            self.joins.append(self.now)
            control.joined(len(self.joins), self.now)
            self.first_packet(self.rtt)
        return wants

    def first_packet(self, after: float) -> None:
        """Of the wave joined now; its number says how fast the wave is."""
        waves, at = self.control.waves, self.now + after
        rate = waves.base_rate * waves.p ** (at / waves.slot_s % 1 - self.control.rates.waves_joined)
        ahead = round((rate - waves.base_rate) * waves.slot_s / math.log(1 / waves.p))
        self.control.first_packet(waves.psns - ahead, at)


def joined_by_today_s_rules(waves: int = 12) -> FluidPath:
    """A receiver that has just joined a wave, long after start-up, and whose equation allows everything."""
    path = FluidPath(rules="today", epoch_s=EPOCH)
    while path.control.rates.waves_joined < waves:
        path.epoch()
    control = path.control
    control.packets(0, 1, path.now)
    control.left(1, path.now)
    path.now += 5.0
    control.losses.reset(1e-9)
    for _ in range(20):
        if path.epoch():
            return path
    pytest.fail("no wave was joined")
