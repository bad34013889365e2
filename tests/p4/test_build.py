"""p4src/build.py: what goes into the stamp and the constants."""

import importlib.util
import shutil
from pathlib import Path
from types import ModuleType

import pytest

from tests.p4.program import FOLDER


def load_build() -> ModuleType:
    """p4src is no package, for it is P4's folder; the one Python file in it is loaded by its path."""
    spec = importlib.util.spec_from_file_location("p4src_build", FOLDER / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


build = load_build()


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    for source in FOLDER.glob("*.p4"):
        shutil.copy(source, tmp_path)
    return tmp_path


def test_hash_is_of_names_and_contents(sources: Path) -> None:
    before = build.source_hash(sources)
    assert before == build.source_hash(FOLDER)
    text = (sources / "arp.p4").read_text()
    (sources / "arp.p4").write_text(text + "\n")
    assert build.source_hash(sources) != before
    (sources / "arp.p4").write_text(text)
    assert build.source_hash(sources) == before
    (sources / "arp.p4").rename(sources / "arp2.p4")
    assert build.source_hash(sources) != before


def test_other_files_do_not_count(sources: Path) -> None:
    (sources / "README.md").write_text("words")
    assert build.source_hash(sources) == build.source_hash(FOLDER)


def test_constants_are_read_from_the_source(tmp_path: Path) -> None:
    (tmp_path / "constants.p4").write_text(
        "#define SIZE 16\n"
        "#define FLAG\n"
        "// const bit<8> OLD = 1;\n"
        "const bit<16> HEX = 0x10;   // a comment with = 5;\n"
        "const port_t  PORT    = 510;\n"
        "enum bit<8> kind_t {\n    one = 1,   // first\n    two = 0x02\n}\n"
    )
    assert build.read_constants(tmp_path) == {
        "numbers": {"SIZE": 16, "HEX": 16, "PORT": 510},
        "enums": {"kind": {"one": 1, "two": 2}},
    }


def test_failing_compiler_is_reported(tmp_path: Path, sources: Path) -> None:
    compiler = tmp_path / "p4c"
    compiler.write_text("#!/bin/sh\necho 'canopy.p4(1): error: no' >&2\nexit 1\n")
    compiler.chmod(0o755)
    with pytest.raises(build.BuildError, match="error: no"):
        build.compile_program(str(compiler), tmp_path, sources)


def test_endless_compiler_is_ended(tmp_path: Path, sources: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = tmp_path / "p4c"
    compiler.write_text("#!/bin/sh\nexec sleep 60\n")
    compiler.chmod(0o755)
    monkeypatch.setattr(build, "P4C_TIME_LIMIT_S", 0.2)
    with pytest.raises(build.BuildError, match=r"not ended after"):
        build.compile_program(str(compiler), tmp_path, sources)


def test_missing_compiler_keeps_the_artifacts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(build, "find_p4c", lambda: None)
    assert build.main() == 2
    assert "p4c is not on PATH" in capsys.readouterr().out
