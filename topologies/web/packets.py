"""The packets of a run on its page: a process of its own plays the run again, then answers are at hand."""

import re
import sqlite3
import subprocess
import threading
from typing import Any

from engine.command.programs import module_command
from topologies.explain.journey import Explainer
from topologies.explain.record import FILE_NAME, check
from topologies.explain.show import journey_json, list_json
from topologies.explain.store import ExplainError, Store
from topologies.web.run import Run

SHOWN = 14
"""Packets in a list."""
UNASKED_PACKETS = 200_000
"""A run with no more packets on its links is played again when somebody asks for packets at all, else at a click: the
quickstart has 70,000, which take some seconds."""
_SHARE = re.compile(r"playing the run again: (\d+) %")


class Packets:
    """Answers of one run. Each is {state: "ready", ..}, {state: "recording", share} or {state: "none", why}."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._explainer: Explainer | None = None
        self._process: subprocess.Popen[str] | None = None
        self._share = 0.0
        self._words = ""

    def list(self, switch: str | None, at_s: float, towards: str | None) -> dict[str, Any]:
        """Packets that came to a switch from a time on, or left it for a neighbour. Without a switch: only the state,
        and a small run begins to be played again."""
        state = self._prepare(begin=switch is not None or self._is_small())
        if self._explainer is None or switch is None:
            return state
        try:
            found = list_json(self._explainer.packets(switch, at_s, towards, SHOWN))
        except ExplainError as error:
            return {"state": "none", "why": str(error)}
        return {**state, "packets": found}

    def journey(self, name: str) -> dict[str, Any]:
        """A packet's way."""
        state = self._prepare(begin=True)
        if self._explainer is None:
            return state
        try:
            return {**state, "stops": journey_json(self._explainer.journey(name))}
        except ExplainError as error:
            return {"state": "none", "why": str(error)}

    def close(self) -> None:
        """End what goes on."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def _prepare(self, *, begin: bool) -> dict[str, Any]:
        if self._explainer is None and (self._run.folder.path / FILE_NAME).exists():
            try:
                self._explainer = Explainer(Store(self._run.folder.path / FILE_NAME))
            except (ExplainError, sqlite3.Error) as error:
                return {"state": "none", "why": str(error)}
        if self._explainer is not None:
            return {"state": "ready"}
        try:
            check(self._run.summary())
        except ExplainError as error:
            return {"state": "none", "why": str(error)}
        if self._process is None and begin:
            arguments = (str(self._run.folder.path), "--record")
            command = ["nice", "-n", "10", *module_command("topologies.explain.command", *arguments)]
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
            )
            threading.Thread(target=self._listen, args=(self._process,), daemon=True).start()
        if self._process is not None and self._process.poll() not in (None, 0):
            return {"state": "none", "why": self._words}
        return {"state": "recording", "share": self._share}

    def _listen(self, process: "subprocess.Popen[str]") -> None:
        for line in process.stderr or ():
            if match := _SHARE.match(line):
                self._share = int(match[1]) / 100
            else:
                self._words = line.strip()

    def _is_small(self) -> bool:
        rows = self._run.streams["ports"].rows
        return bool(rows) and sum(rows[-1][5]) <= UNASKED_PACKETS
