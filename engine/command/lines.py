"""Lines for a person. Names in them are users', and of strangers' files and packets: no terminal may obey one."""

import typer


def visible(text: str) -> str:
    """One line of the text: what a terminal would obey or not show, and ends of lines, are written as escapes."""
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text)


def say(text: str) -> None:
    """A line on standard output."""
    typer.echo(visible(text))


def note(text: str) -> None:
    """A line on standard error."""
    typer.echo(visible(text), err=True)


def complain(problem: object, of: str = "canopy") -> None:
    """What is wrong, as one line on standard error; `of`: the program."""
    note(f"{of}: {problem}")
