"""What happens in the network, as a stream of small JSON objects: kept in a file, and followed live by `ctl watch`."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import IO, Any

LOG = logging.getLogger("canopy.controller")

Event = dict[str, Any]

MAX_FILE_BYTES = 16 << 20  # then the file becomes events.jsonl.1 and a new one begins
KEPT = 1000  # events that a new follower may ask for
FOLLOWER_QUEUE = 1000  # events that wait for a slow follower before it loses some

_FREQUENT = frozenset({"join", "leave", "expire", "group_added", "group_removed"})  # logged with --verbose only


class EventLog:
    """Events in order, each `{"time": seconds since 1970, "event": kind, ...}`."""

    def __init__(self, path: Path | None, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._clock = clock
        self._file: IO[str] | None = None
        self._recent: deque[Event] = deque(maxlen=KEPT)
        self._followers: set[_Follower] = set()

    def open(self) -> None:
        """Open the file for appending. Raises OSError."""
        if self._path is not None:
            self._file = self._path.open("a", encoding="utf-8", buffering=1)

    def close(self) -> None:
        """Close the file. Events after that only reach followers."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def add(self, event: str, **fields: Any) -> None:
        """Record an event. A full disk costs the record, never the controller."""
        record: Event = {"time": round(self._clock(), 6), "event": event} | fields
        LOG.log(logging.DEBUG if event in _FREQUENT else logging.INFO, "%s%s", event, _as_words(fields))
        self._recent.append(record)
        for follower in self._followers:
            follower.put(record)
        if self._file is not None and self._path is not None:
            try:
                self._file.write(json.dumps(record) + "\n")
                if self._file.tell() > MAX_FILE_BYTES:
                    self._file.close()
                    os.replace(self._path, self._path.with_name(self._path.name + ".1"))
                    self._file = self._path.open("a", encoding="utf-8", buffering=1)
            except (OSError, ValueError) as error:
                LOG.warning("%s: %s; events are no longer written there", self._path, error)
                self._file = None

    def recent(self, count: int) -> list[Event]:
        """The last `count` events, oldest first."""
        return list(self._recent)[-count:] if count > 0 else []

    async def follow(self, history: int = 0) -> AsyncIterator[Event]:
        """The last `history` events and then those to come. A follower that is too slow gets `{"event": "lost",
        "count": n}` in place of those that did not fit."""
        follower = _Follower(self.recent(history))
        self._followers.add(follower)
        try:
            while True:
                yield await follower.get()
        finally:
            self._followers.discard(follower)


class _Follower:
    """A bounded queue that counts what did not fit."""

    def __init__(self, waiting: list[Event]) -> None:
        self._waiting = deque(waiting)
        self._lost = 0
        self._ready = asyncio.Event()
        if waiting:
            self._ready.set()

    def put(self, event: Event) -> None:
        if self._lost or len(self._waiting) >= FOLLOWER_QUEUE:  # the gap is one and its place is told
            self._lost += 1
        else:
            self._waiting.append(event)
        self._ready.set()

    async def get(self) -> Event:
        await self._ready.wait()
        if self._waiting:
            event = self._waiting.popleft()
        else:
            event, self._lost = {"time": round(time.time(), 6), "event": "lost", "count": self._lost}, 0
        if not self._waiting and not self._lost:
            self._ready.clear()
        return event


def _as_words(fields: Event) -> str:
    return "".join(f" {name}={value}" for name, value in fields.items() if value is not None)
