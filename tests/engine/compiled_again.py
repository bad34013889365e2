"""Whether p4c writes again what is kept. It takes a minute, so the answer is remembered for as long as nothing that it
depends on changes."""

import hashlib
import inspect
import json
import lzma
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

from engine import p4c
from engine.p4c import KeptPrograms

REMEMBERED = Path(__file__).parents[2] / ".venv"


def read_stamp(path: Path) -> dict[str, object]:
    """What is said there of sources, compiler and artifacts."""
    stamp: dict[str, object] = json.loads(path.read_text())
    return stamp


def assert_unchanged(programs: KeptPrograms) -> None:
    """Sources and artifacts are those of the stamp."""
    stamp = read_stamp(programs.stamp)
    assert stamp["sources_sha256"] == p4c.source_hash(programs.folder), "sources changed: run `make p4`"
    artifacts = stamp["artifacts_sha256"]
    assert isinstance(artifacts, dict)
    for name in programs.artifacts:
        assert artifacts[name] == p4c.file_hash(programs.folder / name), f"{name} was edited: run `make p4`"
        assert_unpacked(programs.folder / name)


def assert_unpacked(artifact: Path) -> None:
    """What is kept of an artifact is the artifact."""
    packed = lzma.decompress(artifact.with_name(f"{artifact.name}.xz").read_bytes())
    assert packed == artifact.read_bytes(), f"{artifact} is of another time: run `make setup`"


def assert_the_same(
    stamp: Path, artifacts: Sequence[str], compile_into: Callable[[str, Path], None], how: ModuleType, scratch: Path
) -> None:
    """`compile_into`: by this p4c, the kept artifacts' sources into a folder; `how`: where that is written. Other
    versions of p4c only have to accept them. That the stamp is of these sources and artifacts is not looked at."""
    compiler = p4c.find_p4c()
    assert compiler is not None
    version = p4c.p4c_version(compiler)
    parts = [version, stamp.read_text(), inspect.getsource(how), inspect.getsource(p4c)]
    known = REMEMBERED / f".stamp-p4c-{hashlib.sha256(repr(parts).encode()).hexdigest()[:16]}"
    if known.exists():
        return
    compile_into(compiler, scratch)
    if version == read_stamp(stamp)["p4c"]:
        for name in artifacts:
            assert (scratch / name).read_bytes() == (stamp.parent / name).read_bytes(), name
    known.touch()
