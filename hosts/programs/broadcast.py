"""Files as a broadcast: several of them in one session, which receivers join when they like."""

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from hosts.endpoint import Endpoint, SessionEnded, SessionStarted
from hosts.programs.driver import INTERRUPTED, OF_THE_FOLDER, Driver, Narrator, Outcome, Plan
from hosts.programs.naming import Existing
from hosts.programs.progress import Display
from hosts.programs.shelf import FolderShelf
from hosts.programs.times import Rule, Rules
from hosts.runtime import sockets
from hosts.storage import CacheControl, Content, FileChange, Library
from hosts.wire.manifest import FileError, Manifest, unsafe_name

EVERY_FILE: Final = "every_file"
"""The parameter with which a receiver takes all files of a session."""
PROGRESS_INTERVAL_S: Final = 0.2
SCAN_INTERVAL_S: Final = 1.0
"""A folder that is watched is looked at so often (ours)."""


def files_of(paths: Sequence[Path]) -> list[Path]:
    """The files that are meant: those in a folder, without those below it or hidden. ValueError: two of one name, or
    none."""
    found = list(_listed(paths))
    if not found:
        raise ValueError("there is no file to send")
    names = [path.name for path in found]
    twice = {name for name in names if names.count(name) > 1} if len(set(names)) < len(names) else set()
    if twice:
        raise ValueError(f"two files have the name {min(twice)}")
    return found


