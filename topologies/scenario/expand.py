"""What a scenario says in short, said at length: ranges of names and generated networks.

The YAML's nodes are expanded, not its data, so that each part still has the line that it came from."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import Field, model_validator

from topologies.scenario.errors import FieldPath
from topologies.scenario.generators import FatTree, GeneratorError, Made, MadeLink, Role, TransitStub, Tree
from topologies.scenario.graphs import Graph
from topologies.scenario.network import Direction, Strict
from topologies.scenario.ranges import RangeError, names_in

MAX_EXPANDED = 30_000
"""Parts of a scenario that ranges make, all together (ours)."""
REPEATED = ("links", "traffic", "faults")
"""Lists in which a part with ranges stands for one part for each of their names."""
_MAY_BE_RANGE = re.compile(r"[a-z0-9_]\[")
_STRING = "tag:yaml.org,2002:str"
_LIST = "tag:yaml.org,2002:seq"
_MAPPING = "tag:yaml.org,2002:map"

Prefix = Annotated[str, Field(pattern=r"^[a-z][a-z_]*$", max_length=6)]


class GeneratedNetwork(Strict):
    """The field `network`: one shape, and what its nodes are called and its links have."""

    tree: Tree | None = None
    fat_tree: Annotated[FatTree | None, Field(alias="fat-tree")] = None
    transit_stub: Annotated[TransitStub | None, Field(alias="transit-stub")] = None
    graph: Graph | None = None
    kind: Literal["p4", "router"] = "p4"
    """Of its switches."""
    switches: Prefix = "s"
    """Before the numbers of switches,"""
    hosts: Prefix = "r"
    """and of hosts."""
    links: Direction = Direction()
    """What all links between switches have;"""
    core: Direction = Direction()
    """those at a tree's root, of a fat tree's core or between transit switches, instead;"""
    access: Direction = Direction()
    """and those of hosts."""

    @model_validator(mode="after")
    def _one_shape(self) -> "GeneratedNetwork":
        shapes = (self.tree, self.fat_tree, self.transit_stub, self.graph)
        if sum(shape is not None for shape in shapes) != 1:
            raise ValueError("needs one of `tree`, `fat-tree`, `transit-stub` and `graph`")
        if self.switches == self.hosts:
            raise ValueError("`switches` and `hosts` need different names")
        if self.core.model_fields_set and self.graph is not None:
            raise ValueError("a graph has no `core`")
        return self

    def make(self, base: Path) -> Made:
        """GeneratorError."""
        if self.graph is not None:
            return self.graph.make(base)
        shape = self.tree or self.fat_tree or self.transit_stub
        assert shape is not None
        return shape.make()


def may_be_short(text: str, data: Mapping[str, Any]) -> bool:
    """Whether a scenario may have anything to expand."""
    return "network" in data or _MAY_BE_RANGE.search(text) is not None


@dataclass(slots=True)
class Expansion:
    """A scenario's nodes, expanded; what cannot be is in `mistakes`, by the node that it is about."""

    mistakes: list[tuple[int, FieldPath, str]] = field(default_factory=list)
    """Line, field, message."""
    places: dict[int, int | FieldPath] = field(default_factory=dict)
    """An element of a list that grew, by its id -> its number as it was written, or the field that it was made from."""
    changed: bool = False
    _made: int = 0

    def expand(self, root: yaml.MappingNode, network: GeneratedNetwork | None, base: Path) -> yaml.MappingNode:
        """The scenario at length."""
        fields = {key.value: (key, value) for key, value in root.value}
        for name in REPEATED:
            if name in fields:
                key, value = fields[name]
                fields[name] = (key, self._repeated(value, (name,)))
        for name, how in (("nodes", self._nodes), ("sessions", self._sessions)):
            if name in fields:
                key, value = fields[name]
                fields[name] = (key, how(value))
        if network is not None:
            self._generate(fields, network, base)
        return yaml.MappingNode(root.tag, list(fields.values()), root.start_mark, root.end_mark)

    def _wrong(self, node: yaml.Node, path: FieldPath, message: str) -> None:
        self.mistakes.append((node.start_mark.line + 1, path, message))

    def _names(self, node: yaml.Node, path: FieldPath) -> list[str] | None:
        """The names of a scalar that is a range."""
        if not isinstance(node, yaml.ScalarNode):
            return None
        try:
            found = names_in(node.value)
        except RangeError as error:
            self._wrong(node, path, str(error))
            return None
        if found is not None:
            self.changed = True
            self._made += len(found)
            if self._made > MAX_EXPANDED:
                self._wrong(node, path, f"the scenario's ranges have more than {MAX_EXPANDED} names together")
                return None
        return found

    def _nodes(self, nodes: yaml.Node) -> Any:
        if not isinstance(nodes, yaml.MappingNode):
            return nodes
        pairs = []
        taken: dict[str, int] = {}
        for key, value in nodes.value:
            names = self._names(key, ("nodes", str(key.value)))
            for name in [str(key.value)] if names is None else names:
                line = key.start_mark.line + 1
                if taken.setdefault(name, line) != line:
                    self._wrong(key, ("nodes", name), f"given twice (first in line {taken[name]})")
                pairs.append((key if names is None else _scalar(name, key), value))
        return _like(nodes, pairs)

    def _repeated(self, parts: yaml.Node, path: FieldPath) -> Any:
        """A list whose parts with ranges are repeated."""
        if not isinstance(parts, yaml.SequenceNode):
            return parts
        expanded: list[yaml.Node] = []
        for number, part in enumerate(parts.value):
            ranges = {id(node): names for node in _scalars(part) if (names := self._names(node, (*path, number)))}
            counts = sorted({len(names) for names in ranges.values()})
            if len(counts) > 1:
                have = " and ".join(str(count) for count in counts)
                self._wrong(part, (*path, number), f"its ranges have {have} names; they go in step, name by name")
                counts = []
            copies = [_with_names(part, ranges, turn, {}) for turn in range(counts[0])] if counts else [part]
            self.places.update((id(copy), number) for copy in copies)
            expanded += copies
        return _like(parts, expanded)

    def _sessions(self, sessions: yaml.Node) -> Any:
        if not isinstance(sessions, yaml.SequenceNode):
            return sessions
        return _like(sessions, [self._session(one, number) for number, one in enumerate(sessions.value)])

    def _session(self, session: yaml.Node, number: int) -> Any:
        if not isinstance(session, yaml.MappingNode):
            return session
        pairs = []
        for key, value in session.value:
            path = ("sessions", number, str(key.value))
            if key.value == "receivers":
                one = isinstance(value, yaml.ScalarNode)
                listed = yaml.SequenceNode(_LIST, [value], value.start_mark, value.end_mark) if one else value
                pairs.append((key, self._repeated(listed, path)))
            elif key.value == "tree" and isinstance(value, yaml.MappingNode):
                children = [
                    (parent, self._repeated(below, (*path, str(parent.value)))) for parent, below in value.value
                ]
                pairs.append((key, _like(value, children)))
            else:
                pairs.append((key, value))
        return _like(session, pairs)

    def _generate(self, fields: dict[str, Any], network: GeneratedNetwork, base: Path) -> None:
        """The field `network` gives way to its nodes and links, which come before those that are written."""
        key, value = fields.pop("network")
        self.changed = True
        try:
            made = network.make(base)
        except GeneratorError as error:
            self._wrong(key, ("network",), str(error))
            return
        switches = made.names or _numbered(network.switches, made.switches)
        hosts = _numbered(network.hosts, made.hosts)
        if twice := sorted(set(switches) & set(hosts)):
            why = f"a node of the file and a generated host have the name `{twice[0]}`; give `hosts` another name"
            self._wrong(key, ("network",), why)
            return
        given = {part.value: below for part, below in value.value}
        nodes = [(_scalar(name, key), _mapping({"kind": network.kind}, key)) for name in switches]
        nodes += [(_scalar(name, key), _mapping({"kind": "host"}, key)) for name in hosts]
        links = []
        for link in made.links:
            ends = ((hosts if link.role == "access" else switches)[link.one], switches[link.other])
            links.append(_link(ends, link, given, key))
            self.places[id(links[-1])] = ("network", "access" if link.role == "access" else "links")
        self._put_before(fields, "nodes", yaml.MappingNode(_MAPPING, nodes, key.start_mark, key.end_mark), key)
        self._put_before(fields, "links", yaml.SequenceNode(_LIST, links, key.start_mark, key.end_mark), key)

    def _put_before(self, fields: dict[str, Any], name: str, made: yaml.CollectionNode, key: yaml.Node) -> None:
        if name not in fields:
            fields[name] = (_scalar(name, key), made)
            return
        own, written = fields[name]
        if type(written) is not type(made):  # pydantic says what is wrong with it
            return
        if name == "nodes":
            names = {part.value for part, _ in made.value}
            for part, _ in written.value:
                if part.value in names:
                    self._wrong(part, ("nodes", part.value), "given twice (the generated network has a node like it)")
        else:
            self.places.update((id(part), self.places.get(id(part), at)) for at, part in enumerate(written.value))
        fields[name] = (own, _like(written, [*made.value, *written.value]))


