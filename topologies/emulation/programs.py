"""An emulation's programs: the command lines of agents, controller and cross traffic, and the controller's API."""

import os
from pathlib import Path

from controller.api import ApiClient, ApiError
from controller.statedir import SOCKET_NAME
from engine.command.programs import module_command
from hosts.endpoint import Address
from topologies.plan.members import member_parameters
from topologies.plan.plan import Plan
from topologies.plan.timeline import RECEIVERS_WAIT_S
from topologies.scenario.activity import Flow, OnOffFlow, TcpFlow, UdpFlow
from topologies.scenario.session import Receiver, Session

ENDLESS_INPUT = Path("/dev/zero")
"""What real-time sessions send, as much as may be sent, as in a simulation."""
PLAYOUT_DELAY_S = 0.2
"""Receivers of real-time data play it so far behind the network (ours)."""


def controller_command(network: Path, state_directory: Path) -> list[str]:
    """The controller of the network described in `network`."""
    return module_command("controller.service", str(network), "--state-dir", str(state_directory))


def controller_is_ready(state_directory: Path) -> bool:
    """Whether the controller answers, and has set up every switch."""
    try:
        with ApiClient(state_directory / SOCKET_NAME, timeout_s=2.0) as client:
            status = client.call("status")
    except (OSError, ApiError, ValueError):
        return False
    return bool(status["switches_ready"] == status["switches"])


def switch_problems(state_directory: Path) -> str:
    """What the controller has to say of switches that are not ready, as the end of a sentence; empty when nothing."""
    try:
        with ApiClient(state_directory / SOCKET_NAME, timeout_s=2.0) as client:
            switches = client.call("switches", counters=False)
    except (OSError, ApiError, ValueError):
        return ""
    return "".join(f"; {switch['name']}: {switch['problem']}" for switch in switches if switch["problem"])


def tell_link_state(state_directory: Path, one: str, other: str, *, up: bool) -> bool:
    """Tell the controller that a link between two switches went down or came up; whether it listened."""
    try:
        with ApiClient(state_directory / SOCKET_NAME, timeout_s=2.0) as client:
            client.call("set_link", link=f"{one}-{other}", up=up)
    except (OSError, ApiError, ValueError):
        return False
    return True


def sender_command(
    session: Session,
    plan: Plan,
    local_port: int,
    file: Path,
    *,
    receivers: int,
    seed: int,
    status_directory: Path,
    trace: Path,
) -> list[str]:
    """A session's sender; `local_port` is that of all the session's members. One of a file waits for so many
    receivers, one of real-time data for nobody."""
    options = _session_options(session, plan, session.sender, local_port)
    if session.realtime:
        command = stream_command("send", str(ENDLESS_INPUT), *options)
    else:
        command = _agent("send", str(file), *options, "--receivers", str(max(receivers, 1)))
        command += ["--wait", str(RECEIVERS_WAIT_S)]
    return [
        *command,
        "--status-dir",
        str(status_directory),
        "--trace",
        str(trace),
        "--seed",
        str(seed),
        "--json",
    ]


def receiver_command(
    session: Session, plan: Plan, local_port: int, receiver: Receiver, *, output: Path, seed: int, trace: Path
) -> list[str]:
    """A session's receiver, which puts the file into the folder `output`, and real-time data nowhere; `local_port` is
    that of all members."""
    options = _session_options(session, plan, receiver.host, local_port)
    if session.realtime:
        command = stream_command("recv", *options, "--output", os.devnull, "--delay", repr(PLAYOUT_DELAY_S))
    else:
        reading = [] if receiver.read_rate is None else ["--read-rate", repr(receiver.read_rate)]
        command = _agent("recv", *options, *reading, "--output", str(output))
    return [
        *command,
        "--trace",
        str(trace),
        "--seed",
        str(seed),
        "--json",
    ]


def flow_source_command(flow: Flow, address: str, trace: Path, epoch: float, seed: int) -> list[str]:
    """The sending end of cross traffic."""
    command = [*_flow_program("tcp-source" if flow.kind == "tcp" else "udp-source", address, trace, epoch)]
    match flow:
        case TcpFlow():
            command += ["--congestion-control", flow.congestion_control]
        case UdpFlow():
            command += ["--rate", repr(flow.rate), "--packet", str(flow.packet)]
        case OnOffFlow():
            command += ["--rate", repr(flow.rate), "--packet", str(flow.packet)]
            command += ["--on", repr(flow.on), "--off", repr(flow.off), "--seed", str(seed)]
            command += ["--distribution", flow.distribution, "--shape", repr(flow.shape)]
    return command


def flow_sink_command(flow: Flow, address: str, trace: Path, epoch: float) -> list[str]:
    """The receiving end of cross traffic."""
    return _flow_program("tcp-sink" if flow.kind == "tcp" else "udp-sink", address, trace, epoch)


def _flow_program(role: str, address: str, trace: Path, epoch: float) -> list[str]:
    module = "topologies.emulation.flow"
    return module_command(module, role, address, "--trace", str(trace), "--epoch", repr(epoch))


def _agent(*arguments: str) -> list[str]:
    return module_command("hosts.programs.cli", *arguments)


def stream_command(*arguments: str) -> list[str]:
    """`canopy stream`, of this Python."""
    return module_command("hosts.programs.stream_cli", *arguments)


def _session_options(session: Session, plan: Plan, host: str, local_port: int) -> list[str]:
    options = ["--protocol", session.protocol, "--group", str(session.group), "--port", str(session.port)]
    options += ["--session", str(session.id), "--local-port", str(local_port)]
    if session.membership == "source-specific":
        options += ["--source", str(plan.hosts[session.sender].address)]
    parameters = member_parameters(session, host, lambda name: Address(str(plan.hosts[name].address), local_port))
    for name, value in parameters.items():
        options += ["--set", f"{name}={value}"]
    return options
