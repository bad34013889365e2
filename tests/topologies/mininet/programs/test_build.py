"""The compiled programs belong to the sources beside them."""

from pathlib import Path

from engine import p4c
from tests.engine.compiled_again import assert_the_same
from topologies.mininet.programs import build


def test_programs_have_not_changed_since_they_were_compiled() -> None:
    stamp = p4c.read_stamp(build.PROGRAMS / build.STAMP)
    assert stamp["sources_sha256"] == p4c.source_hash(build.PROGRAMS), "sources changed: run `make p4`"
    artifacts = stamp["artifacts_sha256"]
    assert isinstance(artifacts, dict)
    for name in build.ARTIFACTS:
        assert artifacts[name] == p4c.file_hash(build.PROGRAMS / name), f"{name} was edited: run `make p4`"


if p4c.find_p4c() is not None:

    def test_compiling_again_gives_the_same(tmp_path: Path) -> None:
        assert_the_same(build.PROGRAMS / build.STAMP, build.ARTIFACTS, build.compile_into, build, tmp_path)
