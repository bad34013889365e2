"""What a scenario asks for that one way of running it cannot give: emulation has no plain routers, for one."""

from collections.abc import Iterator
from typing import Literal, TypeAlias

from topologies.scenario.activity import ControllerRestart, LinkDelay, TcpFlow, UdpFlow, WebFlow
from topologies.scenario.errors import Finding
from topologies.scenario.scenario import Scenario

Purpose: TypeAlias = Literal["emulate", "simulate"]

MODELLED_CONGESTION_CONTROLS = ("reno", "vegas")
"""Linux's names of those that the simulator's TCP has."""
LEAST_CONTROL_DELAY_S = 1e-4
"""Of a simulation: switches are looked after once in so long."""
LEAST_SAMPLE_S = 1e-3


def check_ability(scenario: Scenario, purpose: Purpose) -> Iterator[Finding]:
    """Every field that cannot be run in this way, and why."""
    yield from _check_emulation(scenario) if purpose == "emulate" else _check_simulation(scenario)


def _check_emulation(scenario: Scenario) -> Iterator[Finding]:
    for name in scenario.routers:
        yield (
            ("nodes", name, "kind"),
            "a plain router is only simulated (canopy simulate)",
        )
    for index, fault in enumerate(scenario.faults):
        if isinstance(fault, LinkDelay):
            yield ("faults", index, "kind"), "a change of a link's delay is only simulated (canopy simulate)"
    for index, session in enumerate(scenario.sessions):
        if session.endless:
            yield ("sessions", index, "endless"), "a stream without end is only simulated (canopy simulate)"
    for index, flow in enumerate(scenario.traffic):
        if isinstance(flow, WebFlow):
            yield ("traffic", index, "kind"), "web traffic is only simulated (canopy simulate)"
        if isinstance(flow, UdpFlow):
            for field, kind in (("gaps", flow.gaps), ("sizes", flow.sizes)):
                if kind != "constant":
                    yield ("traffic", index, field), f"{kind} {field} are only simulated (canopy simulate)"


def _check_simulation(scenario: Scenario) -> Iterator[Finding]:
    if scenario.switches:
        for name in scenario.routers:
            yield (
                ("nodes", name, "kind"),
                "a network has either P4 switches or plain routers: no controller knows what lies behind a router",
            )
    for index, flow in enumerate(scenario.traffic):
        if not isinstance(flow, TcpFlow) or flow.simulated.recovery is not None:
            continue
        if flow.congestion_control not in MODELLED_CONGESTION_CONTROLS:
            known = " and ".join(MODELLED_CONGESTION_CONTROLS)
            yield ("traffic", index, "congestion_control"), f"the simulator's TCP has {known} only"
    for index, fault in enumerate(scenario.faults):
        if isinstance(fault, ControllerRestart) and not scenario.switches:
            yield ("faults", index, "kind"), "there is no controller without P4 switches"
    for name, host in scenario.hosts.items():
        for field, processing in (("sending", host.sending), ("receiving", host.receiving)):
            if processing is not None and processing.least > processing.most:
                yield ("nodes", name, field, "least"), "must not exceed `most`"
    if scenario.simulation.control_delay < LEAST_CONTROL_DELAY_S:
        yield ("simulation", "control_delay"), f"must be at least {LEAST_CONTROL_DELAY_S * 1e6:g} us"
    for field, interval in (("sample", scenario.simulation.sample), ("trace", scenario.simulation.trace)):
        if interval < LEAST_SAMPLE_S:
            yield ("simulation", field), f"must be at least {LEAST_SAMPLE_S * 1e3:g} ms"
