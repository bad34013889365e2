"""Which interfaces multicast can use, which one it does use, and what on them is in its way."""

import fcntl
import shutil
import socket
import struct
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hosts.doctor.buffers import SYSCTLS
from hosts.doctor.finding import Finding
from hosts.runtime import sockets

SSM_GROUP: Final = "232.0.0.1"
ASM_GROUP: Final = "239.0.0.1"
_SIOCGIFFLAGS: Final = 0x8913  # linux/sockios.h
_IFREQ: Final = struct.Struct("16sH22x")  # linux/if.h: name, flags
_UP: Final = 0x1
_LOOPBACK: Final = 0x8
_MULTICAST: Final = 0x1000


@dataclass(frozen=True, slots=True)
class Interface:
    """One that is not loopback."""

    name: str
    flags: int
    address: str
    """Its first IPv4 address, or nothing."""

    @property
    def is_usable(self) -> bool:
        """Whether agents can send to and join groups there."""
        return bool(self.flags & _UP and self.flags & _MULTICAST and self.address)


def interfaces() -> list[Interface]:
    """Those of this network namespace."""
    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            try:
                answer = fcntl.ioctl(probe, _SIOCGIFFLAGS, _IFREQ.pack(name.encode(), 0))
            except OSError:
                continue  # it has gone
            flags = _IFREQ.unpack(answer)[1]
            if not flags & _LOOPBACK:
                found.append(Interface(name, flags, sockets.interface_address(name)))
    return found


def check(sysctls: Path = SYSCTLS) -> Iterator[Finding]:
    """Interfaces, routes of groups, filters, offloads."""
    found = interfaces()
    usable = [interface for interface in found if interface.is_usable]
    for interface in found:
        yield _usable(interface)
    if not usable:
        yield Finding(
            "interfaces", "any", "missing", "none that is up, carries multicast and has an IPv4 address",
            "ip link set DEV up multicast on; ip address add ADDRESS/LENGTH dev DEV", ("agents",),
        )  # fmt: skip
    yield from _routes(usable)
    yield from _filters(usable, sysctls)
    for interface in found:
        if interface.flags & _UP:
            yield from _offloads(interface.name)


def _usable(interface: Interface) -> Finding:
    if interface.is_usable:
        return Finding("interfaces", interface.name, "ok", interface.address, parts=("agents",))
    lacks = [
        *([] if interface.flags & _UP else ["down"]),
        *([] if interface.flags & _MULTICAST else ["no multicast"]),
        *([] if interface.address else ["no IPv4 address"]),
    ]
    return Finding("interfaces", interface.name, "ok", f"not used: {', '.join(lacks)}", parts=("agents",))


def _routes(usable: Sequence[Interface]) -> Iterator[Finding]:
    for group in (SSM_GROUP, ASM_GROUP):
        try:
            place = sockets.describe(sockets.resolve_interface(None, group))
        except sockets.SocketError:
            yield Finding(
                "multicast", f"route to {group}", "advice" if usable else "missing", "none",
                "name one with --interface, or: ip route add 224.0.0.0/4 dev DEV", ("agents",),
            )  # fmt: skip
            continue
        several = len(usable) > 1
        advice = "senders use this one of several; --interface names another" if several else ""
        yield Finding("multicast", f"route to {group}", "ok", place, advice, ("agents",))


def _filters(usable: Sequence[Interface], sysctls: Path) -> Iterator[Finding]:
    """Of every interface the stricter of its own setting and that of all counts (ip-sysctl)."""
    for interface in usable:
        strict = max(_read(sysctls, name, "rp_filter") for name in ("all", interface.name))
        if strict == 1 and len(usable) > 1:
            yield Finding(
                "multicast", f"rp_filter on {interface.name}", "advice", "strict",
                "drops a group's packets when the route to their source is by another interface: "
                f"sysctl -w net.ipv4.conf.{interface.name}.rp_filter=2", ("agents",),
            )  # fmt: skip
        forced = max(_read(sysctls, name, "force_igmp_version") for name in ("all", interface.name))
        if forced in (1, 2):
            yield Finding(
                "multicast", f"IGMP on {interface.name}", "missing", f"version {forced} is forced",
                f"source-specific groups need 3: sysctl -w net.ipv4.conf.{interface.name}.force_igmp_version=0",
                ("agents",),
            )  # fmt: skip


def _read(sysctls: Path, interface: str, name: str) -> int:
    try:
        return int((sysctls / "net/ipv4/conf" / interface / name).read_text())
    except (OSError, ValueError):
        return 0


def _offloads(name: str) -> Iterator[Finding]:
    """LRO puts packets together that nobody can take apart again; GRO's the switch cuts as the kernel does."""
    ethtool = shutil.which("ethtool")
    if ethtool is None:
        yield Finding("offloads", name, "unknown", "no ethtool", "apt install ethtool", ("switch",))
        return
    answer = subprocess.run([ethtool, "-k", name], capture_output=True, text=True, check=False).stdout
    if "large-receive-offload: on" in answer:
        yield Finding("offloads", name, "advice", "LRO is on", f"ethtool -K {name} lro off", ("switch",))
    elif answer:
        yield Finding("offloads", name, "ok", "LRO is off", parts=("switch",))
