"""`make fast`, with a compiler that only copies."""

from collections.abc import Collection
from pathlib import Path

import pytest

from experiments.fast import __main__ as command
from experiments.fast.agreement import AgreementError
from experiments.fast.build import BuildError
from hosts import compiled
from hosts.compiled import Standing


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the copy goes."""
    folder = tmp_path / "venv" / "fast"
    monkeypatch.setattr(command, "COPY", folder)

    def build(new: Path, chosen: Collection[str]) -> None:
        new.mkdir()
        (new / "built").write_text(" ".join(chosen))
        compiled.write_stamp(new, compiled.SOURCES)

    monkeypatch.setattr(command, "build", build)
    monkeypatch.setattr(command, "compare", lambda copy: None)
    monkeypatch.setattr(command, "check", lambda copy: None)
    return folder


def left(place: Path) -> list[str]:
    """What is in the folder with the copy."""
    return sorted(path.name for path in place.parent.iterdir())


def test_a_copy_that_agrees_is_put_in_its_place(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main() == 0
    assert compiled.judge(place, compiled.SOURCES) is Standing.FITS
    assert left(place) == ["fast"]
    assert "compiling" in capsys.readouterr().out


def test_one_that_fits_is_not_made_again(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command.main()
    capsys.readouterr()
    assert command.main() == 0
    assert "fits hosts/ already" in capsys.readouterr().out


def test_an_older_one_is_replaced(place: Path, tmp_path: Path) -> None:
    place.mkdir(parents=True)
    (tmp_path / "sources").mkdir()
    compiled.write_stamp(place, tmp_path / "sources")
    assert command.main() == 0
    assert (place / "built").exists()
    assert left(place) == ["fast"]


@pytest.mark.parametrize(("step", "error"), [("build", BuildError("gcc: no")), ("compare", AgreementError("differs"))])
def test_one_that_fails_is_not_kept(
    place: Path, step: str, error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*arguments: object) -> None:
        raise error

    monkeypatch.setattr(command, step, fail)
    assert command.main() == 1
    assert left(place) == []
    assert capsys.readouterr().err == f"make fast: {error}\n"
