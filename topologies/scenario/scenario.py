"""A whole scenario: one YAML file that says what the network is and what happens on it."""

from functools import cached_property
from typing import Annotated

from pydantic import Field

from topologies.scenario.activity import Fault, Flow, Session
from topologies.scenario.network import Host, Link, Node, NodeName, P4Switch, Strict
from topologies.scenario.quantity import Duration

MAX_SEED = 2**63 - 1


class Scenario(Strict):
    """What `canopy emulate` runs."""

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

    @cached_property
    def hosts(self) -> dict[str, Host]:
        """Name -> host, in the file's order."""
        return {name: node for name, node in self.nodes.items() if isinstance(node, Host)}

    @cached_property
    def switches(self) -> dict[str, P4Switch]:
        """Name -> switch, in the file's order."""
        return {name: node for name, node in self.nodes.items() if isinstance(node, P4Switch)}

    def link_between(self, one: str, other: str) -> Link | None:
        """The link that joins the two nodes, whichever way round it was written."""
        return next((link for link in self.links if set(link.between) == {one, other}), None)
