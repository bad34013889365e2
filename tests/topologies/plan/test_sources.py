from pathlib import Path

import pytest

from tests.topologies.scenarios import small_scenario
from topologies.plan.sources import SourceError, prepare_sources
from topologies.results.results import file_sha256

SCENARIO = small_scenario()


def test_files_are_found_beside_the_scenario_and_sizes_are_made(tmp_path: Path) -> None:
    (tmp_path / "payload").write_bytes(b"abc")
    sources = prepare_sources(SCENARIO, tmp_path, None, tmp_path / "made")
    assert sources[4].path == tmp_path / "payload"
    assert sources[4].sha256 == file_sha256(tmp_path / "payload")
    assert sources[3].bytes == 1_000_000 == sources[3].path.stat().st_size


def test_what_is_made_depends_on_the_seed_only(tmp_path: Path) -> None:
    (tmp_path / "payload").write_bytes(b"abc")

    def made(seed: int, name: str) -> str:
        scenario = SCENARIO.model_copy(update={"seed": seed})
        return prepare_sources(scenario, tmp_path, None, tmp_path / name)[3].sha256

    assert made(7, "one") == made(7, "two") != made(8, "three")


def test_a_file_can_be_sent_instead(tmp_path: Path) -> None:
    (tmp_path / "mine").write_bytes(b"mine")
    sources = prepare_sources(SCENARIO, tmp_path, tmp_path / "mine", tmp_path / "made")
    assert {source.path for source in sources.values()} == {tmp_path / "mine"}
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(("name", "reason"), [("nothing", "no such file"), (".", "not a regular file")])
def test_what_cannot_be_sent_is_told_in_one_line(tmp_path: Path, name: str, reason: str) -> None:
    with pytest.raises(SourceError, match=reason):
        prepare_sources(SCENARIO, tmp_path, tmp_path / name, tmp_path / "made")


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(SourceError, match=r"session-3\.bin: Not a directory"):
        prepare_sources(SCENARIO, tmp_path, None, tmp_path / "file" / "made")
