"""What each member of a session is told: its protocol's parameters, and what the scenario says of tree and policy."""

from collections.abc import Callable
from typing import TypeAlias

from hosts import protocols
from hosts.endpoint import Address
from topologies.scenario.session import DEFAULT_FAN_OUT, Session

FIRST_PORT = 10000
"""UDP port of the endpoints of the first session; each session has its own, on every host. Kernels give those from
32768 on to programs that do not care, the simulator those from 20000 on."""

Parameters: TypeAlias = dict[str, bool | int | float | str]


def member_parameters(session: Session, host: str, address: Callable[[str], Address]) -> Parameters:
    """The parameters of the sender's or a receiver's endpoint; `address` gives that of another member.

    What the scenario's `parameters` say themselves comes first."""
    told: Parameters = {}
    if session.slow_receivers is not None:
        told["drop_after_s"] = session.slow_receivers.drop_after
    if session.assist != "none":
        told["assist"] = session.assist
    if "parent" in protocols.get(session.protocol).option_names:
        told |= _place(session, host, address)
    return {**told, **session.parameters}


def _place(session: Session, host: str, address: Callable[[str], Address]) -> Parameters:
    """A member's place in the logical tree."""
    if session.tree == "one-level":
        place: Parameters = {"fan_out": session.fan_out or max(DEFAULT_FAN_OUT, len(session.receivers))}
    else:
        place = {"fan_out": session.fan_out or DEFAULT_FAN_OUT}
    if host == session.sender:
        return place
    parent = session.parents.get(host)
    if parent is not None:
        place["parent"] = "sender" if parent == session.sender else str(address(parent))
    if session.tree == "one-level":
        place["spare"] = False
    if host in session.agents:
        place["agent"] = True
    return place


def drop_after_s(session: Session) -> float | None:
    """The policy for slow receivers: after how many seconds one is left behind; None where the protocol has none."""
    protocol = protocols.get(session.protocol)
    if "drop_after_s" not in protocol.option_names:
        return None
    policy: Parameters = {}
    if session.slow_receivers is not None:
        policy["drop_after_s"] = session.slow_receivers.drop_after
    return float(protocol.parse_options({**policy, **session.parameters}).drop_after_s)
