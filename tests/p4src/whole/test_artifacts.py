"""The compiled artifacts in p4src/ belong to the sources beside them."""

import json
import re
from pathlib import Path

import pytest

from engine import p4c
from tests.engine.compiled_again import assert_the_same, assert_unpacked, read_stamp
from tests.p4src.bench.program import FOLDER, program
from tests.p4src.test_build import build


def test_sources_have_not_changed_since_they_were_compiled() -> None:
    assert read_stamp(FOLDER / build.STAMP)["sources_sha256"] == p4c.source_hash(FOLDER), (
        "sources in p4src/ changed: run `make p4`"
    )


@pytest.mark.parametrize("name", build.STAMPED)
def test_artifacts_are_as_the_compiler_wrote_them(name: str) -> None:
    stamp = read_stamp(FOLDER / build.STAMP)["artifacts_sha256"]
    assert isinstance(stamp, dict)
    assert stamp[name] == p4c.file_hash(FOLDER / name), f"p4src/{name} was edited: run `make p4`"


@pytest.mark.parametrize("name", build.PACKED)
def test_what_is_kept_of_an_artifact_is_the_artifact(name: str) -> None:
    assert_unpacked(FOLDER / name)


def test_the_json_is_no_larger_than_every_switch_should_load() -> None:
    assert (FOLDER / "canopy.json").stat().st_size < 3_000_000


def test_constants_are_those_of_the_source() -> None:
    assert json.loads((FOLDER / "canopy.constants.json").read_text()) == build.read_constants()


@pytest.mark.parametrize("name", [*build.ARTIFACTS, build.STAMP])
def test_no_path_of_a_machine_in_the_artifacts(name: str) -> None:
    """Source names are relative: `canopy.p4`, or the compiler's own include folder."""
    text = (FOLDER / name).read_text()
    assert re.findall(r'"(?:filename|program)"\s*:\s*"/[^"]*"', text) == []
    for word in ("/home/", "/root/", "/tmp/", "/work/", "/opt/"):
        assert word not in text


def test_readme_names_everything_that_can_be_installed_or_read() -> None:
    readme = (FOLDER / "README.md").read_text()
    names = [table.preamble.alias for table in program().p4info.tables if not table.is_const_table]
    names += [digest.preamble.name for digest in program().p4info.digests]
    names += [counter.preamble.name for counter in program().p4info.counters]
    names += [meter.preamble.name for meter in program().p4info.meters]
    assert [name for name in names if name not in readme] == []


def test_every_drop_reason_fits_the_counter() -> None:
    (drops,) = [counter for counter in program().p4info.counters if counter.preamble.name == "drops"]
    reasons = program().constants.enums["drop_reason"].values()
    assert max(reasons) < drops.size
    assert sorted(reasons) == list(range(len(reasons)))


if p4c.find_p4c() is not None:

    def test_compiling_again_gives_the_same(tmp_path: Path) -> None:
        assert_the_same(FOLDER / build.STAMP, build.ARTIFACTS, build.compile_program, build, tmp_path)
