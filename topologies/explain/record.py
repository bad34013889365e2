"""Runs a simulated run once more, with every switch's trace on, and keeps what each did with each packet.

The same scenario and seed give the same run, so nothing need be kept while a run goes on for the first time."""

import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from topologies.explain.store import INGRESS, ExplainError, Store
from topologies.results.run_folder import RunFolder

if TYPE_CHECKING:
    from canopy_engine import Switch

    from topologies.agenda import Agenda
    from topologies.scenario import Scenario
    from topologies.scenario.session import Session
    from topologies.simulation.control import ControlPlane

FILE_NAME = "packets.sqlite"
"""In the run folder."""
INTERVAL_S = 0.05
"""Of virtual time, between two collections: some MB of lines of a switch of 10 Mbps."""
WAITING_LINES = 1_000_000
"""That a switch keeps until they are collected; packets beyond are not traced."""
MOST_ACCOUNTS = 1_000_000
"""A file of about 150 MB. The quickstart has 150,000."""
_SERIES = "ports.jsonl"


def recorded(folder: RunFolder, summary: Mapping[str, Any] | None, tell: Callable[[float], None]) -> Store:
    """The accounts of a finished run, made first if they are not there. `tell` hears the share that is done, 0..1.
    ExplainError."""
    path = folder.path / FILE_NAME
    if not path.exists():
        check(summary)
        assert summary is not None
        handle, name = tempfile.mkstemp(prefix=f".{FILE_NAME}.", dir=folder.path)
        os.close(handle)
        try:
            _record(folder, summary, Path(name), tell)
            os.replace(name, path)
        finally:
            Path(name).unlink(missing_ok=True)
    return Store(path)


def check(summary: Mapping[str, Any] | None) -> None:
    """ExplainError when a run, by its summary, has no packets to be explained."""
    if summary is None:
        raise ExplainError("the run has no summary.json yet; packets are explained when it is over")
    if summary["switch"] == "router":
        raise ExplainError("its network has plain routers, which run no P4 program")
    if summary["switch"] != "simulated":
        raise ExplainError("it was emulated, in real time; only a simulated run can be played again: canopy simulate")


def _record(folder: RunFolder, summary: Mapping[str, Any], path: Path, tell: Callable[[float], None]) -> None:
    from topologies.explain.wiring import wiring_of  # an answer from the file needs none of these: a second's work
    from topologies.plan import make_plan
    from topologies.results.summary import INTERRUPTED
    from topologies.scenario import load_scenario
    from topologies.simulation.kinds import kind_of, write_program
    from topologies.simulation.runner import FAILURES, SimulationOptions, simulate_scenario

    scenario = _as_it_was(load_scenario(folder.scenario, purpose="simulate"), summary)
    store = Store(path)
    store.create()
    duration = float(summary["duration_s"])
    recorder = _Recorder(store, duration, tell, kind_of)
    with tempfile.TemporaryDirectory(prefix="canopy-explain-") as again:
        program = Path(again) / "program"
        program.mkdir()
        write_program(program)
        options = SimulationOptions(
            folder.scenario,
            out=Path(again) / "run",
            until=duration + 1.0,
            report=False,
            on_control=recorder.begin,
            program=program,
        )
        try:
            ended = simulate_scenario(scenario, options).outcome
        except FAILURES as error:
            raise ExplainError(f"the run cannot be played again: {error}") from None
        if ended == INTERRUPTED:
            raise ExplainError("interrupted while the run was played again")
        recorder.collect(duration)
        same = _begins_alike(folder.series / _SERIES, Path(again) / "run" / "series" / _SERIES)
    facts = [
        ("same", "yes" if same else "no"),
        ("complete", "no" if recorder.is_full else "yes"),
        ("wiring", wiring_of(scenario, make_plan(scenario)).as_json()),
        ("outcomes", json.dumps(recorder.outcomes)),
    ]
    store.finish(facts)
    store.close()


