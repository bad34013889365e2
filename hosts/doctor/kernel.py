"""What the kernel has, tried in a network namespace that goes away again, and what of ours is installed."""

import os
import platform
import shutil
import socket
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from hosts.doctor.finding import Finding, Part, Verdict

_QDISCS: Final = {"htb": "", "tbf": "rate 1mbit burst 10k limit 10k", "netem": "delay 1ms"}
_CONGESTION_CONTROLS: Final = ("reno", "cubic", "bbr")
_PROGRAM_FILES: Final = ("canopy.json", "canopy.p4info.txtpb", "canopy.constants.json")
_TIMEOUT_S: Final = 10
_EMULATION: Final[tuple[Part, ...]] = ("emulation",)
_PACKETS: Final[tuple[Part, ...]] = ("switch", "emulation")
_ATTEMPTS: Final = [
    "ip link add probe0 type veth peer name probe1 && echo veth",
    *(f"tc qdisc replace dev probe0 root {kind} {options} && echo {kind}" for kind, options in _QDISCS.items()),
]


def check() -> Iterator[Finding]:
    """All of it."""
    yield Finding("kernel", "version", "ok", f"{platform.system()} {platform.release()}")
    yield _modules_of_ours()
    yield from _p4_program()
    yield from _namespaces()
    yield _packet_socket()
    yield from _congestion_controls()


def _modules_of_ours() -> Finding:
    try:
        import canopy_engine
    except ImportError as error:
        return Finding("program", "engine", "missing", str(error), "install the package again, or run `make setup`")
    return Finding("program", "engine", "ok", str(canopy_engine.__name__))


def _p4_program() -> Iterator[Finding]:
    """What the controller pushes to switches; it is with it, and hosts that only send and receive have neither."""
    controller = find_spec("controller")
    if controller is None or controller.origin is None:
        return
    folder = Path(controller.origin).parents[1] / "p4src"
    absent = [name for name in _PROGRAM_FILES if not (folder / name).is_file()]
    if absent:
        advice = "run `make setup` in a checkout; else install the package canopy again"
        yield Finding("program", "P4 program", "missing", f"no {', '.join(absent)} in {folder}", advice, _PACKETS)
    else:
        yield Finding("program", "P4 program", "ok", str(folder / _PROGRAM_FILES[0]), parts=_PACKETS)


def _namespaces() -> Iterator[Finding]:
    absent = [name for name in ("unshare", "ip", "tc") if shutil.which(name) is None]
    if absent:
        yield Finding(
            "kernel", "netns, veth, qdiscs", "unknown", f"no {', '.join(absent)}", "install iproute2 and util-linux",
            _EMULATION,
        )  # fmt: skip
        return
    rights = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    try:
        answer = subprocess.run(
            ["unshare", *rights, "--net", "sh", "-c", f"echo netns; {'; '.join(_ATTEMPTS)}"],
            capture_output=True, text=True, timeout=_TIMEOUT_S, check=False,
        )  # fmt: skip
        has = set(answer.stdout.split())
    except (OSError, subprocess.TimeoutExpired):
        has = set()
    if "netns" not in has:
        what = "not permitted" if rights else "none"
        advice = "run `sudo canopy doctor`" if rights else "CONFIG_NET_NS; in a container: --cap-add=SYS_ADMIN"
        yield Finding("kernel", "netns", "unknown" if rights else "missing", what, advice, _EMULATION)
        return
    for name in ("netns", "veth", *_QDISCS):
        module = name if name in ("netns", "veth") else f"sch_{name}"
        if name in has:
            yield Finding("kernel", name, "ok", "there", parts=_EMULATION)
        else:
            # Links are emulated by the switches; only hosts' own links, and what is compared with, need queues of tc.
            verdict: Verdict = "missing" if name == "veth" else "advice"
            yield Finding("kernel", name, verdict, "not in this kernel", f"modprobe {module}", _EMULATION)


def _packet_socket() -> Finding:
    try:
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW):
            return Finding("kernel", "AF_PACKET", "ok", "may be opened", parts=_PACKETS)
    except PermissionError:
        return Finding(
            "kernel", "AF_PACKET", "missing", "not permitted", "run it as root, or with CAP_NET_RAW", _PACKETS
        )
    except OSError as error:
        return Finding("kernel", "AF_PACKET", "missing", str(error.strerror), "modprobe af_packet", _PACKETS)


def _congestion_controls() -> Iterator[Finding]:
    for name in _CONGESTION_CONTROLS:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            try:
                probe.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
                yield Finding("kernel", f"TCP {name}", "ok", "there", parts=_EMULATION)
            except PermissionError:
                yield Finding("kernel", f"TCP {name}", "ok", "there, for root", parts=_EMULATION)
            except OSError:
                yield Finding(
                    "kernel", f"TCP {name}", "advice", "not in this kernel",
                    f"modprobe tcp_{name}; only scenarios with such flows need it", _EMULATION,
                )  # fmt: skip
