"""The children of a sender or agent: who is admitted, how they are probed, and how they end.

What is told of them goes into the roster; their feedback is the agent's (agent.py).
"""

from collections import Counter
from typing import Protocol

from hosts.endpoint import Address, Datagram, Effect, PeerMisquoted, Send
from hosts.protocols.mtcp.agent import Agent
from hosts.protocols.mtcp.children import Child
from hosts.protocols.mtcp.hopeless import hopeless
from hosts.protocols.mtcp.least import Least
from hosts.protocols.mtcp.membership import Membership
from hosts.protocols.mtcp.numbers import spread
from hosts.protocols.mtcp.options import MtcpOptions
from hosts.protocols.mtcp.packets import MERGE_CHILDREN, Feedback, Packet
from hosts.protocols.mtcp.roster import FINAL, WHOLE, Roster
from hosts.protocols.mtcp.tree_packets import (
    Entry,
    Join,
    JoinAck,
    Offer,
    Probe,
    ProbeAck,
    Query,
    Report,
    State,
    encode_abort,
    encode_fin,
    encode_join_ack,
    encode_move,
    encode_offer,
    encode_probe,
    encode_probe_ack,
    encode_report_ack,
)
from hosts.wire.farewell import Abort, Fin
from hosts.wire.reason import Reason
from hosts.wire.seq import extend

FIRST_PROBES_S = 0.25
"""Polling period until a child has answered once: the first repairs need an estimate (ours)."""
KEPT_BUFFERS = 4
"""At the sender a child's buffer counts for so many of its own at most: what a child says of it decides how much is
kept for those below. At an agent it counts for one, as everything there has to fit its own (ours)."""
MAX_LEVELS = 16
"""Below the sender: a path's addresses fit every probe (ours)."""


class Node(Protocol):
    """Where a family's parent stands: the sender (membership.py), or an agent (serving.py)."""

    @property
    def address(self) -> Address | None:
        """Its own, as others see it."""

    @property
    def lineage(self) -> tuple[Address, ...]:
        """Its parent, that one's parent, and so on up to the sender."""

    @property
    def kept_offset(self) -> int:
        """From where on in the stream all above keep it for those below."""

    @property
    def refusal(self) -> Reason:
        """Why nobody can be a child just now; NONE when somebody can. Family's own rules come on top."""

    def sender_clock_us(self, at: float) -> int:
        """What the sender's clock showed at a time of one's own; 0 when that is not known."""

    def sender_silence_s(self, now: float) -> float:
        """How long ago the sender was heard of."""


