"""Who takes part in a session as its sender knows it: who is there, who is through, and who must turn up elsewhere
because its parent has gone.
"""

import random
from collections import Counter
from math import inf

from hosts.endpoint import Address, Effect, PeerDropped, PeerFinished, PeerJoined, PeerRefused, Send
from hosts.parts.doubt import GRACE_S
from hosts.protocols.mtcp.agent import Agent
from hosts.protocols.mtcp.children import Child
from hosts.protocols.mtcp.options import MtcpOptions
from hosts.protocols.mtcp.roster import FINAL, WHOLE, Roster
from hosts.protocols.mtcp.tree_packets import Entry, State, encode_move
from hosts.wire.reason import Reason

CALL_S = 1.0
"""Those below one that was given up are called so often (ours)."""
TAKE_OVER_TRIES = 2
"""Of an agent's children (ours): what asks them may be lost."""
CANDIDATES = 64
"""So many agents are named to somebody who looks for a parent (ours)."""
MAX_UNKNOWN = 1024
"""So many are remembered who say that they have all and were never heard of (ours: more than end below one parent in
the quarter of a second in which they say it again)."""
LOOK_S = 0.1
"""Who has room is looked up so often where more have than are named (ours): among 10,000 members a look takes 6 ms, and
all of them ask. Who has become full meanwhile refuses, and the next one is asked.
"""


