"""When a compiled copy of the package is used, and when it is not."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hosts import compiled
from hosts.compiled import Standing


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A package."""
    folder = tmp_path / "sources"
    (folder / "inner").mkdir(parents=True)
    (folder / "one.py").write_text("ONE = 1\n")
    (folder / "inner" / "two.py").write_text("TWO = 2\n")
    (folder / "inner" / "data.lua").write_text("-- data\n")
    return folder


@pytest.fixture
def copy(tmp_path: Path, sources: Path) -> Path:
    """A folder with a stamp for that package."""
    folder = tmp_path / "copy"
    folder.mkdir()
    compiled.write_stamp(folder, sources)
    return folder


def test_a_copy_of_these_sources_fits(copy: Path, sources: Path) -> None:
    assert compiled.judge(copy, sources) is Standing.FITS


def test_a_path_counts_with_the_content(sources: Path) -> None:
    assert compiled.fingerprint(sources).keys() == {"one.py", "inner/two.py", "inner/data.lua"}


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "one.py").write_text("ONE = 2\n"),  # as long as before
        lambda folder: (folder / "inner" / "data.lua").write_text("-- other\n"),
        lambda folder: (folder / "three.py").write_text(""),
        lambda folder: (folder / "one.py").unlink(),
        lambda folder: (folder / "one.py").rename(folder / "inner" / "one.py"),
    ],
    ids=["changed", "data changed", "added", "removed", "moved"],
)
def test_other_sources(copy: Path, sources: Path, change: Callable[[Path], object]) -> None:
    change(sources)
    assert compiled.judge(copy, sources) is Standing.CHANGED


def test_a_change_that_was_taken_back_is_none(copy: Path, sources: Path) -> None:
    text = (sources / "one.py").read_text()
    (sources / "one.py").write_text("ONE = 3\n")
    (sources / "one.py").write_text(text)
    assert compiled.judge(copy, sources) is Standing.FITS


@pytest.mark.parametrize("name", ["__pycache__/one.cpython-311.pyc", "one.cpython-311.so", ".one.py.swp"])
def test_what_is_no_source_does_not_count(copy: Path, sources: Path, name: str) -> None:
    path = sources / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"\0")
    assert compiled.judge(copy, sources) is Standing.FITS


def test_another_python(copy: Path, sources: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version", "3.99.0 (main)")
    assert compiled.judge(copy, sources) is Standing.OTHER_PYTHON


@pytest.mark.parametrize(
    "content", [b"", b"\xff", b"[]", b"{}", b'{"python": "3.11"}', b'{"python": "3.11", "sour'], ids=str
)
def test_a_damaged_stamp(copy: Path, sources: Path, content: bytes) -> None:
    (copy / compiled.STAMP).write_bytes(content)
    assert compiled.judge(copy, sources) is Standing.DAMAGED


@pytest.mark.parametrize("hashes", [None, [], {"one.py": 1}], ids=str)
def test_a_stamp_with_other_things_than_hashes_fits_nothing(copy: Path, sources: Path, hashes: object) -> None:
    content = json.dumps({"python": compiled.python(), "sources": hashes})
    (copy / compiled.STAMP).write_text(content)
    assert compiled.judge(copy, sources) is Standing.CHANGED


def test_no_copy(tmp_path: Path, sources: Path) -> None:
    assert compiled.judge(tmp_path / "nowhere", sources) is Standing.NONE


def test_where_it_is_looked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(compiled.VARIABLE, raising=False)
    assert compiled.place() == compiled.COPY
    monkeypatch.setenv(compiled.VARIABLE, str(tmp_path))
    assert compiled.place() == tmp_path
    monkeypatch.setenv(compiled.VARIABLE, "0")
    assert compiled.place() is None


@pytest.fixture
def restored(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `take_over` changes is put back."""
    monkeypatch.setattr(compiled, "standing", compiled.standing)
    monkeypatch.setattr(sys, "path", [*sys.path])


@pytest.mark.usefixtures("restored")
def test_modules_come_from_a_copy_that_fits(monkeypatch: pytest.MonkeyPatch, copy: Path, sources: Path) -> None:
    monkeypatch.setattr(compiled, "SOURCES", sources)
    monkeypatch.setenv(compiled.VARIABLE, str(copy))
    search = [str(sources)]
    compiled.take_over(search)
    assert search == [str(copy / sources.name)]
    assert sys.path[-1] == str(copy)
    assert compiled.standing is Standing.FITS


@pytest.mark.usefixtures("restored")
@pytest.mark.parametrize("off", [True, False])
def test_modules_are_the_sources_otherwise(
    monkeypatch: pytest.MonkeyPatch, copy: Path, sources: Path, off: bool
) -> None:
    monkeypatch.setattr(compiled, "SOURCES", sources)
    monkeypatch.setenv(compiled.VARIABLE, "0" if off else str(copy))
    (sources / "three.py").write_text("")
    search, path = [str(sources)], [*sys.path]
    compiled.take_over(search)
    assert (search, sys.path) == ([str(sources)], path)
    assert compiled.standing is (Standing.OFF if off else Standing.CHANGED)


def test_only_a_copy_that_cannot_be_used_is_complained_of() -> None:
    assert Standing.CHANGED.complaint == "hosts/ has changed since `make fast`; running the sources"
    silent = {standing for standing in Standing if standing.complaint is None}
    assert silent == {Standing.OFF, Standing.NONE, Standing.FITS}
