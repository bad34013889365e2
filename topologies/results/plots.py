"""A run's plots, as SVG to be put into a page. Each takes rows of the run folder's series and returns a picture."""

import io
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from engine.command.natural import natural
from topologies.results.layout import Place

Rows: TypeAlias = Sequence[Mapping[str, Any]]
Busy: TypeAlias = tuple[tuple[str, str], float]
"""A link's ends, and how much of its rate was used, 0..1."""
Curve: TypeAlias = Sequence[tuple[float, float]]

COLOURS = ("#0b6e4f", "#d1495b", "#2e5eaa", "#edae49", "#7a4e9c", "#00a6a6", "#a65628", "#5b6770", "#c2185b", "#7cb518")
MAX_CURVES = 16
"""In one plot, with one line of legend each."""
_SMOOTHING_S = 0.5
"""Throughput is shown over so long a time: shorter shows single packets, longer hides a window's cut."""
MAX_NAMES = 60
"""Nodes beyond which only senders and switches are named."""
COLORMAP = matplotlib.colormaps["YlOrRd"]
_NODES = {
    "sender": ("D", "#2e5eaa"),
    "receiver": ("o", "#0b6e4f"),
    "incomplete": ("o", "#b3261e"),
    "host": ("o", "#8a8f98"),
    "switch": ("s", "#37474f"),
}
_FAULT_COLOUR = "#8a8f98"


def throughput(ports: Rows, hosts: Sequence[str], events: Rows, limit_bps: float | None) -> str | None:
    """Mbit/s towards each of `hosts`."""
    by_host = group(ports, "neighbour")
    sent = {host: [(row["t"], row["tx_bytes"]) for row in by_host.get(host, ()) if "tx_bytes" in row] for host in hosts}
    figure, axes = _figure(f"Throughput towards {_each('host', sent)}", "Mbit/s")
    for number, (host, curve) in enumerate(representatives(sent).items()):
        _plot(axes, [(at, bps / 1e6) for at, bps in rates(curve)], host, number)
    if limit_bps is not None:
        axes.axhline(limit_bps / 1e6, color="#222222", linewidth=0.9, linestyle=(0, (6, 3)))
        axes.annotate(
            "bottleneck", (1, limit_bps / 1e6), xycoords=("axes fraction", "data"), ha="right", va="bottom", fontsize=8
        )
    return _finish(figure, axes, events)


def window(traces: Mapping[str, Rows], events: Rows) -> str | None:
    """The congestion windows of sessions' senders and of TCP flows, in packets; `traces` by name."""
    figure, axes = _figure("Congestion window", "packets")
    for number, (name, rows) in enumerate(traces.items()):
        _plot(axes, [(row["t"], row["cwnd"]) for row in rows if row.get("cwnd") is not None], name, number)
    return _finish(figure, axes, events)


def sender_rate(traces: Mapping[str, Rows], events: Rows) -> str | None:
    """What senders send, and what every receiver has acknowledged, Mbit/s; `traces` by name."""
    figure, axes = _figure("Sender's rate", "Mbit/s")
    number = 0
    for name, rows in traces.items():
        for column, label in (("rate_bps", "sent"), ("goodput_bps", "acknowledged by all")):
            curve = [(row["t"], row[column] / 1e6) for row in rows if row.get(column) is not None]
            _plot(axes, curve, f"{name}: {label}", number)
            number += 1
    return _finish(figure, axes, events)


def queue(ports: Rows, links: Sequence[tuple[str, int, str]], events: Rows) -> str | None:
    """Packets in the queues of (switch, port, label)."""
    figure, axes = _figure("Queue at the bottleneck", "packets")
    for number, (switch, port, label) in enumerate(links):
        curve = [
            (row["t"], row["queue_packets"])
            for row in ports
            if row["switch"] == switch and row["port"] == port and "queue_packets" in row
        ]
        _plot(axes, curve, label, number)
    return _finish(figure, axes, events)


def losses(receivers: Rows, sessions: Rows, events: Rows) -> str | None:
    """Packets that each receiver reported lost, and those sent again, so far."""
    figure, axes = _figure("Losses and repairs", "packets so far")
    number = 0
    curves = _by_receiver(receivers, "lost_packets")
    for receiver, curve in representatives({name: lost for name, lost in curves.items() if lost[-1][1] > 0}).items():
        _plot(axes, curve, f"lost at {receiver}", number)
        number += 1
    for session, rows in group(sessions, "session").items():
        curve = [(row["t"], row["repair_packets"]) for row in rows if row.get("repair_packets") is not None]
        _plot(axes, curve, f"repairs of session {session}", number, style="--")
        number += 1
    return _finish(figure, axes, events)


