"""What `canopy compare-peers --fast --keep` has kept, as a table for a document (a line for each contender, a column
for each network) and as a picture."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import matplotlib as mpl
from pydantic import BaseModel, TypeAdapter

from experiments.figures.bars import COLOURS
from experiments.figures.svg import STYLE, new_canvas, to_svg
from experiments.harness.results_folder import RESULTS

KEPT: Final = RESULTS / "peers" / "fast.json"


class KeptLine(BaseModel):
    """Medians over a contender's runs in one network. Rates in bit/s, times in seconds."""

    contender: str
    title: str
    is_ours: bool
    receivers: int
    lossy: int
    """Of them, with 1 % of their packets lost."""
    megabytes: float
    runs: int
    goodput_bps: float
    sender_cpu_s: float
    load: float
    """The machine's, when it was measured."""

    @property
    def network(self) -> tuple[int, int, float]:
        """Which column it is in."""
        return (self.receivers, self.lossy, self.megabytes)


_LINES: Final = TypeAdapter(list[KeptLine])


def keep(lines: Sequence[KeptLine], path: Path = KEPT) -> None:
    """Put them in the place of those of the same contenders and networks, and draw the picture beside the file.
    OSError, ValidationError."""
    before = _LINES.validate_json(path.read_bytes()) if path.exists() else []
    found = {(line.network, line.contender): line for line in [*before, *lines]}
    path.parent.mkdir(exist_ok=True)
    ordered = [found[key] for key in sorted(found)]
    path.write_bytes(_LINES.dump_json(ordered) + b"\n")
    path.with_suffix(".svg").write_text(picture(ordered), encoding="utf-8")


def peers_lines(text: str | bytes) -> list[list[str]]:
    """The table: Mbit/s in the data phase, how many times the fastest peer's, and the sender's CPU seconds.
    ValidationError."""
    lines = _LINES.validate_json(text)
    networks = sorted({line.network for line in lines})
    cells: dict[str, dict[tuple[int, int, float], str]] = {}
    for line in sorted(lines, key=lambda line: (not line.is_ours, line.contender)):
        peers = [other.goodput_bps for other in lines if other.network == line.network and not other.is_ours]
        times = f", {line.goodput_bps / max(peers):.2f} x" if line.is_ours and peers else ""
        cell = f"{line.goodput_bps / 1e6:,.0f}{times}; {line.sender_cpu_s:.2f} s"
        cells.setdefault(line.title, {})[line.network] = cell
    return [
        ["", *map(_head, networks)],
        *([title, *(row.get(network, "") for network in networks)] for title, row in cells.items()),
    ]


def picture(lines: Sequence[KeptLine]) -> str:
    """A group of bars for each network, a bar for each contender, as SVG."""
    networks = sorted({line.network for line in lines})
    contenders = sorted({(not line.is_ours, line.contender, line.title) for line in lines})
    height = 0.8 / len(contenders)
    with mpl.rc_context({**STYLE, "svg.hashsalt": "peers"}):
        canvas = new_canvas(7.0, 1.0 + 0.16 * len(networks) * (len(contenders) + 1))
        axes = canvas.subplots()
        for place, (_, contender, title) in enumerate(contenders):
            own = [line for line in lines if line.contender == contender]
            axes.barh(
                [networks.index(line.network) + (place + 0.5) * height - 0.4 for line in own],
                [line.goodput_bps / 1e6 for line in own],
                height=height,
                color=COLOURS[place % len(COLOURS)],
                label=title,
            )
        axes.set_yticks(range(len(networks)), [_head(network) for network in networks])
        axes.invert_yaxis()
        axes.set_xlabel("Mbit/s in the data phase")
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(fontsize=8, frameon=False, loc="lower right")
        return to_svg(canvas)


def _head(network: tuple[int, int, float]) -> str:
    receivers, lossy, megabytes = network
    loss = "" if not lossy else ", 1 % loss" if lossy == receivers else f", 1 % loss at {lossy}"
    return f"{megabytes:,.0f} MB to {receivers}{loss}"
