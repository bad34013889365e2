"""Limits of the kernel, from files like its own."""

from pathlib import Path

from hosts.doctor.buffers import check


def test_limits(tmp_path: Path) -> None:
    (tmp_path / "net/core").mkdir(parents=True)
    (tmp_path / "net/core/rmem_max").write_text("212992\n")
    (tmp_path / "net/core/wmem_max").write_text("4194304\n")
    found = {finding.subject: finding for finding in check(tmp_path)}
    assert found["net.core.rmem_max"].verdict == "advice"
    assert "sysctl -w net.core.rmem_max=" in found["net.core.rmem_max"].advice
    assert found["net.core.wmem_max"].verdict == "ok"
    assert found["net.ipv4.igmp_max_memberships"].verdict == "unknown"
