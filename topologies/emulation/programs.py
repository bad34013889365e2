"""The command lines of an emulation's programs: agents, controller, cross traffic. No I/O."""

import sys
from pathlib import Path

from topologies.emulation.plan import Plan
from topologies.scenario.activity import Flow, OnOffFlow, Session, TcpFlow, UdpFlow


def controller_command(network: Path, state_directory: Path) -> list[str]:
    """The controller of the network described in `network`."""
    return _canopy("controller", "--network", str(network), "--state-dir", str(state_directory))


def sender_command(
    session: Session, plan: Plan, file: Path, *, receivers: int, seed: int, status_directory: Path, trace: Path
) -> list[str]:
    """A session's sender, which waits for so many receivers."""
    return _canopy(
        "send",
        str(file),
        *_session_options(session, plan),
        "--receivers",
        str(receivers),
        "--status-dir",
        str(status_directory),
        "--trace",
        str(trace),
        "--seed",
        str(seed),
    )


def receiver_command(session: Session, plan: Plan, *, output: Path, seed: int, trace: Path) -> list[str]:
    """A session's receiver, which puts the file into the folder `output`."""
    return _canopy(
        "recv",
        *_session_options(session, plan),
        "--output",
        str(output),
        "--trace",
        str(trace),
        "--seed",
        str(seed),
    )


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
            command += ["--exponential"] if flow.distribution == "exponential" else []
    return command


def flow_sink_command(flow: Flow, address: str, trace: Path, epoch: float) -> list[str]:
    """The receiving end of cross traffic."""
    return _flow_program("tcp-sink" if flow.kind == "tcp" else "udp-sink", address, trace, epoch)


def _flow_program(role: str, address: str, trace: Path, epoch: float) -> list[str]:
    module = "topologies.emulation.flow"
    return [sys.executable, "-m", module, role, address, "--trace", str(trace), "--epoch", repr(epoch)]


def _canopy(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "experiments.cli", *arguments]


def _session_options(session: Session, plan: Plan) -> list[str]:
    options = ["--protocol", session.protocol, "--group", str(session.group), "--port", str(session.port)]
    options += ["--session", str(session.id)]
    if session.membership == "source-specific":
        options += ["--source", str(plan.hosts[session.sender].address)]
    for name, value in session.parameters.items():
        options += ["--set", f"{name}={value}"]
    return options
