"""`canopy keys`: files with a group's keys, and certificates for switches and controllers."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from engine.command.exits import EXIT_BAD_INPUT
from engine.command.lines import say, visible
from hosts.programs.keyfile import (
    new_keys,
    new_seed,
    public,
    read_keys,
    read_seed,
    roll,
    write_keys,
    write_private,
    write_seed,
)
from hosts.programs.progress import Display
from hosts.programs.registry import Place, Registry
from hosts.programs.report import bad_input
from hosts.programs.secrecy import chance_group, chance_port
from hosts.security.keys import SIGNER_BYTES, KeysError, decoded, encoded
from hosts.security.link import SCHEME, parse_link
from hosts.security.ticket import Ticket, parse_server

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)

KeyFile = Annotated[Path, typer.Argument(help="A key file, or a registrar's folder.", show_default=False)]
RegistrarFolder = Annotated[
    Path, typer.Argument(help="A registrar's folder (canopy keys new --at).", show_default=False)
]


@app.callback()
def main() -> None:
    """Keys of groups, and certificates of switches and controllers (docs/security.md)."""


@app.command()
def new(
    group: Annotated[str, typer.Argument(help="The group's name, of your choice.", show_default=False)],
    folder: Annotated[Path, typer.Option("--output", "-o", help="Folder for the file.")] = Path(),
    at: Annotated[
        str | None, typer.Option(help="With a registrar there, HOST:PORT, which hands out keys that change.")
    ] = None,
    session: Annotated[
        str | None, typer.Option(help="With a registrar: the session's GROUP:PORT.", show_default="by chance")
    ] = None,
    signed: Annotated[
        bool, typer.Option("--signed", help="Members cannot pose as the sender, who signs with GROUP.sign.")
    ] = False,
    every: Annotated[float, typer.Option(help="With a registrar: seconds until keys change.", min=10)] = 3600.0,
) -> None:
    """Make keys for a group, in the file GROUP.keys that only you may read. Bring it to the members over a channel that
    you trust (ssh, scp); all of them name it with --secret-file. With --at: a registrar in the folder GROUP, for
    `canopy keys serve`, where members are enrolled one by one and may be expelled. With --signed: GROUP.sign, too, for
    the sender alone.
    """
    display = Display(quiet=False)
    path = folder / (f"{group}.keys" if at is None else group)
    try:
        if path.parent != folder or not group:
            raise KeysError(f"'{group}' is not a file's name")
        signs = folder / f"{group}.sign"
        signer = _new_signer(signs) if signed else None
        if at is not None:
            place = session or f"{chance_group()}:{chance_port()}"
            host, port = parse_server(at)
            session_at = parse_link(SCHEME + place).group
            try:
                Registry(path).create(Place(host, port, session_at, every, signer))
            except ModuleNotFoundError:
                raise KeysError("a registrar is made by the package canopy; canopy-agents can `serve` it") from None
            display.say(f"{path}: canopy keys enroll {path} NAME for each member, canopy keys serve {path}")
            return
        if session is not None:
            raise KeysError("--session: a key file does not say where its session is; a registrar (--at) does")
        write_keys(path, new_keys(signer))
    except (KeysError, OSError) as error:
        raise bad_input(display, error) from None
    signing = f" --sign-file {signs}" if signed else ""
    display.say(f"{path}: canopy send --secret-file {path}{signing} .., canopy recv --secret-file {path} ..")


def _new_signer(path: Path) -> bytes:
    """The public key of a new file's. OSError."""
    seed = new_seed()
    write_seed(path, seed)
    return public(seed)


@app.command()
def enroll(
    registrar: RegistrarFolder,
    name: Annotated[str, typer.Argument(help="The member's name, of your choice.", show_default=False)],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the line to this file, for --secret-file.")
    ] = None,
    key: Annotated[
        str | None, typer.Option(help="The member's public key (canopy keys own), which the line is for.")
    ] = None,
) -> None:
    """Make a ticket for a member, who pastes it (`canopy recv LINE`) or names its file (`--secret-file`). Whoever has
    it is that member; with --key it is no secret, and of use to the key's owner only (`canopy keys accept`). A name
    that is enrolled again gets another ticket, and the old one is void.
    """
    display = Display(quiet=False)
    try:
        registry = Registry(registrar)
        if output is not None and output.exists():
            raise KeysError(f"{output}: is there already")
        text = registry.enroll(name, None if key is None else decoded(key, SIGNER_BYTES)).text
        if output is not None:
            write_private(output, text + "\n")
    except (KeysError, OSError) as error:
        raise bad_input(display, error) from None
    say(text if output is None else str(output))


