import itertools
from pathlib import Path

import pytest
import typer

from hosts.programs import cli as hosts_cli
from hosts.programs import stream_cli
from tests.topologies.scenarios import small_scenario
from topologies.emulation.session_run import receiver_command, sender_command
from topologies.plan import make_plan
from topologies.scenario.session import Receiver

SCENARIO = small_scenario()
PLAN = make_plan(SCENARIO)
NOWHERE = Path("/nowhere")
PORT = 20000
SLOW = Receiver.model_validate({"host": "b", "read_rate": "1 Mbps"})


def option(command: list[str], name: str) -> str:
    return command[command.index(name) + 1]


def settings(command: list[str]) -> set[str]:
    return {value for name, value in itertools.pairwise(command) if name == "--set"}


def test_agents_are_told_session_group_and_source() -> None:
    sender = sender_command(SCENARIO.sessions[0], PLAN, PORT, NOWHERE, receivers=2)
    receiver = receiver_command(SCENARIO.sessions[0], PLAN, PORT, Receiver(host="b"), output=NOWHERE)
    for command in (sender, receiver):
        assert [option(command, name) for name in ("--group", "--port", "--session", "--source")] == [
            "232.1.0.3",
            "5003",
            "3",
            "10.0.0.2",
        ]
        assert option(command, "--local-port") == "20000"
    assert settings(sender) == {"alpha=3", "fan_out=16"}
    assert settings(receiver) == {"alpha=3", "fan_out=16", "parent=sender", "spare=False"}
    assert option(sender, "--receivers") == "2"


def test_a_session_of_any_source_names_none_and_its_policy_is_a_parameter() -> None:
    command = receiver_command(SCENARIO.sessions[1], PLAN, PORT, Receiver(host="c"), output=NOWHERE)
    assert "--source" not in command
    assert "drop_after_s=4.0" in settings(command)


def test_a_sender_waits_for_one_receiver_at_least() -> None:
    command = sender_command(SCENARIO.sessions[0], PLAN, PORT, NOWHERE, receivers=0)
    assert option(command, "--receivers") == "1"


@pytest.mark.parametrize("name", ["send", "recv"])
def test_the_agents_know_every_option_they_are_given(name: str) -> None:
    session = SCENARIO.sessions[0]
    if name == "send":
        command = sender_command(session, PLAN, PORT, NOWHERE, receivers=1)
    else:
        command = receiver_command(session, PLAN, PORT, SLOW, output=NOWHERE)
    group = typer.main.get_command(hosts_cli.app)
    known = {word for parameter in group.commands[name].params for word in parameter.opts}  # type: ignore[attr-defined]
    assert {word for word in command if word.startswith("--")} <= known


@pytest.mark.parametrize("name", ["send", "recv"])
def test_a_real_time_session_streams(name: str) -> None:
    session = SCENARIO.sessions[0].model_copy(update={"protocol": "vlmcc", "realtime": True, "parameters": {}})
    if name == "send":
        command = sender_command(session, PLAN, PORT, NOWHERE, receivers=1)
        assert command[command.index("send") + 1] == "/dev/zero"
    else:
        command = receiver_command(session, PLAN, PORT, Receiver(host="b"), output=NOWHERE)
        assert option(command, "--output") == "/dev/null"
    assert "hosts.programs.stream_cli" in command
    assert option(command, "--local-port") == "20000"
    group = typer.main.get_command(stream_cli.app)
    known = {word for parameter in group.commands[name].params for word in parameter.opts}  # type: ignore[attr-defined]
    assert {word for word in command if word.startswith("--")} <= known
