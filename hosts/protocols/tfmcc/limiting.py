"""The current limiting receiver, and the previous one (2.2, Appendix C)."""

from dataclasses import dataclass

from hosts.endpoint import Address
from hosts.protocols.tfmcc.echoes import Echo


@dataclass(slots=True)
class Limiting:
    """A receiver as its last report shows it. Rates in bytes per second, times in seconds."""

    receiver: int
    address: Address
    rate: float
    """What it allows, with the sender's measurement in place of an RTT that it does not have (2.4.4)."""
    rtt: float
    has_rtt: bool
    loss_rate: float
    """0: no loss yet."""
    receive_rate: float
    heard_at: float
    echo: Echo


class PreviousClr:
    """Remembers the CLR that was replaced, for a few round trip times."""

    __slots__ = ("_limiting", "_until")

    def __init__(self) -> None:
        self._limiting: Limiting | None = None
        self._until = 0.0

    def keep(self, limiting: Limiting, until: float) -> None:
        """`limiting` is replaced now."""
        self._limiting, self._until = limiting, until

    def forget(self, receiver: int | None = None) -> None:
        """It has left, or (None) is of no more interest."""
        if self._limiting is not None and receiver in (None, self._limiting.receiver):
            self._limiting = None

    def below(self, rate: float, now: float) -> Limiting | None:
        """It, if it is not forgotten and allowed less than `rate`."""
        if self._limiting is None or now > self._until or self._limiting.rate >= rate:
            return None
        return self._limiting
