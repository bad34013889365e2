import errno
import os
from pathlib import Path

import pytest

from tests.topologies.scenarios import TEXT
from topologies.emulation import testbed
from topologies.emulation.requirements import RequirementError
from topologies.emulation.state import MARK
from topologies.emulation.testbed import running_testbed
from topologies.results.run_folder import RunFolder
from topologies.scenario import parse_scenario


def test_a_machine_without_namespaces_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse() -> None:
        raise OSError(errno.EINVAL, f"mount: {os.strerror(errno.EINVAL)}")

    monkeypatch.setattr(testbed, "enter_new_network_namespace", refuse)
    monkeypatch.setenv("CANOPY_STATE_ROOT", str(tmp_path / "state"))
    monkeypatch.setenv(MARK, "")
    with (
        pytest.raises(
            RequirementError, match=r"^this machine gives no network namespace \(mount: Invalid argument\): .*$"
        ),
        running_testbed(parse_scenario(TEXT), "embedded", RunFolder(tmp_path)),
    ):
        pass
    assert list((tmp_path / "state").iterdir()) == []
