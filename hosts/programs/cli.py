"""`canopy send` and `canopy recv`: a file from one sender to many receivers, on any Linux network with multicast."""

import contextlib
import dataclasses
import ipaddress
import json
import random
import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from hosts import protocols
from hosts.endpoint import Address
from hosts.parts.offering import with_offers
from hosts.programs import broadcast
from hosts.programs.broadcast import EVERY_FILE
from hosts.programs.daemon_cli import (
    AllowOption,
    DaemonOption,
    DaemonOptions,
    MaxFilesOption,
    MaxSessionsOption,
    MaxSizeOption,
    MetricsOption,
    StatusOption,
    serve,
)
from hosts.programs.driver import Outcome, Plan
from hosts.programs.file_source import FileSource
from hosts.programs.naming import Existing, unusable
from hosts.programs.progress import Display
from hosts.programs.report import reporting
from hosts.programs.sdp import Description, read_sdp
from hosts.programs.secrecy import (
    AskOption,
    HopFileOption,
    LinkArgument,
    Place,
    Secrecy,
    SecretFileOption,
    SecureOption,
    SignedOption,
    SignFileOption,
    receiver_place,
    secured,
    sender_place,
    who,
)
from hosts.programs.settings import check_options, read_policy, read_settings
from hosts.programs.transfer import receive_files, send_files
from hosts.protocol import NTP_AT_1970_S, Protocol, Session
from hosts.runtime import clock, sockets
from hosts.wire.header import SESSION_MAX
from hosts.wire.manifest import FileError

DEFAULT_WAIT_S = 10.0
"""How long a sender waits for receivers."""
SOURCE_SPECIFIC = ipaddress.IPv4Network("232.0.0.0/8")
"""RFC 4607, section 1."""

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)

GroupOption = Annotated[
    str | None, typer.Option(help="IPv4 multicast group (232.0.0.0/8 is source-specific).", show_default=False)
]
PortOption = Annotated[int | None, typer.Option(help="UDP port of the group.", min=1, max=65535, show_default=False)]
ProtocolOption = Annotated[
    str, typer.Option(help=f"One of {', '.join(protocols.carrying('files'))}; canopy protocols says more of each.")
]
InterfaceOption = Annotated[
    str | None, typer.Option(help="Interface name or local IPv4 address.", show_default="by route")
]
SessionOption = Annotated[int | None, typer.Option(help="Session id.", min=0, max=SESSION_MAX)]
LocalPortOption = Annotated[
    int, typer.Option(help="UDP port to send from, where others find it.", show_default="any", min=0, max=65535)
]
LocalAddressOption = Annotated[
    str | None, typer.Option(help="Local address to send from.", show_default="the interface's")
]
TtlOption = Annotated[int, typer.Option(help="Time to live of multicast packets.", min=0, max=255)]


def bit_rate(text: str) -> float:
    """Of an option. typer.BadParameter: it is none."""
    with contextlib.suppress(ValueError):
        rate = float(text)
        if 1 <= rate < float("inf"):
            return rate
    raise typer.BadParameter(f"{text}: a number of bit/s is wanted, at least 1, as in 20e6 for 20 Mbps")


