"""TCP's congestion controls: which there are, where, and what goes with each."""

from collections.abc import Iterator
from typing import Final

from topologies.scenario.activity import TcpFlow, WebFlow
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


def check_tcp(path: FieldPath, flow: TcpFlow | WebFlow) -> Iterator[Finding]:
    """What does not go with the congestion control in either world."""
    name, packet = flow.congestion_control, flow.simulated.packet
    headers = tcp_headers(name)
    if not headers < packet <= _MAX_FRAME:
        yield (*path, "simulated", "packet"), f"a packet of TCP has {headers + 1} to {_MAX_FRAME} bytes, not {packet}"
    if name in CLASSIC:
        if flow.simulated.ecn is not None:
            yield (*path, "simulated", "ecn"), f"the papers' `{name}` knows nothing of marks"
        if isinstance(flow, TcpFlow) and flow.pacing:
            yield (*path, "pacing"), f"the papers' `{name}` does not pace"
    elif flow.simulated.limited_transmit is not None:
        classic = ", ".join(CLASSIC)
        yield (*path, "simulated", "limited_transmit"), f"only the papers' TCP has this field: {classic}"


def check_emulated(path: FieldPath, flow: TcpFlow) -> Iterator[Finding]:
    """What no kernel has; what this one lacks is found when the emulation starts."""
    if flow.congestion_control in _PAPERS:
        wrong = f"the papers' `{flow.congestion_control}` is only simulated (canopy simulate)"
        yield (*path, "congestion_control"), wrong


def check_simulated(path: FieldPath, flow: TcpFlow | WebFlow) -> Iterator[Finding]:
    """What the simulator lacks."""
    if flow.congestion_control not in SIMULATED:
        wrong = f"the simulator's TCP has no `{flow.congestion_control}`; it has {', '.join(SIMULATED)}"
        yield (*path, "congestion_control"), wrong
