"""docs/add-a-protocol.md: its code, in a copy of the tree, is a protocol that everything knows."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "add-a-protocol.md"
FILES = dict(re.findall(r"^```(?:python|yaml) file=(\S+)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL))


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages, with the page's files in them."""
    folder = tmp_path_factory.mktemp("tree")
    left_out = shutil.ignore_patterns("target", "crates", "results", "fuzz")  # not bytecode, which is valid there too
    for package in ("controller", "engine", "experiments", "hosts", "topologies", "p4src"):
        shutil.copytree(ROOT / package, folder / package, ignore=None if package == "topologies" else left_out)
    for name, content in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content)
    return folder


def run(tree: Path, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    command = [sys.executable, "-P", *arguments]
    done = subprocess.run(command, env=environment, cwd=tree, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_page_has_all_files() -> None:
    names = ("__init__", "options", "packets", "receiver", "sender")
    assert set(FILES) == {"halver.yaml", *(f"hosts/protocols/halver/{name}.py" for name in names)}


def test_the_page_lists_the_few_files_that_there_are_and_that_it_touches() -> None:
    names = re.findall(
        r"`([\w/.-]+\.(?:md|py|p4|yml))`", PAGE.read_text().partition("## What else a protocol may touch")[2]
    )
    touched = {name for name in names if "NAME" not in name}
    assert [name for name in sorted(touched) if not (ROOT / name).is_file()] == []
    with_help = {name for name in touched if name.startswith("p4src/")}
    assert 0 < len(touched - with_help) <= 6
    assert len(touched) <= 12
    assert with_help == p4_files_of("vlmcc")


def p4_files_of(protocol: str) -> set[str]:
    """Those outside its folder whose code, comments left out, names it."""
    found = set()
    for path in (ROOT / "p4src").rglob("*.p4"):
        code = re.sub(r"//.*", "", path.read_text())
        if re.search(protocol, code, re.IGNORECASE) and path.parent.name != protocol:
            found.add(str(path.relative_to(ROOT)))
    return found


def test_it_is_found(tree: Path) -> None:
    assert "halver" in run(tree, "-c", "from hosts import protocols; print(protocols.names())")


def test_a_simulation_of_it_fills_the_slowest_link(tree: Path) -> None:
    run(tree, "-m", "topologies.cli", "simulate", "halver.yaml", "--out", "simulated", "--no-report")
    check(tree / "simulated")


def test_a_survey_takes_it(tree: Path) -> None:
    options = ["--cells", "1", "--seed", "463", "--out", "surveyed", "--json"]  # a seed whose first cell is a small one
    told = run(tree, "-m", "experiments.survey.command", "halver", *options)
    (verdict,) = json.loads(told)["protocols"]
    assert (verdict["protocol"], verdict["done"], verdict["failed"]) == ("halver", 1, 0)
    assert (tree / "surveyed" / "survey.html").is_file()


@pytest.mark.root
@pytest.mark.emulation
def test_an_emulation_of_it_does(tree: Path, tmp_path: Path) -> None:
    """In a quarter of the page's minute."""
    (tree / "brief.yaml").write_text(FILES["halver.yaml"].replace("duration: 60 s", "duration: 15 s"))
    os.environ["CANOPY_STATE_ROOT"] = str(tmp_path)
    try:
        run(tree, "-m", "topologies.cli", "emulate", "brief.yaml", "--out", "emulated", "--no-report")
    finally:
        del os.environ["CANOPY_STATE_ROOT"]
    check(tree / "emulated")


def check(folder: Path) -> None:
    """Half to all of 2 Mbps, as a rate has that is halved when it is too much."""
    summary = json.loads((folder / "summary.json").read_text())
    receivers = {row["host"]: row for row in summary["sessions"][0]["receivers"]}
    assert set(receivers) == {"r1", "r2"}
    for row in receivers.values():
        assert 0.9e6 < row["goodput_bps"] < 2e6, row


def test_scapy_knows_its_packets(tree: Path) -> None:
    code = """
from hosts.dissect import layers
from hosts.protocols.halver.packets import REPORT, Report
packet = layers.CanopyHeader(REPORT.encode(Report(7, 3)))
print(packet.session, packet["HALVER REPORT"].lost)
"""
    assert run(tree, "-c", code) == "7 3\n"


def test_wireshark_does(tree: Path) -> None:
    script = run(tree, "-c", "from hosts.dissect.wireshark import plugin; print(plugin())")
    assert 'title = "HALVER REPORT", filter = "canopy.halver.report"' in script


def test_the_table_of_packets_has_them(tree: Path) -> None:
    assert "| `lost` | packets since the last report" in run(tree, "-m", "hosts.dissect.table")


def test_its_types_hold(tree: Path) -> None:
    files = [name for name in FILES if name.endswith(".py")]
    options = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(tree / ".mypy_cache")]
    environment = {**os.environ, "MYPYPATH": f"{tree}:{ROOT / 'engine' / 'stubs'}"}
    command = [sys.executable, "-m", "mypy", *options, *files]
    done = subprocess.run(command, env=environment, cwd=tree, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    style = ["ruff", "check", "--config", str(ROOT / "pyproject.toml"), *files]
    assert subprocess.run([sys.executable, "-m", *style], cwd=tree, check=False).returncode == 0