RateLimitOption = Annotated[
    float | None,
    typer.Option(help="Never send faster than so many bit/s, as in 20e6.", parser=bit_rate, metavar="BIT/S"),
]
SlowReceiversOption = Annotated[
    str | None,
    typer.Option(
        help="What becomes of who holds up the others, as in least_rate=500e3,drop_after=10: sent away below so many "
        "bit/s, left behind after so many seconds of silence or without progress.",
        metavar="POLICY",
    ),
]
StatusDirOption = Annotated[Path | None, typer.Option(help="Keep a status file in this folder.")]
SourceOption = Annotated[str | None, typer.Option(help="The sender's address: join (source, group).")]
WaitOption = Annotated[float | None, typer.Option(help="Give up when no sender was heard for so long.", min=0)]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", help="A parameter, as in ack_every=2; canopy protocols NAME has all.")
]
TraceOption = Annotated[Path | None, typer.Option(help="Write measurements to this file, JSON lines.")]
SeedOption = Annotated[int | None, typer.Option(help="Seed of the protocol's randomness.", show_default="random")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the summary as JSON on standard output.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
VerboseOption = Annotated[bool, typer.Option("--verbose", "-v", help="Say what the kernel does for the session, too.")]


@app.command()
def send(
    files: Annotated[list[Path], typer.Argument(metavar="FILE|FOLDER...", help="What to send.", show_default=False)],
    group: GroupOption = None,
    port: PortOption = None,
    protocol: ProtocolOption = "mtcp",
    secure: SecureOption = False,
    signed: SignedOption = False,
    secret_file: SecretFileOption = None,
    sign_file: SignFileOption = None,
    hop_file: HopFileOption = None,
    interface: InterfaceOption = None,
    source: LocalAddressOption = None,
    receivers: Annotated[
        int | None, typer.Option(help="Start when so many have joined.", min=1, show_default="1")
    ] = None,
    wait: Annotated[
        float | None, typer.Option(help="Start after so many seconds with those that have.", min=0, show_default="10")
    ] = None,
    session: SessionOption = None,
    local_port: LocalPortOption = 0,
    name: Annotated[str | None, typer.Option(help="Its name at the receivers.", show_default="its own")] = None,
    ttl: TtlOption = sockets.DEFAULT_TTL,
    rate_limit: RateLimitOption = None,
    slow_receivers: SlowReceiversOption = None,
    settings: SetOption = None,
    status_dir: StatusDirOption = None,
    trace: TraceOption = None,
    seed: SeedOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Send files, and folders with all that is in them, to all receivers that join before the start: `canopy send
    notes.pdf pictures/ --group 239.1.1.1 --port 5000 --receivers 2`. Hidden files and links in folders are left out;
    what receivers of `recv --resume` all have already is not sent. Exit status: 0 when every receiver confirmed the
    whole, and as many joined as were asked for; 1 when not; 2 for bad input; 130 when interrupted.
    """
    display = Display(quiet=quiet, verbose=verbose)
    with reporting(display):
        parameters = {**read_policy(protocol, slow_receivers), **read_settings(settings)}
        if rate_limit is not None:
            parameters["rate_limit_bps"] = rate_limit
        check_options(protocol, rate_limit, receivers, wait)
        starts: dict[str, Any] = {"receivers": receivers or 1, "wait": DEFAULT_WAIT_S if wait is None else wait}
        secrecy = Secrecy(secure or signed, signed, secret_file, sign_file, hop_file)
        place = sender_place(group, port, secrecy, display)
        plan = _of_files(make_plan(protocol, place, source, session, parameters, seed, trace, **starts))
        plan, address = at_sender(plan, place, interface, local_port, status_dir, "canopy recv", usual="mtcp")
        if len(files) > 1 or files[0].is_dir():
            _check_several(plan)
        else:
            plan.check_file(files[0])
        with contextlib.closing(FileSource(files, name, display.say)) as content:
            sending = send_files(plan, content, sockets.Interface(address, ttl), display, status_folder=status_dir)
            outcome = clock.run(sending, plan.parameters)
    finish(outcome, as_json)


@app.command()
def recv(
    link: LinkArgument = None,
    group: GroupOption = None,
    port: PortOption = None,
    output: Annotated[Path, typer.Option("--output", "--out", "-o", help="Folder for the files.")] = Path(),
    protocol: ProtocolOption = "mtcp",
    sdp: Annotated[
        Path | None, typer.Option("--sdp", help="The session's description (canopy broadcast --sdp): WEBRC.")
    ] = None,
    secure: AskOption = False,
    secret_file: SecretFileOption = None,
    hop_file: HopFileOption = None,
    interface: InterfaceOption = None,
    source: SourceOption = None,
    session: SessionOption = None,
    local_port: LocalPortOption = 0,
    agent: Annotated[bool, typer.Option("--agent", help="Serve other receivers as their parent.")] = False,
    parent: Annotated[
        str | None, typer.Option(help="ADDRESS:PORT of the parent, or `sender`.", show_default="the nearest")
    ] = None,
    read_rate: Annotated[float | None, typer.Option(help="Read what arrives at so many bit/s only.", min=1)] = None,
    wait: WaitOption = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace a file that exists.")] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on where a reception broke off, and keep what is there and right.")
    ] = False,
    daemon: DaemonOption = False,
    max_size: MaxSizeOption = None,
    max_files: MaxFilesOption = None,
    allow: AllowOption = None,
    max_sessions: MaxSessionsOption = None,
    status: StatusOption = None,
    metrics: MetricsOption = None,
    every: Annotated[bool, typer.Option("--all", help="Take all files of a broadcast.")] = False,
    only: Annotated[str | None, typer.Option(help="Take files whose names match, as in '*.iso'.")] = None,
    newest: Annotated[bool, typer.Option("--newest", help="Take the file that was added last.")] = False,
    settings: SetOption = None,
    trace: TraceOption = None,
    seed: SeedOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Receive what a session sends into a folder: `canopy recv --group 239.1.1.1 --port 5000 --out in --resume`. Each
    file gets its name only when it is whole and its SHA-256 is right. Exit status: 0 when all are there; 1 when not; 2
    for bad input and a folder that cannot be written; 130 when interrupted. With --daemon all that is sent to the
    group, until SIGTERM (exit status 0); the folder has to be there.
    """
    display = Display(quiet=quiet, verbose=verbose)
    with reporting(display):
        unattended = DaemonOptions(daemon, max_size, max_files, allow, max_sessions, status, metrics)
        unattended.check({"session": session, "wait": wait, "trace": trace, "json": as_json, "local-port": local_port})
        parameters = read_settings(settings)
        if sdp is not None:
            found = read_sdp(sdp)
            _check_description(found, sdp, {"--group": group, "--port": port, "--source": source, "--session": session})
            group, port, source, session = found.group, found.port, found.source, found.session
            protocol, parameters = "webrc", {**found.parameters, **parameters}
        if agent:
            parameters["agent"] = True
        if parent is not None:
            parameters["parent"] = parent
        chosen = {EVERY_FILE: every or None, "pattern": only, "newest": newest or None}
        for option, value in zip(("--all", "--only", "--newest"), chosen.values(), strict=True):
            if value is not None and not protocols.get(protocol).takes_files:
                raise ValueError(f"{option}: a session of {protocol} has one file")
        if every and newest:
            raise ValueError("--all and --newest are not for one receiver")
        parameters |= {name: value for name, value in chosen.items() if value is not None}
        place = receiver_place(
            link, group, port, asked=secure, secret_file=secret_file, display=display, hop_file=hop_file
        )
        plan = _of_files(make_plan(protocol, place, source, session, parameters, seed, trace, asks=resume))
        plan = dataclasses.replace(plan, local_port=local_port, read_rate_bps=read_rate, said=who(place))
        require_source(plan.session)
        address = sockets.resolve_interface(interface, source or place.group)
        if daemon:
            serving = serve(plan, output, sockets.Interface(address), replace, resume, unattended, display)
            raise typer.Exit(clock.run(serving, plan.parameters))
        make_folder(output, display)
        existing: Existing = "replace" if replace else "refuse"
        at = sockets.Interface(address)
        if plan.protocol.takes_files:
            receiving = broadcast.receive_files(plan, output, at, display, existing=existing, wait=wait)
        else:
            receiving = receive_files(plan, output, at, display, existing=existing, wait=wait, resume=resume)
        outcome = clock.run(receiving, plan.parameters)
    finish(outcome, as_json)


def _check_description(found: Description, path: Path, given: Mapping[str, str | int | None]) -> None:
    """ValueError when the command line says otherwise than the file."""
    said = {"--group": found.group, "--port": found.port, "--source": found.source, "--session": found.session}
    for option, value in given.items():
        if value is not None and value != said[option]:
            raise ValueError(f"{option} {value}: {path} says {said[option]}; leave the option out")


def _check_several(plan: Plan) -> None:
    """ValueError when the protocol takes one file only."""
    if not plan.protocol.knows_receivers:
        raise ValueError(f"a session of {plan.protocol.name} has one file; `canopy broadcast` sends several with webrc")


def _of_files(plan: Plan) -> Plan:
    """The plan, when its protocol can carry a file."""
    if not plan.protocol.carries_files:
        raise ValueError(f"{plan.protocol.name} carries real-time data only (canopy stream)")
    return plan


def make_plan(
    protocol: str,
    place: Place,
    source: str | None,
    session: int | None,
    parameters: dict[str, Any],
    seed: int | None,
    trace: Path | None,
    *,
    asks: bool = False,
    **rest: Any,
) -> Plan:
    """`asks`: whether a receiver asks what will be sent before it joins."""
    found: Protocol[Any] = secured(with_offers(protocols.get(protocol), ask=asks), place)
    found.parse_options(parameters)
    for what, text in (("--group", place.group), ("--source", source)):
        if text is not None:
            _check_address(what, text, multicast=what == "--group")
    ntp_at_zero = NTP_AT_1970_S + time.time() - time.monotonic()
    return Plan(
        found,
        Session(Address(place.group, place.port), source, session, ntp_at_zero=ntp_at_zero, **rest),
        parameters,
        random.Random(secrets.randbits(64) if seed is None else seed),
        trace,
    )


def at_sender(
    plan: Plan,
    place: Place,
    interface: str | None,
    local_port: int,
    status_dir: Path | None,
    receivers: str,
    *,
    usual: str = "",
) -> tuple[Plan, str]:
    """A sender's plan and its local address: the plan knows what the link there carries, and says by which command
    `receivers` take part, who need not name the `usual` protocol. ValueError when `status_dir` is no folder."""
    address = sockets.resolve_interface(interface, place.group, plan.session.source)
    if status_dir is not None and not status_dir.is_dir():
        raise ValueError(f"{status_dir}: {'not a' if status_dir.exists() else 'no such'} folder")
    name = plan.protocol.name
    said = who(place, receivers, address if _is_source_specific(place.group) else None, "" if name == usual else name)
    session = dataclasses.replace(plan.session, link_bps=sockets.link_bps(address))
    return dataclasses.replace(plan, session=session, local_port=local_port, said=said), address


def _is_source_specific(group: str) -> bool:
    return ipaddress.IPv4Address(group) in SOURCE_SPECIFIC


def require_source(session: Session) -> None:
    """A receiver has to say whose data it wants of a source-specific group."""
    if session.source is None and _is_source_specific(session.group.host):
        raise ValueError(f"{session.group.host} is source-specific (RFC 4607): give --source")


def _check_address(what: str, text: str, *, multicast: bool) -> None:
    try:
        address = ipaddress.IPv4Address(text)
    except ValueError:
        raise ValueError(f"{what}: '{text}' is not an IPv4 address") from None
    if address.is_multicast != multicast:
        raise ValueError(f"{what}: {text} is {'not ' if multicast else ''}a multicast address")


def make_folder(folder: Path, display: Display) -> None:
    """Make a folder that is not there, and say so: the name may be mistyped. Raises FileError without its parent."""
    if folder.exists():
        return
    if not folder.parent.is_dir():
        raise FileError(f"{folder}: {folder.parent} is no folder")
    try:
        folder.mkdir()
    except OSError as error:
        raise unusable(folder, error) from None
    display.say(f"made the folder {folder}")


def finish(outcome: Outcome, as_json: bool) -> None:
    if as_json:
        print(json.dumps(outcome.summary, indent=2))
    raise typer.Exit(outcome.exit_status)


if __name__ == "__main__":
    app()
