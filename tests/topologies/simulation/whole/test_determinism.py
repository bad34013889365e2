"""The same seed gives the same run, in another process too: whatever order its hash tables have."""

import os
import subprocess
import sys
from pathlib import Path

SCENARIO = Path(__file__).with_name("mixed.yaml")


def contents(folder: Path, hash_seed: str) -> dict[str, bytes]:
    """All series and controller events of a run in a process of its own."""
    subprocess.run(
        [
            sys.executable,
            "-m",
            "topologies.cli",
            "simulate",
            str(SCENARIO),
            "--out",
            str(folder),
            "--json",
            "--no-report",
        ],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        stdout=subprocess.DEVNULL,
        check=False,
    )
    assert (folder / "summary.json").exists()
    files = [*sorted((folder / "series").iterdir()), folder / "logs" / "controller-events.jsonl"]
    return {path.name: path.read_bytes() for path in files}


def test_two_processes_come_to_the_same_octets(tmp_path: Path) -> None:
    one, other = contents(tmp_path / "one", "1"), contents(tmp_path / "other", "777")
    assert one.keys() == other.keys()
    for name, content in one.items():
        assert content == other[name], name
    assert len(one["flow-4-sink.jsonl"].splitlines()) > 20
    assert b"switch_ready" in one["controller-events.jsonl"]
