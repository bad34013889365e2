"""A run folder as the page sees it: a scene, and streams of rows that grow while the run goes on."""

import time
from collections.abc import Callable, Mapping
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

from topologies.plan import make_plan
from topologies.results.paths import paths_from
from topologies.results.run_folder import RunFolder, RunFolderError
from topologies.results.series import SESSION_FIELDS
from topologies.results.summary import MOST_NUMBER, read_summary
from topologies.results.tail import Tail
from topologies.scenario import Scenario, ScenarioError, load_scenario
from topologies.scenario.session import Session
from topologies.web.scene import counters_of_links, directed_links, make_scene
from topologies.web.stream import Row, Stream

Take = Callable[[list[dict[str, Any]]], None]

SESSION_COLUMNS = (*SESSION_FIELDS, "limiting", "limiting_reason")
"""Of sessions.jsonl, in the order of the page's rows."""
RECEIVER_COLUMNS = ("state", "acked_bytes", "rtt_s", "loss_rate", "lost_packets", "repaired_packets", "parent")
"""Of receivers.jsonl."""
LOSS_COLUMNS = ("drop_queue", "drop_red", "drop_aqm", "drop_loss", "drop_mtu")
"""Of ports.jsonl: what a link lost, for whatever reason."""
_PORT_COLUMNS = ("port", "tx_bytes", "tx_packets", "rx_bytes", "rx_packets", "queue_packets", "queue_bytes")
_FLOW_COLUMNS = ("received_bytes", "acked_bytes", "cwnd")
_TEXTS = ("state", "limiting", "limiting_reason", "parent", "kind", "subject", "switch", "receiver", "group", "peer")
"""Columns that are no numbers, of all series."""
_NUMBERS = (*SESSION_COLUMNS, *RECEIVER_COLUMNS, *_PORT_COLUMNS, *LOSS_COLUMNS, *_FLOW_COLUMNS, "session")
_IS_TEXT = dict.fromkeys(_NUMBERS, False) | dict.fromkeys(_TEXTS, True)
"""Column -> whether it is a text, else a number, of all that the page takes from series; null is neither."""


