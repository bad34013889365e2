"""The tests' tree is the code's: docs/architecture.md has the rule."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"
WHOLE = "whole"
CODE = ("controller", "deploy", "engine", "experiments", "hosts", "scripts", "topologies")
MOST_LINES = 400


def modules() -> list[Path]:
    """All test modules but those of the repository itself, which stand at the root."""
    return sorted(path.relative_to(TESTS) for path in TESTS.rglob("test_*.py") if path.parent != TESTS)


def subjects(test: Path) -> list[Path]:
    """What a test module may be named after: a module, a P4 file, a package, or a crate."""
    place = ROOT / test.parent / test.stem.removeprefix("test_")
    return [place.with_suffix(".py"), place.with_suffix(".p4"), place / "__init__.py", place / "Cargo.toml"]


def misplaced(test: Path) -> str | None:
    """What there is not, where a test module stands."""
    if WHOLE in test.parts:
        package = ROOT.joinpath(*test.parts[: test.parts.index(WHOLE)])
        return None if package.is_dir() else f"{test}: there is no {package.relative_to(ROOT)}"
    places = subjects(test)
    if any(place.exists() for place in places):
        return None
    return f"{test}: there is none of {', '.join(str(place.relative_to(ROOT)) for place in places)}"


def test_a_test_module_stands_where_its_module_does() -> None:
    assert [said for test in modules() if (said := misplaced(test))] == []


def test_every_folder_of_tests_is_a_package() -> None:
    """Otherwise two modules of the same name are one to Python."""
    folders = {path.parent for path in TESTS.rglob("*.py")}
    assert [str(folder) for folder in sorted(folders) if not (folder / "__init__.py").exists()] == []


def too_long(paths: list[Path]) -> list[str]:
    """Those that are not read at once, with what they have."""
    counts = {path: len(path.read_text().splitlines()) for path in paths}
    return [f"{path}: {count} lines" for path, count in counts.items() if count > MOST_LINES]


def test_no_module_is_too_long_to_be_read_at_once() -> None:
    code = [path for folder in (*CODE, "p4src") for path in (ROOT / folder).rglob("*.py")]
    code += (ROOT / "p4src").rglob("*.p4")
    tests = list(TESTS.rglob("*.py"))
    assert len(code) > 500
    assert len(tests) > 500
    assert too_long(code + tests) == []


def test_a_line_more_is_too_long(tmp_path: Path) -> None:
    longest, longer = tmp_path / "longest.py", tmp_path / "longer.py"
    longest.write_text("1\n" * MOST_LINES)
    longer.write_text("1\n" * (MOST_LINES + 1))
    assert too_long([longest, longer]) == [f"{longer}: {MOST_LINES + 1} lines"]
