"""No time, however short, lets a simulation stand still: it is refused in one clear line, or the run comes to its end.

Every option of every protocol, and every duration of a scenario: a new one is among them, or fails here.
"""

import contextlib
import copy
import dataclasses
import inspect
import json
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from hosts import protocols
from hosts.protocol import Protocol
from tests.topologies.simulation.runs import simulate
from topologies.scenario import ScenarioError
from topologies.scenario.quantity import parse_duration
from topologies.scenario.scenario import Scenario

SHORTEST = (5e-324, 1e-300, 1e-12, 1e-9, 1e-6, 1e-3, 1.0)
"""The first one that is accepted has to do."""

STAR: dict[str, Any] = {
    "name": "star",
    "nodes": {"r": {"kind": "router"}, "a": {"kind": "host"}, "b": {"kind": "host"}, "c": {"kind": "host"}},
    "links": [
        {"between": ["a", "r"], "rate": "2 Mbps", "delay": "5 ms"},
        {"between": ["r", "b"], "rate": "1 Mbps", "delay": "5 ms"},
        {"between": ["r", "c"], "rate": "1 Mbps", "delay": "5 ms", "loss": "2 %"},
    ],
}


def run(folder: Path, scenario: dict[str, Any]) -> None:
    simulate(folder, json.dumps(scenario))


def numbers() -> Iterator[Any]:
    """Each option that is a number and not a whole one, with its protocol."""
    for name in protocols.names():
        protocol = protocols.get(name)
        for field in dataclasses.fields(protocol.options):
            if type(field.default) is float:
                yield pytest.param(protocol, field.name, id=f"{name}-{field.name}")


def accepted(protocol: Protocol[Any], option: str) -> list[float]:
    """Zero, if it may be that, and the smallest number of `SHORTEST` that it may be."""
    found: list[float] = []
    for value in (0.0, *SHORTEST):
        with contextlib.suppress(ValueError):
            protocol.parse_options({option: value})
            found.append(value)
            if value:
                break
    return found


@pytest.mark.timeout(60)
@pytest.mark.parametrize(("protocol", "option"), list(numbers()))
def test_the_smallest_numbers_that_an_option_may_be_come_to_an_end(
    protocol: Protocol[Any], option: str, tmp_path: Path
) -> None:
    contents: list[tuple[dict[str, Any], str]] = [({"size": "20 kB"}, "3 s")] if protocol.carries_files else []
    contents += [({"realtime": True}, "500 ms")] if protocol.carries_realtime else []
    tree = {"tree": "automatic"} if "parent" in protocol.option_names else {}
    for value in accepted(protocol, option):
        for content, duration in contents:
            session = {"id": 1, "protocol": protocol.name, "sender": "a", "group": "232.1.0.1", "port": 5000}
            session |= {"receivers": ["b", "c"], "parameters": {option: value}, **content, **tree}
            run(tmp_path / f"{value}-{next(iter(content))}", {**STAR, "duration": duration, "sessions": [session]})


