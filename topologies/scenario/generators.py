"""Networks that a scenario names by their shape: trees, fat trees, transit-stub networks.

Switches and hosts are numbered in the order in which they are made, from 1. How many there will be is known, and
bounded, before any is made.
"""

import itertools
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from topologies.scenario.network import Strict

MAX_MADE = 20_000
"""Nodes of a generated network (ours); a controller's own bounds are lower and come later."""

Role: TypeAlias = Literal["core", "link", "access"]
"""A link's place: between the switches in the middle, between others, at a host."""
Count = Annotated[int, Field(ge=1, le=MAX_MADE)]


class GeneratorError(ValueError):
    """There is no such network, or it is too large."""


@dataclass(frozen=True, slots=True)
class MadeLink:
    """A link, by its ends' numbers: switches from 0, hosts in a numbering of their own."""

    one: int
    other: int
    role: Role
    fields: Mapping[str, Any] = field(default_factory=dict)
    """What it has of its own."""


@dataclass(frozen=True, slots=True)
class Made:
    """A network. In a link of role `access`, `one` is the host."""

    switches: int
    hosts: int
    links: Sequence[MadeLink]
    names: Sequence[str] | None = None
    """The switches', where they have some of their own."""


class Tree(Strict):
    """Switches in a tree with hosts as its leaves, as Mininet's `--topo tree`."""

    depth: Annotated[int, Field(ge=1, le=16)]
    """Levels of switches."""
    fanout: Annotated[int, Field(ge=1, le=MAX_MADE)]
    """Switches, or hosts, below each switch."""

    def make(self) -> Made:
        """Level by level; the root is the first switch. Its links are the core."""
        levels = [self.fanout**level for level in range(self.depth + 1)]
        _check_size(sum(levels))
        switches, hosts = sum(levels[:-1]), levels[-1]
        links = []
        for child in range(1, switches):
            parent = (child - 1) // self.fanout
            links.append(MadeLink(parent, child, "core" if parent == 0 else "link"))
        first_leaf = switches - levels[-2]
        links += [MadeLink(host, first_leaf + host // self.fanout, "access") for host in range(hosts)]
        return Made(switches, hosts, links)


class FatTree(Strict):
    """A fat tree of switches with k ports (Al-Fares et al. 2008, section 3.1)."""

    k: Annotated[int, Field(ge=2, le=40, multiple_of=2)]
    """Ports of a switch, and pods; (k/2)^2 core switches, k^2/2 aggregation and as many edge switches, k^3/4 hosts."""

    def make(self) -> Made:
        """Core switches first; then pod by pod, aggregation before edge."""
        half = self.k // 2
        cores = half * half
        hosts = self.k * half * half
        _check_size(cores + self.k * self.k + hosts)
        links = []
        for pod in range(self.k):
            aggregation = cores + pod * self.k
            edge = aggregation + half
            for one, other in itertools.product(range(half), repeat=2):
                links.append(MadeLink(one * half + other, aggregation + one, "core"))
            for one, other in itertools.product(range(half), repeat=2):
                links.append(MadeLink(aggregation + one, edge + other, "link"))
            for one, other in itertools.product(range(half), repeat=2):
                links.append(MadeLink((pod * half + one) * half + other, edge + one, "access"))
        return Made(cores + self.k * self.k, hosts, links)


class TransitStub(Strict):
    """Transit domains that join stub domains, as GT-ITM draws them (Zegura, Calvert and Bhattacharjee 1996)."""

    domains: Count = 1
    """Transit domains."""
    transit: Count = 4
    """Switches of a transit domain."""
    stubs: Annotated[int, Field(ge=0, le=MAX_MADE)] = 2
    """Stub domains at each transit switch."""
    stub: Count = 3
    """Switches of a stub domain."""
    hosts: Annotated[int, Field(ge=0, le=MAX_MADE)] = 1
    """At each switch of a stub domain."""
    edges: Annotated[float, Field(ge=0, le=1)] = 0.2
    """Probability of a link between two switches of a domain beyond those of a random tree, which joins them anyway
    (the authors draw a graph anew until it is connected). The default is ours."""
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 1

    def make(self) -> Made:
        """Transit switches first, domain by domain; then stub domains, in the order of their transit switches."""
        middle = self.domains * self.transit
        switches = middle + middle * self.stubs * self.stub
        hosts = (switches - middle) * self.hosts
        _check_size(switches + hosts)
        if max(self.transit, self.stub) > MAX_DOMAIN:
            raise GeneratorError(f"a domain has {MAX_DOMAIN} switches at most")
        rng = random.Random(self.seed)
        links = []
        for domain in range(1, self.domains):
            one = rng.randrange(domain) * self.transit + rng.randrange(self.transit)
            links.append(MadeLink(one, domain * self.transit + rng.randrange(self.transit), "core"))
        for domain in range(self.domains):
            links += self._domain(rng, domain * self.transit, self.transit, "core")
        for number in range(middle * self.stubs):
            first = middle + number * self.stub
            links += self._domain(rng, first, self.stub, "link")
            links.append(MadeLink(number // self.stubs, first + rng.randrange(self.stub), "link"))
        links += [MadeLink(host, middle + host // self.hosts, "access") for host in range(hosts)]
        return Made(switches, hosts, links)

    def _domain(self, rng: random.Random, first: int, count: int, role: Role) -> list[MadeLink]:
        """A random tree over a domain's switches, and further links at random."""
        joined = {(first + rng.randrange(number), first + number) for number in range(1, count)}
        joined |= {
            pair
            for pair in itertools.combinations(range(first, first + count), 2)
            if pair not in joined and rng.random() < self.edges
        }
        return [MadeLink(one, other, role) for one, other in sorted(joined)]


MAX_DOMAIN = 256
"""Switches of one domain, of which all pairs are looked at (ours)."""


def _check_size(nodes: int) -> None:
    if nodes > MAX_MADE:
        count = "very many" if nodes > 10**12 else str(nodes)
        raise GeneratorError(f"makes {count} nodes, and {MAX_MADE} are the most")
