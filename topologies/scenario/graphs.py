"""Networks that are graphs: those that networkx makes, and those of GML files (the Internet Topology Zoo's, or what
networkx.write_gml wrote).

A file comes from anywhere: its size is bounded, nothing in it is evaluated, and of its attributes only those are taken
that a link has.
"""

import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from topologies.scenario.generators import GeneratorError, Made, MadeLink
from topologies.scenario.network import Strict
from topologies.scenario.text import read_bounded

MAX_SWITCHES = 1_000
"""Nodes of a graph (ours)."""
MAX_LINKS = 20_000
MAX_FILE = 4_000_000
"""Bytes of a GML file (ours); the Topology Zoo's largest has 0.4 MB."""
KM_PER_S = 2e5
"""Speed of light in fibre: two thirds of that in vacuum."""
EARTH_KM = 6371.0
"""Mean radius (IUGG)."""
LINK_FIELDS = ("rate", "delay", "loss", "mtu")
"""Attributes of an edge that are a link's, written as a scenario writes them."""

_OWN_NAME = re.compile(r"[a-z][a-z0-9_]{0,8}")
"""A label that can be a switch's name."""

Number = Annotated[int, Field(ge=0, le=2**31 - 1)]


def _tree_size(parameters: Mapping[str, Any]) -> int:
    """Nodes of networkx.balanced_tree(r, h)."""
    return sum(parameters["r"] ** level for level in range(min(parameters["h"], 64) + 1))


_SIZES: Mapping[str, tuple[tuple[str, ...], Callable[[Mapping[str, Any]], int]]] = {
    "barabasi_albert_graph": (("n", "m", "seed"), lambda given: given["n"]),
    "connected_watts_strogatz_graph": (("n", "k", "p", "seed"), lambda given: given["n"]),
    "random_regular_graph": (("d", "n", "seed"), lambda given: given["n"]),
    "gnm_random_graph": (("n", "m", "seed"), lambda given: given["n"]),
    "random_labeled_tree": (("n", "seed"), lambda given: given["n"]),
    "balanced_tree": (("r", "h"), _tree_size),
    "grid_2d_graph": (("m", "n"), lambda given: given["m"] * given["n"]),
    "complete_graph": (("n",), lambda given: given["n"]),
    "cycle_graph": (("n",), lambda given: given["n"]),
    "path_graph": (("n",), lambda given: given["n"]),
    "star_graph": (("n",), lambda given: given["n"] + 1),
}
"""networkx's function -> its parameters, and how many nodes come of them. `seed` need not be given: it is 1."""


