import importlib.util
import os
import shutil
import socket

import pytest

from tests.topologies.scenarios import TEXT
from topologies.emulation import runner
from topologies.emulation.requirements import RequirementError, check_requirements
from topologies.scenario import parse_scenario


def test_without_root_it_is_said_what_needs_it_and_what_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(
        RequirementError, match=r"emulation needs root: .*Without root these work: canopy simulate FILE"
    ) as caught:
        check_requirements("embedded")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("mnexec", "`mnexec` is missing (Debian package `mininet`)"),
        ("tc", "`tc` is missing (Debian package `iproute2`)"),
        ("sysctl", "`sysctl` is missing (Debian package `procps`)"),
        ("simple_switch_grpc", "`simple_switch_grpc` is not on PATH"),
    ],
)
def test_a_missing_program_is_named_with_its_package(
    monkeypatch: pytest.MonkeyPatch, program: str, message: str
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(shutil, "which", lambda name: None if name == program else f"/bin/{name}")
    with pytest.raises(RequirementError) as caught:
        check_requirements("bmv2")
    assert str(caught.value).startswith(message)


def test_mininet_itself_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(RequirementError, match="Mininet's Python package is missing"):
        check_requirements("embedded")


def test_bmv2_is_needed_for_bmv2_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "simple_switch_grpc" else f"/bin/{name}")
    check_requirements("embedded")


def test_a_congestion_control_that_the_kernel_lacks_is_named() -> None:
    runner.check_congestion_controls(parse_scenario(TEXT.replace("cubic", "reno")))
    with pytest.raises(RequirementError, match=r"this kernel's TCP has no congestion control `nonesuch`, only .*reno"):
        runner.check_congestion_controls(parse_scenario(TEXT.replace("cubic", "nonesuch")))


@pytest.mark.parametrize("fault", ["link-rate, rate: 1 Mbps", "link-delay, delay: 9 ms"])
def test_only_embedded_switches_change_their_links(fault: str) -> None:
    scenario = parse_scenario(f"{TEXT}  - {{at: 9 s, link: [s1, s2], kind: {fault}}}\n")
    runner.check_faults(scenario, "embedded")
    with pytest.raises(RequirementError, match=f"{fault.partition(',')[0]} needs embedded switches"):
        runner.check_faults(scenario, "bmv2")


def test_a_bridge_is_not_killed_and_makes_no_circle() -> None:
    runner.check_faults(parse_scenario(TEXT), "embedded")
    with pytest.raises(RequirementError, match="a bridge is not a program"):
        runner.check_faults(parse_scenario(TEXT), "bridge")
    tree = TEXT.partition("faults:")[0]
    runner.check_faults(parse_scenario(tree), "bridge")
    more = "  s3: {kind: p4}\nlinks:\n  - {between: [s2, s3]}\n  - {between: [s3, s1]}\n"
    circle = parse_scenario(tree.replace("links:\n", more, 1))
    runner.check_faults(circle, "bmv2")
    with pytest.raises(RequirementError, match="circle"):
        runner.check_faults(circle, "bridge")


def test_on_a_hub_nobody_chooses_among_groups() -> None:
    one_group = parse_scenario(TEXT)
    changed = one_group.sessions[0].model_copy(update={"protocol": "webrc", "parameters": {}})
    several = one_group.model_copy(update={"sessions": [changed, *one_group.sessions[1:]]})
    assert runner.hub_notes(one_group, "bridge") == []
    assert runner.hub_notes(several, "embedded") == []
    (note,) = runner.hub_notes(several, "bridge")
    assert note.startswith("session 3: webrc's receivers choose among groups, but a bridge sends all of them to")


def test_what_a_simulation_has_instead_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    class Lacking(socket.socket):
        def setsockopt(self, *arguments: object) -> None:
            raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(socket, "socket", Lacking)
    with pytest.raises(RequirementError, match=r"no congestion control `bbr`, only .*; canopy simulate has it"):
        runner.check_congestion_controls(parse_scenario(TEXT.replace("cubic", "bbr")))
