"""A run folder that is cut off or changed anywhere: an error that names the file, or what is left is shown."""

import json
import random
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.command.assemble import run as canopy
from tests.topologies.simulation.runs import session, simulate, tree
from topologies.explain.record import FILE_NAME
from topologies.results.run_folder import RunFolderError
from topologies.web.packets import Packets
from topologies.web.run import Run

VALUE = re.compile(rb'"[^"\n]*"|-?\d[\d.e+-]*|true|false|null|\{[^{}]*\}|\[[^\[\]]*\]')
PUT = [b"null", b"[]", b"{}", b"-1", b"1e999", b"NaN", b'"x"', b"true", b"9" * 400, b"\xff", b"[" * 5000, b'"\\ud800"']
CASES = 25
"""Of each file. 20,000 in all were tried when this was written."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("damaged") / "run"
    simulate(folder, tree() + session("20 kB"))
    assert canopy(["explain", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def folder(whole: Path) -> Path:
    """A copy, whose files are damaged one at a time."""
    return Path(shutil.copytree(whole, whole.with_name("copy")))


def damaged(data: bytes, rng: random.Random) -> bytes:
    kind = rng.random()
    if kind < 0.3:
        return data[: rng.randrange(len(data) + 1)]
    values = [match.span() for match in VALUE.finditer(data)]
    if kind < 0.6 or not values:
        octets = bytearray(data)
        for place in rng.choices(range(len(data)), k=rng.choice((1, 8))) if data else ():
            octets[place] = rng.randrange(256)
        return bytes(octets)
    start, end = rng.choice(values)
    return data[:start] + rng.choice(PUT) + data[end:]


def cases(folder: Path, name: str) -> Iterator[None]:
    path = folder / name
    data, rng = path.read_bytes(), random.Random(name)
    for _ in range(CASES):
        path.write_bytes(damaged(data, rng))
        yield
    path.write_bytes(data)


def show(folder: Path) -> None:
    """All that the page asks for."""
    try:
        run = Run(folder)
    except RunFolderError as error:
        if "scenario.yaml" not in str(error):
            raise
        return
    run.read()
    json.dumps([run.scene, run.since({}), run.summary(), run.silent_s()], allow_nan=False)
    packets = Packets(run)
    json.dumps(
        [packets.list("s1", 0.0, None), packets.list("s1", 0.0, "s2"), packets.journey("s1:30")], allow_nan=False
    )


@pytest.mark.parametrize("name", ["summary.json", "scenario.yaml"])
def test_a_damaged_result_is_named(whole: Path, folder: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in cases(folder, name):
        show(folder)
        for arguments in (["compare", str(folder), str(whole)], ["explain", str(folder), "s1:30"]):
            capsys.readouterr()
            status = canopy(arguments)
            assert status == 0 or name in capsys.readouterr().err


def test_what_is_left_of_damaged_series_is_shown(folder: Path) -> None:
    of_page = ("ports", "sessions", "receivers", "members", "switches")
    for name in (*(f"series/{series}.jsonl" for series in of_page), "logs/controller-events.jsonl"):
        for _ in cases(folder, name):
            show(folder)


def test_damaged_accounts_of_packets_are_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in cases(folder, FILE_NAME):
        show(folder)
        for arguments in ([], ["s1:30"], ["s1:30", "--full"]):
            capsys.readouterr()
            status = canopy(["explain", str(folder), *arguments])
            told = capsys.readouterr().err
            assert status == 0 or FILE_NAME in told or "no such packet" in told or "SWITCH:NUMBER" in told
