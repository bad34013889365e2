"""Imports point one way, as docs/architecture.md says; those that only the type checker sees count too."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("controller", "engine", "experiments", "hosts", "topologies")

BELOW = ("engine", "controller", "hosts")
RUN = (
    *("topologies.scenario", "topologies.plan", "topologies.link_spec", "topologies.on_off", "topologies.agenda"),
    *("topologies.swallowing", "topologies.forging", "topologies.results", "topologies.stage", "topologies.play"),
)
"""What emulation and simulation share, the lowest first."""

LAYERS: dict[str, tuple[str, ...]] = {
    "engine.command": (),
    "engine": ("engine.command",),
    "controller": ("engine",),
    "hosts.wire": (),
    "hosts": ("hosts.wire",),
    "hosts.parts": ("hosts", "hosts.wire"),
    "hosts.protocols": ("hosts", "hosts.wire", "hosts.parts"),
    "hosts.security": ("hosts", "hosts.wire", "hosts.parts"),
    "hosts.runtime": ("engine", "hosts", "hosts.wire"),
    "hosts.programs": (
        *("engine", "hosts", "hosts.wire", "hosts.parts", "hosts.protocols"),
        *("hosts.runtime", "hosts.security"),
    ),
    "hosts.doctor": ("engine", "hosts", "hosts.wire", "hosts.protocols", "hosts.programs", "hosts.runtime"),
    "hosts.dissect": ("engine", "hosts", "hosts.wire", "hosts.parts", "hosts.protocols"),
    **{layer: (*BELOW, *RUN[:place]) for place, layer in enumerate(RUN)},
    "topologies.emulation": (*BELOW, *RUN),
    "topologies.simulation": (*BELOW, *RUN),
    "topologies.mininet": (*BELOW, *RUN, "topologies.emulation"),
    "topologies": ("engine", *RUN, "topologies.emulation", "topologies.simulation"),
    "experiments.harness": ("engine", "controller", "hosts", "topologies"),
    "experiments.lan": ("engine", "hosts", "topologies"),
    "experiments.rows": ("controller", "hosts", "topologies", "experiments.harness", "experiments.lan"),
    "experiments.figures": ("experiments.harness", "experiments.rows"),
    "experiments": (
        *("engine", "controller", "hosts", "topologies"),
        *("experiments.harness", "experiments.lan", "experiments.rows", "experiments.figures"),
    ),
}
"""What a folder's modules import besides each other, the lowest folder first. A folder that is not named is of the one
that it is in. One that is named on the right stands for all within it, but for the one on the left and its neighbours.
(`engine.command.assemble` finds the parts of `canopy` by their names and imports none.)"""


@cache
def modules() -> dict[str, Path]:
    """Our modules by their names."""
    found = {}
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            place = path.relative_to(ROOT).with_suffix("")
            found[".".join(place.parts).removesuffix(".__init__")] = path
    return found


def module_of(name: str) -> str | None:
    """The module that a dotted name is in; None when it is not ours."""
    while name and name not in modules():
        name = name.rpartition(".")[0]
    return name or None


@cache
def imports(module: str) -> frozenset[str]:
    """Our modules that a module imports, anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(modules()[module].read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(found for name in names if (found := module_of(name)) is not None and found != module)


def layer(module: str) -> str:
    """The folder of LAYERS that a module is in."""
    while module not in LAYERS:
        module = module.rpartition(".")[0]
    return module


def may_import(importer: str, imported: str) -> bool:
    """Whether the one layer's modules may import the other's."""
    allowed = LAYERS[importer]
    package = imported.partition(".")[0]
    return imported in (importer, *allowed) or (package in allowed and package != importer.partition(".")[0])


def circles() -> Iterator[list[str]]:
    """A walk from each module that comes back to it, the shortest one, once for each circle."""
    seen: set[str] = set()
    for start in sorted(modules()):
        ways = [[start]]
        reached = {start}
        while ways and start not in seen:
            way = ways.pop(0)
            for following in sorted(imports(way[-1])):
                if following == start:
                    yield [*way, start]
                    seen |= set(way)
                    ways = []
                    break
                if following not in reached:
                    reached.add(following)
                    ways.append([*way, following])


@pytest.mark.parametrize("folder", LAYERS)
def test_a_layer_imports_what_is_below_it(folder: str) -> None:
    wrong = [
        f"{module} imports {imported}"
        for module in sorted(modules())
        if layer(module) == folder
        for imported in sorted(imports(module))
        if not may_import(folder, layer(imported))
    ]
    assert wrong == []


def test_no_protocol_imports_another() -> None:
    protocols = {path.name for path in (ROOT / "hosts" / "protocols").iterdir() if (path / "__init__.py").exists()}
    assert len(protocols) > 1
    for module in modules():
        match module.split("."):
            case ["hosts", "protocols", own, *_] if own in protocols:
                others = {f"hosts.protocols.{other}" for other in protocols - {own}}
                for imported in imports(module):
                    assert ".".join(imported.split(".")[:3]) not in others, f"{module} imports {imported}"


def test_no_module_imports_itself_through_others() -> None:
    assert [" -> ".join(circle) for circle in circles()] == []
