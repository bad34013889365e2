"""Digests: configuration, lists, acknowledgements and the suppression of duplicates (specification, "DigestEntry").

Times are in seconds on the caller's clock.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from finsy.proto import p4d, p4r

from engine.switch.p4runtime.errors import already_exists, invalid_argument, not_found
from engine.switch.p4runtime.p4data import Builder
from engine.switch.p4runtime.p4info import DigestInfo
from engine.switch.p4runtime.undo import Undo

NS_PER_S = 1_000_000_000

# "If max_list_size is set to 0, the server can use any non-zero value": a list stays well below gRPC's 4 MiB.
UNLIMITED_LIST_SIZE = 1024

# Without this bound a controller that never acknowledges would make the cache grow with every distinct digest. The
# oldest list is forgotten beyond it, which can only repeat a digest, never lose one.
MAX_CACHED_MESSAGES = 65536

Fields = tuple[bytes, ...]


@dataclass(slots=True)
class SentList:
    """An unacknowledged list, whose messages are suppressed until the acknowledgement or for ack_timeout_ns."""

    messages: tuple[Fields, ...]
    sent_at: float


@dataclass(slots=True)
class Digest:
    """One digest instance. `config` is None as long as it is not enabled."""

    info: DigestInfo
    build: Builder
    config: p4r.DigestEntry.Config | None = None
    buffer: dict[Fields, None] = field(default_factory=dict)
    buffered_since: float = 0.0
    sent: dict[int, SentList] = field(default_factory=dict)
    _cached: set[Fields] = field(default_factory=set)
    _list_id: int = 0

    # Configuration.

    def insert(self, message: p4r.DigestEntry) -> Undo:
        if self.config is not None:
            raise already_exists(f"{self._what} is enabled already")
        self._set_config(self._checked_config(message))
        return lambda: self._set_config(None)

    def modify(self, message: p4r.DigestEntry) -> Undo:
        old = self._enabled()
        self._set_config(self._checked_config(message))
        return lambda: self._set_config(old)

    def delete(self) -> Undo:
        old = self._enabled()
        self._set_config(None)
        return lambda: self._set_config(old)

    def message(self) -> p4r.DigestEntry:
        return p4r.DigestEntry(digest_id=self.info.id, config=self._enabled())

    # Traffic.

    def learn(self, fields: Fields, now: float) -> p4r.DigestList | None:
        """A digest message from the data plane; the list, when it has become full."""
        if self.config is None or fields in self.buffer or fields in self._cached:
            return None
        if not self.buffer:
            self.buffered_since = now
        self.buffer[fields] = None
        if self.config.max_timeout_ns == 0 or len(self.buffer) >= (self.config.max_list_size or UNLIMITED_LIST_SIZE):
            return self._send(now)
        return None

    def poll(self, now: float) -> p4r.DigestList | None:
        """Forget expired lists, and send what has waited for max_timeout_ns."""
        while (expiry := self._expire_at()) is not None and expiry <= now:
            self._forget(next(iter(self.sent)))
        flush = self._flush_at()
        return self._send(now) if flush is not None and flush <= now else None

    def wake_at(self) -> float | None:
        """When `poll` has something to do next."""
        if not self.sent and not self.buffer:
            return None
        return min((t for t in (self._expire_at(), self._flush_at()) if t is not None), default=None)

    def acknowledge(self, list_id: int) -> None:
        """An acknowledgement of a list that is not waited for (any more) is ignored."""
        if list_id in self.sent:
            self._forget(list_id)

    def forget_all(self) -> None:
        """Another client is primary: it has seen none of the lists."""
        self.sent.clear()
        self._cached.clear()

    # Parts.

    def _flush_at(self) -> float | None:
        if not self.buffer or self.config is None:
            return None
        return self.buffered_since + self.config.max_timeout_ns / NS_PER_S

    def _expire_at(self) -> float | None:
        """When the oldest list expires; lists are kept in the order in which they were sent."""
        if not self.sent or self.config is None:
            return None
        return next(iter(self.sent.values())).sent_at + self.config.ack_timeout_ns / NS_PER_S

    def _send(self, now: float) -> p4r.DigestList:
        assert self.config is not None
        self._list_id += 1
        messages = tuple(self.buffer)
        self.buffer.clear()
        if self.config.ack_timeout_ns > 0:
            self.sent[self._list_id] = SentList(messages, now)
            self._cached.update(messages)
            while len(self._cached) > MAX_CACHED_MESSAGES and len(self.sent) > 1:
                self._forget(next(iter(self.sent)))
        data = [self._to_p4data(fields) for fields in messages]
        return p4r.DigestList(digest_id=self.info.id, list_id=self._list_id, data=data)

    def _to_p4data(self, fields: Sequence[bytes]) -> p4d.P4Data:
        return self.build(iter(fields))

    def _forget(self, list_id: int) -> None:
        self._cached.difference_update(self.sent.pop(list_id).messages)

    def _checked_config(self, message: p4r.DigestEntry) -> p4r.DigestEntry.Config:
        config = p4r.DigestEntry.Config()
        config.CopyFrom(message.config)
        for name in ("max_timeout_ns", "max_list_size", "ack_timeout_ns"):
            if getattr(config, name) < 0:
                raise invalid_argument(f"{self._what}: {name} may not be negative")
        return config

    def _enabled(self) -> p4r.DigestEntry.Config:
        if self.config is None:
            raise not_found(f"{self._what} is not enabled")
        return self.config

    def _set_config(self, config: p4r.DigestEntry.Config | None) -> None:
        self.config = config
        if config is None:
            self.buffer.clear()
        if config is None or config.ack_timeout_ns == 0:
            self.forget_all()

    @property
    def _what(self) -> str:
        return f"digest {self.info.name!r}"
