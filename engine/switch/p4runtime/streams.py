"""The switch's end of a StreamChannel: a bounded queue, so that a slow client costs itself messages and nobody else."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator

from finsy.proto import p4r

from engine.switch.p4runtime.errors import P4RuntimeError

# Packet-ins, digest lists and the like that wait for one client; what comes beyond is dropped and counted. A thousand
# full-sized packets are 1.5 MB.
MAX_WAITING_MESSAGES = 1024

# Arbitration messages are never dropped as long as the client reads at all. Of those that pile up behind one that does
# not, only the latest tell anything.
MAX_WAITING_ARBITRATIONS = 64


class ClientStream:
    """Messages on their way to one client, arbitration first. `peer` is gRPC's name for the connection's other end."""

    def __init__(self, peer: str = "") -> None:
        self.peer = peer
        self.dropped = 0
        self._arbitrations: deque[p4r.StreamMessageResponse] = deque(maxlen=MAX_WAITING_ARBITRATIONS)
        self._messages: deque[p4r.StreamMessageResponse] = deque()
        self._changed = asyncio.Event()
        self._closed = False
        self._error: P4RuntimeError | None = None

    def send_arbitration(self, message: p4r.MasterArbitrationUpdate) -> None:
        self._arbitrations.append(p4r.StreamMessageResponse(arbitration=message))
        self._changed.set()

    def send(self, message: p4r.StreamMessageResponse) -> bool:
        """Queue a message; False when there is no room and it is lost."""
        if len(self._messages) >= MAX_WAITING_MESSAGES:
            self.dropped += 1
            return False
        self._messages.append(message)
        self._changed.set()
        return True

    def close(self, error: P4RuntimeError | None = None) -> None:
        """End the stream, with an error for the client or without."""
        self._closed, self._error = True, error
        self._changed.set()

    async def messages(self) -> AsyncIterator[p4r.StreamMessageResponse]:
        """The messages as they come, until the stream is closed. Raises what it was closed with."""
        while not self._closed:
            while (self._arbitrations or self._messages) and not self._closed:
                yield (self._arbitrations or self._messages).popleft()
            self._changed.clear()
            if not (self._closed or self._arbitrations or self._messages):
                await self._changed.wait()
        if self._error is not None:
            raise self._error
