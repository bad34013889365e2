"""A run folder: everything that a run leaves behind, in one place (docs/emulation.md lists its files)."""

import contextlib
import itertools
import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TextIO

from engine.command.signals import Interrupted


class RunFolderError(Exception):
    """The folder cannot be made, written or read; one line for the user."""


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Paths in a run folder."""

    path: Path

    @property
    def logs(self) -> Path:
        """One file for each process."""
        return self.path / "logs"

    @property
    def series(self) -> Path:
        """Time series, JSON lines."""
        return self.path / "series"

    @property
    def agents(self) -> Path:
        """What each sender and receiver says of itself at its end, JSON."""
        return self.path / "agents"

    @property
    def received(self) -> Path:
        """What receivers received, until it is verified: SESSION/HOST/NAME."""
        return self.path / "received"

    @property
    def sources(self) -> Path:
        """What was made to be sent."""
        return self.path / "sources"

    @property
    def scenario(self) -> Path:
        """A copy of the scenario."""
        return self.path / "scenario.yaml"

    @property
    def summary(self) -> Path:
        """The results, JSON."""
        return self.path / "summary.json"

    @property
    def report(self) -> Path:
        """The results, for reading."""
        return self.path / "report.html"

    def agent_trace(self, session: int, agent: str) -> Path:
        """The trace of a session's `sender`, or of the receiver at a host (docs/trace.md)."""
        return self.series / f"session-{session}-{agent}.jsonl"

    def flow_trace(self, number: int, *, sink: bool = False) -> Path:
        """The series of the source, or sink, of the flow at that place in the scenario."""
        return self.series / f"flow-{number}{'-sink' if sink else ''}.jsonl"


def create_run_folder(
    scenario: Path, name: str, out: Path | None, now: datetime, *, text: str | None = None
) -> RunFolder:
    """Make `out`, or runs/NAME-TIMESTAMP, with a copy of the scenario, or with `text` in its place. RunFolderError when
    that cannot be."""
    path = out or Path("runs") / f"{name}-{now:%Y%m%d-%H%M%S}"
    try:
        if out is None:
            path = _made(path)
        elif out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise RunFolderError(f"{out}: exists already and is not an empty folder")
        folder = RunFolder(path.absolute())
        for part in (folder.logs, folder.series, folder.agents, folder.received):
            part.mkdir(parents=True)
        if text is None:
            shutil.copyfile(scenario, folder.scenario)
        else:
            folder.scenario.write_text(text, encoding="utf-8")
    except FileExistsError:
        raise RunFolderError(f"{path}: another run has just taken it") from None
    except OSError as error:
        raise RunFolderError(f"{error.filename or path}: {error.strerror or error}") from None
    return folder


def remove_files(folder: RunFolder) -> None:
    """Remove what was received, which has been compared with its source, and what was made to be sent."""
    for part in (folder.received, folder.sources):
        shutil.rmtree(part, ignore_errors=True)


def discard(folder: RunFolder) -> None:
    """Remove it: nothing was run, and the command may be given again, corrected, with the same folder."""
    shutil.rmtree(folder.path, ignore_errors=True)


@contextlib.contextmanager
def discarded_if_interrupted(folder: RunFolder) -> Iterator[None]:
    """Likewise, when a signal comes before there are results."""
    try:
        yield
    except Interrupted:
        if not folder.summary.exists():
            discard(folder)
        raise


def _made(path: Path) -> Path:
    """`path`, made, or with the first number behind it that is free: two runs may begin in one second, and each has a
    folder that the other has not."""
    path.parent.mkdir(parents=True, exist_ok=True)
    candidate = path
    for number in itertools.count(2):
        try:
            candidate.mkdir()
            break
        except FileExistsError:
            candidate = path.with_name(f"{path.name}-{number}")
    return candidate


class SeriesWriter:
    """Appends rows to a JSON lines file. A full disk loses rows, not the run."""

    def __init__(self, path: Path) -> None:
        self._file: TextIO = path.open("a", encoding="utf-8")
        self.lost = 0

    def write(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Append rows and hand them to the system."""
        try:
            for row in rows:
                self._file.write(json.dumps(row, separators=(",", ":")) + "\n")
            self._file.flush()
        except OSError:
            self.lost += 1

    def close(self) -> None:
        """Finish the file."""
        try:
            self._file.close()
        except OSError:
            self.lost += 1


def read_series(path: Path) -> list[dict[str, Any]]:
    """The rows of a JSON lines file; a line that was cut off, or is no JSON object, is left out, a missing file has
    none."""
    return list(each_row(path))


def each_row(path: Path) -> Iterator[dict[str, Any]]:
    """Likewise, one at a time: the rows of all ports of a run of two hours take 1.3 GB together."""
    try:
        with path.open("rb") as file:
            yield from _rows(file)
    except OSError:
        return


def parse_rows(lines: bytes) -> list[dict[str, Any]]:
    """Likewise, of text."""
    return list(_rows(lines.splitlines()))


def _rows(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    for line in lines:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict):
            yield row
