"""A stranger in a simulated session: it hears what comes to each member, and what it sends arrives at once."""

import random
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from hosts import protocols
from hosts.endpoint import Address
from hosts.protocol import Session as HostSession
from topologies.forging import STRANGER, Heard, forge
from topologies.scenario.session import Session
from topologies.simulation.member import Member
from topologies.swallowing import Swallower, has_agents


def agent(session: Session, told: HostSession, rng: random.Random) -> Swallower | None:
    """A receiver that would serve others; None: the session's protocol has no such receivers."""
    return Swallower(protocols.get(session.protocol), told, rng) if has_agents(session.protocol) else None


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
