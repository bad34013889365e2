import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.topologies.emulation.whole.harness import TWO_SWITCHES, Run

PROGRAMS = {
    "mnexec": "mininet",
    "ip": "iproute2",
    "ethtool": "ethtool",
    "iperf": "iperf",
    "uftp": "uftp",
    "uftpd": "uftp",
}
BMV2 = [pytest.param("bmv2", marks=pytest.mark.bmv2)] if shutil.which("simple_switch_grpc") else []
SWITCHES = ["embedded", *BMV2]
"""The kinds of switch that this machine has; BMv2 is optional."""

Start = Callable[..., Run]


@pytest.fixture(scope="session", autouse=True)
def _requirements() -> None:
    """Fail, and say why, rather than skip: these tests are part of what is promised."""
    assert os.geteuid() == 0, "emulation tests need root"
    missing = sorted({package for program, package in PROGRAMS.items() if shutil.which(program) is None})
    assert not missing, f"Debian packages are missing: {' '.join(missing)}"


@pytest.fixture(scope="module")
def base() -> Iterator[Path]:
    """A folder with a short name: a Unix socket's path has 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="canopy-") as folder:
        yield Path(folder)


@pytest.fixture
def start(base: Path) -> Iterator[Start]:
    """Start an emulation of a scenario's file or text; all are ended after the test."""
    runs: list[Run] = []

    def begin(scenario: Path | str, *options: str, report: bool = False) -> Run:
        folder = Path(tempfile.mkdtemp(prefix="run-", dir=base))
        if isinstance(scenario, str):
            path = folder.with_suffix(".yaml")
            path.write_text(scenario)
        else:
            path = scenario
        runs.append(Run(path, folder, base / "state", *options, report=report))
        return runs[-1]

    yield begin
    for run in runs:
        run.end()


@pytest.fixture(scope="module", params=SWITCHES)
def held(base: Path, request: pytest.FixtureRequest) -> Iterator[Run]:
    """A network without sessions, held up for a module's tests, on each kind of switch."""
    scenario = base / f"held-{request.param}.yaml"
    scenario.write_text(TWO_SWITCHES.format(name=f"held-{request.param}", rate="20 Mbps"))
    run = Run(scenario, base / f"held-{request.param}", base / "state", "--hold", "--switch", request.param)
    try:
        run.wait_until_up()
        yield run
    finally:
        run.end()
