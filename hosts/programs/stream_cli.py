"""`canopy stream`: real-time data, as of a camera or a player, from one sender to many receivers."""

import contextlib
import dataclasses
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from hosts import protocols
from hosts.programs.cli import (
    GroupOption,
    InterfaceOption,
    JsonOption,
    LocalAddressOption,
    LocalPortOption,
    PortOption,
    QuietOption,
    RateLimitOption,
    SeedOption,
    SessionOption,
    SetOption,
    SlowReceiversOption,
    SourceOption,
    StatusDirOption,
    TraceOption,
    TtlOption,
    WaitOption,
    at_sender,
    finish,
    make_plan,
    require_source,
)
from hosts.programs.driver import Plan
from hosts.programs.progress import Display
from hosts.programs.report import reporting
from hosts.programs.secrecy import (
    AskOption,
    HopFileOption,
    LinkArgument,
    Secrecy,
    SecretFileOption,
    SecureOption,
    SignedOption,
    SignFileOption,
    receiver_place,
    sender_place,
    who,
)
from hosts.programs.settings import read_policy, read_settings
from hosts.programs.stream import receive_stream, send_stream
from hosts.runtime import clock, sockets

ProtocolOption = Annotated[
    str, typer.Option(help=f"One of {', '.join(protocols.carrying('realtime'))}; canopy protocols says more of each.")
]

PAYLOAD_BYTES = 1316
"""Seven packets of an MPEG transport stream: a lost packet of ours loses whole ones of them."""

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)


@app.callback()
def main() -> None:
    """Real-time data from one sender to many receivers: sent at the rate that the network allows, not repeated."""


@app.command()
def send(
    file: Annotated[Path | None, typer.Argument(help="What to send.", show_default="standard input")] = None,
    group: GroupOption = None,
    port: PortOption = None,
    protocol: ProtocolOption = "tfmcc",
    secure: SecureOption = False,
    signed: SignedOption = False,
    secret_file: SecretFileOption = None,
    sign_file: SignFileOption = None,
    hop_file: HopFileOption = None,
    interface: InterfaceOption = None,
    source: LocalAddressOption = None,
    session: SessionOption = None,
    local_port: LocalPortOption = 0,
    ttl: TtlOption = sockets.DEFAULT_TTL,
    rate_limit: RateLimitOption = None,
    slow_receivers: SlowReceiversOption = None,
    settings: SetOption = None,
    status_dir: StatusDirOption = None,
    trace: TraceOption = None,
    seed: SeedOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Send standard input, or FILE, to whoever listens. What comes faster than the network allows waits.

    Exit status: 0 at the input's end, 2 for bad input, 130 when interrupted.
    """
    display = Display(quiet=quiet)
    with reporting(display):
        policy = read_policy(protocol, slow_receivers)
        parameters = {**_packet_size(protocol), **policy, **read_settings(settings)}
        if rate_limit is not None:
            parameters["rate_limit_bps"] = rate_limit
        secrecy = Secrecy(secure or signed, signed, secret_file, sign_file, hop_file)
        place = sender_place(group, port, secrecy, display)
        plan = _realtime(make_plan(protocol, place, source, session, parameters, seed, trace))
        plan, address = at_sender(plan, place, interface, local_port, status_dir, "canopy stream recv", usual="tfmcc")
        with _input(file) as stream:
            sending = send_stream(plan, stream, sockets.Interface(address, ttl), display, status_folder=status_dir)
            outcome = clock.run(sending, plan.parameters)
    finish(outcome, as_json)


@app.command()
def recv(
    link: LinkArgument = None,
    group: GroupOption = None,
    port: PortOption = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File.", show_default="standard output")] = None,
    protocol: ProtocolOption = "tfmcc",
    secure: AskOption = False,
    secret_file: SecretFileOption = None,
    hop_file: HopFileOption = None,
    interface: InterfaceOption = None,
    source: SourceOption = None,
    session: SessionOption = None,
    local_port: LocalPortOption = 0,
    delay: Annotated[
        float | None,
        typer.Option(help="Play so many seconds behind the network.", min=0, show_default="1, or what repairs take"),
    ] = None,
    wait: WaitOption = None,
    settings: SetOption = None,
    trace: TraceOption = None,
    seed: SeedOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON on standard error.")] = False,
    quiet: QuietOption = False,
) -> None:
    """Play a stream into a file or standard output, in the rhythm in which it was sent; gaps stay gaps.

    Exit status: 0 at the stream's end, 1 when it broke off, 2 for bad input, 130 when interrupted.
    """
    display = Display(quiet=quiet)
    with reporting(display):
        place = receiver_place(
            link, group, port, asked=secure, secret_file=secret_file, display=display, hop_file=hop_file
        )
        plan = _realtime(make_plan(protocol, place, source, session, read_settings(settings), seed, trace))
        require_source(plan.session)
        address = sockets.resolve_interface(interface, source or place.group)
        plan = dataclasses.replace(plan, local_port=local_port, said=who(place))
        with _output(output) as stream:
            receiving = receive_stream(plan, stream, sockets.Interface(address), display, delay=delay, wait=wait)
            outcome = clock.run(receiving, plan.parameters)
    with contextlib.redirect_stdout(sys.stderr):  # standard output is the stream's
        finish(outcome, as_json)


def _packet_size(protocol: str) -> dict[str, Any]:
    """What packets of a stream carry, of a protocol that does not settle it with the session's description."""
    return {"payload_bytes": PAYLOAD_BYTES} if "payload_bytes" in protocols.get(protocol).option_names else {}


def _realtime(plan: Plan) -> Plan:
    if not plan.protocol.carries_realtime:
        raise ValueError(f"{plan.protocol.name} carries no real-time data")
    return dataclasses.replace(plan, session=dataclasses.replace(plan.session, realtime=True))


@contextlib.contextmanager
def _input(path: Path | None) -> Iterator[io.FileIO]:
    """Without a buffer: a thread that waits in a buffered reader holds its lock, and the program could not end."""
    if path is not None and str(path) != "-":
        with path.open("rb", buffering=0) as file:
            yield file
        return
    if sys.stdin is None:
        raise ValueError("standard input is closed: name a file")
    with open(sys.stdin.fileno(), "rb", buffering=0, closefd=False) as file:
        yield file


@contextlib.contextmanager
def _output(path: Path | None) -> Iterator[io.FileIO]:
    """Without a buffer, as the input. OSErrors of writing get the output's name, which they lack."""
    to_stdout = path is None or str(path) == "-"
    if to_stdout and sys.stdout is None:
        raise ValueError("standard output is closed: name a file with --output")
    try:
        if path is None or to_stdout:
            with open(sys.stdout.fileno(), "wb", buffering=0, closefd=False) as file:
                yield file
        else:
            with path.open("wb", buffering=0) as file:
                yield file
    except OSError as error:
        if error.filename is None:
            error.filename = "standard output" if to_stdout else str(path)
        raise


if __name__ == "__main__":
    app()
