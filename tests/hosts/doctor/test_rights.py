"""Capabilities and programs."""

from pathlib import Path

import pytest

from hosts.doctor.rights import check


def test_capabilities(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status = tmp_path / "status"
    status.write_text("Name:\tx\nCapEff:\t0000000000003000\n")
    monkeypatch.setenv("PATH", "")
    found = {finding.subject: finding.verdict for finding in check(status)}
    assert (found["CAP_NET_ADMIN"], found["CAP_NET_RAW"], found["CAP_SYS_ADMIN"]) == ("ok", "ok", "missing")
    assert found["tc"] == "missing"
