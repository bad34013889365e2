"""`canopy broadcast`: files for whoever listens, without any feedback."""

import dataclasses
import functools
from pathlib import Path
from typing import Annotated

import typer

from hosts.endpoint import Endpoint
from hosts.programs.broadcast import FolderWatch, files_of, send_files
from hosts.programs.cli import (
    GroupOption,
    InterfaceOption,
    JsonOption,
    LocalAddressOption,
    LocalPortOption,
    PortOption,
    QuietOption,
    SeedOption,
    SessionOption,
    SetOption,
    StatusDirOption,
    TraceOption,
    TtlOption,
    finish,
    interrupted,
    make_plan,
    named_source,
    on_link,
    read_settings,
)
from hosts.programs.driver import Plan
from hosts.programs.progress import Display
from hosts.programs.report import bad_input
from hosts.programs.sdp import Description, encode_sdp
from hosts.programs.secrecy import SecretFileOption, SecureOption, sender_place, who
from hosts.programs.shelf import content_of_file
from hosts.protocols.webrc.description import NAMES
from hosts.protocols.webrc.flute.objects import SCHEMES
from hosts.protocols.webrc.sender import WebrcSender
from hosts.runtime import clock, sockets
from hosts.security.secured import SecuredSender
from hosts.wire.manifest import FileError

PROTOCOL = "webrc"
"""The one whose receivers may come when they like."""

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)


@app.command()
def broadcast(
    files: Annotated[list[Path], typer.Argument(help="Files, or folders of them.", show_default=False)],
    group: GroupOption = None,
    port: PortOption = None,
    secure: SecureOption = False,
    secret_file: SecretFileOption = None,
    interface: InterfaceOption = None,
    source: LocalAddressOption = None,
    session: SessionOption = None,
    local_port: LocalPortOption = 0,
    ttl: TtlOption = sockets.DEFAULT_TTL,
    max_rate: Annotated[
        float | None, typer.Option(help="Of all channels together, bit/s: the most that a receiver can have.", min=1)
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Follow the folders: send new files, and no more what is gone.")
    ] = False,
    sdp: Annotated[
        Path | None, typer.Option("--sdp", help="Describe the session in this file: all that a receiver needs.")
    ] = None,
    duration: Annotated[float | None, typer.Option(help="Stop after so many seconds.", min=0)] = None,
    settings: SetOption = None,
    status_dir: StatusDirOption = None,
    trace: TraceOption = None,
    seed: SeedOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Send FILES again and again, with WEBRC, to receivers that join and leave when they like: `canopy recv --protocol
    webrc` takes one, with `--all` all of them. Exit status: 0 when it is stopped or its time is over, 1 when it breaks
    off, 2 for bad input.
    """
    display = Display(quiet=quiet)
    try:
        parameters = read_settings(settings)
        if max_rate is not None:
            parameters["session_rate_bps"] = max_rate
        if duration is not None:
            parameters["carousel_s"] = duration
        paths = files_of(files)
        place = sender_place(group, port, asked=secure, secret_file=secret_file, quiet=quiet)
        plan = make_plan(PROTOCOL, place, source, session, parameters, seed, trace)
        address = sockets.resolve_interface(interface, place.group, source)
        plan = on_link(plan, address)
        paste = who(place, "canopy recv", named_source(place, address), PROTOCOL)
        plan = dataclasses.replace(plan, local_port=local_port, said=paste)
        if status_dir is not None and not status_dir.is_dir():
            raise ValueError(f"{status_dir}: not a folder")
        library = None
        if watch:
            library = FolderWatch(files, functools.partial(content_of_file, coded=plan.parses("gzip")))
            library.scan()
            library.scan()
        sending = send_files(
            plan,
            paths,
            sockets.Interface(address, ttl),
            display,
            library=library,
            status_folder=status_dir,
            describe=None if sdp is None else lambda sender: _describe(sender, plan, sdp, address, ttl),
        )
        outcome = clock.run(sending, plan.parameters)
    except KeyboardInterrupt:
        raise interrupted(display) from None
    except (ValueError, FileError, sockets.SocketError, OSError) as error:
        raise bad_input(display, error) from None
    finish(outcome, as_json)


def _describe(sender: Endpoint, plan: Plan, path: Path, address: str, ttl: int) -> None:
    """Write down what the sender's session is. Raises OSError."""
    core = sender.core if isinstance(sender, SecuredSender) else sender
    assert isinstance(core, WebrcSender)
    options, group = core.options, plan.session.group
    parameters = {name: getattr(options, name) for name in NAMES}
    found = Description(group.host, group.port, address, core.number, options.waves().t + 1, parameters)
    scheme, rate = SCHEMES[options.fec], options.session_rate_bps
    path.write_text(encode_sdp(found, name="canopy broadcast", scheme=scheme, ttl=ttl, rate_bps=rate), newline="")