ALL: dict[str, Any] = {
    "name": "all",
    "duration": "1 s",
    "nodes": {
        "s": {"kind": "p4"},
        "t": {"kind": "p4"},
        "a": {"kind": "host", "clock": {"offset": "1 ms"}, "sending": {"least": "0 s", "most": "1 ms"}},
        "b": {"kind": "host", "feedback": {"time": "1 ms"}, "leave_latency": "1 ms"},
        "c": {"kind": "host"},
    },
    "links": [
        {
            "between": ["a", "s"],
            "rate": "2 Mbps",
            "delay": "5 ms",
            "queue": {"kind": "codel", "target": "5 ms", "interval": "100 ms"},
        },
        {
            "between": ["s", "t"],
            "rate": "2 Mbps",
            "delay": "5 ms",
            "toward": {"t": {"delay": "5 ms"}},
            "queue": {"kind": "pie", "target": "15 ms", "update": "15 ms", "max_burst": "150 ms"},
            "reorder": {"probability": "10 %", "delay": "1 ms"},
        },
        {
            "between": ["t", "b"],
            "rate": "1 Mbps",
            "delay": "5 ms",
            "queue": {"kind": "fq_codel", "target": "5 ms", "interval": "100 ms"},
        },
        {
            "between": ["t", "c"],
            "rate": "1 Mbps",
            "delay": "5 ms",
            "queue": {"kind": "dualpi2", "target": "15 ms", "update": "16 ms", "step": "800 us", "ramp": "400 us"},
        },
    ],
    "sessions": [
        {
            "id": 1,
            "protocol": "mtcp",
            "sender": "a",
            "group": "232.1.0.1",
            "port": 5000,
            "size": "20 kB",
            "start": "100 ms",
            "security": "group",
            "receivers": [{"host": "b", "join": "0 s", "leave": "500 ms"}, "c"],
            "slow_receivers": {"drop_after": "1 s"},
        }
    ],
    "traffic": [
        {
            "kind": "tcp",
            "source": "a",
            "destination": "b",
            "start": "0 s",
            "stop": "1 s",
            "simulated": {"minimum_timeout": "200 ms", "delayed_ack": "40 ms"},
        },
        {"kind": "web", "source": "a", "destination": "c", "gap": "100 ms", "size": "2 kB"},
        {"kind": "on-off", "source": "b", "destination": "a", "rate": "1 Mbps", "on": "100 ms", "off": "100 ms"},
    ],
    "faults": [
        {"kind": "link-down", "at": "200 ms", "link": ["s", "t"], "duration": "10 ms"},
        {"kind": "link-delay", "at": "300 ms", "link": ["s", "t"], "delay": "9 ms"},
        {"kind": "switch-restart", "at": "400 ms", "switch": "t", "outage": "10 ms"},
        {"kind": "receiver-dies", "at": "600 ms", "session": 1, "host": "c"},
        {"kind": "controller-restart", "at": "700 ms", "outage": "10 ms"},
        {"kind": "link-rate", "at": "800 ms", "link": ["s", "t"], "rate": "1 Mbps"},
        {"kind": "attack", "at": "900 ms", "session": 1, "forgery": "garbage"},
    ],
    "simulation": {
        "control_delay": "5 ms",
        "sample": "250 ms",
        "trace": "200 ms",
        "sealing": {"seal": "4 us", "open": "2 us"},
    },
}
"""A bit of everything."""

PLACES: dict[tuple[str, str], tuple[str | int, ...]] = {
    ("Scenario", "duration"): ("duration",),
    ("HostClock", "offset"): ("nodes", "a", "clock", "offset"),
    ("ProcessingTime", "least"): ("nodes", "a", "sending", "least"),
    ("ProcessingTime", "most"): ("nodes", "a", "sending", "most"),
    ("FeedbackTime", "time"): ("nodes", "b", "feedback", "time"),
    ("Host", "leave_latency"): ("nodes", "b", "leave_latency"),
    ("Link", "delay"): ("links", 0, "delay"),
    ("Direction", "delay"): ("links", 1, "toward", "t", "delay"),
    ("Codel", "target"): ("links", 0, "queue", "target"),
    ("Codel", "interval"): ("links", 0, "queue", "interval"),
    ("Pie", "target"): ("links", 1, "queue", "target"),
    ("Pie", "update"): ("links", 1, "queue", "update"),
    ("Pie", "max_burst"): ("links", 1, "queue", "max_burst"),
    ("Reorder", "delay"): ("links", 1, "reorder", "delay"),
    ("FqCodel", "target"): ("links", 2, "queue", "target"),
    ("FqCodel", "interval"): ("links", 2, "queue", "interval"),
    ("DualPi2", "target"): ("links", 3, "queue", "target"),
    ("DualPi2", "update"): ("links", 3, "queue", "update"),
    ("DualPi2", "step"): ("links", 3, "queue", "step"),
    ("DualPi2", "ramp"): ("links", 3, "queue", "ramp"),
    ("Session", "start"): ("sessions", 0, "start"),
    ("Receiver", "join"): ("sessions", 0, "receivers", 0, "join"),
    ("Receiver", "leave"): ("sessions", 0, "receivers", 0, "leave"),
    ("SlowReceivers", "drop_after"): ("sessions", 0, "slow_receivers", "drop_after"),
    ("_Flow", "start"): ("traffic", 0, "start"),
    ("_Flow", "stop"): ("traffic", 0, "stop"),
    ("SimulatedTcp", "minimum_timeout"): ("traffic", 0, "simulated", "minimum_timeout"),
    ("SimulatedTcp", "delayed_ack"): ("traffic", 0, "simulated", "delayed_ack"),
    ("WebFlow", "gap"): ("traffic", 1, "gap"),
    ("OnOffFlow", "on"): ("traffic", 2, "on"),
    ("OnOffFlow", "off"): ("traffic", 2, "off"),
    ("LinkDown", "at"): ("faults", 0, "at"),
    ("LinkDown", "duration"): ("faults", 0, "duration"),
    ("LinkDelay", "at"): ("faults", 1, "at"),
    ("LinkDelay", "delay"): ("faults", 1, "delay"),
    ("SwitchRestart", "at"): ("faults", 2, "at"),
    ("SwitchRestart", "outage"): ("faults", 2, "outage"),
    ("ReceiverDies", "at"): ("faults", 3, "at"),
    ("ControllerRestart", "at"): ("faults", 4, "at"),
    ("ControllerRestart", "outage"): ("faults", 4, "outage"),
    ("LinkRate", "at"): ("faults", 5, "at"),
    ("Attack", "at"): ("faults", 6, "at"),
    ("Simulation", "control_delay"): ("simulation", "control_delay"),
    ("Simulation", "sample"): ("simulation", "sample"),
    ("Simulation", "trace"): ("simulation", "trace"),
    ("SealingTime", "seal"): ("simulation", "sealing", "seal"),
    ("SealingTime", "open"): ("simulation", "sealing", "open"),
}
"""Every duration that there is, and where `ALL` has it."""


