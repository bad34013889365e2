"""A WEBRC receiver that takes together what was read together: packets of one wave that follow each other, with symbols
of one file. Each counts as it does by itself (`WebrcReceiver.receive`); what is not as usual is taken by itself."""

from collections.abc import Sequence
from typing import Final

from canopy_engine import alike

from hosts.endpoint import DatagramRun, Effect
from hosts.protocols.webrc.packets import FDT_TOI, LONG, SHORT, header_bytes, parse
from hosts.protocols.webrc.receiver import WebrcReceiver
from hosts.wire.header import CE, PacketError


def _head(*, is_long: bool) -> tuple[int, int, int]:
    """Of a packet without extensions: bytes of its head, and where in it the PSN begins and ends."""
    at = {place.name: (place.at or 0) // 8 for place in (LONG if is_long else SHORT).places()}
    return header_bytes(is_long=is_long), at["psn"], at["session"]


SHORT_HEAD: Final = _head(is_long=False)
LONG_HEAD: Final = _head(is_long=True)


class TogetherReceiver(WebrcReceiver):
    """See above."""

    def receive_run(self, run: DatagramRun, *, now: float) -> Sequence[Effect]:
        if self.session.realtime or self._is_plain or run.source != self._sender or run.ecn == CE:
            return super().receive_run(run, now=now)
        effects: list[Effect] = []
        while run.data:
            head, begin, end = LONG_HEAD if self.waves.is_long else SHORT_HEAD
            ids = alike(run.data, run.size, head, begin, end)
            part, rest = run.split(max(1, len(ids)))
            taken = self._take_together(part, ids, now) if len(ids) > 1 else None
            if taken is None:
                part, rest = run.split(1)
                taken = self.receive(part.datagram(0), now=now)
            effects += taken
            run = rest
        return effects

    def _take_together(self, run: DatagramRun, ids: list[int], now: float) -> Sequence[Effect] | None:
        """Packets with these FEC Payload IDs, alike otherwise. None: the first one has to be taken by itself."""
        first = run.datagram(0)
        try:
            packet = parse(first.data)
        except PacketError:
            return None
        channel, channels = packet.channel, self.channels
        if self.state != "member" or channel not in channels.waves or channel == self.control.joining:
            return None
        if packet.slot_index != self.slot_index or packet.closes or packet.is_long != self.waves.is_long:
            return None
        if packet.session != self.number or run.destination != channels.groups[channel] or packet.toi == FDT_TOI:
            return None
        size = len(packet.symbol)
        if not size or run.size - size != header_bytes(is_long=packet.is_long):  # it has extensions
            return None
        first_at, arrived_at = first.came_at(now), now if run.arrived_at is None else run.arrived_at
        if not channels.losses.following(channel, packet.psn, len(ids), arrived_at):
            return None
        self._heard_at = now
        channels.silences.heard(channel, now)
        self._came(len(ids), len(ids) * size)
        place = (channel - self.slot_index) % self.waves.t
        if self.control.turns.concerns(place, self.control.rates.waves_joined):
            gap = (arrived_at - first_at) / (len(ids) - 1)
            for number in range(len(ids)):
                self.control.came(channel, self.slot_index, packet.psn + number, first_at + number * gap)
        begin = run.size - size
        symbols = [run.data[at + begin : at + run.size] for at in range(0, len(run.data), run.size)]
        effects = self._count(len(ids), 0, now)
        return [*effects, *self._hand_over(packet, lambda: self._delivery.take_run(packet, ids, symbols, now))]
