"""The compiled programs belong to the sources beside them."""

from pathlib import Path

from engine import p4c
from tests.engine.compiled_again import assert_the_same, assert_unchanged
from topologies.mininet.programs import build


def test_programs_have_not_changed_since_they_were_compiled() -> None:
    assert_unchanged(build.PROGRAMS)


if p4c.find_p4c() is not None:

    def test_compiling_again_gives_the_same(tmp_path: Path) -> None:
        programs = build.PROGRAMS
        assert_the_same(programs.stamp, programs.artifacts, programs.compile_into, build, tmp_path)
