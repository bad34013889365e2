"""Everything that is imported is declared: a package that nobody asked for is missing on the next machine."""

import ast
import re
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
OURS = {"canopy_engine", "controller", "deploy", "engine", "experiments", "hosts", "tests", "topologies"}
# Debian's package, because PyPI's lacks mnexec; and a client in an environment of its own (docs/dependencies.md).
INSTALLED_OTHERWISE = {"mininet", "p4runtime_sh"}


def plain_name(requirement: str) -> str:
    """A requirement's distribution as the package index compares names."""
    return re.sub(r"[-_.]+", "-", re.split(r"[\s\[<>=!~;]", requirement, maxsplit=1)[0]).lower()


def declared_distributions(*, with_tests: bool) -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    requirements = [*project["dependencies"], *extras["dask"], *extras["peers"], *(extras["dev"] if with_tests else [])]
    return {plain_name(requirement) for requirement in requirements}


installed = cache(packages_distributions)
"""Of each package that can be imported: reading it takes a third of a second."""


def imported_packages(folder: str) -> dict[str, Path]:
    """Top-level packages that a folder's modules import, each with one module that does."""
    found: dict[str, Path] = {}
    for path in sorted((ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module is not None:
                names = [node.module]
            for name in names:
                found.setdefault(name.partition(".")[0], path)
    return found


@pytest.mark.parametrize(
    "folder", ["controller", "deploy", "engine", "experiments", "hosts", "p4src", "tests", "topologies"]
)
def test_what_is_imported_is_declared(folder: str) -> None:
    declared = declared_distributions(with_tests=folder == "tests")
    distributions = installed()
    known = set(sys.stdlib_module_names) | OURS | INSTALLED_OTHERWISE
    missing = {
        package: str(path.relative_to(ROOT))
        for package, path in imported_packages(folder).items()
        if package not in known and not {plain_name(name) for name in distributions.get(package, ())} & declared
    }
    assert missing == {}
