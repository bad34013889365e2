"""Files as a broadcast: several of them in one session, which receivers join when they like."""

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from hosts.endpoint import SessionEnded, SessionStarted
from hosts.programs.driver import INTERRUPTED, OF_THE_FOLDER, Driver, Narrator, Outcome, Plan
from hosts.programs.files import FileSink, FileSource
from hosts.programs.gathering import hash_of
from hosts.programs.part import Existing
from hosts.programs.progress import Display
from hosts.runtime import sockets
from hosts.wire.manifest import FileError, Manifest, unsafe_name
from hosts.wire.reason import Reason

EVERY_FILE: Final = "every_file"
"""The parameter with which a receiver takes all files of a session."""
PROGRESS_INTERVAL_S: Final = 0.2


def files_of(paths: Sequence[Path]) -> list[Path]:
    """The files that are meant: those in a folder, without those below it or hidden. ValueError: two of one name, or
    none."""
    found: list[Path] = []
    for path in paths:
        within = sorted(path.iterdir()) if path.is_dir() else [path]
        found += [one for one in within if one == path or (one.is_file() and unsafe_name(one.name) is None)]
    if not found:
        raise ValueError("there is no file to send")
    names = [path.name for path in found]
    twice = {name for name in names if names.count(name) > 1} if len(set(names)) < len(names) else set()
    if twice:
        raise ValueError(f"two files have the name {min(twice)}")
    return found


class FilesSource:
    """Several files as a stream, one after the other. Raises FileError as `FileSource`."""

    def __init__(self, paths: Sequence[Path]) -> None:
        for path in paths:
            with contextlib.suppress(OSError):
                if path.is_file():
                    continue
            raise FileError(f"{path}: not a file")
        self._left = list(paths)
        self._now: FileSource | None = None

    def read(self, space: int) -> bytes:
        """The next bytes of the stream, at most `space`; empty at its end."""
        if self._now is None:
            if not self._left:
                return b""
            self._now = FileSource(self._left.pop(0))
        data = self._now.read(space)
        if self._now.exhausted:
            self.close()
        return data

    @property
    def exhausted(self) -> bool:
        """Whether `read` has given everything."""
        return self._now is None and not self._left

    def close(self) -> None:
        """Close the file that is open."""
        if self._now is not None:
            self._now.close()
            self._now = None


class FolderSink:
    """Puts each file of a session into a folder. One that is there already, with the same bytes, is left as it is: a
    receiver that was interrupted goes on with the others."""

    def __init__(self, folder: Path, existing: Existing, display: Display) -> None:
        self._folder = folder
        self._existing = existing
        self._display = display
        self.files: list[dict[str, object]] = []
        """Names, sizes and hashes of those that are whole."""
        FileSink(folder, existing).discard()  # whether there can be files

    def write(self, data: bytes) -> None:
        """Take a file, with its manifest in front. Raises FileError."""
        manifest = Manifest.take(bytearray(data))
        if manifest is None:
            raise FileError("the stream is not a file", Reason.BROKEN_STREAM)
        if not self._has(manifest):
            with FileSink(self._folder, self._existing) as sink:
                sink.write(data)
                sink.finish()
            self._display.say(f"{self._folder / manifest.name}: {manifest.size} bytes")
        self.files.append({"file": manifest.name, "size_bytes": manifest.size, "sha256": manifest.sha256})

    def _has(self, manifest: Manifest) -> bool:
        path = self._folder / manifest.name
        try:
            if not path.is_file() or path.stat().st_size != manifest.size:
                return False
            return hash_of(path) == (manifest.size, manifest.sha256)
        except (OSError, FileError):
            return False

    def finish(self) -> None:
        """All files have come, and each was checked and named when it did."""


async def send_files(
    plan: Plan,
    paths: Sequence[Path],
    interface: sockets.Interface,
    display: Display,
    *,
    status_folder: Path | None = None,
) -> Outcome:
    """Send files until the session's time is over, or it is stopped. Raises FileError, SocketError and OSError for what
    is wrong from the start."""
    with contextlib.closing(FilesSource(paths)) as source:
        narrator = _Narrator(display, f"{len(paths)} files on {plan.session.group}")
        driver = Driver(plan, plan.sender(), interface, narrator, "sender", source=source)
        size = sum(path.stat().st_size for path in paths)
        driver.keep_status(status_folder, size)

        def progress(now: float) -> None:
            if display.is_watched:
                sent = driver.observer.row(now).get("sent_bytes") or 0
                display.stream(f"sent {sent / 1e6:.1f} MB of {len(paths)} files, {size / 1e6:.1f} MB   ")

        driver.runtime.every(PROGRESS_INTERVAL_S, progress)
        end = await driver.run()
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
    """Receive all files of a session. Raises FileError, SocketError and OSError for what is wrong from the start."""
    sink = FolderSink(folder, existing, display)
    narrator = Narrator(display)
    driver = Driver(plan, plan.receiver(), interface, narrator, "receiver", sink=sink)

    def progress(now: float) -> None:
        if narrator.started_at is not None and display.is_watched:
            row = driver.observer.row(now)
            rate = (row.get("rate_bps") or 0.0) / 1e6
            received = (row.get("received_bytes") or 0) / 1e6
            display.stream(f"{len(sink.files)} files; received {received:.1f} MB, {rate:.2f} Mbit/s   ")

    driver.runtime.every(PROGRESS_INTERVAL_S, progress)
    driver.listen(wait)
    end = await driver.run()
    error = driver.runtime.error
    reason = "" if end.complete else str(error) if error is not None else end.reason
    outcome = driver.outcome(end, end.complete, reason, files=sink.files, duration_s=narrator.duration)
    if end.complete:
        display.say(f"{len(sink.files)} files")
        return outcome
    display.fail(reason)
    return driver.blamed(outcome, *OF_THE_FOLDER)


class _Narrator(Narrator):
    """Says when the session has begun and how it ended."""

    def __init__(self, display: Display, what: str) -> None:
        super().__init__(display)
        self._what = what

    def started(self, event: SessionStarted) -> None:
        self.display.say(self._what)

    def ended(self, event: SessionEnded) -> None:
        self.mark_end()
