"""What the controller installs, for tests that run without one (p4src/README.md has the list)."""

from collections.abc import Iterable, Sequence

from tests.p4src.bench.packets import SWITCH_MAC, address, host_ip, host_mac, mac
from tests.p4src.bench.program import number
from tests.p4src.bench.target import Target

EPOCH_SHIFT = 20
"""An epoch of about one second in tests on time that they move."""

ENDLESS_EPOCH_SHIFT = 40
"""An epoch of 12 days, in tests where time must not matter."""


def bitmap(ports: Iterable[int]) -> int:
    return sum(1 << port - 1 for port in set(ports))


def ports_of(bits: int) -> list[int]:
    return [port for port in range(1, min(number("MAX_PORTS"), bits.bit_length()) + 1) if bits >> port - 1 & 1]


def install(target: Target, *, ports: int = 8, epoch_shift: int = ENDLESS_EPOCH_SHIFT) -> None:
    """Configuration, groups and clone sessions of a switch; up to 12 ports it gets a group for each bitmap."""
    bitmap_groups = ports <= 12
    config = {"mac": mac(SWITCH_MAC), "epoch_shift": epoch_shift, "bitmap_groups": int(bitmap_groups)}
    target.set_default("switch_config", "set_config", config)
    if bitmap_groups:
        target.set_groups({bits: ports_of(bits) for bits in range(1, 1 << ports)})
    else:
        target.set_groups({number("FLOOD_GROUP"): list(range(1, ports + 1))})
    for port in range(1, ports + 1):
        target.set_clone_session(port, port)


def route_host(target: Target, port: int) -> None:
    """The host of a port, 10.0.0.port, as a /32."""
    key = {"destination": (address(host_ip(port)), 32)}
    target.insert("ipv4_lpm", key, "forward", {"port": port, "mac": mac(host_mac(port))})


def route_source(
    target: Target,
    source: str,
    group: str,
    slot: int,
    *,
    upstream: Sequence[int] = (),
    accept: Sequence[int] | None = None,
) -> None:
    """A source-specific slot; data is accepted from upstream if nothing else is said."""
    params = {"slot": slot, "upstream": bitmap(upstream), "accept": bitmap(upstream if accept is None else accept)}
    key = {"source": address(source), "group": address(group)}
    target.insert("route_sg", key, "set_source_route", params)


def route_group(target: Target, group: str, slot: int, *, upstream: Sequence[int] = (), accept: Sequence[int]) -> None:
    """An any-source slot; `upstream` are the ports to other switches on the group's tree."""
    params = {"slot": slot, "upstream": bitmap(upstream), "accept": bitmap(accept)}
    target.insert("route_g", {"group": address(group)}, "set_group_route", params)
