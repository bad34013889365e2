"""A folder of tests, each beside its program: compile with p4c, run, and sum up."""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from engine.switch.stf.errors import StfError
from engine.switch.stf.runner import run_test

# The longest of p4c's own tests takes some seconds; a compiler that hangs must not stop the suite.
COMPILE_TIMEOUT_S = 120

INCLUDE = re.compile(r"^\s*#\s*include\s*[<\"]([\w./-]+)[>\"]", re.MULTILINE)
# What only P4_14 has, whose programs include nothing: types of headers, and a parser and a control of fixed names.
P4_14 = re.compile(r"^\s*(header_type\b|parser\s+start\b|control\s+ingress\b|@pragma\b)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Outcome:
    """`status`: passed, failed, not compiled, or other architecture; `details` says what was found, line by line."""

    test: Path
    status: str
    details: tuple[str, ...] = ()


def find_tests(folder: Path, pattern: str = "*") -> list[Path]:
    """The .stf files below `folder` with a .p4 file beside them. `pattern` is a glob for the name without suffix."""
    return sorted(test for test in folder.rglob(f"{pattern}.stf") if test.with_suffix(".p4").is_file())


def run_suite(tests: Iterable[Path], jobs: int, ignore: Collection[str] = ()) -> Iterator[Outcome]:
    """Run the tests, `jobs` compilers at a time; the outcomes come in the tests' order."""
    with ThreadPoolExecutor(jobs) as executor:
        yield from executor.map(partial(run_one, ignore=ignore), tests)


def run_one(test: Path, ignore: Collection[str] = ()) -> Outcome:
    """Compile and run one test. Raises StfError when p4c is missing."""
    source = test.with_suffix(".p4")
    text = source.read_text(encoding="utf-8", errors="replace")
    standard = standard_of(text)
    if standard is None:
        return Outcome(test, "other architecture")
    with tempfile.TemporaryDirectory(prefix="canopy-stf-") as folder:
        output = Path(folder) / "program.json"
        problem = _compile(source, output, standard)
        if problem is not None:
            return Outcome(test, "not compiled", (f"{source}: {problem}",))
        program = output.read_text(encoding="utf-8")
    try:
        result = run_test(program, test.read_text(encoding="utf-8"), ignore=ignore)
    except StfError as error:
        return Outcome(test, "failed", (f"{source}: {error}",))
    return Outcome(test, "passed" if result.passed else "failed", tuple(f.at(test) for f in result.findings))


def standard_of(text: str) -> str | None:
    """p4c's name for the language of a program for v1model, None when it is for another architecture."""
    includes = {Path(name).name for name in INCLUDE.findall(text)}
    if "v1model.p4" in includes:
        return "p4-16"
    return "p4-14" if "core.p4" not in includes and P4_14.search(text) else None


def find_compiler() -> str:
    """p4c's BMv2 back end. Raises StfError when it is not on PATH."""
    compiler = shutil.which("p4c-bm2-ss")
    if compiler is None:
        raise StfError("p4c-bm2-ss, p4c's compiler for BMv2, is not on PATH")
    return compiler


def _compile(source: Path, output: Path, standard: str) -> str | None:
    """What p4c has to say when it fails."""
    command = [find_compiler(), "--std", standard, "-o", str(output), str(source)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=COMPILE_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        return f"p4c has not ended after {COMPILE_TIMEOUT_S} s"
    if done.returncode == 0 and output.is_file():
        return None
    lines = [line for line in done.stderr.splitlines() if "error" in line.lower()]
    return (lines or done.stderr.splitlines() or ["p4c failed"])[0]