class Membership:
    """All members of the session. It is the root's Node (family.py), above which there is nobody."""

    def __init__(self, session: int, options: MtcpOptions, agent: Agent, roster: Roster, rng: random.Random) -> None:
        self.session = session
        self._options = options
        self._agent = agent
        self._roster = roster
        self._rng = rng
        self.address: Address | None = None
        self.lineage: tuple[Address, ...] = ()
        self.kept_offset = 0
        self.refusal = Reason.NONE
        self.wait_until = -inf
        """Until then receivers are waited for, when none is there."""
        self.active: set[Address] = set()
        """Members that have not ended."""
        self._ended: set[Address] = set()  # members whose end the application was told of
        # Members below one that ended: when they should have turned up elsewhere, and who that was.
        self._orphans: dict[Address, tuple[float, Address]] = {}
        self._call_at = 0.0
        self._taken_over: Counter[Address] = Counter()
        self._unknown: dict[Address, float] = {}  # who has ended and was never heard of, and when it said so first
        self._untold_until = -inf
        self._open: tuple[list[Address], list[Address]] = ([], [])  # agents, and spare ones, that have room
        self._open_until = -inf

    def sender_clock_us(self, at: float) -> int:
        """Its own."""
        return int(at * 1e6)

    def sender_silence_s(self, now: float) -> float:
        """None."""
        return 0.0

    # --- who is there

    def changed(self, entry: Entry, now: float) -> list[Effect]:
        """The roster says something new of a member. Follow it from its joining to its end; who was below it is
        expected to turn up elsewhere in time.
        """
        address = entry.address
        self._roster.untold.clear()
        if entry.state is State.COMPLETE and not self._agent.has_end:
            entry = entry._replace(state=State.LEFT, reason=Reason.BROKEN_STREAM)
            self._roster.members[address] = entry
        orphan = self._orphans.pop(address, None)
        if entry.state not in (State.ACTIVE, State.COMPLETE):
            until = now + self._grace_s
            for below in self._roster.below(address):
                if self._may_be_lost(below):
                    self._orphans.setdefault(below.address, (until, address))
        elif orphan is not None:  # it is back, and with it all that is below
            for below in self._roster.below(address):
                if self._orphans.get(below.address, (0.0, None))[1] == orphan[1]:
                    del self._orphans[below.address]
        if entry.agent and entry.reason is Reason.UNPROVEN:
            self._untold_until = now + self._grace_s
        self._release()
        return self._events(entry)

    def _events(self, entry: Entry) -> list[Effect]:
        """What the application is told."""
        address = entry.address
        is_known = address in self.active
        if entry.state is State.ACTIVE:
            self.active.add(address)
            return [] if is_known else [PeerJoined(address)]
        if not is_known and address in self._ended:
            return []
        self.active.discard(address)
        self._ended.add(address)
        effects: list[Effect] = [] if is_known else [PeerJoined(address)]
        if entry.state is State.LOST:
            return [*effects, PeerDropped(address, entry.reason.text)]
        complete = entry.state in WHOLE
        return [*effects, PeerFinished(address, complete, "" if complete else entry.reason.text)]

    def may_wait(self, now: float) -> bool:
        """Whether receivers are waited for, and none has come but those who may not be there."""
        ended = (entry for entry in self._roster.members.values() if entry.state in FINAL)
        is_empty = all(entry.reason is Reason.UNPROVEN for entry in ended)
        return is_empty and now < self.wait_until and self._agent.store.first_offset == 0

    def may_be_told(self, wanted: int, now: float) -> bool:
        """Whether one of the `wanted` may still say that it has all: it ended below an agent that was given up and told
        of nobody."""
        return now < self._untold_until and sum(one.state in WHOLE for one in self._roster.members.values()) < wanted

    # --- whose parent has gone

    @property
    def _grace_s(self) -> float:
        """How long those below one that was given up, or has left, may still look for another parent: they know that it
        has gone after `parent_timeout_s`, and it was silent for longer than that.
        """
        return min(2 * self._options.parent_timeout_s, self._options.drop_after_s)

    def _may_be_lost(self, entry: Entry) -> bool:
        """Whether a member below one that has gone must turn up somewhere else."""
        waited_for = entry.state is State.ACTIVE or (entry.state is State.COMPLETE and entry.agent)
        return waited_for and entry.address not in self._agent.children

    def ended_unknown(self, address: Address, now: float) -> Entry | None:
        """Somebody of whom no parent has told says that it has all: it may have ended below one that passes nothing on,
        and who did not answer it. What is known of it then; None: it has to say so again, as two packets of a stranger
        are needed for a member that joins and ends, too."""
        said_at = self._unknown.get(address)
        if said_at is None:
            if len(self._unknown) == MAX_UNKNOWN:
                del self._unknown[next(iter(self._unknown))]
            self._unknown[address] = now
        if said_at is None or now - said_at < GRACE_S or self.address is None or not self._agent.has_end:
            return None
        del self._unknown[address]
        return Entry(address, self.address, 0, State.ACTIVE, Reason.NONE, False, False)

    def abandoned(self, child: Child) -> None:
        """A child ends, and does not say what becomes of those below it. They may still need what it would have kept
        for them.
        """
        if any(self._may_be_lost(entry) for entry in self._roster.below(child.address)):
            self._agent.advertised.hold(child.keep_offset, self._options.buffer_bytes)

    def alone(self, now: float) -> None:
        """The sender has no children: nobody is left who could tell of those below."""
        for address in self.active:
            self._orphans.setdefault(address, (now + self._grace_s, address))

    def give_up_orphans(self, now: float) -> list[Effect]:
        """Those that have not turned up in time are lost."""
        effects: list[Effect] = []
        for address in [address for address, (until, _) in self._orphans.items() if now >= until]:
            del self._orphans[address]
            known = self._roster.members[address]
            news = self._roster.note(known._replace(state=State.LOST, reason=Reason.SILENT))
            if news is not None:
                effects += self.changed(news, now)
        self._release()
        return effects

    def call(self, now: float) -> list[Effect]:
        """Those whose parent is still there, and does not do what it is for, are asked to come: it has been given up,
        or it answers probes and does not acknowledge what it has been sent."""
        if now < self._call_at or self.address is None:
            return []
        self._call_at = now + CALL_S
        called = [address for address in self._orphans if self.owes(address, now)]
        for child in self._agent.children.values():
            if child.agent and self._is_mute(child, now):
                called += [entry.address for entry in self._roster.below(child.address) if self._may_be_lost(entry)]
        packet = encode_move(self.session, self.address)
        return [Send(packet, address) for address in dict.fromkeys(called)]

    def take_over(self, child: Child) -> list[Effect]:
        """Those whose parent this agent is are asked to come: it may be one of them that keeps the session from getting
        on. Nobody when there is nobody, or they have been asked often enough."""
        if self.address is None or self._taken_over[child.address] == TAKE_OVER_TRIES:
            return []
        self._taken_over[child.address] += 1
        packet = encode_move(self.session, self.address)
        below = [entry for entry in self._roster.below(child.address) if entry.parent == child.address]
        return [Send(packet, entry.address) for entry in below if self._may_be_lost(entry)]

    def _is_mute(self, child: Child, now: float) -> bool:
        options = self._options
        lacks = child.cumulative < self._agent.end
        is_heard = child.heard_at > now - 2 * options.probe_interval_s
        return lacks and is_heard and child.answered_at <= now - options.parent_timeout_s

    def _release(self) -> None:
        if not self._orphans:
            self._agent.advertised.release()

    # --- who looks for a parent

    def owes(self, source: Address, now: float) -> bool:
        """Whether somebody must be taken though there is no room: it is about to be given up otherwise."""
        orphan = self._orphans.get(source)
        # In the first half of its time it may still find another parent that holds what it lacks.
        return orphan is not None and now >= orphan[0] - self._grace_s / 2

    def refused(self, source: Address, reason: Reason, now: float) -> list[Effect]:
        """Somebody was. Whoever may still find a place below is not for the application to know."""
        if reason is Reason.STARTED or (reason is Reason.FULL and not self.candidates(now)):
            return [PeerRefused(source, reason.text)]
        return []

    def candidates(self, now: float) -> tuple[Address, ...]:
        """Who else may be asked for a place."""
        if now >= self._open_until:
            self._open = self._with_room()
            self._open_until = now + LOOK_S if len(self._open[0]) > CANDIDATES else -inf
        agents, spares = self._open
        named = self._rng.sample(agents, CANDIDATES) if len(agents) > CANDIDATES else agents
        room = CANDIDATES - len(named)
        return (*named, *(self._rng.sample(spares, room) if len(spares) > room else spares))

    def _with_room(self) -> tuple[list[Address], list[Address]]:
        """Agents, and where that may be needed spare ones."""
        load = Counter(entry.parent for entry in self._roster.members.values() if entry.state not in FINAL)
        limit = self._options.fan_out
        open_to = [
            entry
            for entry in self._roster.members.values()
            if entry.state is State.ACTIVE and load[entry.address] < limit and entry.address not in self._orphans
        ]
        agents = [entry.address for entry in open_to if entry.agent or load[entry.address]]
        spares: list[Address] = []
        if len(self._agent.children) >= limit:  # agents may have reasons of their own to refuse somebody
            spares = [entry.address for entry in open_to if entry.spare and not (entry.agent or load[entry.address])]
        return agents, spares