def feedback(sessions: Rows, switches: Rows, events: Rows) -> str | None:
    """Feedback packets a second at senders, and before them at switches that merge."""
    figure, axes = _figure("Feedback", "packets/s")
    number = 0
    for session, rows in group(sessions, "session").items():
        counted = [(row["t"], row["feedback_packets"]) for row in rows if row.get("feedback_packets") is not None]
        _plot(axes, slopes(counted), f"at the sender of session {session}", number)
        number += 1
    for switch, rows in group(switches, "switch").items():
        counted = [(row["t"], sum(row["feedback"].values())) for row in rows]
        _plot(axes, slopes(counted), f"came to {switch}", number, style="--")
        number += 1
    return _finish(figure, axes, events)


def limiting(sessions: Rows, events: Rows) -> str | None:
    """Which receiver limited each session's rate, and when."""
    figure, axes = _figure("Who limits", "")
    names = sorted({row["limiting"] for row in sessions if row.get("limiting") is not None}, key=natural)
    for number, (session, rows) in enumerate(group(sessions, "session").items()):
        limited = [row for row in rows if row.get("limiting") is not None]
        places = [(row["t"], float(names.index(row["limiting"]))) for row in limited]
        _plot(axes, places, f"session {session}", number, style="o")
    if not names:
        return None
    axes.set_yticks(range(len(names)), names)
    for line in axes.get_lines():
        line.set_markersize(4)
    return _finish(figure, axes, events, bottom=-0.5, top=max(len(names) - 0.5, 1.0))


def topology(
    places: Mapping[str, Place], links: Sequence[tuple[str, str, str]], kinds: Mapping[str, str], busy: Sequence[Busy]
) -> str:
    """The network: nodes by kind (`sender`, `receiver`, `incomplete`, `host`, `switch`), links with labels, and how
    much of each one's rate was used on average in its busier direction."""
    large = len(places) > MAX_NAMES
    figure = Figure(figsize=(11, min(max(3.2, 0.34 * len({place.y for place in places.values()})), 9)), layout="tight")
    FigureCanvasSVG(figure)
    axes = figure.add_subplot()
    axes.axis("off")
    use = {frozenset(ends): share for ends, share in busy}
    segments, colours, widths = [], [], []
    for one, other, label in links:
        share = use.get(frozenset((one, other)))
        ends = [(places[end].x, places[end].y) for end in (one, other)]
        segments.append(ends)
        colours.append("#c4ccd4" if share is None else COLORMAP(0.15 + 0.8 * share))
        widths.append((1.0 + 4.0 * (share or 0.0)) * (0.5 if large else 1))
        if not large:
            middle = sum(x for x, _ in ends) / 2, sum(y for _, y in ends) / 2
            box = {"facecolor": "white", "edgecolor": "none", "pad": 1}
            axes.annotate(label, middle, fontsize=6.5, color="#5b6770", ha="center", va="center", bbox=box)
    axes.add_collection(LineCollection(segments, colors=colours, linewidths=widths, zorder=1))
    for kind, (marker, colour) in _NODES.items():
        found = [place for name, place in places.items() if kinds[name] == kind]
        axes.plot(
            [p.x for p in found], [p.y for p in found], marker, color=colour, markersize=3 if large else 10, zorder=2
        )
    for name, place in places.items():
        if not large or kinds[name] in ("sender", "switch"):
            leaf = kinds[name] not in ("sender", "switch")
            offset, align = ((9, -3), "left") if leaf else ((0, 9), "center")
            axes.annotate(name, (place.x, place.y), offset, textcoords="offset points", fontsize=8, ha=align)
    axes.margins(0.06, 0.08)
    return _svg(figure)


def progress(receivers: Rows, events: Rows) -> str | None:
    """Megabytes that each receiver has acknowledged so far."""
    curves = _by_receiver(receivers, "acked_bytes")
    figure, axes = _figure(f"Progress of {_each('receiver', curves)}", "MB acknowledged")
    for number, (receiver, curve) in enumerate(representatives(curves).items()):
        _plot(axes, [(at, octets / 1e6) for at, octets in curve], receiver, number)
    return _finish(figure, axes, events)


