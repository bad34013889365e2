"""What a scenario's sessions must be: hosts that exist, groups and ids used once, a protocol that knows its options,
and a logical tree that is one.
"""

from collections.abc import Iterator, Mapping, Sequence
from ipaddress import IPv4Address, IPv4Network

from hosts import protocols
from topologies.scenario.errors import FieldPath, Finding
from topologies.scenario.scenario import Scenario
from topologies.scenario.session import DEFAULT_FAN_OUT, Session

SOURCE_SPECIFIC = IPv4Network("232.0.0.0/8")
"""RFC 4607: groups here have no any-source members."""
LOCAL_CONTROL = IPv4Network("224.0.0.0/24")
"""RFC 5771: never forwarded by a router."""


def check_host(scenario: Scenario, path: FieldPath, name: str) -> Iterator[Finding]:
    """That `name`, at `path`, is a host."""
    if name in scenario.switches or name in scenario.routers:
        yield path, f"`{name}` is a {'switch' if name in scenario.switches else 'router'}; this needs a host"
    elif name not in scenario.hosts:
        yield path, f"no host is called `{name}`"


def check_sessions(scenario: Scenario) -> Iterator[Finding]:
    """Every mistake of the sessions that is not one of a single field."""
    for index, session in enumerate(scenario.sessions):
        path = ("sessions", index)
        yield from _check_members(scenario, path, session)
        yield from _check_group(path, session)
        if [session.file is not None, session.size is not None, session.realtime, session.endless].count(True) != 1:
            yield path, "needs something to send: one of `file`, `size`, `realtime: true` and `endless: true`"
        yield from _check_tree(path, session)
        yield from _check_protocol(path, session)
    yield from _check_conflicts(scenario)


def _check_members(scenario: Scenario, path: FieldPath, session: Session) -> Iterator[Finding]:
    yield from check_host(scenario, (*path, "sender"), session.sender)
    seen: set[str] = set()
    for index, receiver in enumerate(session.receivers):
        here = (*path, "receivers", index)
        yield from check_host(scenario, here, receiver.host)
        if receiver.host == session.sender:
            yield here, f"`{receiver.host}` is the sender"
        if receiver.host in seen:
            yield here, f"`{receiver.host}` is listed twice"
        seen.add(receiver.host)
        if receiver.leave is not None and receiver.leave <= receiver.join:
            yield (*here, "leave"), "must come after `join`"
        if receiver.agent and session.tree == "one-level":
            yield (*here, "agent"), "nobody has an agent for a parent in a tree of one level (see `tree`)"


def _check_group(path: FieldPath, session: Session) -> Iterator[Finding]:
    if not session.group.is_multicast:
        yield (*path, "group"), f"{session.group} is not a multicast address (224.0.0.0 to 239.255.255.255)"
    elif session.group in LOCAL_CONTROL:
        yield (*path, "group"), f"{session.group} is in {LOCAL_CONTROL}, which routers do not forward"
    elif not (last := session.group + _group_count(session) - 1).is_multicast:
        yield (*path, "group"), f"the session takes the groups up to {last}, which is not a multicast address"
    elif session.group in SOURCE_SPECIFIC and session.membership == "any-source":
        yield (*path, "membership"), f"groups in {SOURCE_SPECIFIC} are source-specific (RFC 4607)"


def _check_protocol(path: FieldPath, session: Session) -> Iterator[Finding]:
    try:
        protocol = protocols.get(session.protocol)
    except ValueError as error:
        yield (*path, "protocol"), str(error)
        return
    if session.realtime and not protocol.carries_realtime:
        yield (*path, "realtime"), f"{protocol.name} carries no real-time data"
    if not session.realtime and not protocol.carries_files:
        yield (*path, "protocol"), f"{protocol.name} carries real-time data only (`realtime: true`)"
    if session.tree != "one-level" and "parent" not in protocol.option_names:
        yield (*path, "tree"), f"{protocol.name} has no logical tree"
    if session.assist != "none" and "assist" not in protocol.option_names:
        yield (*path, "assist"), f"{protocol.name} has no help by switches"
    policy = {} if session.slow_receivers is None else {"drop_after_s": session.slow_receivers.drop_after}
    for field, parameters in (("parameters", session.parameters), ("slow_receivers", {**session.parameters, **policy})):
        try:
            protocol.parse_options(parameters)
        except ValueError as error:
            yield (*path, field), str(error)
            return


def _check_tree(path: FieldPath, session: Session) -> Iterator[Finding]:
    path = (*path, "tree")
    if not isinstance(session.tree, dict):
        if session.tree == "one-level" and session.fan_out is not None and len(session.receivers) > session.fan_out:
            yield (*path[:-1], "fan_out"), f"{len(session.receivers)} receivers are the sender's children in one level"
        return
    receivers = {receiver.host for receiver in session.receivers}
    most = DEFAULT_FAN_OUT if session.fan_out is None else session.fan_out
    parents: dict[str, str] = {}
    for parent, children in session.tree.items():
        here = (*path, parent)
        if parent not in receivers and parent != session.sender:
            yield here, f"`{parent}` is neither the sender nor a receiver of this session"
        if len(children) > most:
            yield here, f"has {len(children)} children, more than {most} (`fan_out`)"
        for index, child in enumerate(children):
            if child == session.sender:
                yield (*here, index), f"`{child}` is the sender, which is the root of the tree"
            elif child not in receivers:
                yield (*here, index), f"`{child}` is not a receiver of this session"
            elif child in parents:
                yield (*here, index), f"`{child}` is also a child of `{parents[child]}`"
            parents.setdefault(child, parent)
    homeless = [receiver.host for receiver in session.receivers if receiver.host not in parents]
    if homeless:
        yield path, f"no parent is given for {', '.join(f'`{name}`' for name in homeless)}"
    yield from _check_cycles(path, session.tree, parents)


def _check_cycles(path: FieldPath, tree: Mapping[str, Sequence[str]], parents: Mapping[str, str]) -> Iterator[Finding]:
    """One finding for each cycle, at the first of its parents in the file."""
    settled: set[str] = set()
    for start in tree:
        way: list[str] = []
        at: str | None = start
        while at is not None and at not in settled and at not in way:
            way.append(at)
            at = parents.get(at)
        if at is not None and at in way:
            circle = way[way.index(at) :]
            names = " is below ".join(f"`{name}`" for name in [*circle, circle[0]])
            yield (*path, next(parent for parent in tree if parent in circle)), f"no tree: {names}"
        settled.update(way)


def _check_conflicts(scenario: Scenario) -> Iterator[Finding]:
    ids: dict[int, int] = {}
    groups: dict[tuple[int, int], int] = {}
    for index, session in enumerate(scenario.sessions):
        if session.id in ids:
            yield ("sessions", index, "id"), f"also the id of sessions[{ids[session.id]}]"
        ids.setdefault(session.id, index)
        first = int(session.group)
        keys = [(group, session.port) for group in range(first, first + _group_count(session))]
        taken = next((key for key in keys if key in groups), None)
        if taken is not None:
            yield (
                ("sessions", index, "port"),
                f"{IPv4Address(taken[0])} port {session.port} is used by sessions[{groups[taken]}]",
            )
        for key in keys:
            groups.setdefault(key, index)


def _group_count(session: Session) -> int:
    """Groups from the session's own on; 1 where its protocol or parameters are wrong, which is said elsewhere."""
    try:
        return protocols.get(session.protocol).group_count(session.parameters)
    except ValueError:
        return 1
