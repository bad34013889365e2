"""How a receiver finds a parent (ours: the paper leaves the tree to others).

Parents that are named are asked in their order. Otherwise the sender is asked who there is, all that it names are asked
how busy they are, and of those with room the nearest by hops is joined, of equally near ones the least loaded. A
receiver that would only serve others if need be is taken when no agent has room.
"""

import random
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hosts.endpoint import Address, Effect, Send
from hosts.parts.sack import ReceivedSet
from hosts.protocols.mtcp.options import MtcpOptions
from hosts.protocols.mtcp.tree_packets import Join, JoinAck, Offer, encode_join, encode_query
from hosts.wire.reason import Reason

TRIES = 6
"""A join is repeated this often, every `announce_s`, before somebody else is asked (ours)."""
ORPHANS_TRIES = 2
"""Of who has lost its parent, and was patient before: the sender waits for it for no more than twice
`parent_timeout_s` (ours)."""
QUERIES = 3
"""And a query this often, before those that did not answer are left out (ours)."""
MAX_PATIENCE = 16
"""Answers that come too late make the intervals up to so many times longer (ours: a round trip of 24 s)."""
PAUSE_S = 1.0
"""Between two rounds of asking (ours)."""
GIVEN_ROUNDS = 4
"""After so many rounds in which none of the parents that were named answered, one is looked for (ours)."""
FULL_ROUNDS = 10
"""After so many rounds in which nobody had room there is none (ours)."""
FAR = 255
"""Hops of one whose distance is not known: more than an IPv4 packet can take."""


class Candidate(NamedTuple):
    """Somebody with room, in the order of preference."""

    spare: bool  # serves nobody yet
    hops: int
    load: int
    level: int
    address: Address


