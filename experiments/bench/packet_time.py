"""Where a packet's processor time goes at the sender and at a receiver: a file over the loopback interface, with both
sampled (sampling.py)."""

import json
import socket
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

import matplotlib as mpl

from engine.command.programs import module_command
from experiments.bench.sampling import PARTS, THREADS
from experiments.figures.svg import STYLE, new_canvas, to_svg
from topologies.emulation.kernel import dying_with_parent

PROTOCOLS: Final = ("mtcp", "rla", "tfmcc")
ORDER: Final = (*dict.fromkeys(part for _, part in PARTS), THREADS)
_GROUP: Final = "239.1.0.9"
_LIMIT_S: Final = 300.0
_COLOURS: Final = ("#0b6e4f", "#c2571a", "#3a5ba0", "#8a3b8f", "#7a7a1f", "#1f7a7a", "#b03050", "#555555", "#aaaaaa")


@dataclass(frozen=True, slots=True)
class PacketTime:
    """Of one agent. Nanoseconds of a processor for each DATA packet, by part; what comes before the loop is left out,
    for it is the same for a file of any size."""

    protocol: str
    role: str
    packets: int
    parts: Mapping[str, float]


def measure(protocol: str, megabytes: int) -> list[PacketTime]:
    """The sender's and the receiver's. RuntimeError when the file does not arrive."""
    with tempfile.TemporaryDirectory(prefix="canopy-packet-") as place:
        base = Path(place)
        file = base / "payload.bin"
        content = Random(1)
        with file.open("wb") as payload:
            for _ in range(megabytes):
                payload.write(content.randbytes(10**6))
        options = [
            "--protocol",
            protocol,
            "--group",
            _GROUP,
            "--port",
            str(_free_port()),
            "--interface",
            "lo",
            "--json",
        ]
        received = ["recv", *options, "--output", str(base / "received")]
        with subprocess.Popen(
            _sampled(base / "receiver.json", received), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as receiver:
            try:
                sent = subprocess.run(
                    _sampled(base / "sender.json", ["send", *options, "--receivers", "1", "--wait", "30", str(file)]),
                    capture_output=True,
                    check=False,
                    timeout=_LIMIT_S,
                )
                said, _ = receiver.communicate(timeout=_LIMIT_S)
            except subprocess.TimeoutExpired:
                raise RuntimeError(f"{protocol}: the file did not arrive within {_LIMIT_S:g} s") from None
            finally:
                receiver.kill()
        if sent.returncode or receiver.returncode or not json.loads(said)["complete"]:
            raise RuntimeError(f"{protocol}: {sent.stderr.decode(errors='replace').strip()[-200:]}")
        packets = int(json.loads(sent.stdout)["counters"]["data_packets"])
        return [
            _time(protocol, role, packets, json.loads((base / f"{role}.json").read_text()))
            for role in ("sender", "receiver")
        ]


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def _sampled(out: Path, arguments: Sequence[str]) -> list[str]:
    return list(dying_with_parent(module_command("experiments.bench.sampling", str(out), *arguments)))


def _time(protocol: str, role: str, packets: int, seconds: Mapping[str, float]) -> PacketTime:
    parts = {part: seconds[part] * 1e9 / packets for part in ORDER if seconds.get(part)}
    return PacketTime(protocol, role, packets, parts)


def lines(found: Sequence[PacketTime]) -> list[list[str]]:
    """A table: a line for each part, a column for each agent."""
    head = ["ns a packet", *(f"{one.protocol.upper()} {one.role}" for one in found)]
    body = [[part, *(f"{one.parts.get(part, 0.0):,.0f}" for one in found)] for part in ORDER]
    return [head, *body, ["all", *(f"{sum(one.parts.values()):,.0f}" for one in found)]]


def picture(found: Sequence[PacketTime]) -> str:
    """A bar for each agent, cut by part, as SVG."""
    with mpl.rc_context({**STYLE, "svg.hashsalt": "packet-time"}):
        canvas = new_canvas(7.0, 1.4 + 0.3 * len(found))
        axes = canvas.subplots()
        labels = [f"{one.protocol.upper()}, {one.role}" for one in found]
        left = [0.0] * len(found)
        for part, colour in zip(ORDER, _COLOURS, strict=True):
            widths = [one.parts.get(part, 0.0) / 1e3 for one in found]
            axes.barh(labels, widths, left=left, color=colour, height=0.7, label=part)
            left = [begin + width for begin, width in zip(left, widths, strict=True)]
        axes.invert_yaxis()
        axes.set_xlabel("microseconds of a processor for each DATA packet")
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(fontsize=7, ncols=3, loc="upper center", bbox_to_anchor=(0.45, -0.22), frameon=False)
        return to_svg(canvas)
