"""Children that are set aside, for nothing comes from them (ours): the window waits for them no longer, but what they
lack is kept, within bounds, and they are caught up by repairs when they speak again.

A child is silent when neither data nor their repair has been answered, each within its time-out. One that speaks again
is waited for in so far as only half as much is sent to all as it catches up, for repairs may share the others' path:
so it comes up with them however narrow that is. When it has what all others have, it is a child like them.
"""

from math import inf
from typing import Final

from hosts.parts.sack import Scoreboard
from hosts.parts.silence import SILENT_ROUNDS, patience_s
from hosts.protocols.mtcp.children import Child
from hosts.protocols.mtcp.delays import Delays
from hosts.protocols.mtcp.least import Least
from hosts.protocols.mtcp.options import MtcpOptions
from hosts.protocols.mtcp.packets import SACK_BITS
from hosts.protocols.mtcp.repairs import Repairs
from hosts.protocols.mtcp.store import PacketStore

KEPT_BUFFERS: Final = 4
"""Of `buffer_bytes`, that are kept of the stream for those who are set aside. Who is still silent then is dropped, and
others are waited for. A parent of agents keeps as much more, for what they do not say in their advertised windows is
what their own silent children lack, who come to it when the agent dies (ours)."""
CHECK_S: Final = 0.1
"""Silence is looked for so often (ours)."""
MAX_ASK_S: Final = 1.0
"""A silent child is asked so often at least, by the first packet that it lacks: live data that lie beyond its buffer
make it say nothing (ours)."""
CATCH_UP_SHARE: Final = 1 / 2
"""Of what a child catches up with is sent anew meanwhile (ours)."""


class _Record:
    """What is known of one of them."""

    __slots__ = ("ask_at", "asked", "child", "is_back", "spoke_at")

    def __init__(self, child: Child, now: float) -> None:
        self.child = child
        self.ask_at = now
        self.asked = 0  # times since it spoke
        self.is_back = False  # it speaks
        # Places in the stream, of what it lacked and of the end, when it spoke of something new.
        self.spoke_at: tuple[int, int] | None = None


class Aside:
    """See the module. Children go by their numbers."""

    def __init__(self, options: MtcpOptions, store: PacketStore, delays: Delays) -> None:
        self._options = options
        self._store = store
        self._delays = delays
        self._board = Scoreboard(store.first)
        self._records: dict[int, _Record] = {}
        self._keep_offsets = Least(inf)

    def __bool__(self) -> bool:
        return bool(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def put(self, child: Child, first: int, sack: int, now: float) -> None:
        """It has all before packet `first`, and what the bitmap says."""
        if not self._records:
            self._board = Scoreboard(first)
        self._board.add_child(child.number, first)
        self._board.acknowledge(child.number, first, sack, self._store.end)
        self._board.advance()
        child.aside = True
        self._records[child.number] = _Record(child, now)
        self._keep(child)

    def take(self, child: Child) -> tuple[int, int]:
        """It is not set aside any more. What it has, as an acknowledgment would say it."""
        said = self._board.said(child.number)
        self._board.remove_child(child.number, self._store.end)
        self._board.advance()
        child.aside = False
        del self._records[child.number]
        self._keep_offsets.remove(child.number)
        return said

    def acknowledged_by(self, child: Child) -> int:
        """The first packet that it lacks, as far as it has said."""
        return self._board.acknowledged(child.number)

    # --- what the others feel of it

    @property
    def kept_from(self) -> int:
        """The first packet that one of them lacks; there must be one."""
        return self._board.base

    @property
    def end(self) -> float:
        """Place in the stream up to which all may be sent on their account."""
        least = self._keep_offsets.value + KEPT_BUFFERS * self._options.buffer_bytes
        for record in self._records.values():
            if record.spoke_at is not None:
                lacked, end = record.spoke_at
                least = min(least, end + CATCH_UP_SHARE * (self._place(record.child) - lacked))
        return least

    @property
    def keep_offset(self) -> float:
        """Place in the stream behind which one of them, or somebody below it, needs everything."""
        return self._keep_offsets.value

    def given_up(self, child: Child, now: float) -> bool:
        """Whether it answers no question, and no more is kept of the stream for it, so that all others would wait."""
        record = self._records.get(child.number)
        if record is None or record.asked < SILENT_ROUNDS:
            return False
        kept_end = self._kept_from_of(child) + KEPT_BUFFERS * self._options.buffer_bytes
        patience = patience_s(child.rtt.mean if child.rtt.samples else 0.0)
        return now - child.answered_at > patience and self._store.end_offset + self._options.payload_bytes > kept_end

    def _keep(self, child: Child) -> None:
        self._keep_offsets.set(child.number, self._kept_from_of(child))

    def _kept_from_of(self, child: Child) -> int:
        return min(self._place(child), child.keep_offset)

    def _place(self, child: Child) -> int:
        """Where in the stream it is."""
        offset = self._store.offset_of(self._board.acknowledged(child.number))
        return self._store.end_offset if offset is None else offset

    # --- to bring it up

    def acknowledged(self, child: Child, cumulative: int, sack: int, until: int, opened: bool, now: float) -> int:
        """It speaks, and has `opened` its advertised window further or not. Has what it lacks of the packets before
        `until` repaired; returns the first.
        """
        board, repairs, number = self._board, child.repairs, child.number
        record = self._records[number]
        before = board.said(number)
        board.acknowledge(number, cumulative, sack, self._store.end)
        board.advance()
        first, sack = board.said(number)
        self._keep(child)
        is_news = opened or before != (first, sack)
        if record.is_back and not is_news:
            return first  # the timer goes on
        record.is_back = True
        if record.spoke_at is None and is_news:
            record.spoke_at = (self._place(child), self._store.end_offset)
        for seq in repairs.pending():
            if board.has(number, seq):
                repairs.acknowledged(seq, now)
        record.asked = 0
        record.ask_at = now + self._delays.rto_rtt
        rtt = self._delays.rtt(child)
        for seq in range(first, min(first + SACK_BITS, until)):
            packet = self._store.packets.get(seq)
            if packet is None or packet.offset + packet.size > child.advertised_end:
                break
            if not board.has(number, seq) and (seq not in repairs or seq < first + sack.bit_length()):
                repairs.found_missing(seq, rtt, child.repair_echo_us / 1e6, now)
        if repairs.duplicates >= self._options.duplicate_nacks:
            repairs.duplicates = 0
            repairs.retransmission_window.cut()
        return first

    @property
    def wake_at(self) -> float:
        """When somebody is to be asked."""
        return min((record.ask_at for record in self._records.values()), default=inf)

    def ask(self, now: float) -> list[Child]:
        """Those that have not answered in time: what was repaired is lost, and the next repair, the first packet that
        they lack, shows whether they are back."""
        asked = []
        for number, record in self._records.items():
            if now < record.ask_at:
                continue
            child = record.child
            timeout = self._delays.rto_rtt
            record.asked += 1
            record.ask_at = now + min(timeout * 2 ** min(record.asked - 1, 6), max(MAX_ASK_S, timeout))
            if record.asked > 1:
                record.is_back, record.spoke_at = False, None
            child.repairs = Repairs(self._options.vegas, SACK_BITS)
            missing = self._board.acknowledged(number)
            packet = self._store.packets.get(missing)
            if packet is not None and packet.offset + packet.size <= child.advertised_end:
                child.repairs.found_missing(missing, 0.0, now, now)
                asked.append(child)
        return asked
