"""Which of a parent's children say nothing, and what is done about it (ours): they are set aside (aside.py), so that
nothing waits for them, and taken back when they have what all others have.
"""

from collections import Counter
from collections.abc import Mapping

from hosts.endpoint import Address, Effect
from hosts.parts.rtt import INITIAL_TIMEOUT_S
from hosts.parts.sack import Scoreboard
from hosts.parts.silence import patience_s
from hosts.protocols.mtcp.advertised import AdvertisedWindows
from hosts.protocols.mtcp.aside import CHECK_S, Aside
from hosts.protocols.mtcp.children import Child
from hosts.protocols.mtcp.congestion import Congestion
from hosts.protocols.mtcp.delays import Delays
from hosts.protocols.mtcp.options import MtcpOptions
from hosts.protocols.mtcp.packets import Feedback
from hosts.protocols.mtcp.retransmission import Retransmission
from hosts.protocols.mtcp.store import PacketStore


class Silence:
    """See the module."""

    def __init__(
        self,
        options: MtcpOptions,
        counters: Counter[str],
        children: Mapping[Address, Child],
        store: PacketStore,
        board: Scoreboard,
        delays: Delays,
        congestion: Congestion,
        advertised: AdvertisedWindows,
        retransmission: Retransmission,
        *,
        own_clock: bool,
    ) -> None:
        """`own_clock`: it is the sender."""
        self.aside = Aside(options, store, delays)
        self._options = options
        self._counters = counters
        self._children = children
        self._store = store
        self._board = board
        self._congestion = congestion
        self._advertised = advertised
        self._retransmission = retransmission
        self._own_clock = own_clock
        self._look_at = 0.0

    @property
    def listened(self) -> int:
        """Children that are waited for: all but those who are set aside."""
        return len(self._children) - len(self.aside)

    @property
    def _may_set_aside(self) -> bool:
        """Whether there is somebody whom others wait for. At the sender somebody must be left: when nobody answers, it
        may be its own link.
        """
        least = 2 if self._own_clock else 1
        return self._options.adaptive and self._board.base < self._store.end and self.listened >= least

    @property
    def wake_at(self) -> float | None:
        """When `look` or `ask` is due."""
        at = self.aside.wake_at if self.aside else None
        if self._may_set_aside and (at is None or self._look_at < at):
            return self._look_at
        return at

    def look(self, now: float) -> int:
        """Wait no longer for who has left unanswered what others have. Returns what all others have now, and had not
        before: a bitmap above the board's base.
        """
        if now < self._look_at:
            return 0
        self._look_at = now + CHECK_S
        fresh = 0
        if self._may_set_aside:
            for child in [child for child in self._children.values() if self._is_silent(child, now)]:
                fresh |= self._set_aside(child, now)
        return fresh

    def _is_silent(self, child: Child, now: float) -> bool:
        rtt = child.rtt.mean if child.rtt.samples else 0.0
        since, patience = child.answered_at, patience_s(rtt, 2 * (child.rtt.timeout or INITIAL_TIMEOUT_S))
        if not child.presence.is_proven and now - since < patience:
            # Whoever has not shown that it is there may say the same again and again.
            since, patience = child.news_at, patience_s(rtt)
        if child.aside or now - since < patience:
            return False
        lacking = self._board.acknowledged(child.number)
        packet = self._store.packets.get(lacking)
        return (
            packet is not None
            and now - packet.kept_at >= patience
            and packet.offset + packet.size <= child.advertised_end
            and (not self._own_clock or self._board.lacking(lacking) < self.listened)
        )

    def _set_aside(self, child: Child, now: float) -> int:
        self._counters["set_aside"] += 1
        first, sack = self._board.said(child.number)
        self._congestion.summaries.remove(child)
        self._congestion.forgive()
        self._advertised.remove(child)
        self._retransmission.left(child)
        self.aside.put(child, first, sack, now)
        return self._board.remove_child(child.number, self._store.end)

    def broken(self, child: Child, cumulative: int, feedback: Feedback, opened: bool, now: float) -> list[Effect]:
        """One that was set aside speaks: it has all before packet `cumulative`, and has `opened` its advertised window
        further or not.
        """
        child.min_cwnd, child.max_twnd = feedback.min_cwnd, feedback.max_twnd
        base = self._board.base
        if self.aside.acknowledged(child, cumulative, feedback.sack, base, opened, now) >= base:
            self._take_back(child, now)
        return self._repair(child, now)

    def _take_back(self, child: Child, now: float) -> None:
        """It has what all others have, and is waited for again."""
        board, end = self._board, self._store.end
        first, sack = self.aside.take(child)
        board.add_child(child.number, first)
        board.acknowledge(child.number, first, sack, end)
        board.advance()
        self._congestion.summaries.add(child)
        self._congestion.summaries.update(child, child.min_cwnd, child.max_twnd)
        self._advertised.update(child)
        child.loss_floor = end
        for seq in range(first, end):
            if seq in self._store.packets and not board.is_complete(seq):
                self._retransmission.restart(seq, now)

    def ask(self, now: float) -> list[Effect]:
        """See whether those who are set aside are back."""
        if not self.aside or now < self.aside.wake_at:
            return []
        return [effect for child in self.aside.ask(now) for effect in self._repair(child, now)]

    def _repair(self, child: Child, now: float) -> list[Effect]:
        """What is known to be missing, as far as its retransmission window allows."""
        effects: list[Effect] = []
        if child.repairs:
            self._retransmission.repairing[child.number] = child
            self._retransmission.send(child, now, effects)
        else:
            self._retransmission.left(child)
        return effects
