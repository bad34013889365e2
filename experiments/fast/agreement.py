"""Whether a compiled copy of `hosts/` computes what its sources do: one short simulation of each kind of session, both
ways, compared octet by octet."""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from engine.command.programs import module_command
from hosts import compiled

_RECEIVERS: Final = ("r1", "r2", "r3", "r4")
_FILE: Final = {"size": "1 MB"}
_REALTIME: Final[Mapping[str, Any]] = {
    "realtime": True,
    "receivers": ["r1", {"host": "r2", "leave": "40 s"}, "r3", {"host": "r4", "join": "5 s"}],
}
_WAVES: Final = {"session_rate_bps": 3e6}
SESSIONS: Final[Mapping[str, Mapping[str, Any]]] = {
    "mtcp": {"protocol": "mtcp", "group": "232.1.0.1", "tree": {"sender": ["r1", "r3"], "r1": ["r2", "r4"]}, **_FILE},
    "tfmcc": {"protocol": "tfmcc", "group": "232.2.0.1", **_REALTIME},
    "tfmcc, a file": {"protocol": "tfmcc", "group": "232.2.0.1", **_FILE},
    "rla": {"protocol": "rla", "group": "232.4.0.1", **_FILE},
    "webrc": {"protocol": "webrc", "group": "232.6.0.0", "parameters": _WAVES, **_REALTIME},
    "webrc, a file": {"protocol": "webrc", "group": "232.6.0.0", "parameters": _WAVES, "size": "200 kB"},
    "vlmcc": {"protocol": "vlmcc", "group": "232.5.0.1", **_REALTIME},
    "arbor": {"protocol": "arbor", "group": "232.7.0.1", **_REALTIME},
}
"""What is simulated, by a name for people."""


class AgreementError(Exception):
    """Simulations differ, or one could not be run."""


def scenario(session: Mapping[str, Any]) -> dict[str, Any]:
    """A sender and four receivers behind 2 Mbps with a TCP; one loses packets; in real time
    one joins late and one leaves."""
    queue = {"kind": "droptail", "packets": 20}
    nodes: dict[str, Any] = {name: {"kind": "p4"} for name in ("s1", "s2")}
    nodes |= {name: {"kind": "host"} for name in ("sender", "peer", *_RECEIVERS)}
    return {
        "name": "agreement",
        "duration": "60 s",
        "nodes": nodes,
        "links": [
            {"between": ["sender", "s1"], "rate": "100 Mbps", "delay": "1 ms"},
            {"between": ["s1", "s2"], "rate": "2 Mbps", "delay": "10 ms", "queue": queue},
            {"between": ["s2", "peer"], "rate": "100 Mbps", "delay": "1 ms"},
            {"between": ["s2", "r1"], "rate": "100 Mbps", "delay": "1 ms"},
            {"between": ["s2", "r2"], "rate": "100 Mbps", "delay": "5 ms", "toward": {"r2": {"loss": "2 %"}}},
            {"between": ["s2", "r3"], "rate": "1 Mbps", "delay": "20 ms", "queue": queue},
            {"between": ["s2", "r4"], "rate": "100 Mbps", "delay": "1 ms"},
        ],
        "sessions": [
            {
                "id": 1,
                "sender": "sender",
                "port": 5000,
                "receivers": list(_RECEIVERS),
                **session,
            }
        ],
        "traffic": [{"kind": "tcp", "source": "sender", "destination": "peer", "start": "2 s", "stop": "12 s"}],
    }


def compare(copy: Path, sessions: Iterable[str] = SESSIONS) -> None:
    """Simulate these sessions with the copy and with the sources. AgreementError names what differs."""
    if compiled.judge(copy, compiled.SOURCES) is not compiled.Standing.FITS:
        raise AgreementError("hosts/ has changed meanwhile")  # both runs would be the sources'
    for name in sessions:
        with tempfile.TemporaryDirectory(prefix="canopy-fast-") as scratch:
            path = Path(scratch) / "scenario.yaml"
            path.write_text(yaml.safe_dump(scenario(SESSIONS[name]), sort_keys=False), encoding="utf-8")
            fast = _simulate(path, Path(scratch) / "fast", str(copy))
            plain = _simulate(path, Path(scratch) / "plain", "0")
        if fast != plain:
            differing = sorted(file for file in fast.keys() | plain.keys() if fast.get(file) != plain.get(file))
            raise AgreementError(f"{name}: compiled code gives another {', '.join(differing)} than the sources")


def _simulate(path: Path, out: Path, fast: str) -> dict[str, bytes]:
    """File -> content, of what a run leaves. `fast` is what the environment's variable says."""
    command = module_command("topologies.cli", "simulate", str(path), "--no-report", "--json")
    environment = {**os.environ, compiled.VARIABLE: fast}
    done = subprocess.run([*command, "--out", str(out)], env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):  # 1: somebody lacks the whole file
        raise AgreementError(f"a simulation ended with status {done.returncode}: {done.stderr.strip()}")
    summary = json.loads(done.stdout.replace(str(out), "RUN"))  # it names files there
    files = [*sorted((out / "series").iterdir()), out / "logs" / "controller-events.jsonl"]
    return {"summary": json.dumps(summary["sessions"]).encode()} | {file.name: file.read_bytes() for file in files}
