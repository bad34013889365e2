"""Runs `canopy emulate` and `canopy exec` as a user does, as processes, with a state root of their own."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.waiting import wait_for

CANOPY = (sys.executable, "-m", "topologies.cli")
START_LIMIT_S = 60.0
END_LIMIT_S = 90.0

TWO_SWITCHES = """\
name: {name}
duration: 60 s
nodes:
  s1: {{kind: p4}}
  s2: {{kind: p4}}
  sender: {{kind: host}}
  r1: {{kind: host}}
  r2: {{kind: host}}
links:
  - {{between: [sender, s1], rate: 100 Mbps}}
  - {{between: [s1, s2], rate: {rate}, delay: 2 ms, queue: {{kind: droptail, packets: 100}}}}
  - {{between: [s2, r1], rate: 100 Mbps}}
  - {{between: [s2, r2], rate: 100 Mbps, delay: 3 ms}}
"""
"""The network; a test adds its sessions."""


def session(size: str, drop_after: str = "20 s") -> str:
    """One session from `sender` to both receivers."""
    return (
        "sessions:\n"
        f"  - {{id: 1, protocol: mtcp, sender: sender, group: 232.1.0.1, port: 5001, size: {size}, "
        f"slow_receivers: {{drop_after: {drop_after}}}, receivers: [r1, r2]}}\n"
    )


class Run:
    """One `canopy emulate` process."""

    def __init__(self, scenario: Path, folder: Path, state_root: Path, *options: str, report: bool = False) -> None:
        self.folder = folder
        self.state_root = state_root
        self.environment = {**os.environ, "CANOPY_STATE_ROOT": str(state_root)}
        self.log = folder.with_suffix(".log")
        self.output = folder.with_suffix(".json")
        drawn = "--report" if report else "--no-report"
        with self.log.open("wb") as errors, self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [*CANOPY, "emulate", str(scenario), "--json", "--out", str(folder), drawn, *options],
                stdout=output,
                stderr=errors,
                env=self.environment,
                start_new_session=True,
            )

    @property
    def state(self) -> Path | None:
        """Its state directory, if there is one."""
        found = list(self.state_root.glob(f"*-{self.process.pid}"))
        return found[0] if found else None

    def record(self) -> dict[str, Any]:
        """What its `emulation.json` says; nothing as long as the network is not up."""
        try:
            assert self.state is not None
            record = json.loads((self.state / "emulation.json").read_text())
        except (AssertionError, OSError, ValueError):
            return {}
        return record if record["nodes"] else {}

    def wait_until_up(self) -> None:
        """Wait until `canopy exec` works."""
        wait_for(lambda: bool(self.record()) or self.process.poll() is not None, "the network is up")
        assert self.process.poll() is None, self.said()

    def wait_until_sent(self, octets: int) -> None:
        """Wait until session 1's sender has sent so much."""

        def sent() -> int:
            try:
                assert self.state is not None
                status = json.loads((self.state / "sessions" / "1.json").read_text())
            except (AssertionError, OSError, ValueError):
                return 0
            return int(status["sent_bytes"])

        wait_for(lambda: sent() >= octets or self.process.poll() is not None, f"{octets} bytes are sent")
        assert self.process.poll() is None, self.said()

    def execute(self, node: str, *command: str, timeout_s: float = 30.0) -> subprocess.CompletedProcess[str]:
        """`canopy exec NODE -- COMMAND`."""
        return subprocess.run(
            self._exec(node, command),
            capture_output=True,
            text=True,
            env=self.environment,
            timeout=timeout_s,
            check=False,
        )

    def start(self, node: str, *command: str) -> subprocess.Popen[str]:
        """`canopy exec NODE -- COMMAND` in the background, its output to be read."""
        return subprocess.Popen(
            self._exec(node, command),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=self.environment,
            bufsize=1,
        )

    def processes(self) -> dict[int, str]:
        """The processes that carry this emulation's mark: pid -> command line."""
        mark = b"CANOPY_EMULATION="
        own = str(self.process.pid).encode()
        found = {}
        for entry in Path("/proc").iterdir():
            try:
                environment = (entry / "environ").read_bytes().split(b"\0") if entry.name.isdigit() else []
                if any(word.startswith(mark) and word.endswith(b"-" + own) for word in environment):
                    found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
        return found

    def pid_of(self, *words: str) -> int:
        """The one process of this emulation whose command line has all the words."""
        found = [pid for pid, line in self.processes().items() if all(word in line for word in words)]
        assert len(found) == 1, f"{words}: {found}"
        return found[0]

    def interrupt(self) -> int:
        """Ctrl-C; its exit status."""
        self.process.send_signal(signal.SIGINT)
        return self.wait()

    def wait(self) -> int:
        """Wait for its end; its exit status."""
        return self.process.wait(END_LIMIT_S)

    def summary(self) -> dict[str, Any]:
        """What it printed."""
        summary: dict[str, Any] = json.loads(self.output.read_text())
        return summary

    def said(self) -> str:
        """What it said on standard error."""
        return self.log.read_text()

    def end(self) -> None:
        """Be sure that it is over, whatever the test made of it."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def _exec(self, node: str, command: Sequence[str]) -> list[str]:
        name = "" if self.state is None else self.state.name
        return [*CANOPY, "exec", "--run", name, node, "--", *command]
