"""A receiver of a stranger's that serves others and passes nothing on: who chooses it as a parent waits for nothing."""

import random
from collections.abc import Sequence
from typing import Any, Final

from hosts import protocols
from hosts.endpoint import Effect, Send
from hosts.parts.wrapping import WrappedReceiver
from hosts.protocol import Protocol, Session
from hosts.wire.format import Format
from hosts.wire.header import HEADER_BYTES

SAID: Final = frozenset({"JOIN", "JOIN_ACK", "QUERY", "OFFER", "PROBE", "PROBE_ACK"})
"""Packets that an agent says to become one and to stay one, and this one, too."""
AGENT: Final = "agent"
"""The parameter of those protocols that have any."""


class Swallower(WrappedReceiver):
    """It answers probes, joins and queries; repairs, acknowledgments and reports go nowhere."""

    def __init__(self, protocol: Protocol[Any], session: Session, rng: random.Random) -> None:
        """ValueError: the protocol has no agents."""
        # It asks the sender alone, so that it has joined before others ask who would serve them.
        super().__init__(protocol.receiver(session, rng, {AGENT: True, "parent": "sender"}))
        formats = (layout for layout in protocol.packets if isinstance(layout, Format))
        self._said = {int(kind) for layout in formats for kind in layout.kinds if kind.name in SAID}

    def _passed(self, effects: Sequence[Effect], now: float) -> Sequence[Effect]:
        return [one for one in effects if not isinstance(one, Send) or self._says(one.data)]

    def _says(self, data: bytes) -> bool:
        return len(data) >= HEADER_BYTES and data[2] in self._said


def has_agents(protocol: str) -> bool:
    """Whether receivers of the protocol that is called so serve others."""
    return AGENT in protocols.get(protocol).option_names