def representatives(curves: Mapping[str, Curve]) -> Mapping[str, Curve]:
    """All of them, or of more than `MAX_CURVES` so many, from the one that ends lowest to the one that ends highest."""
    if len(curves) <= MAX_CURVES:
        return curves
    ranked = sorted(curves, key=lambda name: (curves[name][-1][1] if curves[name] else 0.0, natural(name)))
    chosen = {ranked[round(place * (len(ranked) - 1) / (MAX_CURVES - 1))] for place in range(MAX_CURVES)}
    return {name: curve for name, curve in curves.items() if name in chosen}


def _each(what: str, curves: Mapping[str, Curve]) -> str:
    return f"each {what}" if len(curves) <= MAX_CURVES else f"{MAX_CURVES} of {len(curves)} {what}s"


def _by_receiver(receivers: Rows, column: str) -> dict[str, Curve]:
    """A curve for each receiver of each session; of several sessions the names say which."""
    sessions = group(receivers, "session")
    found = {
        f"{name} (session {session})" if len(sessions) > 1 else str(name): [
            (row["t"], row[column]) for row in rows if row.get(column) is not None
        ]
        for session, of in sessions.items()
        for name, rows in group(of, "receiver").items()
    }
    return {name: curve for name, curve in found.items() if curve}


def rates(curve: Curve) -> list[tuple[float, float]]:
    """Bit/s over the last `_SMOOTHING_S` at each sample of a counter of bytes."""
    found = []
    first = 0
    for at, octets in curve:
        while curve[first][0] < at - _SMOOTHING_S - 1e-3:
            first += 1
        since, before = curve[first]
        if at > since:
            found.append((at, max(octets - before, 0) * 8 / (at - since)))
    return found


def slopes(curve: Curve) -> list[tuple[float, float]]:
    """A counter's growth per second over the last `_SMOOTHING_S` at each sample."""
    return [(at, bps / 8) for at, bps in rates(curve)]


def group(rows: Rows, column: str) -> dict[Any, list[Mapping[str, Any]]]:
    """Rows by the value of a column, in order of it: r10 comes after r9."""
    groups: dict[Any, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[row[column]].append(row)
    return dict(sorted(groups.items(), key=lambda item: natural(str(item[0]))))


def _figure(title: str, unit: str) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(7.2, 3.1), layout="constrained")
    FigureCanvasSVG(figure)
    axes = figure.add_subplot()
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold")
    axes.set_xlabel("seconds", fontsize=9)
    axes.set_ylabel(unit, fontsize=9)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#e4e7eb", linewidth=0.8)
    axes.set_axisbelow(True)
    return figure, axes


def _plot(axes: Axes, curve: Curve, label: str, number: int, style: str = "-") -> None:
    if curve:
        times, values = zip(*curve, strict=True)
        colour = COLOURS[number % len(COLOURS)]
        axes.plot(times, values, style, color=colour, label=label, linewidth=1.3)


def _finish(figure: Figure, axes: Axes, events: Rows, bottom: float = 0.0, top: float | None = None) -> str | None:
    """The picture's SVG element; None when nothing was plotted."""
    if not axes.get_lines() or not axes.get_legend_handles_labels()[0]:
        return None
    for event in events:
        axes.axvline(event["t"], color=_FAULT_COLOUR, linewidth=0.9, linestyle=":")
        axes.annotate(
            f"{event['kind']} {event['subject']}".strip(),
            (event["t"], 1),
            xycoords=("data", "axes fraction"),
            rotation=90,
            va="top",
            ha="right",
            fontsize=6.5,
            color="#5b6770",
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.5},
        )
    axes.set_ylim(bottom=bottom, top=max(axes.get_ylim()[1], 1.0) if top is None else top)
    axes.set_xlim(left=0)
    figure.legend(fontsize=7.5, frameon=False, loc="outside lower left", ncols=8, columnspacing=1.2, handlelength=1.4)
    return _svg(figure)


def _svg(figure: Figure) -> str:
    """Its SVG element, without a date. Afterwards the figure keeps its places whatever is changed in it."""
    if (engine := figure.get_layout_engine()) is not None:
        engine.execute(figure)
        figure.set_layout_engine(None)  # or matplotlib would draw all of it twice, the first time for the layout alone
    output = io.StringIO()
    figure.savefig(output, format="svg", metadata={"Date": None, "Creator": None})
    text = output.getvalue()
    return text[text.index("<svg") :]