class Search:
    """One search, until somebody has said yes. Times are on the receiver's clock, seconds."""

    def __init__(
        self,
        options: MtcpOptions,
        join: Join,
        sender: Address,
        first: Sequence[Address] = (),
        received: ReceivedSet | None = None,
        *,
        rng: random.Random,
    ) -> None:
        """`join` is what to say of oneself (its epoch is counted up); `first` are asked before all others. What a
        member has `received` may become more while it searches. `rng`: all have heard of the session at once, and who
        is not answered asks again at another time than the others.
        """
        self._rng = rng
        self.join = join
        self._received = received
        self.refused = Reason.NONE
        """Why there is no parent, when the search is over without one."""
        self.avoid: set[Address] = set()
        """Who is not to be asked: oneself, and a parent that is gone."""
        self.wake_at: float | None = None
        self._options = options
        self._sender = sender
        self._given = options.given_parents
        self._queue = list(first)
        self._rounds = 0  # in which nobody took us
        self.target: Address | None = None
        """Who was asked for a place last."""
        self._tries = 0
        self._offers: dict[Address, Candidate | None] | None = None  # being gathered
        self._chosen = False  # the queue is of those that made offers
        self._unanswered: set[Address] = set()
        self._asked: set[Address] = set()  # since the patience was last increased
        self._patience = 1

    def start(self, now: float) -> list[Effect]:
        """Ask the first."""
        return self._next(now)

    # --- answers

    def offered(self, offer: Offer, source: Address, hops: int | None, now: float) -> list[Effect]:
        """Somebody has said how busy it is."""
        if self._offers is None or source not in self._unanswered:
            self._be_patient(source)
            return []
        self._unanswered.discard(source)
        candidate = Candidate(not offer.agent, FAR if hops is None else hops, offer.load, offer.level, source)
        self._offers[source] = candidate if offer.room else None
        effects = self._ask(offer.others, now) if source == self._sender else []
        return effects if self._unanswered else self._choose(now)

    def answered(self, ack: JoinAck, source: Address, now: float) -> tuple[bool, list[Effect]]:
        """The answer to a join: whether it is a yes to the last one, and what to do else."""
        if source != self.target or ack.epoch != self.join.epoch:
            self._be_patient(source)
            return False, []
        if ack.reason is Reason.NONE:
            self.wake_at = None
            return True, []
        is_final = ack.reason is Reason.STARTED or (ack.reason is Reason.NOT_HELD and source == self._sender)
        if is_final or (self._given == () and not self.join.member):
            self.refused = ack.reason
            self.wake_at = None
            return False, []
        return False, self._next(now)

    def _be_patient(self, source: Address) -> None:
        """An answer that came after somebody else was asked: they are farther away than was thought."""
        if source in self._asked:
            self._asked.clear()
            self._patience = min(2 * self._patience, MAX_PATIENCE)

    # --- asking

    def _next(self, now: float) -> list[Effect]:
        """Join the next in the queue, or begin a new round."""
        while self._queue:
            target = self._queue.pop(0)
            if target not in self.avoid:
                self.target = target
                self._tries = 0
                self.join = self.join._replace(epoch=(self.join.epoch + 1) % (1 << 16))
                return self._send_join(now)
        self.target = None
        if self._given is not None and not self.join.member:
            if self._rounds < GIVEN_ROUNDS or not self._given:
                self._rounds += 1
                self._queue, self._chosen = list(self._given) or [self._sender], False
                return self._next(now)
            self._given = None
            self._rounds = 0
        self._offers = {}
        self._tries = 0
        return self._ask((self._sender,), now)

    def _send_join(self, now: float) -> list[Effect]:
        assert self.target is not None
        if self._received is not None and self.join.member:
            self.join = self.join._replace(cumulative=self._received.cumulative)
        self._tries += 1
        self._asked.add(self.target)
        self.wake_at = now + self._wait_s
        return [Send(encode_join(self.join), self.target)]

    @property
    def _wait_s(self) -> float:
        """For an answer."""
        share = 1.0 if self._tries < 2 else self._rng.uniform(0.5, 1.5)
        return share * self._options.announce_s * self._patience

    def _ask(self, addresses: Iterable[Address], now: float) -> list[Effect]:
        assert self._offers is not None
        known = {*self._offers, *self.avoid}
        self._unanswered.update(address for address in addresses if address not in known)
        return self._send_queries(now)

    def _send_queries(self, now: float) -> list[Effect]:
        self._tries += 1
        self._asked |= self._unanswered
        self.wake_at = now + self._wait_s
        query = encode_query(self.join.session, int(now * 1e6))
        return [Send(query, address) for address in sorted(self._unanswered)]

    def _choose(self, now: float) -> list[Effect]:
        """Join the best of those that offered a place; if there is none, ask again later."""
        assert self._offers is not None
        offers, self._offers = self._offers, None
        self._unanswered.clear()
        candidates = sorted(candidate for candidate in offers.values() if candidate is not None)
        self._queue = [candidate.address for candidate in candidates]
        self._chosen = True
        if self._queue:
            self._rounds = 0
            return self._next(now)
        self.target = None
        if not offers:  # not even the sender was heard
            return self._next(now)
        self.wake_at = now + PAUSE_S
        self._rounds += 1
        if self._rounds >= FULL_ROUNDS and not self.join.member:
            self.refused = Reason.FULL
            self.wake_at = None
        return []

    @property
    def _most_tries(self) -> int:
        """Before somebody else is asked: as long for an orphan, however patient it has become."""
        return max(ORPHANS_TRIES, TRIES // self._patience) if self.join.member else TRIES

    # --- timers

    def handle_timer(self, now: float) -> list[Effect]:
        """Repeat what was not answered, or ask somebody else."""
        if self.wake_at is None or now < self.wake_at:
            return []
        if self._offers is not None:
            return self._send_queries(now) if self._tries < QUERIES else self._choose(now)
        if self.target is not None and self._tries < self._most_tries:
            return self._send_join(now)
        if self._chosen:
            # Whoever offered a place and does not answer now may have ended, and the others with it.
            self._queue.clear()
        return self._next(now)
