"""From the data plane's events to messages for the primary clients: packet-ins, digest lists, idle timeouts."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from finsy.proto import p4r

from engine.switch.p4runtime.arbitration import Arbitration
from engine.switch.p4runtime.packet_io import decode_packet_in
from engine.switch.p4runtime.pipeline import Pipeline

if TYPE_CHECKING:
    from canopy_engine import Event, Switch

logger = logging.getLogger(__name__)


class Notifier:
    """Serves one device. `pipeline` is the one that forwards."""

    def __init__(self, arbitration: Arbitration) -> None:
        self.pipeline: Pipeline | None = None
        self._arbitration = arbitration
        self._timer: asyncio.TimerHandle | None = None

    def handle_events(self, switch: Switch, events: Iterable[Event]) -> None:
        """Turn events into messages. Those of a program that no longer runs are dropped."""
        pipeline = self.pipeline
        if pipeline is None or pipeline.switch is not switch:
            return
        idle = p4r.IdleTimeoutNotification()
        for event in events:
            match event["kind"]:
                case "packet_in":
                    self._packet_in(pipeline, event["packet"])
                case "digest":
                    self._digest(pipeline, event)
                case "idle_timeout":
                    _collect_idle(pipeline, event, idle)
                case other:
                    logger.error("the data plane reported an unknown event %r", other)
        if idle.table_entry:
            self._send_idle(idle)
        self.schedule()

    def schedule(self) -> None:
        """Wake up when the first digest list is due or expires; to be called when that may have changed."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        digests = self.pipeline.digests.values() if self.pipeline is not None else ()
        wake = min((t for digest in digests if (t := digest.wake_at()) is not None), default=None)
        if wake is not None:
            delay = max(0.0, wake - time.monotonic())
            self._timer = asyncio.get_running_loop().call_later(delay, self._poll_digests)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def forget_sent_digests(self) -> None:
        """Another client is primary, and has seen no list."""
        for digest in self.pipeline.digests.values() if self.pipeline is not None else ():
            digest.forget_all()

    def _packet_in(self, pipeline: Pipeline, packet: bytes) -> None:
        message = decode_packet_in(packet, pipeline.packet_in)
        if message is None:
            logger.warning("a packet of %d bytes for the CPU lacks the packet-in header", len(packet))
            return
        for client, scope in self._arbitration.primaries():
            if scope.takes_packet_in(message):
                client.send(p4r.StreamMessageResponse(packet=message))

    def _digest(self, pipeline: Pipeline, event: Event) -> None:
        digest = pipeline.digest_named(event["digest"])
        if digest is None:
            return
        now = time.monotonic()
        for fields in event["values"]:
            digest_list = digest.learn(tuple(fields), now)
            if digest_list is not None:
                self._send_digest(digest_list)

    def _poll_digests(self) -> None:
        self._timer = None
        for digest in self.pipeline.digests.values() if self.pipeline is not None else ():
            digest_list = digest.poll(time.monotonic())
            if digest_list is not None:
                self._send_digest(digest_list)
        self.schedule()

    def _send_digest(self, digest_list: p4r.DigestList) -> None:
        digest_list.timestamp = time.time_ns()
        for client, scope in self._arbitration.primaries():
            if scope.has(digest_list.digest_id):
                client.send(p4r.StreamMessageResponse(digest=digest_list))

    def _send_idle(self, notification: p4r.IdleTimeoutNotification) -> None:
        timestamp = time.time_ns()
        for client, scope in self._arbitration.primaries():
            seen = p4r.IdleTimeoutNotification(timestamp=timestamp)
            seen.table_entry.extend(e for e in notification.table_entry if scope.has(e.table_id))
            if seen.table_entry:
                client.send(p4r.StreamMessageResponse(idle_timeout_notification=seen))


def _collect_idle(pipeline: Pipeline, event: Event, notification: p4r.IdleTimeoutNotification) -> None:
    """Add the entry as the controller knows it; it may be gone by now."""
    table = pipeline.table_named(event["table"])
    entry = table.entry_of(event["entry"]["match"], event["entry"]["priority"]) if table is not None else None
    if entry is not None:
        notification.table_entry.append(entry.message)
