"""The compiled copy: what is in it, and that it computes the same."""

import ast
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.fast.agreement import AgreementError, compare
from experiments.fast.build import COMPILED, BuildError, build, modules
from hosts import compiled
from hosts.compiled import Standing

FEW = ("parts/rtt.py", "parts/sack.py", "protocols/rla/listening.py")
"""RLA's sender spends much of its time in these, and they are soon compiled."""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy with few compiled modules."""
    folder = tmp_path_factory.mktemp("fast") / "copy"
    build(folder, FEW)
    return folder


def test_it_is_the_whole_package_with_extension_modules(copy: Path) -> None:
    assert compiled.judge(copy, compiled.SOURCES) is Standing.FITS
    assert compiled.fingerprint(copy / "hosts") == compiled.fingerprint(compiled.SOURCES)
    extensions = {str(path.relative_to(copy / "hosts")) for path in copy.glob("hosts/**/*.so")}
    assert {name.partition(".")[0] + ".py" for name in extensions} == set(FEW)


def test_nothing_is_left_beside_the_sources(copy: Path) -> None:
    assert copy.exists()
    assert list(compiled.SOURCES.rglob("*.so")) == []


def test_a_process_runs_it(copy: Path) -> None:
    """Its own modules and those that are compiled, wherever the process was started."""
    script = (
        "from hosts import compiled; from hosts.parts import sack; from hosts.wire import header;"
        "print(compiled.standing.name, sack.__file__, header.__file__)"
    )
    environment = {**os.environ, compiled.VARIABLE: str(copy)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    standing, sack, header = done.stdout.split()
    assert standing == "FITS"
    assert Path(sack).parent == copy / "hosts" / "parts"
    assert sack.endswith(".so")
    assert Path(header) == copy / "hosts" / "wire" / "header.py"


def test_a_simulation_gives_the_same(copy: Path) -> None:
    compare(copy, ["rla"])


def test_a_copy_of_other_sources_is_not_compared(tmp_path: Path) -> None:
    """Both simulations would be the sources'."""
    (tmp_path / "one.py").write_text("")
    compiled.write_stamp(tmp_path, tmp_path)
    with pytest.raises(AgreementError, match="changed"):
        compare(tmp_path, ["rla"])


def test_a_difference_is_found(tmp_path: Path, copy: Path) -> None:
    """A copy whose code is another, though its stamp says that it is not."""
    other = tmp_path / "copy"
    subprocess.run(["cp", "-r", copy, other], check=True)
    path = other / "hosts" / "protocols" / "rla" / "packets.py"
    text, size = path.read_text(), "DEFAULT_PAYLOAD_BYTES: Final = 1400\n"
    assert size in text
    path.write_text(text.replace(size, size.replace("1400", "900")))
    with pytest.raises(AgreementError, match=r"rla: compiled code gives another .*session-1-sender\.jsonl"):
        compare(other, ["rla"])


def test_what_handles_packets_is_compiled() -> None:
    for place in COMPILED:
        assert (compiled.SOURCES / place).exists(), place
    assert {"endpoint.py", "protocols/mtcp/sender.py", "runtime/runtime.py", "wire/header.py"} <= set(modules())
    assert "__init__.py" not in {Path(module).name for module in modules()}


def test_no_class_narrows_an_attribute_of_its_base() -> None:
    """Mypy lets it, mypyc does not; a generic base says the same."""
    trees = [ast.parse((compiled.SOURCES / module).read_text()) for module in modules()]
    classes = {node.name: node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}

    def bases(name: str) -> set[str]:
        named = (base.value if isinstance(base, ast.Subscript) else base for base in classes[name].bases)
        own = {base.id for base in named if isinstance(base, ast.Name) and base.id in classes}
        return own.union(*map(bases, own))

    def attributes(name: str) -> set[str]:
        stored = (node for node in ast.walk(classes[name]) if isinstance(node, ast.Attribute))
        return {
            node.attr
            for node in stored
            if isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name) and node.value.id == "self"
        }

    found = [
        f"{name}.{line.target.id}"
        for name, node in classes.items()
        for line in node.body
        if isinstance(line, ast.AnnAssign) and line.value is None and isinstance(line.target, ast.Name)
        if any(line.target.id in attributes(base) for base in bases(name))
    ]
    assert found == []


def test_what_cannot_be_compiled_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sources = tmp_path / "hosts"
    sources.mkdir()
    (sources / "wrong.py").write_text("def one() -> int:\n    return 'one'\n")
    monkeypatch.setattr(compiled, "SOURCES", sources)
    with pytest.raises(BuildError, match="Incompatible return value"):
        build(tmp_path / "copy", ["wrong.py"])


def test_without_mypyc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(BuildError, match="there is no mypyc"):
        build(tmp_path / "copy", FEW)
