"""Graphs as networks: networkx's, and GML files, which may hold anything."""

from pathlib import Path
from typing import Any

import networkx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from topologies.scenario.generators import GeneratorError
from topologies.scenario.graphs import Graph

ZOO = """\
Creator "Topology Zoo Toolset"
graph [
  multigraph 1
  node [ id 0 label "London" Longitude -0.12 Latitude 51.5 ]
  node [ id 7 label "New York" Longitude -74.0 Latitude 40.7 ]
  node [ id 2 label "New York" ]
  edge [ source 0 target 7 LinkSpeedRaw 10000000000.0 ]
  edge [ source 0 target 7 LinkSpeedRaw 10000000000.0 ]
  edge [ source 7 target 2 rate "2 Mbps" delay "3 ms" color "red" ]
  edge [ source 2 target 2 ]
]
"""


def test_a_file_of_the_topology_zoo(tmp_path: Path) -> None:
    (tmp_path / "zoo.gml").write_text(ZOO)
    made = Graph(file="zoo.gml", hosts=2).make(tmp_path)
    assert (made.switches, made.hosts, made.names) == (3, 6, None)
    first, second = made.links[:2]
    # London and New York are 5,570 km apart: 27.8 ms in fibre
    assert first.fields["rate"] == "10000000000 bps"
    assert 27_500 < float(str(first.fields["delay"]).removesuffix(" us")) < 28_200
    assert second.fields == {"rate": "2 Mbps", "delay": "3 ms"}


def test_what_networkx_writes_keeps_its_names(tmp_path: Path) -> None:
    networkx.write_gml(networkx.Graph([("oslo", "bergen"), ("bergen", "bodo")]), tmp_path / "own.gml")
    made = Graph(file="own.gml", hosts=0).make(tmp_path)
    assert made.names == ["oslo", "bergen", "bodo"]
    assert [(link.one, link.other) for link in made.links] == [(0, 1), (1, 2)]


def test_a_graph_of_networkx_is_the_seeds() -> None:
    graph = Graph(networkx="barabasi_albert_graph", n=20, m=2)
    made = graph.make(Path())
    assert (made.switches, made.hosts, len(made.links)) == (20, 20, 36 + 20)
    assert made == graph.make(Path())
    assert made != graph.model_copy(update={"seed": 2}).make(Path())


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({}, "either `file`"),
        ({"file": "x.gml", "networkx": "path_graph", "n": 3}, "either `file`"),
        ({"networkx": "path_graph"}, "needs `n`"),
        ({"networkx": "path_graph", "n": 3, "p": 0.5}, "has no parameter `p`"),
        ({"networkx": "read_gpickle", "n": 3}, "should be"),
    ],
)
def test_wrong_parameters_are_told(fields: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        Graph.model_validate(fields)


@pytest.mark.parametrize(
    "fields",
    [
        {"networkx": "balanced_tree", "r": 2**31 - 1, "h": 2**31 - 1},
        {"networkx": "grid_2d_graph", "m": 2**20, "n": 2**20},
        {"networkx": "complete_graph", "n": 10**9},
        {"networkx": "complete_graph", "n": 250},
        {"networkx": "random_regular_graph", "d": 3, "n": 3},
        {"file": "there_is_none.gml"},
    ],
)
def test_what_cannot_be_made_is_told_at_once(fields: dict[str, Any]) -> None:
    with pytest.raises(GeneratorError):
        Graph.model_validate(fields).make(Path())


@settings(max_examples=15)
@given(text=st.one_of(st.text(max_size=80), st.text(alphabet='graph[]node dge1"-\n', max_size=120)))
def test_a_file_that_is_no_graph_is_an_error_of_one_line(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "any.gml"
    path.write_text(text, encoding="utf-8", errors="replace")
    told = ""
    try:
        Graph(file=str(path)).make(Path())
    except GeneratorError as error:
        told = str(error)
    assert "\n" not in told


def test_nesting_without_end_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "deep.gml").write_text("graph " + "[ a " * 100_000)
    with pytest.raises(GeneratorError, match="not GML"):
        Graph(file="deep.gml").make(tmp_path)