def _link(ends: Sequence[str], link: MadeLink, given: Mapping[str, yaml.Node], at: yaml.Node) -> yaml.MappingNode:
    """A generated link: its own fields, then what the scenario says of its role, each where it is written."""
    pairs: dict[str, tuple[yaml.Node, yaml.Node]] = {"between": (_scalar("between", at), _sequence(ends, at))}
    pairs |= {name: (_scalar(name, at), _value(value, at)) for name, value in link.fields.items()}
    roles: dict[Role, tuple[str, ...]] = {"core": ("links", "core"), "link": ("links",), "access": ("access",)}
    for role in roles[link.role]:
        below = given.get(role)
        if isinstance(below, yaml.MappingNode):
            pairs |= {key.value: (key, value) for key, value in below.value}
    return yaml.MappingNode(_MAPPING, list(pairs.values()), at.start_mark, at.end_mark)


def _numbered(prefix: str, count: int) -> list[str]:
    return [f"{prefix}{number}" for number in range(1, count + 1)]


def _scalars(part: yaml.Node) -> Iterator[yaml.ScalarNode]:
    """All scalars of a part that may be ranges, keys included, each once however many aliases lead to it."""
    seen: set[int] = set()
    left = [part]
    while left:
        node = left.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.ScalarNode):
            if "[" in node.value:
                yield node
        elif isinstance(node, yaml.MappingNode):
            left += [one for pair in reversed(node.value) for one in reversed(pair)]
        else:
            left += reversed(node.value)


