"""The controller of a simulated run: its own core, at virtual times, over lines that take a while."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from canopy_engine import Switch

from controller.core import Core
from controller.events import EventLog
from controller.hop_keys import HopKeys
from controller.members import Place
from controller.network import Network
from controller.program import Program
from controller.service import TICK_S
from controller.switch_app import RETRY_S
from topologies.agenda import Agenda
from topologies.simulation.switch import SimulatedSwitch


class ControlPlane:
    """The controller and the switches that it has in charge."""

    def __init__(
        self,
        network: Network,
        program: Program,
        switches: Mapping[str, SimulatedSwitch],
        agenda: Agenda,
        events: Path,
        delay_s: float,
        hop_keys: HopKeys | None = None,
    ) -> None:
        """`events` is the file of the controller's own events; `delay_s` what each way to a switch takes."""
        self._hop_keys = hop_keys
        self._network = network
        self._program = program
        self._switches = switches
        self._agenda = agenda
        self._events = EventLog(events, clock=lambda: agenda.now)
        self._delay_s = delay_s
        self._away: set[str] = set()
        self._down_links: frozenset[str] = frozenset()
        self._members: Sequence[Place] = ()
        self._core: Core | None = None

    def start(self) -> None:
        """Bring all switches into their state before the run begins, and keep them there."""
        self._events.open()
        self.start_controller()
        self._agenda.every(self._delay_s, lambda _: self._collect(), start=self._delay_s)
        self._agenda.every(TICK_S, lambda _: self._tick())

    def close(self) -> None:
        """Finish the event file."""
        self._events.close()

    @property
    def notes(self) -> list[str]:
        """What switches refused."""
        return [note for switch in self._switches.values() for note in switch.refusals]

    @property
    def data_planes(self) -> dict[str, Switch]:
        """What forwards, by the switches' names."""
        return {name: switch.data_plane for name, switch in self._switches.items()}

    def feedback_outcomes(self) -> dict[str, dict[str, int]]:
        """What became of feedback at each switch so far, by the names of the outcomes."""
        return {name: switch.feedback_outcomes() for name, switch in self._switches.items()}

    # --- what faults do

    def kill_controller(self) -> None:
        """The controller is gone. Switches go on as they are."""
        if self._core is not None:
            # A restarted controller reads them from its state directory.
            self._down_links = self._core.trees.down
            self._members = self._core.members.places()
            self._events.add("controller_stop")
        self._core = None
        for switch in self._switches.values():
            switch.disconnect()

    def start_controller(self) -> None:
        """A new controller, which learns from the switches what the one before had told them."""
        core = Core(
            self._network,
            self._program,
            self._events,
            down_links=self._down_links,
            members=self._members,
            clock=lambda: self._agenda.now,
            hop_keys=self._hop_keys,
            wall_ns=lambda: int(self._agenda.now * 1e9),
        )
        core.connect(self._switches)
        self._core = core
        self._events.add("controller_start", network=self._network.name)
        there = [switch for name, switch in self._switches.items() if name not in self._away]
        fresh = {switch.name: not switch.has for switch in there}
        _take_over(core, there)
        for switch in there:
            switch.connect(core, fresh=fresh[switch.name])

    def kill_switch(self, name: str) -> None:
        """A switch's process is gone."""
        self._away.add(name)
        self._switches[name].disconnect()
        if self._core is not None:
            self._core.disconnected(name)

    def start_switch(self, name: str) -> None:
        """A switch's process is there again, empty. The controller finds it when it tries next."""
        self._switches[name].restart()
        self._agenda.after(RETRY_S, lambda _: self._reconnect(name))

    def set_link(self, one: str, other: str, *, up: bool) -> None:
        """An operator tells the controller of a link between two switches."""

        def tell(_now: float) -> None:
            if self._core is not None:
                self._core.set_link(f"{one}-{other}", up=up)

        self._agenda.after(self._delay_s, tell)

    # --- within

    def _reconnect(self, name: str) -> None:
        self._away.discard(name)
        if self._core is not None:
            self._switches[name].connect(self._core, fresh=True)

    def _collect(self) -> None:
        for switch in self._switches.values():
            switch.collect()

    def _tick(self) -> None:
        if self._core is not None:
            self._core.tick()


def _take_over(core: Core, switches: list[SimulatedSwitch]) -> None:
    """Let a controller take over what the switches have. It need not wait for any: all are read at one moment."""
    refused = [switch for switch in switches if not core.take_over(switch.name, list(switch.has.values()))]
    core.begin()
    for switch in refused:
        switch.restart()
