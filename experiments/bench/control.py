"""How long a controller needs for a fat tree: to tell all its switches, and those that a link's failure concerns.

Controller and switches are those of a simulation, in virtual time, in which they take none; what is measured is the
processor time of both, the switches' P4Runtime servers and tables included.
"""

import resource
import tempfile
import time
from pathlib import Path

from controller.program import Program
from experiments.figures.bench import Figure
from topologies.agenda import Agenda
from topologies.plan import derive_seed, make_plan, network_description
from topologies.scenario import parse_scenario
from topologies.simulation.control import ControlPlane
from topologies.simulation.network import SimulatedNetwork
from topologies.simulation.switch import SimulatedSwitch

_DELAY_S = 0.001
"""Of each way between controller and switch."""
_SETTLED_S = 4 * _DELAY_S
"""What is to be done is done by then: a link is told of, and entries are written, each with the delay."""

_SCENARIO = """\
name: control
duration: 1 s
network: {{fat-tree: {{k: {k}}}}}
sessions:
  - {{id: 1, protocol: mtcp, sender: r1, group: 232.1.0.1, port: 5001, size: 1 kB, receivers: [r2]}}
"""


def measure(k: int) -> list[Figure]:
    """Of a fat tree of switches with k ports. ScenarioError when k is none."""
    scenario = parse_scenario(_SCENARIO.format(k=k))
    plan = make_plan(scenario)
    program = Program()
    begin = time.process_time()
    switches = {
        name: SimulatedSwitch(name, program, derive_seed(scenario.seed, f"switch {name}")) for name in scenario.switches
    }
    network = SimulatedNetwork(plan, {name: switch.data_plane for name, switch in switches.items()})
    agenda = Agenda()
    for switch in switches.values():
        switch.attach(network.sim, agenda, _DELAY_S)
    with tempfile.TemporaryDirectory() as folder:
        control = ControlPlane(
            network_description(scenario, plan), program, switches, agenda, Path(folder, "events.jsonl"), _DELAY_S
        )
        control.start()
        programmed = time.process_time() - begin
        entries = sum(len(switch.has) for switch in switches.values())
        half = k // 2
        first, access = half * half + 1, half * half + half + 1  # a pod's first switch below the core, and below that
        failures = {"the core": ("s1", f"s{first}"), "the edge": (f"s{first}", f"s{access}")}
        repaired = {}
        for place, (one, other) in failures.items():
            _run(agenda, _SETTLED_S)
            begin = time.process_time()
            control.set_link(one, other, up=False)
            _run(agenda, _SETTLED_S)
            repaired[place] = time.process_time() - begin
        control.close()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    size = f"{len(switches):,} switches, {len(plan.hosts):,} hosts"
    return [
        Figure(f"{size}: {entries:,} entries written", programmed, "s", 60.0, at_most=True),
        *(
            Figure(f"a link at {place} fails: all repaired", seconds, "s", 1.0, at_most=True)
            for place, seconds in repaired.items()
        ),
        Figure("memory, switches included", memory, "MB", 2048.0, at_most=True),
    ]


def _run(agenda: Agenda, seconds: float) -> None:
    """Do what is due in so much virtual time."""
    end = agenda.now + seconds
    while agenda.next_at <= end:
        agenda.run_due(agenda.next_at)
    agenda.now = end
