"""`canopy keys`: files with a group's keys."""

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
    """A group's keys: whoever has them takes part in its sessions (docs/security.md)."""


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
