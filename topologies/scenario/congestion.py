"""TCP's congestion controls: which there are, where, and what goes with each."""

from collections.abc import Iterator
from typing import Final

from topologies.scenario.errors import FieldPath, Finding

MODERN: Final = ("cubic", "reno", "bbr", "bbr3", "dctcp", "prague")
"""The simulator's TCP as it is now (engine/crates/sim/src/tcp/modern)."""
CLASSIC: Final = ("reno-1990", "newreno", "sack", "vegas")
"""The simulator's TCP as the papers had it (engine/crates/sim/src/tcp)."""
SIMULATED: Final = (*MODERN, *CLASSIC)
_PAPERS: Final = ("reno-1990", "newreno", "sack")
"""What no kernel calls a congestion control."""
_HEADERS: Final = 54
"""Bytes of Ethernet, IPv4 and TCP, without options."""
_TIMESTAMPS: Final = 12
"""What the modern TCP has beside them (RFC 7323)."""
_MAX_FRAME: Final = 65549
"""Ethernet's header and the largest IPv4 packet."""


def tcp_headers(congestion_control: str) -> int:
    """Bytes of a full packet on an Ethernet link that are no payload."""
    return _HEADERS + (0 if congestion_control in CLASSIC else _TIMESTAMPS)


def check_tcp(
    path: FieldPath, name: str, *, packet: int, ecn: str | None, limited_transmit: bool | None, paces: bool
) -> Iterator[Finding]:
    """What of a flow does not go with its congestion control, in either world."""
    headers = tcp_headers(name)
    if not headers < packet <= _MAX_FRAME:
        bounds = f"{headers + 1} to {_MAX_FRAME}"
        yield (*path, "simulated", "packet"), f"a packet of TCP has {bounds} bytes, not {packet}"
    if name in CLASSIC:
        if ecn is not None:
            yield (*path, "simulated", "ecn"), f"the papers' `{name}` knows nothing of marks"
        if paces:
            yield (*path, "pacing"), f"the papers' `{name}` does not pace"
    elif limited_transmit is not None:
        wrong = f"only the papers' TCP has this field: {', '.join(CLASSIC)}"
        yield (*path, "simulated", "limited_transmit"), wrong


def check_emulated(path: FieldPath, name: str) -> Iterator[Finding]:
    """What no kernel has; what this one lacks is found when the emulation starts."""
    if name in _PAPERS:
        yield (*path, "congestion_control"), f"the papers' `{name}` is only simulated (canopy simulate)"


def check_simulated(path: FieldPath, name: str) -> Iterator[Finding]:
    """What the simulator lacks."""
    if name not in SIMULATED:
        wrong = f"the simulator's TCP has no `{name}`; it has {', '.join(SIMULATED)}"
        yield (*path, "congestion_control"), wrong
