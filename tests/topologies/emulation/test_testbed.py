import errno
import os
from pathlib import Path

import pytest

from tests.topologies.scenarios import small_scenario
from topologies.emulation import testbed
from topologies.emulation.requirements import RequirementError
from topologies.emulation.state import MARK
from topologies.emulation.testbed import (
    controller_is_ready,
    hosts_file,
    running_testbed,
    switch_problems,
    tell_link_state,
)
from topologies.plan import make_plan, network_description
from topologies.results.run_folder import RunFolder

PLAN = make_plan(small_scenario())


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
        running_testbed(PLAN, network_description(small_scenario(), PLAN), "embedded", RunFolder(tmp_path)),
    ):
        pass
    assert list((tmp_path / "state").iterdir()) == []


def test_hosts_know_each_other_by_name() -> None:
    assert hosts_file(PLAN).splitlines() == ["127.0.0.1 localhost", "10.0.0.2 a", "10.0.0.1 b", "10.0.0.3 c"]


def test_a_controller_that_is_not_there_is_not_ready(tmp_path: Path) -> None:
    assert not controller_is_ready(tmp_path)
    assert switch_problems(tmp_path) == ""
    assert not tell_link_state(tmp_path, "s1", "s2", up=False)
