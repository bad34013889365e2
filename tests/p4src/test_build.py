"""p4src/build.py: what goes into the constants."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from tests.p4src.bench.program import FOLDER


def load_build() -> ModuleType:
    """p4src is no package, for it is P4's folder; the one Python file in it is loaded by its path."""
    spec = importlib.util.spec_from_file_location("p4src_build", FOLDER / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


build = load_build()


def test_constants_are_read_from_the_source(tmp_path: Path) -> None:
    path = tmp_path / "constants.p4"
    path.write_text(
        "#define SIZE 16\n"
        "#define FLAG\n"
        "// const bit<8> OLD = 1;\n"
        "const bit<16> HEX = 0x10;   // a comment with = 5;\n"
        "const port_t  PORT    = 510;\n"
        "enum bit<8> kind_t {\n    one = 1,   // first\n    two = 0x02\n}\n"
    )
    assert build.read_constants(path) == {
        "numbers": {"SIZE": 16, "HEX": 16, "PORT": 510},
        "enums": {"kind": {"one": 1, "two": 2}},
    }


def test_missing_compiler_keeps_the_artifacts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("engine.p4c.find_p4c", lambda: None)
    assert build.main() == 2
    assert "p4c is not on PATH" in capsys.readouterr().err
