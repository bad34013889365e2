"""A stranger in a simulated session: it hears what comes to each member, and what it sends arrives at once."""

import random
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from hosts import protocols
from hosts.endpoint import Address
from hosts.protocol import Session as HostSession
from topologies.forging import STRANGER, Heard, forge
from topologies.scenario.activity import Attack
from topologies.scenario.scenario import Scenario
from topologies.scenario.session import Session
from topologies.simulation.member import Member
from topologies.swallowing import AGENT, Swallower, has_agents


class Agent(NamedTuple):
    """Who takes part at the stranger's host."""

    host: str
    endpoint: Swallower


def agent(scenario: Scenario, session: Session, told: HostSession, rng: random.Random) -> Agent | None:
    """A receiver that would serve others; None: the session's protocol has no such receivers."""
    attacks = (one for one in scenario.faults if isinstance(one, Attack) and one.forgery == AGENT)
    host = next(one.host for one in attacks if one.session == session.id)
    if host is None or not has_agents(session.protocol):
        return None
    return Agent(host, Swallower(protocols.get(session.protocol), told, rng))


def hear(
    session: Session,
    sender: Address,
    receivers: Sequence[Address],
    members: Mapping[Address, Member],
    rng: random.Random,
) -> Heard:
    """What the stranger knows of a session with these members."""
    return Heard(
        protocols.get(session.protocol),
        session.id,
        Address(str(session.group), session.port),
        sender,
        list(receivers),
        {at: member.hosted.heard for at, member in members.items() if member.hosted.heard is not None},
        rng,
    )


def strike(forgery: str, heard: Heard, members: Mapping[Address, Member], sim: Any, *, spoofed: bool) -> bool:
    """Send the packets to whom they are for, members of the session in the simulator `sim`. `spoofed`: what has
    another's source address passes. False: it has to hear more first."""
    forged = forge(forgery, heard)
    for to, datagram in forged or ():
        victim = members.get(to)
        if victim is not None:
            is_own = spoofed or datagram.source.host == STRANGER.host
            sent = datagram if is_own else datagram._replace(source=STRANGER)
            sim.act_at(sim.now, victim.program, partial(victim.hosted.receive, sent))
    return forged is not None or not members
