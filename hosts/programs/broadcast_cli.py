"""`canopy broadcast`: files for whoever listens, without any feedback."""

import math
import time
from pathlib import Path
from typing import Annotated

import typer

from hosts.endpoint import Endpoint
from hosts.parts.wrapping import WrappedSender
from hosts.programs.broadcast import FileLibrary, FolderWatch, files_of, send_files
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
    at_sender,
    bit_rate,
    finish,
    make_plan,
)
from hosts.programs.driver import Plan
from hosts.programs.progress import Display
from hosts.programs.report import reporting
from hosts.programs.sdp import Description, encode_sdp
from hosts.programs.secrecy import Secrecy, SecretFileOption, SecureOption, SignedOption, SignFileOption, sender_place
from hosts.programs.settings import read_settings
from hosts.programs.shelf import content_of_file
from hosts.programs.times import Rule, Rules, parse_rule, parse_time
from hosts.protocols.webrc.description import NAMES
from hosts.protocols.webrc.flute.objects import SCHEMES
from hosts.protocols.webrc.sender import WebrcSender
from hosts.runtime import clock, sockets
from hosts.storage import Content, Library

PROTOCOL = "webrc"
"""The one whose receivers may come when they like."""

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)


@app.command()
def broadcast(
    files: Annotated[list[Path], typer.Argument(help="Files, or folders of them.", show_default=False)],
    group: GroupOption = None,
    port: PortOption = None,
    secure: SecureOption = False,
    signed: SignedOption = False,
    secret_file: SecretFileOption = None,
    sign_file: SignFileOption = None,
    interface: InterfaceOption = None,
    source: LocalAddressOption = None,
    session: SessionOption = None,
    local_port: LocalPortOption = 0,
    ttl: TtlOption = sockets.DEFAULT_TTL,
    max_rate: Annotated[
        float | None,
        typer.Option(
            help="Of all channels together, bit/s: the most that a receiver can have.", parser=bit_rate, metavar="BIT/S"
        ),
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Follow the folders: send new files, and no more what is gone.")
    ] = False,
    sdp: Annotated[
        Path | None, typer.Option("--sdp", help="Describe the session in this file: all that a receiver needs.")
    ] = None,
    start: Annotated[
        str | None, typer.Option(help="Send from then on: 2030-01-31T12:00, or +60 for seconds from now.")
    ] = None,
    until: Annotated[str | None, typer.Option(help="Send until then, and end.")] = None,
    turns: Annotated[int, typer.Option(help="Send all of each file so often; 0: without end.", min=0)] = 0,
    rule: Annotated[
        list[str] | None,
        typer.Option(help="Of files whose names match: 'PATTERN priority=2 turns=3 start=TIME until=TIME cache=no'."),
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
    with reporting(display):
        parameters = read_settings(settings)
        if max_rate is not None:
            parameters["session_rate_bps"] = max_rate
        if duration is not None:
            parameters["carousel_s"] = duration
        paths = files_of(files)
        rules = _rules(rule or [], start, until, turns)
        secrecy = Secrecy(secure or signed, signed, secret_file, sign_file)
        place = sender_place(group, port, secrecy, display)
        plan = make_plan(PROTOCOL, place, source, session, parameters, seed, trace)
        plan, address = at_sender(plan, place, interface, local_port, status_dir, "canopy recv")
        coded = plan.parses("gzip")

        def make(path: Path, rule: Rule) -> Content:
            plan.check_file(path)
            return content_of_file(path, coded=coded, priority=rule.priority, turns=rule.turns, cache=rule.cache)

        library: Library
        if not watch and not rules.have_times:
            library = FileLibrary([make(path, rules.of(path.name)) for path in paths])
        else:
            library = FolderWatch(files if watch else paths, make, rules)
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
    finish(outcome, as_json)


def _rules(texts: list[str], start: str | None, until: str | None, turns: int) -> Rules:
    """What the command line says of times and shares. ValueError."""
    now = time.time()
    found: dict[str, float] = {}
    for option, text in (("start", start), ("until", until)):
        try:
            if text is not None:
                found[option] = parse_time(text, now)
        except ValueError as error:
            raise ValueError(f"--{option}: {error}") from None
    default = Rule("*", 1.0, turns, found.get("start", -math.inf), found.get("until", math.inf))
    rules = Rules([parse_rule(text, now, default) for text in texts], default)
    if rules.are_over(now):
        raise ValueError("--until: that time is over")
    return rules


def _describe(sender: Endpoint, plan: Plan, path: Path, address: str, ttl: int) -> None:
    """Write down what the sender's session is. Raises OSError."""
    core = sender
    while isinstance(core, WrappedSender):
        core = core.core
    assert isinstance(core, WebrcSender)
    options, group = core.options, plan.session.group
    parameters = {name: getattr(options, name) for name in NAMES}
    found = Description(group.host, group.port, address, core.number, options.waves().t + 1, parameters)
    scheme, rate = SCHEMES[options.fec], options.session_rate_bps
    path.write_text(encode_sdp(found, name="canopy broadcast", scheme=scheme, ttl=ttl, rate_bps=rate), newline="")
