"""`canopy ctl`'s tables, made of what the controller's API answers."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from engine.command.natural import natural

Json = dict[str, Any]

UNKNOWN = "-"
_STATUS_STYLE = {"ready": "green", "done": "green", "sending": "green", "refusing": "red", "failed": "red"}
_EVENT_STYLE = {"join": "green", "leave": "yellow", "expire": "yellow", "refused": "red", "link_down": "red"}


def switches(found: list[Json]) -> Table:
    """The answer to `switches`."""
    table = _table("switch", "address", "status", "since", "entries", "writes", "ports", "dropped", "feedback")
    for switch in found:
        status = _styled(switch["status"])
        if switch["problem"]:
            status = Text.assemble(status, f"\n{switch['problem']}")
        table.add_row(
            switch["name"],
            switch["address"],
            status,
            seconds(switch["connected_s"]),
            str(switch["entries"]),
            str(switch["writes"]),
            " ".join(f"{port}:{peer}" for port, peer in switch["ports"].items()),
            _pairs(switch["drops"]),
            _pairs(switch["feedback"]),
        )
    return table


def narrow_switches(found: list[Json]) -> Group:
    """The same for a terminal in which that does not fit: sentences, which break no address and no name."""
    parts: list[RenderableType] = []
    for switch in found:
        about = (
            "" if switch["connected_s"] is None else f" for {seconds(switch['connected_s'])}"
        ) + f", {switch['entries']} entries, {switch['writes']} writes"
        parts.append(
            Text.assemble((f"{switch['name']} at {switch['address']}: ", "bold"), _styled(switch["status"]), about)
        )
        ports = " ".join(f"{port}:{peer}" for port, peer in switch["ports"].items())
        lines = [switch["problem"], ports and f"ports {ports}"]
        lines += [
            f"{what} {_pairs(switch[name])}"
            for name, what in (("drops", "dropped"), ("feedback", "feedback"))
            if switch[name]
        ]
        parts += [Padding(Text(line), (0, 0, 0, 2), expand=False) for line in lines if line]
    return Group(*parts)


def groups(found: list[Json]) -> Table:
    """The answer to `groups`."""
    table = _table("group", "slot", "kind", "members", "idle", "packets sent")
    for group in found:
        owner = group["owner"]
        kind = "session" if group["pinned"] else f"joined at {owner['switch']}:{owner['port']}" if owner else "adopted"
        table.add_row(
            key(group),
            str(group["slot"]),
            kind,
            " ".join(group["members"]) or UNKNOWN,
            seconds(group["idle_s"]),
            _pairs(group["packets_sent"]),
        )
    return table


def members(found: list[Json]) -> Table:
    """The answer to `members`."""
    table = _table("group", "switch", "port", "neighbour", "member for", "last seen")
    for member in found:
        table.add_row(
            key(member),
            member["switch"],
            str(member["port"]),
            member["peer"] or UNKNOWN,
            seconds(member["age_s"]),
            seconds(member["last_seen_s"]),
        )
    return table


def trees(found: list[Json]) -> Table:
    """The answer to `trees`."""
    table = _table("group", "switch", "upstream", "members")
    for tree in found:
        for number, (switch, ports) in enumerate(tree["switches"].items()):
            table.add_row(
                "" if number else key(tree),
                switch,
                _ports(ports["upstream"]),
                _ports(ports["members"]),
                end_section=number == len(tree["switches"]) - 1,
            )
    return table


def links(found: list[Json]) -> Table:
    """The answer to `links`."""
    table = _table("link", "cost", "state")
    for link in found:
        table.add_row(link["name"], f"{link['cost']:g}", _styled("up" if link["up"] else "down"))
    return table


def sessions(found: Json) -> Group:
    """The answer to `sessions`: one line a session, and below it one line a receiver."""
    overview = _table(
        "session", "protocol", "group", "sender", "state", "rate", "window", "rtt", "limited by", "because"
    )
    for session in found["sessions"]:
        limiting = session.get("limiting")
        overview.add_row(
            str(session["session"]),
            session["protocol"],
            f"{session['group']}:{session['port']}" if session.get("port") else session["group"],
            session.get("source_host") or session.get("source") or UNKNOWN,
            _state(session),
            rate(session.get("rate_bps")),
            number(session.get("cwnd")),
            milliseconds(session.get("rtt_s")),
            _receiver_name(limiting, limiting["receiver"]) if limiting else UNKNOWN,
            escape(_reason(limiting)),
        )
    parts: list[Any] = [overview]
    for session in found["sessions"]:
        if session.get("receivers"):
            parts.append(_receivers(session))
    parts += [Text(f"{problem['file']}: {problem['problem']}", style="red") for problem in found["problems"]]
    return Group(*parts)


def narrow_sessions(found: Json) -> Group:
    """The same for a terminal in which that does not fit: sentences, and of receivers what tells them apart most."""
    parts: list[Any] = []
    for session in found["sessions"]:
        limiting = session.get("limiting")
        group = f"{session['group']}:{session['port']}" if session.get("port") else session["group"]
        sender = session.get("source_host") or session.get("source") or UNKNOWN
        measured = [rate(session.get("rate_bps")), f"window {number(session.get('cwnd'))}"]
        if session.get("rtt_s") is not None:
            measured.append(f"rtt {milliseconds(session['rtt_s'])}")
        head = f"session {session['session']}: {session['protocol']} from {sender} to {group}, "
        parts.append(Text.assemble((head, "bold"), _state(session), f", {', '.join(measured)}"))
        if limiting:
            parts.append(Text(f"limited by {_receiver_name(limiting, limiting['receiver'])}: {_reason(limiting)}"))
        if session.get("receivers"):
            parts.append(_narrow_receivers(session))
    parts += [Text(f"{problem['file']}: {problem['problem']}", style="red") for problem in found["problems"]]
    return Group(*parts)


def event(record: Json) -> Text:
    """One event as one line."""
    clock = time.strftime("%H:%M:%S", time.localtime(record["time"])) + f"{record['time'] % 1:.3f}"[1:]
    fields = " ".join(
        f"{name}={value}" for name, value in record.items() if name not in ("time", "event") and value is not None
    )
    kind = (f"{record['event']:<16}", _EVENT_STYLE.get(record["event"], ""))
    return Text.assemble((clock, "dim"), " ", kind, " ", fields)


# -------------------------------------------------------------------- cells


def key(shown: Json) -> str:
    """`(source, group)`, `(*, group)`."""
    return f"({shown['source'] or '*'}, {shown['group']})"


def seconds(value: float | None) -> str:
    """`3.2 s`, `12 min`."""
    if value is None:
        return UNKNOWN
    return f"{value:.1f} s" if value < 120 else f"{value / 60:.0f} min"


def milliseconds(value: float | None) -> str:
    """Seconds as milliseconds."""
    return UNKNOWN if value is None else f"{value * 1e3:.1f} ms"


def rate(value: float | None) -> str:
    """Bit/s with a decimal prefix."""
    if value is None:
        return UNKNOWN
    for unit, size in (("Gbps", 1e9), ("Mbps", 1e6), ("kbps", 1e3)):
        if value >= size:
            return f"{value / size:.2f} {unit}"
    return f"{value:.0f} bps"


def number(value: float | None) -> str:
    """A count or window."""
    return UNKNOWN if value is None else f"{value:.1f}".removesuffix(".0")


def percent(value: float | None) -> str:
    """A fraction as per cent."""
    return UNKNOWN if value is None else f"{value * 100:.2f} %"


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _styled(status: str) -> Text:
    return Text(status, style=_STATUS_STYLE.get(status, ""))


def _state(session: Json) -> Text:
    text = _styled(session["state"])
    if session.get("stale"):
        text.append(f" (stale: {seconds(session['age_s'])} old)", style="red")
    if session.get("detail"):
        text.append(f"\n{session['detail']}")
    return text


def _reason(limiting: Json | None) -> str:
    """Why a receiver limits the rate, with the number that says so."""
    if not limiting:
        return UNKNOWN
    measured = [
        f"{name} {shown}"
        for name, shown in (
            ("cwnd", number(limiting["cwnd"])),
            ("rtt", milliseconds(limiting["rtt_s"])),
            ("loss", percent(limiting["loss_rate"])),
            ("window", number(limiting["advertised_window"])),
        )
        if shown != UNKNOWN
    ]
    return f"{limiting['reason'] or 'limits'} ({', '.join(measured)})" if measured else limiting["reason"] or ""


def _receivers(session: Json) -> Table:
    table = _table(
        "receiver", "at", "state", "acknowledged", "cwnd", "rtt", "loss", "window", "lost", "repaired", "rate"
    )
    table.title = f"session {session['session']}"
    table.title_justify = "left"
    for address, receiver, is_limiting in _in_order(session):
        acked, done = receiver["acked_bytes"], _done(session, receiver)
        table.add_row(
            _receiver_name(receiver, address),
            _port(receiver),
            receiver["state"] or UNKNOWN,
            UNKNOWN if acked is None else f"{acked} ({done})" if done else str(acked),
            number(receiver["cwnd"]),
            milliseconds(receiver["rtt_s"]),
            percent(receiver["loss_rate"]),
            number(receiver["advertised_window"]),
            number(receiver["lost_packets"]),
            number(receiver["repaired_packets"]),
            rate(receiver["rate_bps"]),
            style="bold" if is_limiting else None,
        )
    return table


def _narrow_receivers(session: Json) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    for column in ("receiver", "at", "state", "acked", "cwnd", "rtt", "loss", "lost", "repairs", "rate"):
        table.add_column(column, overflow="fold", no_wrap=column in ("acked", "rtt", "rate"))
    for address, receiver, is_limiting in _in_order(session):
        table.add_row(
            receiver.get("host") or address,
            _port(receiver),
            receiver["state"] or UNKNOWN,
            _done(session, receiver) or number(receiver["acked_bytes"]),
            number(receiver["cwnd"]),
            milliseconds(receiver["rtt_s"]),
            percent(receiver["loss_rate"]),
            number(receiver["lost_packets"]),
            number(receiver["repaired_packets"]),
            rate(receiver["rate_bps"]),
            style="bold" if is_limiting else None,
        )
    return table


def _in_order(session: Json) -> Iterator[tuple[str, Json, bool]]:
    """Receivers with their addresses: first the one that limits."""
    limiting = (session.get("limiting") or {}).get("receiver")
    ordered = sorted(
        session["receivers"].items(), key=lambda item: (item[0] != limiting, natural(item[1].get("host") or item[0]))
    )
    for address, receiver in ordered:
        yield address, receiver, address == limiting


def _port(receiver: Json) -> str:
    return f"{receiver['switch']}:{receiver['port']}" if "switch" in receiver else UNKNOWN


def _done(session: Json, receiver: Json) -> str:
    """How much of the whole it has acknowledged; empty when either is unknown."""
    acked, total = receiver["acked_bytes"], session.get("total_bytes")
    return f"{acked / total:.0%}" if acked is not None and total else ""


def _receiver_name(receiver: Json, address: str) -> str:
    return f"{receiver['host']} ({address})" if receiver.get("host") else address


def _pairs(counts: Json) -> str:
    return " ".join(f"{name}:{count}" for name, count in counts.items()) or UNKNOWN


def _ports(ports: Iterable[Json]) -> str:
    return " ".join(f"{port['port']}:{port['peer']}" for port in ports) or UNKNOWN