@app.command()
def own(path: Annotated[Path, typer.Argument(help="A new file for the key.", show_default=False)]) -> None:
    """Make a key of your own, which never leaves this machine, once for all groups, and print its public part, for
    `canopy keys enroll --key`.
    """
    seed = new_seed()
    try:
        write_seed(path, seed)
    except OSError as error:
        raise bad_input(Display(quiet=False), error) from None
    print(encoded(public(seed)))


@app.command()
def accept(
    path: Annotated[Path, typer.Argument(help="Your key (canopy keys own).", show_default=False)],
    line: Annotated[str, typer.Argument(help="What you were enrolled with.", show_default=False)],
    output: Annotated[Path, typer.Option("--output", "-o", help="A new file, for --secret-file.")],
) -> None:
    """Put your key into the line that you were enrolled with."""
    try:
        link = parse_link(line)
        if not isinstance(link.keys, Ticket) or not link.keys.is_own:
            raise KeysError("the line is not one for a key of your own")
        ticket = link.keys._replace(token=read_seed(path))
        write_private(output, link._replace(keys=ticket).text + "\n")
    except (KeysError, OSError) as error:
        raise bad_input(Display(quiet=False), error) from None
    say(str(output))


@app.command()
def revoke(
    registrar: RegistrarFolder, name: Annotated[str, typer.Argument(help="The member's name.", show_default=False)]
) -> None:
    """Expel a member: it is told of no later epoch, and the registrar begins one at once."""
    display = Display(quiet=False)
    try:
        Registry(registrar).expel(name)
    except (KeysError, OSError) as error:
        raise bad_input(display, error) from None
    display.say(f"{name}: expelled")


@app.command()
def members(registrar: RegistrarFolder) -> None:
    """Who is enrolled, and who was expelled."""
    try:
        found = Registry(registrar).members().members
    except (KeysError, OSError) as error:
        raise bad_input(Display(quiet=False), error) from None
    for name, member in sorted(found.items()):
        print(f"{visible(name)}\t{'expelled' if member.expelled else 'member'}")


@app.command()
def serve(registrar: RegistrarFolder) -> None:
    """Run a group's registrar until SIGTERM: it tells members the keys over TLS 1.3, and new ones before they are used.
    While it does not run, sessions go on with the keys that they have.
    """
    from hosts.programs.registrar_server import RegistrarServer

    display = Display(quiet=False)
    try:
        asyncio.run(RegistrarServer(Registry(registrar), display.say).run())
    except (KeysError, OSError) as error:
        raise bad_input(display, error) from None


@app.command()
def ca(
    folder: Annotated[Path, typer.Argument(help="A new folder for all files.", show_default=False)],
    switch: Annotated[
        list[str], typer.Argument(help="Each switch's address or name, as clients connect to it.", show_default=False)
    ],
    days: Annotated[int, typer.Option(help="How long certificates hold.", min=1)] = 365,
) -> None:
    """Make a certificate authority for a network's control plane, and certificates (PEM) that it signs: SWITCH.pem for
    each switch, controller.pem for who controls them, reader.pem for who may look only; each with its .key.
    """
    display = Display(quiet=False)
    try:
        from engine.switch.certificates import CertificateError, make_certificates
    except ModuleNotFoundError:
        display.fail("certificates are made by the package canopy; canopy-agents has no switches")
        raise typer.Exit(EXIT_BAD_INPUT) from None
    try:
        made = make_certificates(folder, switch, days)
    except (CertificateError, OSError) as error:
        raise bad_input(display, error) from None
    display.say(", ".join(map(str, made)))


@app.command("roll")
def roll_command(path: KeyFile) -> None:
    """Begin a new epoch: what starts from now on seals with a new secret, and still opens what the last one sealed.
    Bring the file to the members again. A registrar, whose folder this may be, tells its members itself.
    """
    display = Display(quiet=False)
    try:
        if path.is_dir():
            Registry(path).ask_roll()
            return
        keys = roll(read_keys(path))
        write_keys(path, keys, replace=True)
    except (KeysError, OSError) as error:
        raise bad_input(display, error) from None
    display.say(f"{path}: {', '.join(f'epoch {number}' for number, _ in keys.epochs)}")
