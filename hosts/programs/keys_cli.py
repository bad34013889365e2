"""`canopy keys`: files with a group's keys, and certificates for switches and controllers."""

from pathlib import Path
from typing import Annotated

import typer

from hosts.programs.keyfile import new_keys, read_keys, roll, write_keys
from hosts.programs.progress import Display
from hosts.programs.report import bad_input
from hosts.security.keys import KeysError

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)

KeyFile = Annotated[Path, typer.Argument(help="A key file.", show_default=False)]


@app.callback()
def main() -> None:
    """Keys of groups, and certificates of switches and controllers (docs/security.md)."""


@app.command()
def new(
    group: Annotated[str, typer.Argument(help="The group's name, of your choice.", show_default=False)],
    folder: Annotated[Path, typer.Option("--output", "-o", help="Folder for the file.")] = Path(),
) -> None:
    """Make keys for a group, in the file GROUP.keys that only you may read. Bring it to the members over a channel that
    you trust (ssh, scp); all of them name it with --secret-file.
    """
    display = Display(quiet=False)
    path = folder / f"{group}.keys"
    try:
        if path.parent != folder or not group:
            raise KeysError(f"'{group}' is not a file's name")
        write_keys(path, new_keys())
    except (KeysError, OSError) as error:
        raise bad_input(display, error) from None
    display.say(f"{path}: canopy send --secret-file {path} .., canopy recv --secret-file {path} ..")


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
    from engine.switch.certificates import CertificateError, make_certificates

    display = Display(quiet=False)
    try:
        made = make_certificates(folder, switch, days)
    except (CertificateError, OSError) as error:
        raise bad_input(display, error) from None
    display.say(", ".join(map(str, made)))


@app.command("roll")
def roll_command(path: KeyFile) -> None:
    """Begin a new epoch: what starts from now on seals with a new secret, and still opens what the last one sealed.
    Bring the file to the members again.
    """
    display = Display(quiet=False)
    try:
        keys = roll(read_keys(path))
        write_keys(path, keys, replace=True)
    except (KeysError, OSError) as error:
        raise bad_input(display, error) from None
    display.say(f"{path}: {', '.join(f'epoch {number}' for number, _ in keys.epochs)}")
