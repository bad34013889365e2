"""The end of a run: `summary.json`, and `report.html`, one page with nothing to load, made from the other files."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hosts import protocols
from hosts.endpoint import Address
from topologies.plan import Plan, make_plan
from topologies.results.layout import lay_out
from topologies.results.run_folder import RunFolder, RunFolderError, each_row, read_series
from topologies.results.summary import FAILED_STATES, Summary, what_counts
from topologies.scenario import Scenario, load_scenario
from topologies.scenario.network import (
    QUEUE_NAMES,
    AnyQueue,
    Codel,
    DirectedLink,
    DropTail,
    FqCodel,
    GilbertElliott,
    Link,
    Red,
)
from topologies.scenario.quantity import format_duration, format_measured_rate, format_rate, format_size
from topologies.scenario.session import Session


def write_results(folder: RunFolder, summary: Summary, *, report: bool = True) -> None:
    """Write the summary and, unless nobody will read it, the report. RunFolderError."""
    try:
        folder.summary.write_text(json.dumps(summary.as_json(), indent=2) + "\n", encoding="utf-8")
        if report:
            write_report(folder)
    except OSError as error:
        raise RunFolderError(f"{error.filename or folder.path}: {error.strerror or error}") from None


def write_report(folder: RunFolder) -> None:
    """Make the report of a run folder that has its summary and series. OSError when it cannot be written."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # many runs have no report

    scenario = load_scenario(folder.scenario)
    summary = json.loads(folder.summary.read_text(encoding="utf-8"))
    plan = make_plan(scenario)
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.filters.update(octets=format_size, rate=_rate, measured=_measured, seconds=_seconds, blank=_blank)
    page = environment.get_template("report.html.j2").render(
        summary=summary,
        description=scenario.description,
        verdict=_verdict(summary),
        cards=_cards(summary),
        topology=_topology(folder, scenario, plan, summary),
        plots=_plots(folder, scenario, plan, summary),
        parameters={session.id: _parameters(session) for session in scenario.sessions},
        failed=[session["id"] for session in summary["sessions"] if session["state"] in FAILED_STATES],
        members=[row for row in read_series(folder.series / "members.jsonl") if row["t"] > 0 or row["kind"] != "join"],
        links=[row for link in scenario.links for row in _link_rows(link)],
        events=read_series(folder.series / "events.jsonl"),
    )
    folder.report.write_text(page, encoding="utf-8")


def _topology(folder: RunFolder, scenario: Scenario, plan: Plan, summary: dict[str, Any]) -> str:
    from topologies.results import plots

    kinds = {name: "host" if name in plan.hosts else "switch" for name in scenario.nodes}
    receivers = [receiver for session in summary["sessions"] for receiver in session["receivers"]]
    kinds |= {receiver["host"]: "receiver" for receiver in receivers if receiver["complete"]}
    kinds |= {receiver["host"]: "incomplete" for receiver in _expected(summary) if not receiver["complete"]}
    kinds |= {session.sender: "sender" for session in scenario.sessions}
    last = {(row["switch"], row["neighbour"]): row for row in each_row(folder.series / "ports.jsonl")}
    busy, duration_s = [], summary["duration_s"]
    for link in scenario.links:
        shares = []
        for end in link.between:
            directed = link.direction(end)
            switch, port = plan.port_towards(directed.source, directed.destination)
            row = last.get((switch.name, port.neighbour), {})
            octets = row.get("tx_bytes" if directed.source == switch.name else "rx_bytes")
            if octets is not None and directed.rate_bps and duration_s > 0:
                shares.append(min(octets * 8 / duration_s / directed.rate_bps, 1.0))
        if shares:
            busy.append((link.between, max(shares)))
    root = scenario.sessions[0].sender if scenario.sessions else None
    return plots.topology(
        lay_out(list(scenario.nodes), [link.between for link in scenario.links], root),
        [(*link.between, "" if link.rate is None else format_rate(link.rate)) for link in scenario.links],
        kinds,
        busy,
    )


def _parameters(session: Session) -> list[tuple[str, Any, bool]]:
    """Name, value, and whether it is not the protocol's default."""
    protocol = protocols.get(session.protocol)
    told = session.member_parameters(session.sender, lambda host: Address("0.0.0.0", 0))
    options = asdict(protocol.parse_options(told))
    usual = asdict(protocol.parse_options({}))
    return sorted(((name, value, value != usual[name]) for name, value in options.items()), key=lambda row: not row[2])