def _with_names(node: yaml.Node, ranges: Mapping[int, Sequence[str]], turn: int, done: dict[int, Any]) -> Any:
    """A copy of a part with each range's name of that turn; `done` has the copies so far, by what they are of."""
    if id(node) in done:
        return done[id(node)]
    if isinstance(node, yaml.ScalarNode):
        copy: Any = _scalar(ranges[id(node)][turn], node) if id(node) in ranges else node
    elif isinstance(node, yaml.MappingNode):
        copy = _like(node, [tuple(_with_names(one, ranges, turn, done) for one in pair) for pair in node.value])
    else:
        copy = _like(node, [_with_names(child, ranges, turn, done) for child in node.value])
    done[id(node)] = copy
    return copy


def _like(node: yaml.Node, value: Any) -> Any:
    """A node of the same kind and place with another value."""
    return type(node)(node.tag, value, node.start_mark, node.end_mark)


def _scalar(text: str, at: yaml.Node) -> yaml.ScalarNode:
    return yaml.ScalarNode(_STRING, text, at.start_mark, at.end_mark)


def _value(value: Any, at: yaml.Node) -> yaml.ScalarNode:
    tags = {int: "tag:yaml.org,2002:int", float: "tag:yaml.org,2002:float"}
    return yaml.ScalarNode(tags.get(type(value), _STRING), str(value), at.start_mark, at.end_mark)


def _sequence(texts: Sequence[str], at: yaml.Node) -> yaml.SequenceNode:
    return yaml.SequenceNode(_LIST, [_scalar(text, at) for text in texts], at.start_mark, at.end_mark)


def _mapping(fields: Mapping[str, str], at: yaml.Node) -> yaml.MappingNode:
    pairs = [(_scalar(key, at), _scalar(value, at)) for key, value in fields.items()]
    return yaml.MappingNode(_MAPPING, pairs, at.start_mark, at.end_mark)
