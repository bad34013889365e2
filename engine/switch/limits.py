"""How much of the control plane's time the packets of one port may take."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """What one port may cause in a second, and twice as much at once; 0: anything. `repeats` are digests with the same
    contents."""

    digests: int = 0
    repeats: int = 0
    packet_ins: int = 0


NO_LIMITS = Limits()

# A host port of our program causes a digest per membership and tick, which is every few seconds, and one per join and
# leave; a controller takes some thousands a second of all ports together.
DEFAULT_LIMITS = Limits(digests=500, repeats=50, packet_ins=1000)
