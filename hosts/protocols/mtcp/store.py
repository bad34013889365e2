"""The packets that an agent keeps: until all its children have them, and beyond that as long as somebody further below
may still ask for them, because its own parent has died (ours; the paper discards what all children have).
"""

from math import inf


class StoredPacket:
    """A packet of the stream."""

    __slots__ = ("counts", "data", "deadline", "kept_at", "multicast_at", "offset", "size", "timeout")

    def __init__(self, data: bytes, offset: int, size: int, kept_at: float = 0.0) -> None:
        self.data = data  # the DATA datagram
        self.offset = offset
        self.size = size  # payload bytes
        self.kept_at = kept_at  # since when, agent's clock
        self.counts = False  # it came as multicast and some child lacks it: part of twnd, its timeout means congestion
        self.timeout = 0.0  # seconds; 0: not repaired yet, so that RTO_RTD counts
        self.deadline = 0.0  # when `timeout` expires, agent's clock
        self.multicast_at = -inf  # its last repair to the whole group, agent's clock


class PacketStore:
    """Packets by sequence number, from `first` on, with gaps where the agent itself lacks one."""

    __slots__ = ("_history", "end", "end_offset", "first", "first_offset", "packets")

    def __init__(self, first: int, offset: int, history: int) -> None:
        """`first` is the first packet that will come, `offset` its place in the stream; so many packets as `history`
        are always kept.
        """
        self.first = first
        """The first packet that is kept, or was never received and would be."""
        self.first_offset: int | None = offset
        """Its place in the stream; None when that is not known."""
        self.end = first
        """One more than the last packet that was received."""
        self.end_offset = offset
        """Place in the stream of the packet `end`."""
        self.packets: dict[int, StoredPacket] = {}
        self._history = history

    def put(self, seq: int, packet: StoredPacket) -> None:
        """Keep a packet."""
        self.packets[seq] = packet
        if seq >= self.end:
            self.end = seq + 1
            self.end_offset = packet.offset + packet.size
        if seq == self.first:
            self.first_offset = packet.offset

    def offset_of(self, seq: int) -> int | None:
        """Where packet `seq` begins in the stream; None when that is not known here."""
        if seq == self.end:
            return self.end_offset
        if seq == self.first and self.first_offset is not None:
            return self.first_offset  # the one before is no longer kept
        packet = self.packets.get(seq)
        if packet is not None:
            return packet.offset
        before = self.packets.get(seq - 1)
        return None if before is None else before.offset + before.size

    def offsets(self, cumulative: int, sack: int) -> tuple[int | None, int | None]:
        """Where in the stream the first packet lies that a child lacks, and the end of the last that it has, by its
        acknowledgment.
        """
        offset = self.offset_of(cumulative)
        return offset, self.offset_of(cumulative + sack.bit_length() + 1) if sack else offset

    def trim(self, base: int, keep_offset: float) -> None:
        """Discard what all children have (it lies before packet `base`) and nobody below needs any more (it ends before
        `keep_offset` in the stream).
        """
        limit = min(base, self.end - self._history)
        packets = self.packets
        while self.first < limit:
            packet = packets.get(self.first)
            if packet is None:  # the agent lacks it as well
                if self.first_offset is not None and self.first_offset >= keep_offset:
                    return
                self.first_offset = self.offset_of(self.first + 1)
            else:
                end = packet.offset + packet.size
                if end > keep_offset:
                    return
                del packets[self.first]
                self.first_offset = end
            self.first += 1
