"""Worlds of switches: each test that takes `make_world` runs on the embedded switch, and on simple_switch_grpc where it
is installed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from controller.network import SwitchSpec
from tests.controller.nodes import EmbeddedNode, Node, SimpleSwitchNode, has_simple_switch
from tests.controller.world import World, with_free_addresses

MakeWorld = Callable[[dict[str, Any]], World]

KINDS = [pytest.param("embedded")]
if has_simple_switch():
    KINDS.append(pytest.param("bmv2", marks=pytest.mark.bmv2))


@pytest.fixture(params=KINDS)
def make_world(request: pytest.FixtureRequest, tmp_path: Path) -> MakeWorld:
    """Makes a world of a network's JSON (tests.controller.networks); its addresses are replaced by free ones."""

    def make_node(spec: SwitchSpec) -> Node:
        return EmbeddedNode(spec) if request.param == "embedded" else SimpleSwitchNode(spec, tmp_path)

    def make(data: dict[str, Any]) -> World:
        return World(with_free_addresses(data), make_node)

    return make
