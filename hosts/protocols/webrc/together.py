"""A WEBRC receiver that takes together what was read together: packets of one wave that follow each other, with symbols
of one file. Each counts as it does by itself (`WebrcReceiver.receive`); what is not as usual is taken by itself. What
is as usual takes a short way alone, too."""

from collections.abc import Sequence
from typing import Final

from canopy_engine import alike

from hosts.endpoint import Address, Datagram, DatagramRun, Effect
from hosts.protocols.webrc.flute.decoding import SymbolRun
from hosts.protocols.webrc.packets import FDT_TOI, LONG, SHORT, header_bytes, read_plain
from hosts.protocols.webrc.receiver import WebrcReceiver
from hosts.wire.header import CE


def _head(*, is_long: bool) -> tuple[int, int, int]:
    """Of a packet without extensions: bytes of its head, and where in it the PSN begins and ends."""
    at = {place.name: (place.at or 0) // 8 for place in (LONG if is_long else SHORT).places()}
    return header_bytes(is_long=is_long), at["psn"], at["session"]


SHORT_HEAD: Final = _head(is_long=False)
LONG_HEAD: Final = _head(is_long=True)


class TogetherReceiver(WebrcReceiver):
    """See above."""

    def receive(self, datagram: Datagram, *, now: float) -> Sequence[Effect]:
        data, source, group, arrived_at, _, ecn = datagram
        if self._takes_together(source, ecn):
            at = now if arrived_at is None else arrived_at
            taken = self._take_together(data, len(data), None, group, (at, at), now)
            if taken is not None:
                return taken
        return super().receive(datagram, now=now)

    def receive_run(self, run: DatagramRun, *, now: float) -> Sequence[Effect]:
        if not self._takes_together(run.source, run.ecn):
            return super().receive_run(run, now=now)
        effects: list[Effect] = []
        while run.data:
            head, begin, end = LONG_HEAD if self.waves.is_long else SHORT_HEAD
            ids = alike(run.data, run.size, head, begin, end)
            # Mostly it is one run as a whole: then nothing is cut.
            part, rest = (run, None) if len(ids) * run.size == len(run.data) else run.split(max(1, len(ids)))
            taken = None
            if ids:
                at = now if part.arrived_at is None else part.arrived_at
                first_at = at if part.first_at is None else part.first_at
                times = first_at, at if len(ids) > 1 else first_at
                taken = self._take_together(part.data, part.size, ids, part.destination, times, now)
            if taken is None:
                part, rest = run.split(1)
                taken = super().receive(part.datagram(0), now=now)
            effects += taken
            if rest is None:
                break
            run = rest
        return effects

    def _takes_together(self, source: Address, ecn: int) -> bool:
        """What comes from there with this ECN field."""
        return source == self._sender and ecn != CE and not self.session.realtime and not self._is_plain

    def _take_together(
        self, data: bytes, size: int, ids: list[int] | None, group: Address, times: tuple[float, float], now: float
    ) -> Sequence[Effect] | None:
        """Packets of `size` bytes with these FEC Payload IDs, alike otherwise; None: one. `times`: when the first and
        the last one came. None: the first one has to be taken by itself."""
        packet = read_plain(data, size, is_long=self.waves.is_long)
        if packet is None or self.state != "member":
            return None
        _, slot_index, channel, psn, _, toi, *_ = packet
        channels, control = self.channels, self.control
        if channel == control.joining or channel not in channels.waves or slot_index != self.slot_index:
            return None
        if packet.session != self.number or group != channels.groups[channel] or toi == FDT_TOI:
            return None
        count, symbol = len(data) // size, len(packet.symbol)
        first_at, arrived_at = times
        if not channels.losses.following(channel, psn, count, arrived_at):
            return None
        self._heard_at = now
        channels.silences.heard(channel, now)
        self._came(count, count * symbol)
        control.came(channel, slot_index, psn, arrived_at, count=count, first_at=first_at)
        effects = self._count(count, 0, now)
        if ids is None:
            found = self._take_content(packet, arrived_at, now)
        else:
            run = SymbolRun(ids, data, size, symbol)
            found = self._hand_over(packet, lambda: self._delivery.take_run(packet, run, now))
        return [*effects, *found] if effects else found
