"""What a receiver has of the stream: the packets that have arrived, their order, and the room for more."""

from hosts.endpoint import Deliver, Effect, StreamEnded
from hosts.mtcp.packets import SACK_BITS, Data, Repair
from hosts.sack import ReceivedSet


class Reception:
    """Packets come in any order and go to the application in the stream's."""

    __slots__ = ("buffer_bytes", "consumed", "delivered", "early", "ended", "next", "received")

    def __init__(self, buffer_bytes: int) -> None:
        self.buffer_bytes = buffer_bytes
        self.received = ReceivedSet()
        self.delivered = 0
        """Place in the stream up to which everything went to the application."""
        self.consumed = 0
        """Place up to which the application is through with it."""
        self.early: dict[int, Data | Repair] = {}
        """Packets out of order."""
        self.next = 0
        """Sequence number of the packet to deliver next."""
        self.ended = False
        """The last byte was delivered."""

    def begin(self, first: int, offset: int) -> None:
        """The stream starts here, with this packet and byte."""
        self.received = ReceivedSet(first)
        self.next = first
        self.delivered = self.consumed = offset

    @property
    def window_end(self) -> int:
        """Place up to which there is room."""
        return self.consumed + self.buffer_bytes

    def takes(self, seq: int, packet: Data | Repair) -> bool:
        """Whether a packet lies within the window and is not at odds with what was delivered."""
        ahead = seq - self.received.cumulative
        offset = packet.offset
        if ahead > SACK_BITS or (offset < self.delivered and ahead >= 0):
            return False
        return offset + len(packet.payload) <= self.consumed + self.buffer_bytes

    def deliver(self, effects: list[Effect]) -> bool:
        """Deliver what is in order now; False when the stream contradicts itself."""
        early = self.early
        while (packet := early.pop(self.next, None)) is not None:
            if packet.offset != self.delivered or self.ended:
                return False
            self.next += 1
            if packet.payload:
                self.delivered += len(packet.payload)
                effects.append(Deliver(packet.offset, packet.payload))
            if packet.end:
                self.ended = True
                effects.append(StreamEnded(self.delivered))
        return True
