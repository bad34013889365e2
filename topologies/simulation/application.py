"""An endpoint's application, without I/O: feeds a sender from a source, hands what a receiver delivers to a sink, and
answers the end of the stream, as hosts/runtime.py does. What is left to do on the network is returned.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from hosts.endpoint import (
    Deliver,
    Effect,
    Endpoint,
    Event,
    JoinGroup,
    LeaveGroup,
    ReceiverEndpoint,
    Send,
    SenderEndpoint,
    StreamEnded,
)
from hosts.files import FileError
from hosts.reason import Reason
from hosts.runtime import Sink, Source

NetworkEffect: TypeAlias = Send | JoinGroup | LeaveGroup


class Application:
    """One endpoint's. `now` is always on the endpoint's clock, seconds."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        source: Source | None = None,
        sink: Sink | None = None,
        on_event: Callable[[Event], None] = lambda event: None,
    ) -> None:
        self.endpoint = endpoint
        self.error: FileError | None = None
        """What went wrong with the file, if anything did."""
        self._source = source
        self._sink = sink
        self._on_event = on_event

    def carry_out(self, effects: Iterable[Effect], now: float) -> list[NetworkEffect]:
        """Carry out what is not for the network, with what that leads to; the rest comes back in order."""
        queue = deque(effects)
        left: list[NetworkEffect] = []
        delivered = 0
        while queue or delivered:
            if not queue:
                queue.extend(self._consumed(delivered, now))
                delivered = 0
                continue
            effect = queue.popleft()
            kind = type(effect)
            if kind is Send or kind is JoinGroup or kind is LeaveGroup:
                left.append(effect)  # type: ignore[arg-type]
            elif kind is Deliver:
                delivered += len(effect.data)  # type: ignore[union-attr]
                queue.extend(self._deliver(effect, now))  # type: ignore[arg-type]
            else:
                queue.extend(self._event(effect, now))  # type: ignore[arg-type]
        return left

    def feed(self, now: float) -> list[NetworkEffect]:
        """Give a sender what it has room for; to be called after its inputs."""
        endpoint, source = self.endpoint, self._source
        left: list[NetworkEffect] = []
        if source is None or not isinstance(endpoint, SenderEndpoint):
            return left
        while not endpoint.closed and (space := endpoint.send_space):
            try:
                data = source.read(space)
            except FileError as error:
                left += self.carry_out(self._failed(error, now), now)
                break
            if data:
                left += self.carry_out(endpoint.write(data, now=now), now)
            if source.exhausted:
                self._source = None
                left += self.carry_out(endpoint.finish(now=now), now)
                break
            if not data:
                break
        return left

    def _deliver(self, effect: Deliver, now: float) -> Sequence[Effect]:
        if self._sink is None or self.error is not None:
            return ()
        try:
            self._sink.write(effect.data)
        except FileError as error:
            return self._failed(error, now)
        return ()

    def _consumed(self, count: int, now: float) -> Sequence[Effect]:
        assert isinstance(self.endpoint, ReceiverEndpoint)
        return self.endpoint.consumed(count, now=now)

    def _failed(self, error: FileError, now: float) -> Sequence[Effect]:
        self.error = error
        if isinstance(self.endpoint, ReceiverEndpoint):
            return self.endpoint.confirm(complete=False, now=now, reason=error.reason)
        return self.endpoint.close(now=now, reason=str(error))

    def _event(self, event: Event, now: float) -> Sequence[Effect]:
        effects: Sequence[Effect] = ()
        if isinstance(event, StreamEnded) and isinstance(self.endpoint, ReceiverEndpoint) and self.error is None:
            try:
                if self._sink is not None:
                    self._sink.finish()
                effects = self.endpoint.confirm(complete=True, now=now, reason=Reason.NONE)
            except FileError as error:
                effects = self._failed(error, now)
        self._on_event(event)
        return effects
