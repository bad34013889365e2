"""A whole scenario: one YAML file that says what the network is and what happens on it."""

from functools import cached_property
from typing import Annotated

import yaml
from pydantic import Field, PrivateAttr

from topologies.scenario.activity import Fault, Flow
from topologies.scenario.network import Host, Link, Node, NodeName, P4Switch, Router, SealingTime, Strict
from topologies.scenario.quantity import Duration
from topologies.scenario.session import Session

MAX_SEED = 2**63 - 1
MAX_COLUMNS = 120
"""Of a scenario that is written out."""


class Simulation(Strict):
    """What only a simulation needs to be told."""

    control_delay: Duration = 0.005
    """From a switch to the controller, and from the controller to a switch. Some milliseconds are what P4Runtime takes
    on one machine."""
    sample: Duration = 0.25
    """Between two rows of the links' time series."""
    trace: Duration = 0.2
    """Between two rows of the traces of senders and receivers; docs/trace.md's by default. Those of cross traffic have
    a row at most four times a second."""
    traces: Annotated[int, Field(ge=0)] = 64
    """A session with more receivers has no traces of them: nobody reads thousands, and the sender's has them all."""
    sealing: SealingTime | None = None
    """Of members of sealed sessions; None: no time at all."""


class Scenario(Strict):
    """What `canopy emulate` and `canopy simulate` run."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=40)]
    description: str = ""
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] = 1
    duration: Duration
    """The time limit. The run ends earlier when every session has ended, if there are sessions."""
    nodes: dict[NodeName, Node]
    links: list[Link]
    sessions: list[Session] = Field(default=[])
    traffic: list[Flow] = Field(default=[])
    faults: list[Fault] = Field(default=[])
    simulation: Simulation = Simulation()
    _is_expanded: bool = PrivateAttr(default=False)

    def note_expansion(self, is_expanded: bool) -> None:
        """Say whether its file says it in short (expand.py)."""
        self._is_expanded = is_expanded

    @property
    def is_expanded(self) -> bool:
        """Whether its file has ranges or a generated network, and perhaps names another file."""
        return self._is_expanded

    def at_length(self) -> str:
        """The YAML that says it without ranges, generated networks and defaults."""
        document = self.model_dump(mode="json", exclude_unset=True, by_alias=True)
        return yaml.safe_dump(document, sort_keys=False, default_flow_style=None, width=MAX_COLUMNS)

    @cached_property
    def hosts(self) -> dict[str, Host]:
        """Name -> host, in the file's order."""
        return {name: node for name, node in self.nodes.items() if isinstance(node, Host)}

    @cached_property
    def switches(self) -> dict[str, P4Switch]:
        """Name -> P4 switch, in the file's order."""
        return {name: node for name, node in self.nodes.items() if isinstance(node, P4Switch)}

    @cached_property
    def routers(self) -> dict[str, Router]:
        """Name -> plain router, in the file's order."""
        return {name: node for name, node in self.nodes.items() if isinstance(node, Router)}

    def link_between(self, one: str, other: str) -> Link | None:
        """The link that joins the two nodes, whichever way round it was written."""
        return self._link_by_ends.get(frozenset((one, other)))

    @cached_property
    def _link_by_ends(self) -> dict[frozenset[str], Link]:
        return {frozenset(link.between): link for link in self.links}