def parts(annotation: Any) -> Iterator[Any]:
    """An annotation and all that it is made of."""
    yield annotation
    for part in (*typing.get_args(annotation), *getattr(annotation, "__metadata__", ())):
        yield from parts(part)


def durations(model: type[BaseModel], seen: set[type]) -> Iterator[tuple[str, str]]:
    """The class that has it and its name, of each duration of a model and of what it is made of."""
    seen.add(model)
    for name, field in model.model_fields.items():
        pieces = [*parts(field.annotation), *field.metadata]
        if any(getattr(piece, "func", None) is parse_duration for piece in pieces):
            owner = [base for base in model.__mro__ if name in inspect.get_annotations(base)][-1]
            yield owner.__name__, name
        for piece in pieces:
            if isinstance(piece, type) and issubclass(piece, BaseModel) and piece not in seen:
                yield from durations(piece, seen)


def test_every_duration_has_its_place() -> None:
    assert set(durations(Scenario, set())) == set(PLACES)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("value", ["0 s", "1e-300 s", "0.001 us"])
@pytest.mark.parametrize("place", list(PLACES.values()), ids=[".".join(key) for key in PLACES])
def test_the_shortest_durations_come_to_an_end(place: tuple[str | int, ...], value: str, tmp_path: Path) -> None:
    scenario = copy.deepcopy(ALL)
    at: Any = scenario
    for step in place[:-1]:
        at = at[step]
    assert place[-1] in at
    at[place[-1]] = value
    said = ""
    try:
        run(tmp_path / "run", scenario)
    except ScenarioError as error:
        said = str(error)
    assert not said or str(place[-1]) in said
    assert said or value != "1e-300 s", "nothing is shorter than a nanosecond"
    if place != ("duration",):  # before which things must happen
        assert said.count("\n") == 0, "one line says it"


@pytest.mark.parametrize("flow", [1, 2])
def test_a_pareto_distribution_of_nothing_but_zeros_is_refused(flow: int, tmp_path: Path) -> None:
    scenario = copy.deepcopy(ALL)
    scenario["traffic"][flow] |= {"shape": 1.0000000000000002}
    with pytest.raises(ScenarioError, match=rf"traffic\[{flow}\]\.shape: .*1\.01"):
        run(tmp_path / "run", scenario)