class Graph(Strict):
    """A graph's nodes as switches, each with some hosts."""

    file: str | None = None
    """A GML file, relative to the scenario's folder."""
    networkx: (
        Literal[
            "barabasi_albert_graph",
            "connected_watts_strogatz_graph",
            "random_regular_graph",
            "gnm_random_graph",
            "random_labeled_tree",
            "balanced_tree",
            "grid_2d_graph",
            "complete_graph",
            "cycle_graph",
            "path_graph",
            "star_graph",
        ]
        | None
    ) = None
    """A function of networkx; its parameters are the fields below."""
    hosts: Annotated[int, Field(ge=0, le=64)] = 1
    """At each switch."""
    n: Number | None = None
    m: Number | None = None
    k: Number | None = None
    d: Number | None = None
    r: Number | None = None
    h: Number | None = None
    p: Annotated[float, Field(ge=0, le=1)] | None = None
    seed: Number | None = None

    @model_validator(mode="after")
    def _one_source(self) -> "Graph":
        if (self.file is None) == (self.networkx is None):
            raise ValueError("needs either `file` (GML) or `networkx` (a function of it)")
        expected = () if self.networkx is None else _SIZES[self.networkx][0]
        given = {name for name in ("n", "m", "k", "d", "r", "h", "p", "seed") if getattr(self, name) is not None}
        what = "a GML file" if self.networkx is None else self.networkx
        if surplus := sorted(given - set(expected)):
            raise ValueError(f"{what} has no parameter {', '.join(f'`{name}`' for name in surplus)}")
        if missing := [name for name in expected if name not in given and name != "seed"]:
            raise ValueError(f"{what} needs {', '.join(f'`{name}`' for name in missing)}")
        return self

    def make(self, base: Path) -> Made:
        """The network; a file's path starts at `base`. GeneratorError."""
        graph = self._generated() if self.file is None else _read(base / self.file)
        if graph.number_of_nodes() > MAX_SWITCHES or graph.number_of_edges() > MAX_LINKS:
            raise GeneratorError(
                f"has {graph.number_of_nodes()} nodes and {graph.number_of_edges()} edges, and "
                f"{MAX_SWITCHES} and {MAX_LINKS} are the most"
            )
        number = {node: place for place, node in enumerate(graph)}
        links = [MadeLink(number[one], number[other], "link", _fields(graph, one, other)) for one, other in graph.edges]
        hosts = len(number) * self.hosts
        links += [MadeLink(host, host // self.hosts, "access") for host in range(hosts)]
        return Made(len(number), hosts, links, _names(graph))

    def _generated(self) -> Any:
        assert self.networkx is not None
        parameters, size = _SIZES[self.networkx]
        given = {name: getattr(self, name) for name in parameters if name != "seed"}
        if (nodes := size(given)) > MAX_SWITCHES:
            raise GeneratorError(f"makes more than {MAX_SWITCHES} switches" if nodes > 10**12 else _too_many(nodes))
        if "seed" in parameters:
            given["seed"] = 1 if self.seed is None else self.seed
        import networkx  # takes 0.14 s, and few scenarios need it

        try:
            return networkx.Graph(getattr(networkx, self.networkx)(**given))
        except (networkx.NetworkXException, ValueError) as error:
            raise GeneratorError(f"{self.networkx}: {error}") from None


def _too_many(nodes: int) -> str:
    return f"makes {nodes} switches, and {MAX_SWITCHES} are the most"


def _read(path: Path) -> Any:
    """The simple graph of a GML file: parallel edges are one, directions and loops are left out."""
    try:
        lines = read_bounded(path, MAX_FILE).decode(errors="replace").encode("ascii", "replace").decode().splitlines()
    except OSError as error:
        raise GeneratorError(f"{path}: {error.strerror or error}") from None
    import networkx  # as above

    try:
        graph: Any = networkx.Graph(networkx.parse_gml(lines, label="id"))
    except RecursionError:
        raise GeneratorError(f"{path}: not GML: nested too deeply") from None
    except Exception as error:  # networkx checks little: what a bad file raises is of many kinds
        raise GeneratorError(f"{path}: not GML: {str(error).splitlines()[0] if str(error) else error!r}") from None
    graph.remove_edges_from(list(networkx.selfloop_edges(graph)))
    return graph


def _names(graph: Any) -> list[str] | None:
    """The labels in lower case, when each can be a name and no two are the same."""
    labels = [str(data.get("label", "")).lower() for _, data in graph.nodes(data=True)]
    usable = len(set(labels)) == len(labels) and all(_OWN_NAME.fullmatch(label) for label in labels)
    return labels if usable else None


def _fields(graph: Any, one: Any, other: Any) -> dict[str, Any]:
    """What a link has from its edge: its own attributes, else the Topology Zoo's speed and places."""
    edge = graph.edges[one, other]
    fields = {name: edge[name] for name in LINK_FIELDS if isinstance(edge.get(name), str | int | float)}
    speed = edge.get("LinkSpeedRaw")
    if "rate" not in fields and isinstance(speed, int | float) and speed >= 1:
        fields["rate"] = f"{speed:.0f} bps"
    if "delay" not in fields and (distance := _distance_km(graph.nodes[one], graph.nodes[other])) is not None:
        fields["delay"] = f"{max(distance / KM_PER_S * 1e6, 1):.0f} us"
    return fields


def _distance_km(one: Mapping[str, Any], other: Mapping[str, Any]) -> float | None:
    """On a great circle, by the haversine formula; None when a place is not known."""
    values = [place.get(name) for place in (one, other) for name in ("Latitude", "Longitude")]
    if not all(isinstance(value, int | float) and math.isfinite(value) and abs(value) <= 360 for value in values):
        return None
    latitude, longitude, latitude2, longitude2 = (math.radians(float(value)) for value in values)  # type: ignore[arg-type]
    across = math.sin((latitude2 - latitude) / 2) ** 2
    along = math.cos(latitude) * math.cos(latitude2) * math.sin((longitude2 - longitude) / 2) ** 2
    return 2 * EARTH_KM * math.asin(math.sqrt(min(max(across + along, 0.0), 1.0)))