class Run:
    """One run folder, finished or not. RunFolderError when there is no run in it."""

    def __init__(self, path: Path) -> None:
        self.folder = RunFolder(path.absolute())
        try:
            scenario = load_scenario(self.folder.scenario)
        except ScenarioError as error:
            raise RunFolderError(f"{path}: no run folder, or one whose scenario cannot be read: {error}") from None
        plan = make_plan(scenario)
        self.scenario = scenario
        self.scene = make_scene(scenario, plan, self.folder)
        self._counters = counters_of_links(scenario, plan)
        self._links = len(directed_links(scenario))
        self._sessions: Mapping[Any, Session] = {session.id: session for session in scenario.sessions}
        self._paths: dict[str, Mapping[str, list[str]]] = {}
        names = ["ports", "events", "members", "tree", "switches"]
        names += [f"session-{session.id}" for session in scenario.sessions]
        names += [f"receivers-{session.id}" for session in scenario.sessions]
        names += [f"flow-{number}" for number in range(len(scenario.traffic))]
        self.streams = {name: Stream() for name in names}
        self._tails = self._make_tails(scenario)

    def _make_tails(self, scenario: Scenario) -> list[tuple[Tail, Take]]:
        series, logs = self.folder.series, self.folder.logs
        tails: list[tuple[Tail, Take]] = [
            (Tail(series / "ports.jsonl"), self._take_ports),
            (Tail(series / "sessions.jsonl"), self._take_sessions),
            (Tail(series / "receivers.jsonl"), self._take_receivers),
            (Tail(series / "events.jsonl"), self._taker("events", "kind", "subject")),
            (Tail(series / "members.jsonl"), self._take_members),
            (Tail(series / "switches.jsonl"), self._taker("switches", "switch", "feedback")),
            (Tail(logs / "controller-events.jsonl"), self._take_tree),
        ]
        for number, flow in enumerate(scenario.traffic):
            sink = flow.kind != "tcp"
            octets = "received_bytes" if sink else "acked_bytes"
            tails.append(
                (Tail(self.folder.flow_trace(number, sink=sink)), self._taker(f"flow-{number}", octets, "cwnd"))
            )
        return tails

    def read(self) -> bool:
        """Take in what has been written since; whether something was."""
        found = False
        for tail, take in self._tails:
            rows = [row for row in tail.take() if is_sound(row)]
            if rows:
                found = True
                take(rows)
        return found

    def summary(self) -> dict[str, Any] | None:
        """`summary.json`; None while there is none."""
        try:
            return read_summary(self.folder)
        except RunFolderError:
            return None

    def silent_s(self) -> float:
        """How long nothing has been written to its series, seconds."""
        newest = 0.0
        for path in self.folder.series.glob("*.jsonl"):
            try:
                newest = max(newest, path.stat().st_mtime)
            except OSError:
                continue
        return max(time.time() - newest, 0.0) if newest else 0.0

    def since(self, have: Mapping[str, tuple[int, int]]) -> dict[str, Any]:
        """Rows that a page lacks; `have` is generation and number of rows of each stream."""
        answer: dict[str, Any] = {}
        for name, stream in self.streams.items():
            generation, count = have.get(name, (0, 0))
            start = count if generation == stream.generation else 0
            if start < len(stream.rows) or generation != stream.generation:
                answer[name] = {"generation": stream.generation, "start": start, "rows": stream.rows[start:]}
        return answer

    # --- rows of files to rows of streams

    def _add(self, stream: str, row: Row) -> None:
        found = self.streams.get(stream)
        if found is not None:
            found.add(row)

    def _taker(self, stream: str, *columns: str) -> Take:
        def take(rows: list[dict[str, Any]]) -> None:
            for row in rows:
                self._add(stream, [_time(row), *(row.get(column) for column in columns)])

        return take

    def _take_ports(self, rows: list[dict[str, Any]]) -> None:
        """One row of the stream for each moment: by number of link, bytes so far, packets and bytes waiting, losses and
        packets so far."""
        for at, ports in groupby(rows, key=_time):
            octets, packets, waiting, waiting_bytes, losses = ([0] * self._links for _ in range(5))
            for port in ports:
                known = self._counters.get((port.get("switch", ""), port.get("port", 0)))
                if known is not None:
                    out, into = known
                    octets[out] = port.get("tx_bytes") or 0
                    packets[out] = port.get("tx_packets") or 0
                    waiting[out] = port.get("queue_packets") or 0
                    waiting_bytes[out] = port.get("queue_bytes") or 0
                    losses[out] = sum(port.get(column) or 0 for column in LOSS_COLUMNS)
                    if into is None:
                        continue
                    octets[into] = port.get("rx_bytes") or 0
                    packets[into] = port.get("rx_packets") or 0
            self._add("ports", [at, octets, waiting, waiting_bytes, losses, packets])

    def _take_sessions(self, rows: list[dict[str, Any]]) -> None:
        for row in rows:
            self._add(f"session-{row.get('session')}", [_time(row), *(row.get(column) for column in SESSION_COLUMNS)])

    def _take_receivers(self, rows: list[dict[str, Any]]) -> None:
        """One row of the stream for each status: receiver -> its columns."""
        for (at, session), group in groupby(rows, key=lambda row: (_time(row), row.get("session"))):
            said = {str(row.get("receiver")): [row.get(column) for column in RECEIVER_COLUMNS] for row in group}
            self._add(f"receivers-{session}", [at, said])

    def _take_members(self, rows: list[dict[str, Any]]) -> None:
        self._taker("members", "kind", "session", "receiver")(rows)
        if self.scenario.switches:
            return
        for row in rows:  # plain routers have no controller that tells of trees
            session = self._sessions.get(row.get("session"))
            if session is None:
                continue
            if session.sender not in self._paths:
                self._paths[session.sender] = paths_from(self.scenario.links, session.sender)
            path = self._paths[session.sender].get(str(row.get("receiver")), [])[1:]
            joins = row.get("kind") == "join"
            for one, other in pairwise(path if joins else path[-2:]):
                self._add("tree", [_time(row), "join" if joins else "leave", str(session.group), one, other])

    def _take_tree(self, rows: list[dict[str, Any]]) -> None:
        """Joins and leaves at switches, of the controller's events."""
        for row in rows:
            if row.get("event") in ("join", "leave", "expire"):
                kind = "join" if row["event"] == "join" else "leave"
                group = str(row.get("group", "")).rpartition(" ")[2].strip("()")
                self._add("tree", [_time(row), kind, group, row.get("switch"), row.get("peer")])


def is_sound(row: Mapping[str, Any]) -> bool:
    """Whether it has a time, and what the page takes of it is of the right kind: others may have written the file."""
    if not _is_number(_time(row)):
        return False
    for name, value in row.items():
        is_text = _IS_TEXT.get(name)
        if is_text is not None and value is not None and not (isinstance(value, str) if is_text else _is_number(value)):
            return False
    feedback = row.get("feedback", {})
    return isinstance(feedback, dict) and all(map(_is_number, feedback.values()))


def _time(row: Mapping[str, Any]) -> Any:
    """Of a series' row, or of a line of the controller's log."""
    return row.get("t", row.get("time"))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and abs(value) < MOST_NUMBER
