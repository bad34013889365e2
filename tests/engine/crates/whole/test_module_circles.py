"""No two modules of a crate use each other, directly or through others.

Modules are compared with their siblings: seen from outside a folder, its files are the folder. Between a module and its
own submodules both directions are as they should be: they are one thing in several files. A name that a module only
passes on (`pub use`) belongs to the module that defines it. Tests stay apart.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import networkx
import pytest

CRATES = Path(__file__).resolve().parents[4] / "engine" / "crates"

Module = tuple[str, ...]

COMMENT = re.compile(r"//.*")
TEST_MODULE = re.compile(r"#\[cfg\(test\)\]\s*(?:#\[path = \"(?P<path>\S+)\"\]\s*)?mod (?P<name>\w+)\s*(?P<end>[;{])")
USE = re.compile(r"\buse ([^;]+);")
PATH = re.compile(r"\b(?:crate|self|super)(?:::\w+)+")
DEFINED = re.compile(r"\b(?:struct|enum|union|trait|fn|type|const|static|mod|macro_rules!)\s+(\w+)")


def leaves(tree: str) -> Iterator[tuple[str, list[str]]]:
    """The paths of a `use` tree, each with the name that it gets here."""
    head, brace, rest = tree.strip().partition("{")
    if brace:
        depth, start, inner = 0, 0, rest.rsplit("}", 1)[0]
        for at, character in enumerate(inner + ","):
            depth += {"{": 1, "}": -1}.get(character, 0)
            if character == "," and depth == 0 and inner[start:at].strip():
                yield from leaves(head + inner[start:at].strip())
            if character == "," and depth == 0:
                start = at + 1
        return
    path, _, alias = head.partition(" as ")
    parts = [part.strip() for part in path.split("::")]
    if parts[-1] == "self":
        parts.pop()
    yield alias.strip() or parts[-1], parts


def without_tests(text: str) -> tuple[str, set[str]]:
    """A file's text without comments and test modules, and the files that hold test modules of it."""
    text, files = COMMENT.sub("", text), set()
    while found := TEST_MODULE.search(text):
        end = found.end()
        if found["end"] == ";":
            files.add(found["path"] or f"{found['name']}.rs")
        else:
            depth = 1
            while depth:
                depth += {"{": 1, "}": -1}.get(text[end], 0)
                end += 1
        text = text[: found.start()] + text[end:]
    return text, files


class Crate:
    """The modules of the crate whose sources are in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.text: dict[Module, str] = {}
        tests: set[Path] = set()
        for path in sorted(folder.rglob("*.rs")):
            parts = path.relative_to(folder).with_suffix("").parts
            module = parts[:-1] if path.name in ("lib.rs", "mod.rs") else parts
            self.text[module], files = without_tests(path.read_text())
            below = path.parent if path.name in ("lib.rs", "mod.rs") else path.with_suffix("")
            tests |= {base / file for file in files for base in (below, path.parent)}
        for path in tests:
            self.text.pop(path.relative_to(folder).with_suffix("").parts, None)
        self.uses = {
            module: [leaf for tree in USE.findall(text) for leaf in leaves(tree)] for module, text in self.text.items()
        }

    def resolve(self, module: Module, path: list[str], asked: frozenset[object] = frozenset()) -> Module | None:
        """The module that defines what `path` means in `module`; None where nothing of this crate does."""
        if (question := (module, *path)) in asked:
            return None
        at = module
        for number, part in enumerate(path):
            if part == "crate":
                at = ()
            elif part == "super":
                at = at[:-1]
            elif (*at, part) in self.text:
                at = (*at, part)
            elif part != "self" and number == 0:
                return None
            elif part != "self":
                found = self.origin(at, part, asked | {question})
                # What a macro defines is not seen: it counts as the module's own.
                return at if found is None and not asked else found
        return at

    def origin(self, module: Module, name: str, asked: frozenset[object]) -> Module | None:
        """The module that defines `name`, which `module` defines or passes on."""
        if name in DEFINED.findall(self.text[module]):
            return module
        passed_on = [path for known, path in self.uses[module] if known == name]
        passed_on += [[*path[:-1], name] for known, path in self.uses[module] if known == "*"]
        found = (self.resolve(module, path, asked) for path in passed_on)
        return next((place for place in found if place is not None), None)

    def used(self, module: Module) -> Iterator[Module]:
        """The modules that `module` uses."""
        paths = [path for _, path in self.uses[module]]
        paths += [path.split("::") for path in PATH.findall(USE.sub("", self.text[module]))]
        for path in paths:
            if (target := self.resolve(module, path)) is not None:
                yield target

    def circles(self) -> list[str]:
        """The ways on which siblings come back to themselves, shortest first."""
        graph: networkx.DiGraph[Module] = networkx.DiGraph()
        for module in self.text:
            for target in self.used(module):
                parting = (at for at, (a, b) in enumerate(zip(module, target, strict=False), 1) if a != b)
                if (depth := next(parting, None)) is not None:
                    graph.add_edge(module[:depth], target[:depth])
        found = []
        for circle in networkx.simple_cycles(graph):
            first = circle.index(min(circle))
            found.append([*circle[first:], *circle[: first + 1]])
        return [" -> ".join(map("::".join, circle)) for circle in sorted(found, key=lambda way: (len(way), way))]


@pytest.mark.parametrize("crate", sorted(path.name for path in CRATES.iterdir()))
def test_modules_use_each_other_in_no_circle(crate: str) -> None:
    assert Crate(CRATES / crate / "src").circles() == []


def write(folder: Path, sources: dict[str, str]) -> Path:
    for name, text in sources.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_a_circle_is_found_through_folders_and_names_that_are_passed_on(tmp_path: Path) -> None:
    sources = {
        "lib.rs": "mod a;\nmod b;\nmod c;\npub use c::*;\n",
        "a.rs": "use crate::b::{self, deep::{Thing as Other, C}};\n",
        "b/mod.rs": "mod deep;\npub use deep::Thing;\n",
        "b/deep.rs": "pub struct Thing;\nfn f() -> crate::Cee { crate::b::g() }\n",
        "c.rs": "pub struct Cee;\nuse super::a;\n",
    }
    assert Crate(write(tmp_path, sources)).circles() == ["a -> b -> c -> a"]


def test_what_only_tests_use_and_a_module_with_its_parts_make_no_circle(tmp_path: Path) -> None:
    sources = {
        "lib.rs": "mod a;\nmod b;\n",
        "a/mod.rs": "mod part;\nuse part::Part;\npub struct Whole;\n#[cfg(test)]\nmod tests {\n    use crate::b;\n}\n",
        "a/part.rs": "use super::Whole;\npub struct Part;\n#[cfg(test)]\nmod more;\n",
        "a/part/more.rs": "use crate::b::B;\n",
        "b.rs": "use crate::a::Whole; // use crate::b\npub struct B;\n",
    }
    assert Crate(write(tmp_path, sources)).circles() == []