def _listed(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        yield from sorted(one for one in path.iterdir() if one.is_file() and unsafe_name(one.name) is None)


class FileLibrary(Library):
    """Files that stay as they are; one that changes is sent no further."""

    def __init__(self, contents: Sequence[Content]) -> None:
        self._change: FileChange | None = FileChange(contents, is_last=True)

    def take(self) -> FileChange | None:
        """All of them, once."""
        change, self._change = self._change, None
        return change


class FolderWatch(Library):
    """Files, and folders of them, as they change. `scan` looks; a file counts when it has stayed the same from one time
    to the next, so that none is sent while it is being written."""

    def __init__(
        self,
        paths: Sequence[Path],
        make: Callable[[Path, Rule], Content],
        rules: Rules | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`make` may raise FileError: the file is left out, and said. `rules`: which files are sent when; `clock`: Unix
        time, seconds."""
        self._rules = rules or Rules()
        self._clock = clock
        self._is_over = False
        self.problems: list[str] = []
        """Why files are left out that are there."""
        self._paths = paths
        self._make = make
        self._seen: dict[Path, object] = {}
        self._sent: dict[Path, object] = {}
        self._changes: queue.SimpleQueue[FileChange] = queue.SimpleQueue()

    def scan(self) -> None:
        """Look what has changed. It may take its time, for new files are read."""
        now = self._clock()
        seen: dict[Path, object] = {}
        for path in _listed(self._paths):
            with contextlib.suppress(OSError):
                state = path.stat()
                seen[path] = state.st_size, state.st_mtime_ns, state.st_ino
        found = {path: known for path, known in seen.items() if self._rules.of(path.name).holds(now)}
        steady = {path: known for path, known in found.items() if self._seen.get(path) == known}
        self._seen = seen
        removed = [path for path, state in self._sent.items() if found.get(path) != state]
        for path in removed:
            del self._sent[path]
        added: list[Content] = []
        for path, known in steady.items():
            if path not in self._sent:
                self._sent[path] = known
                try:
                    added.append(self._make(path, self._rules.of(path.name)))
                except FileError as error:
                    self.problems.append(str(error))
        is_over = self._rules.are_over(now)
        if added or removed or is_over != self._is_over:
            self._is_over = is_over
            self._changes.put(FileChange(added, [path.name for path in removed], is_last=is_over))

    def watch(self, stop: threading.Event) -> None:
        """Scan from time to time, in a thread of its own, until it is stopped."""
        while not stop.wait(SCAN_INTERVAL_S):
            self.scan()

    def take(self) -> FileChange | None:
        """What a scan has found."""
        return None if self._changes.empty() else self._changes.get()


class Received:
    """The files that a receiver has: what its shelf tells."""

    def __init__(self, folder: Path, display: Display) -> None:
        self._folder = folder
        self._display = display
        self.files: list[dict[str, object]] = []
        """Names, sizes and hashes of those that are whole."""

    def take(self, manifest: Manifest, cache: CacheControl) -> None:
        """One more."""
        self._display.say(f"{self._folder / manifest.name}: {manifest.size} bytes")
        found = {"file": manifest.name, "size_bytes": manifest.size, "sha256": manifest.sha256}
        if cache:
            found["expires_unix_s" if isinstance(cache, int) else "cache_control"] = cache
        self.files.append(found)


async def send_files(
    plan: Plan,
    paths: Sequence[Path],
    interface: sockets.Interface,
    display: Display,
    *,
    library: Library,
    status_folder: Path | None = None,
    describe: Callable[[Endpoint], None] | None = None,
) -> Outcome:
    """Send files until the session's time is over, or it is stopped. `library`: what there is of them now and later.
    `describe` is given the sender before it begins. Raises FileError, SocketError and OSError
    for what is wrong from the start."""
    narrator = _Narrator(display, f"{_files(len(paths))} on {plan.session.group}")
    driver = Driver(plan, plan.sender(), interface, narrator, "sender", source=library)
    if describe is not None:
        describe(driver.runtime.endpoint)
    size = sum(path.stat().st_size for path in paths)
    driver.keep_status(status_folder, size)

    def progress(now: float) -> None:
        if display.is_watched:
            sent = driver.observer.row(now).get("sent_bytes") or 0
            display.stream(f"sent {sent / 1e6:.1f} MB of {_files(len(paths))}, {size / 1e6:.1f} MB")

    driver.runtime.every(PROGRESS_INTERVAL_S, progress)
    stop = threading.Event()
    if isinstance(library, FolderWatch):
        threading.Thread(target=library.watch, args=(stop,), name="watch", daemon=True).start()

        def say(now: float) -> None:
            while library.problems:
                display.fail(library.problems.pop(0))
            driver.runtime.poke()

        driver.runtime.every(SCAN_INTERVAL_S, say)
    try:
        end = await driver.run()
    finally:
        stop.set()
    done = end.complete or (end.reason == INTERRUPTED and narrator.started_at is not None)
    row = driver.row()
    outcome = driver.outcome(
        end, done, "" if done else end.reason, files=len(paths), size_bytes=size, data_packets=row.get("data_packets")
    )
    if done:
        display.say(f"sent for {narrator.duration or 0.0:.0f} s, {row.get('data_packets')} packets")
        return outcome
    display.fail(end.reason)
    return driver.blamed(outcome)


async def receive_files(
    plan: Plan,
    folder: Path,
    interface: sockets.Interface,
    display: Display,
    *,
    existing: Existing = "refuse",
    wait: float | None = None,
) -> Outcome:
    """Receive a session's files, or the first one that is whole. Raises FileError, SocketError and OSError for what is
    wrong from the start."""
    sink = Received(folder, display)
    shelf = FolderShelf(folder, existing, sink.take)
    plan = replace(plan, session=replace(plan.session, shelf=shelf))
    narrator = Narrator(display)
    driver = Driver(plan, plan.receiver(), interface, narrator, "receiver")

    def progress(now: float) -> None:
        if narrator.started_at is not None and display.is_watched:
            row = driver.observer.row(now)
            rate = (row.get("rate_bps") or 0.0) / 1e6
            received, size = (row.get("received_bytes") or 0) / 1e6, (row.get("object_bytes") or 0) / 1e6
            amount = f"received {received:.1f} MB"
            if plan.parses(EVERY_FILE):
                amount = f"{_files(len(sink.files))}; {amount}"
            elif size:  # a few symbols more than the file has are wanted, and more come until all are sure to be there
                amount = f"received {min(received, size):.1f} of {size:.1f} MB ({min(received / size, 1):.0%})"
            display.stream(f"{amount}, {rate:.2f} Mbps")

    driver.runtime.every(PROGRESS_INTERVAL_S, progress)
    driver.listen(wait)
    end = await driver.run()
    error = driver.runtime.error
    reason = "" if end.complete else str(error) if error is not None else end.reason
    fields: dict[str, object] = {"files": sink.files}
    if not plan.parses(EVERY_FILE):
        fields = dict(sink.files[0]) if sink.files else {"file": None, "size_bytes": None, "sha256": None}
        fields["path"] = str(folder / str(fields["file"])) if end.complete else None
        size, came = fields["size_bytes"], driver.row().get("received_bytes")
        fields["goodput_bps"] = None
        if end.complete and isinstance(size, int) and isinstance(came, int):  # the rest was here before
            fields["goodput_bps"] = narrator.goodput_bps(min(size, came))
    outcome = driver.outcome(end, end.complete, reason, **fields, duration_s=narrator.duration)
    if end.complete:
        if plan.parses(EVERY_FILE):
            display.say(_files(len(sink.files)))
        return outcome
    display.fail(reason)
    if shelf.begun:
        display.say(f"what has come of {shelf.begun} is kept in {folder}: the next receiver there goes on with it")
    return driver.blamed(outcome, *OF_THE_FOLDER, refusal=shelf.refusal)


def _files(count: int) -> str:
    return f"{count} file{'' if count == 1 else 's'}"


class _Narrator(Narrator):
    """Says when the session has begun and how it ended."""

    def __init__(self, display: Display, what: str) -> None:
        super().__init__(display)
        self._what = what

    def started(self, event: SessionStarted) -> None:
        self.display.say(self._what)

    def ended(self, event: SessionEnded) -> None:
        self.mark_end()