def _as_it_was(scenario: "Scenario", summary: Mapping[str, Any]) -> "Scenario":
    """With the seed and the files that the run had, whatever its command line said."""
    files = {result["id"]: result["file"] for result in summary["sessions"]}

    def session_as_it_was(session: "Session") -> "Session":
        file = files.get(session.id, session.file)
        if not session.has_file or file is None or (session.file is None and not Path(file).is_file()):
            return session  # what was made from the seed is made again
        return session.model_copy(update={"file": file, "size": None})

    sessions = [session_as_it_was(session) for session in scenario.sessions]
    return scenario.model_copy(update={"seed": summary["seed"], "sessions": sessions})


def _begins_alike(one: Path, other: Path) -> bool:
    """Whether two files are the same as far as the shorter goes, but for the rows of the very end."""
    try:
        first, second = one.read_bytes(), other.read_bytes()
    except OSError:
        return False
    length = int(min(len(first), len(second)) * 0.9)
    return first[:length] == second[:length]


class _Recorder:
    """Collects the switches' traces while a simulation runs."""

    def __init__(
        self, store: Store, duration: float, tell: Callable[[float], None], kind_of: Callable[[Sequence[str]], str]
    ) -> None:
        """`kind_of`: what a packet is, by the states of the parser that it made."""
        self._store = store
        self._duration = duration
        self._tell = tell
        self._kind_of = kind_of
        self.outcomes: list[str] = []
        """The cells of the switches' counter of feedback, by name."""
        self._accounts = 0
        self._switches: Mapping[str, Switch] = {}
        self._came: dict[tuple[str, int], tuple[int, int, str]] = {}

    @property
    def is_full(self) -> bool:
        """Whether it has taken all that it takes."""
        return self._accounts >= MOST_ACCOUNTS

    def begin(self, agenda: "Agenda", control: "ControlPlane") -> None:
        """Trace its switches from now on."""
        switches = self._switches = control.data_planes
        self.outcomes = list(next(iter(control.feedback_outcomes().values()), {}))
        for switch in switches.values():
            switch.set_trace(WAITING_LINES)
        agenda.every(INTERVAL_S, self.collect, start=INTERVAL_S)

    def collect(self, now: float) -> None:
        """Take what has been traced since."""
        for name, switch in self._switches.items():
            if self.is_full:
                switch.set_trace(0)
            elif lines := switch.take_trace(WAITING_LINES):
                self._keep(name, lines)
        self._tell(min(now / self._duration, 1.0) if self._duration > 0 else 1.0)

    def _keep(self, switch: str, lines: list[str]) -> None:
        """Lines look like `[0.990587] [507>3] text`; the number in the second bracket is the packet's."""
        grouped: dict[str, list[str]] = {}
        times: dict[str, str] = {}
        for line in lines:
            time, _, rest = line.partition("] [")
            key, _, text = rest.partition("] ")
            found = grouped.get(key)
            if found is None:
                grouped[key], times[key] = [text], time
            else:
                found.append(text)
        parts, rows, start = [], [], 0
        for key, texts in grouped.items():
            number, _, out = key.partition(">")
            if not number.isdigit():
                continue  # "packets were not traced"
            text = "\n".join(texts) + "\n"
            parts.append(text)
            us = int(times[key][1:].replace(".", ""))
            came, size, kind = self._identify(switch, int(number), out, texts)
            rows.append((switch, int(number), int(out or INGRESS), us, came, size, kind, start, len(text)))
            start += len(text)
        self._accounts += len(rows)
        self._store.add("".join(parts), rows)

    def _identify(self, switch: str, number: int, out: str, texts: list[str]) -> tuple[int, int, str]:
        """By which port it came, its size, and what the parser knew it for."""
        if not out:
            size, port = 0, 0
            states = []
            for text in texts:
                if text.startswith("Processing packet of ") and not size:
                    words = text.split()
                    size, port = int(words[3]), int(words[-1])
                elif text.startswith("Parser entering state"):
                    states.append(text.split("'")[1])
                elif text.startswith("Pipeline"):
                    break
            kind = self._kind_of(states)
            self._came[switch, number] = (port, size, kind)
            if len(self._came) > MOST_ACCOUNTS:
                del self._came[next(iter(self._came))]
            return port, size, kind
        port, _, kind = self._came.get((switch, number), (0, 0, ""))
        sent = texts[-1].split() if texts[-1].startswith("Transmitting") else []
        return port, int(sent[4]) if sent else 0, kind