def _plots(folder: RunFolder, scenario: Scenario, plan: Plan, summary: dict[str, Any]) -> list[str]:
    from topologies.results import plots  # Matplotlib takes a second to load, which no run waits for

    sessions, receivers, events = (
        read_series(folder.series / f"{name}.jsonl") for name in ("sessions", "receivers", "events")
    )
    senders = {
        f"session {session.id}": _since_epoch(
            read_series(folder.series / f"session-{session.id}-sender.jsonl"), summary["epoch"]
        )
        for session in scenario.sessions
    }
    flows = {
        f"TCP {flow.source} to {flow.destination}": read_series(folder.series / f"flow-{number}.jsonl")
        for number, flow in enumerate(scenario.traffic)
        if flow.kind == "tcp"
    }
    hosts = [receiver.host for session in scenario.sessions for receiver in session.receivers]
    hosts += [flow.destination for flow in scenario.traffic]
    queues = []
    for bottleneck in summary["bottlenecks"]:
        switch, port = plan.port_towards(bottleneck["source"], bottleneck["destination"])
        queues.append((switch.name, port.number, f"{bottleneck['source']} to {bottleneck['destination']}"))
    drawn = {place[:2] for place in queues}
    ports = [
        row
        for row in each_row(folder.series / "ports.jsonl")
        if row["neighbour"] in hosts or (row["switch"], row["port"]) in drawn
    ]
    limit = min((bottleneck["rate_bps"] for bottleneck in summary["bottlenecks"]), default=None)
    pictures = [
        plots.throughput(ports, list(dict.fromkeys(hosts)), events, limit),
        plots.progress(receivers, events),
        plots.window({**senders, **flows}, events),
        plots.sender_rate(senders, events),
        plots.queue(ports, list(dict.fromkeys(queues)), events),
        plots.losses(receivers, sessions, events),
        plots.feedback(sessions, read_series(folder.series / "switches.jsonl"), events),
        plots.limiting(sessions, events),
    ]
    return [picture for picture in pictures if picture is not None]


def _since_epoch(trace: list[dict[str, Any]], epoch: float) -> list[dict[str, Any]]:
    """The rows of an agent's trace (docs/trace.md) with `t` counted from the run's epoch."""
    origin = next((row["started_at"] - epoch for row in trace if "started_at" in row), 0.0)
    return [{**row, "t": row["t"] + origin} for row in trace if "t" in row]


def _verdict(summary: dict[str, Any]) -> str:
    failed = [str(session["id"]) for session in summary["sessions"] if session["state"] in FAILED_STATES]
    return _received(summary) + (f"; session {', '.join(failed)} failed" if failed else "")


def _received(summary: dict[str, Any]) -> str:
    expected = _expected(summary)
    complete = sum(receiver["complete"] for receiver in expected)
    if not expected:
        return "no receivers were expected"
    what = what_counts(session["sha256"] for session in summary["sessions"])
    if complete == len(expected):
        return f"all {complete} receivers {what}"
    return f"{complete} of {len(expected)} receivers {what}"


def _expected(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """Of all sessions the receivers that were to have it all."""
    receivers = [receiver for session in summary["sessions"] for receiver in session["receivers"]]
    return [receiver for receiver in receivers if receiver["expected"]]


def _cards(summary: dict[str, Any]) -> list[dict[str, str]]:
    cards = []
    utilisation = summary["bottleneck_utilisation"]
    if utilisation is not None:
        cards.append({"value": f"{utilisation:.1%}", "label": "bottleneck used, after start-up"})
    for session in summary["sessions"]:
        of = f" (session {session['id']})" if len(summary["sessions"]) > 1 else ""
        goodputs = [r["goodput_bps"] for r in session["receivers"] if r["goodput_bps"] is not None]
        if goodputs:
            cards.append({"value": format_measured_rate(min(goodputs)), "label": f"lowest goodput{of}"})
            cards.append({"value": format_measured_rate(max(goodputs)), "label": f"highest goodput{of}"})
        if session["feedback_packets"] is not None:
            cards.append({"value": str(session["feedback_packets"]), "label": f"feedback packets at the sender{of}"})
        if session["repair_packets"] is not None:
            cards.append({"value": str(session["repair_packets"]), "label": f"repairs sent{of}"})
    return cards


def _link_rows(link: Link) -> list[dict[str, Any]]:
    """One row for both directions when they are alike."""
    there, back = (_link_row(link.direction(end), "→") for end in reversed(link.between))
    if {**there, "name": ""} == {**back, "name": ""}:
        return [_link_row(link.direction(link.between[1]), "↔")]
    return [there, back]


def _link_row(link: DirectedLink, arrow: str) -> dict[str, Any]:
    return {
        "name": f"{link.source} {arrow} {link.destination}",
        "rate_bps": link.rate_bps,
        "delay": format_duration(link.delay_s),
        "queue": _queue(link.queue),
        "loss": _loss(link.loss),
    }


def _loss(loss: float | GilbertElliott) -> str:
    if isinstance(loss, GilbertElliott):
        return (
            f"bursts: {loss.good:.3g} and {loss.bad:.3g}, changing with {loss.good_to_bad:.3g}, {loss.bad_to_good:.3g}"
        )
    return f"{100 * loss:.3g} %" if loss else ""


def _queue(queue: AnyQueue) -> str:
    limit = format_size(queue.bytes) if queue.bytes is not None else f"{queue.packets} packets"
    name = QUEUE_NAMES[queue.kind]
    if isinstance(queue, DropTail):
        return f"{name}, {limit}"
    if isinstance(queue, Red):
        return f"{name} {queue.min_threshold:g} to {queue.max_threshold:g}, {limit}"
    within = f" in {format_duration(queue.interval)}" if isinstance(queue, Codel | FqCodel) else ""
    return f"{name} {format_duration(queue.target)}{within}, {limit}"


def _rate(bps: float | None) -> str:
    return "" if bps is None else format_rate(bps)


def _measured(bps: float | None) -> str:
    return "" if bps is None else format_measured_rate(bps)


def _seconds(seconds: float) -> str:
    return f"{seconds:.2f} s"


def _blank(value: object) -> str:
    return "" if value is None else str(value)