class Family:
    """See the module."""

    def __init__(
        self,
        session: int,
        options: MtcpOptions,
        counters: Counter[str],
        node: Node,
        agent: Agent,
        roster: Roster,
        membership: Membership | None = None,
    ) -> None:
        """`membership`: of the whole session, which its sender has."""
        self.session = session
        self.options = options
        self.counters = counters
        self.node = node
        self.agent = agent
        self.roster = roster
        self.membership = membership
        self.children = agent.children
        self.former: dict[Address, Child] = {}
        """What was known of those that are through."""
        self.closing = False
        """Nobody is admitted any more, and the children have been told to move."""
        self._move_to: Address | None = None
        self._move_at = 0.0
        self._probe_times = Least(float("inf"))
        # Former children that have said that they go elsewhere, and when they should have turned up.
        self._elsewhere: dict[Address, tuple[Child, float]] = {}
        self._judge_at = 0.0

    # --- inputs

    def control(self, packet: Packet, datagram: Datagram, now: float) -> list[Effect] | None:
        """A packet to a parent, from a child or somebody who wants to be one. None when it is something else."""
        source = datagram.source
        if isinstance(packet, Join):
            return self._join(packet, source, now)
        if isinstance(packet, Query):
            return [self._offer(packet, source, now)]
        child = self.children.get(source)
        if isinstance(packet, Fin) and not packet.answer:
            return self._fin(packet, source, now)
        if child is None:
            return self._stranger(packet, source)
        child.heard_at = now
        if isinstance(packet, ProbeAck):
            if self.agent.delays.probe_answered(child, packet.time_us, datagram.came_at(now)):
                child.probe_waits = False
                self._plan_probe(child)
            return []
        if isinstance(packet, Probe):
            clock = self.node.sender_clock_us(datagram.came_at(now))
            return [Send(encode_probe_ack(self.session, packet.time_us, clock), source)]
        if isinstance(packet, Report):
            child.agent = True
            self.agent.serves_agents()
            effects: list[Effect] = [Send(encode_report_ack(self.session, packet.number), source)]
            for entry in packet.entries:
                effects += self._note(entry, now)
            return effects
        if isinstance(packet, Abort):
            if packet.reason in (Reason.MOVED, Reason.NOT_A_CHILD):
                self._drop(child, now)
                if source in self.roster.members:  # which is bounded
                    self._elsewhere[source] = (child, now + self.options.drop_after_s)
                return []
            return self.remove(child, State.LEFT, packet.reason, now)
        return None

    def _stranger(self, packet: Packet, source: Address) -> list[Effect] | None:
        """Whoever takes us for a parent that we are not must look for another."""
        if isinstance(packet, (Feedback, Probe, Report)):
            known = self.roster.members.get(source)
            self.counters["drop_stranger" if known is None or known.state not in FINAL else "drop_late"] += 1
            return [Send(encode_abort(self.session, Reason.NOT_A_CHILD), source)]
        return None

    # --- who is a child

    def _join(self, join: Join, source: Address, now: float) -> list[Effect]:
        child = self.children.get(source)
        if child is not None and (child.epoch == join.epoch or join.member or not child.feedback):
            # It missed the answer, asked others meanwhile, or was told to move and comes back.
            child.epoch = join.epoch
            child.heard_at = now
            return [self._answer(join, source, child), *self._note(self._entry(child, State.ACTIVE, Reason.NONE), now)]
        reason = Reason.STARTED if child is not None else self._refuses(join, source, now)
        if reason is not Reason.NONE:
            self.counters["refused"] += 1
            ack = JoinAck(self.session, False, reason, join.epoch, child=source)
            refusal = Send(encode_join_ack(ack), source)
            return [refusal] if self.membership is None else [refusal, *self.membership.refused(source, reason, now)]
        buffer_bytes = min(join.window, self.options.buffer_bytes * (1 if self.node.lineage else KEPT_BUFFERS))
        child = self.agent.add_child(source, buffer_bytes, now, first=self._first(join))
        child.epoch = join.epoch
        child.agent, child.spare = join.agent, join.spare
        if child.agent:
            self.agent.serves_agents()
        is_believed = self.agent.witness is None or not self.agent.witness.misquoted
        child.merge = self.options.assist == "switch" and child.number < MERGE_CHILDREN and is_believed
        if self.agent.witness is not None:
            if child.merge:
                self.agent.witness.joined(source, child.first, now)
            self.agent.witness.returned(source)
        self._elsewhere.pop(source, None)
        self.roster.forget_unproven(source)
        effects: list[Effect] = [self._answer(join, source, child)]
        effects += self._note(self._entry(child, State.ACTIVE, Reason.NONE), now)
        effects.append(self._probe(child, now))
        return effects

    def _refuses(self, join: Join, source: Address, now: float) -> Reason:
        if self.node.refusal is not Reason.NONE:
            return self.node.refusal
        known = self.roster.members.get(source)
        if known is not None and known.reason is Reason.TOO_SLOW:
            return Reason.TOO_SLOW  # it may not have heard that it was sent away
        if known is not None and known.state in FINAL and not join.member and known.reason is not Reason.UNPROVEN:
            return Reason.STARTED  # it is through; if it begins again, what it had is not what it gets
        lineage = self.node.lineage
        store = self.agent.store
        if source in lineage or source == self.node.address:
            return Reason.BELOW
        if len(lineage) + 1 >= MAX_LEVELS:
            return Reason.TOO_DEEP
        if not self._has_room(now) and not (join.member and self._owes(source, now)):
            return Reason.FULL
        first = self._first(join)
        if join.member:
            is_held = store.first <= first and self.agent.is_possible(first, 0)
            return Reason.NONE if is_held else Reason.NOT_HELD
        is_over = self.agent.has_end and first == store.end
        return Reason.STARTED if is_over or (join.from_start and not self._has_start) else Reason.NONE

    def _first(self, join: Join) -> int:
        """The packet from which on somebody would get the stream here."""
        if join.member:
            return extend(join.cumulative, self.agent.base)
        return self.agent.store.first if self._has_start else self.agent.base

    @property
    def _has_start(self) -> bool:
        """Whether the whole stream is held, here and by all above, who must do without this node when it dies."""
        return self.agent.store.first_offset == 0 and self.node.kept_offset <= 0

    def _has_room(self, now: float) -> bool:
        """Whether another child can be admitted. A silent one costs nothing, and its children need a place."""
        limit = self.options.fan_out
        if self.closing or len(self.children) < limit:
            return not self.closing
        silent = now - self.options.parent_timeout_s
        return sum(child.heard_at > silent for child in self.children.values()) < limit

    def _owes(self, source: Address, now: float) -> bool:
        """Whether somebody must be taken though there is no room."""
        return self.membership is not None and self.membership.owes(source, now)

    def pass_switches_by(self, now: float) -> list[Effect]:
        """Where a switch has lied, nothing is known of the children whose feedback was merged. They join again, and say
        themselves what they have."""
        witness = self.agent.witness
        if witness is None or not witness.misquoted:
            return []
        merged = [child for child in self.children.values() if child.merge]
        effects: list[Effect] = [PeerMisquoted(peer) for peer in witness.misquoted] if merged else []
        witness.expect(child.address for child in merged)
        for child in merged:
            self._drop(child, now)
            self._elsewhere[child.address] = (child, now + self.options.drop_after_s)
            effects.append(Send(encode_abort(self.session, Reason.NOT_A_CHILD), child.address))
        return effects

    def _answer(self, join: Join, source: Address, child: Child) -> Send:
        first, offset, lineage = child.first, child.first_offset, self.node.lineage
        ack = JoinAck(self.session, child.merge, Reason.NONE, join.epoch, child.number, first, offset, source, lineage)
        return Send(encode_join_ack(ack), source)

    def _offer(self, query: Query, source: Address, now: float) -> Send:
        lineage = self.node.lineage
        room = self._has_room(now) or self._owes(source, now)
        room = room and source not in lineage and len(lineage) + 1 < MAX_LEVELS
        agent = not lineage or bool(self.children) or self.options.agent
        others = () if self.membership is None else self.membership.candidates(now)
        load, is_member = len(self.children), self.membership is not None and source in self.membership.active
        offer = Offer(self.session, room, agent, query.time_us, load, len(lineage), others, is_member)
        return Send(encode_offer(offer), source)

    # --- how they end

    def _fin(self, packet: Fin, source: Address, now: float) -> list[Effect] | None:
        child = self.children.get(source)
        receipt = Send(encode_fin(self.session, True, packet.complete, packet.reason), source)
        state = State.COMPLETE if packet.complete else State.LEFT
        if child is None:  # its parent has gone, or tells nobody of it, and it is somewhere below
            known = self.roster.members.get(source)
            if known is None and packet.complete and self.membership is not None:
                known = self.membership.ended_unknown(source, now)
            if known is None:
                return None
            return [receipt, *self._note(known._replace(state=state, reason=packet.reason), now)]
        return [receipt, *self.remove(child, state, packet.reason, now)]

    def remove(self, child: Child, state: State, reason: Reason, now: float) -> list[Effect]:
        """A child is through, one way or the other: what it held back goes on."""
        if self.membership is not None and child.agent and state is not State.COMPLETE:
            self.membership.abandoned(child)
        self._drop(child, now)
        if child.address in self.roster.members:
            self.former[child.address] = child
        return self._note(self._entry(child, state, reason), now)

    def drop(self, child: Child, reason: Reason, now: float) -> list[Effect]:
        """Wait for a child no longer."""
        self.counters["dropped"] += 1
        return [Send(encode_abort(self.session, reason), child.address), *self.remove(child, State.LOST, reason, now)]

    def _entry(self, child: Child, state: State, reason: Reason) -> Entry:
        parent = self.node.address or child.address
        return Entry(child.address, parent, child.epoch, state, reason, child.agent, child.spare)

    def _drop(self, child: Child, now: float) -> None:
        self._probe_times.remove(child.number)
        self.agent.remove_child(child.address, now)

    def _note(self, entry: Entry, now: float) -> list[Effect]:
        news = self.roster.note(entry)
        return [] if news is None or self.membership is None else self.membership.changed(news, now)

    def leave(self, to: Address, now: float) -> list[Effect]:
        """The node leaves: its children are told, again and again, to join `to`."""
        self.closing = True
        self._move_to = to
        return self._tell_to_move(now)

    def _tell_to_move(self, now: float) -> list[Effect]:
        assert self._move_to is not None
        self._move_at = now + self.options.announce_s
        packet = encode_move(self.session, self._move_to)
        return [Send(packet, address) for address in self.children]

    def dismiss(self, reason: Reason) -> list[Effect]:
        """All children are told that it is over, or that they must look for another parent (NOT_A_CHILD)."""
        packet = encode_abort(self.session, reason)
        return [Send(packet, address) for address in self.children]

    def _others_are_through(self, now: float) -> bool:
        """At the sender: whether of the children left nothing shows that they are there, and somebody has all, or they
        took others' places."""
        if self.membership is None or any(child.presence.is_proven for child in self.children.values()):
            return False
        is_over = self.agent.has_end and any(entry.state in WHOLE for entry in self.roster.members.values())
        return is_over or self.membership.may_wait(now)

    # --- timers

    @property
    def wake_at(self) -> float | None:
        """When `handle_timer` is due."""
        if not self.children and not self._elsewhere:
            return None
        at = self._probe_times.value
        if self._judge_at < at:
            at = self._judge_at
        if self._move_to is not None and self._move_at < at:
            at = self._move_at
        agent_at = self.agent.wake_at
        return at if agent_at is None or at < agent_at else agent_at

    def handle_timer(self, now: float, *, blocked: bool) -> list[Effect]:
        """Probes, repairs and verdicts. `blocked`: there is more to send, but an advertised window keeps it back."""
        effects = self.agent.handle_timer(now)
        while self._probe_times.value <= now:
            child = self.agent.by_number[self._probe_times.key]
            if now >= self._probe_at(child):
                effects.append(self._probe(child, now))
            else:  # it has been measured meanwhile
                self._plan_probe(child)
        if self._move_to is not None and now >= self._move_at:
            effects += self._tell_to_move(now)
        if now >= self._judge_at:
            self._judge_at = now + min(1.0, self.options.drop_after_s / 10)
            for source, (child, until) in list(self._elsewhere.items()):
                if now >= until:  # nobody else has told of it, or this is not the latest that is known of it
                    del self._elsewhere[source]
                    if self.agent.witness is not None:
                        self.agent.witness.returned(source)
                    effects += self._note(self._entry(child, State.LOST, Reason.SILENT), now)
            for child, reason in hopeless(
                self.agent, now, blocked=blocked, others_are_through=self._others_are_through(now)
            ):
                effects += self.drop(child, reason, now)
        return effects

    def _probe_at(self, child: Child) -> float:
        if not child.rtt.samples:
            return child.probed_at + FIRST_PROBES_S
        interval = self.options.probe_interval_s
        # Children that joined together are probed in turn: all at once would be more than short queues hold.
        return child.probed_at + (interval if child.in_turn else interval * (1 + spread(child.number)) / 2)

    def _plan_probe(self, child: Child) -> None:
        self._probe_times.set(child.number, self._probe_at(child))

    def _probe(self, child: Child, now: float) -> Send:
        """Ask a child for a round trip time (3.3), and tell it what it should know."""
        self.agent.probed(child)
        child.probed_at = now
        child.in_turn = child.rtt.samples > 0
        self._plan_probe(child)
        rtt_us = int(child.rtt.mean * 1e6) if child.rtt.samples else 0
        silence_ms = int(self.node.sender_silence_s(now) * 1000)
        packet = encode_probe(self.session, int(now * 1e6), rtt_us, silence_ms, self.node.lineage)
        return Send(packet, child.address)
