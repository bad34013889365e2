"""What of ours is installed."""

from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from hosts.doctor import kernel


def test_a_checkout_whose_p4_program_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = ModuleSpec("controller", None, origin=str(tmp_path / "controller/__init__.py"))
    monkeypatch.setattr(kernel, "find_spec", lambda name: spec)
    (tmp_path / "p4src").mkdir()
    for name in ("canopy.p4info.txtpb", "canopy.constants.json"):
        (tmp_path / "p4src" / name).touch()
    (found,) = (finding for finding in kernel.check() if finding.subject == "P4 program")
    assert (found.verdict, found.parts) == ("missing", ("switch", "emulation"))
    assert found.found == f"no canopy.json in {tmp_path}/p4src"
    assert found.advice.startswith("run `make setup`")
    (tmp_path / "p4src/canopy.json").touch()
    assert "ok" in [finding.verdict for finding in kernel.check() if finding.subject == "P4 program"]


def test_agents_have_no_p4_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "find_spec", lambda name: None)
    assert [finding for finding in kernel.check() if finding.subject == "P4 program"] == []
