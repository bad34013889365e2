"""What a stranger's packets do to a session of each protocol: open, open behind P4 switches, sealed, and signed."""

from collections.abc import Mapping
from math import inf
from typing import Any, Final

from experiments.harness.measures import receiver_bytes
from experiments.harness.relations import Every, Only, RatioBetween
from experiments.harness.row import Bars, Case, Experiment, Row
from experiments.harness.runs import Finished
from topologies.attacks import FORGERIES, HARMLESS, JOINING, STRANGER, WAYS, Way
from topologies.forging import BEFORE, PARTS
from topologies.scenario.activity import Forgery
from topologies.swallowing import AGENT, has_agents

_MOST: Final = {"none": 4.0, "group": 1 + HARMLESS, "signed": 1 + HARMLESS}
"""Times as long as without the attack that a session may take, by its security (ours)."""
_MOST_JOINED: Final = 8.0
"""Likewise of an open one into which somebody has joined who is not there: `MOST_JOIN_DELAY_S`, and a session of half a
second (ours)."""
_NONE: Final = "no attack"
_TREE: Final = "no attack on a tree"
"""Without the one that serves others, whose victims look for parents: that takes its time by itself."""
_FILES: Final = ("mtcp", "rla", "tfmcc", "arbor", "webrc")
_STREAMS: Final = ("vlmcc",)
_FILE: Final = "200 kB"
_STREAM_BYTES: Final = 400_000
"""Of which a stream's slowest receiver has to have so many."""
_SECONDS: Final = 8.0
"""Of a run: the longest that any session was seen to take, and a third."""
_SWALLOWED_SECONDS: Final = 14.0
"""Of one with somebody who passes nothing on: until it is left, likewise."""
_MIDDLE_S: Final = {"webrc": 1.5, "vlmcc": 0.6}
"""After a session's start, about half of what it takes."""
_MIDDLE_OF_FILES_S: Final = 0.25
_START: Final = 0.5


def _most(way: Way, attack: Forgery) -> float:
    """Times as long as without the attack."""
    if way.security != "none":
        return _MOST[way.security]
    return _MOST_JOINED if attack in JOINING else _MOST["none"]


def _case(way: Way, attack: Forgery | None, *, is_served: bool = False) -> Case:
    usual = _TREE if is_served else _NONE
    return Case(f"{way.name}, {attack or usual}", _document(way, attack, is_served=is_served or attack == AGENT))


def _cases(way: Way) -> list[Case]:
    return [_case(way, None), _case(way, None, is_served=True), *(_case(way, attack) for attack in FORGERIES)]


def _document(way: Way, attack: Forgery | None, *, is_served: bool) -> dict[str, Any]:
    """One P4 switch; a sender and two receivers for each protocol, which share no link with another's. `is_served`: the
    receivers take for a parent who offers itself."""
    nodes: dict[str, Any] = {"s1": {"kind": "p4"}}
    links: list[dict[str, Any]] = []
    sessions, faults = [], []
    for number, protocol in enumerate((*_FILES, *_STREAMS), 1):
        sender, *receivers = hosts = [f"{protocol}_{end}" for end in ("s", "r1", "r2")]
        nodes |= {host: {"kind": "host"} for host in hosts}
        links.append({"between": [sender, "s1"], "rate": "100 Mbps", "delay": "1 ms"})
        for receiver, delay in zip(receivers, ("5 ms", "9 ms"), strict=True):
            queue = {"kind": "droptail", "packets": 50}
            links.append({"between": ["s1", receiver], "rate": "4 Mbps", "delay": delay, "queue": queue})
        content = {"size": _FILE} if protocol in _FILES else {"realtime": True}
        sessions.append(
            {
                "id": number,
                "protocol": protocol,
                "sender": sender,
                "group": f"239.1.{number}.1",
                "port": 5000 + number,
                "membership": "any-source",
                "start": f"{_START:g} s",
                **content,
                **({"tree": "automatic"} if is_served and has_agents(protocol) else {}),
                **({} if way.security == "none" else {"security": way.security}),
                "receivers": receivers,
            }
        )
        for part in () if attack is None else PARTS.get(attack, (attack,)):
            at = (
                0.0 if is_served else _START if part in BEFORE else _START + _MIDDLE_S.get(protocol, _MIDDLE_OF_FILES_S)
            )
            fault = {"kind": "attack", "at": f"{at:g} s", "session": number, "forgery": part}
            fault |= {} if way.spoofed else {"spoofed": False}
            faults.append(fault | ({"host": STRANGER} if part == AGENT else {}))
    if is_served:
        nodes[STRANGER] = {"kind": "host"}
        links.append({"between": [STRANGER, "s1"]})
    more = {"faults": faults} if faults else {}
    seconds = _SWALLOWED_SECONDS if is_served else _SECONDS
    document = {"name": "security", "duration": f"{seconds:g} s", "nodes": nodes, "links": links}
    return {**document, "sessions": sessions, **more, "simulation": {"trace": "50 ms"}}


def _measure(run: Finished) -> Mapping[str, float]:
    """Seconds from a session's start until its slowest receiver has all, of a stream so many bytes; infinite, which is
    beyond any bound, where one has not when the run ends."""
    return {protocol: _took(run, number) for number, protocol in enumerate((*_FILES, *_STREAMS))}


def _took(run: Finished, number: int) -> float:
    session = run.summary["sessions"][number]
    if session["protocol"] in _FILES:
        ends = [one["completed_at"] if one["complete"] else None for one in session["receivers"]]
    else:
        counters = [receiver_bytes(run, number, one["host"]) for one in session["receivers"]]
        ends = [next((at for at, octets in counter if octets >= _STREAM_BYTES), None) for counter in counters]
    return max(inf if end is None else end - _START for end in ends)


ROWS: Final = (
    Row(
        "security",
        "security",
        "sim",
        "a stranger's packets into files and streams of all protocols",
        "none",
        "sealed or signed, all take 0.99 to 1.01 times as long as without; open ones 4 times at most, 8 where "
        "somebody joins who is not there",
        "",
        Experiment(
            lambda quick: [case for way in WAYS for case in _cases(way)],
            _measure,
            Every(
                [
                    Only(
                        RatioBetween(
                            f"{way.name}, {attack}",
                            f"{way.name}, {_TREE if attack == AGENT else _NONE}",
                            1 / _most(way, attack),
                            _most(way, attack),
                        ),
                        protocol,
                    )
                    for way in WAYS
                    for attack in FORGERIES
                    for protocol in (*_FILES, *_STREAMS)
                ]
            ),
            Bars({protocol: f"{protocol}, s" for protocol in (*_FILES, *_STREAMS)}),
        ),
    ),
)
"""One, beside the papers'."""
