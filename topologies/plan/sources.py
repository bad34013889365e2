"""What sessions send: files that exist, or bytes made from the scenario's seed."""

import random
import shutil
from dataclasses import dataclass
from pathlib import Path

from topologies.plan.plan import derive_seed
from topologies.results.results import file_sha256
from topologies.scenario.scenario import Scenario
from topologies.scenario.session import Session

_CHUNK = 1 << 20


class SourceError(Exception):
    """There is nothing to send; one line for the user."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file to be sent."""

    path: Path
    bytes: int
    sha256: str


REALTIME = Source(Path("real-time data"), 0, "")
ENDLESS = Source(Path("a stream"), 0, "")
"""Nothing that could be read: data without end."""


def prepare_sources(scenario: Scenario, base: Path, override: Path | None, folder: Path) -> dict[int, Source]:
    """Session id -> source. Relative paths start at `base`; made ones are put into `folder`. SourceError."""
    sources = {}
    for session in scenario.sessions:
        if not session.has_file:
            sources[session.id] = REALTIME if session.realtime else ENDLESS
            continue
        if override is not None:
            path = override
        elif session.file is not None:
            path = base / session.file
        else:
            path = _make(scenario, session, folder)
        try:
            if not path.is_file():
                raise SourceError(f"{path}: {'not a regular file' if path.exists() else 'no such file'}")
            path = path.resolve()
            sources[session.id] = Source(path, path.stat().st_size, file_sha256(path))
        except OSError as error:
            raise SourceError(f"{path}: {error.strerror or error}") from None
    return sources


def _make(scenario: Scenario, session: Session, folder: Path) -> Path:
    """A file of the session's size; the same seed and id give the same bytes."""
    path = folder / f"session-{session.id}.bin"
    rng = random.Random(derive_seed(scenario.seed, f"session {session.id} content"))
    left = session.size or 0
    try:
        folder.mkdir(exist_ok=True)
        if left > (free := shutil.disk_usage(folder).free):
            raise SourceError(f"{path}: {left} bytes are asked for, {free} are free")
        with path.open("wb") as file:
            while left > 0:
                left -= file.write(rng.randbytes(min(left, _CHUNK)))
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror or error}") from None
    return path
