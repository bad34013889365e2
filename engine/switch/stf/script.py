"""Reading a test: one statement a line, `#` starts a comment."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Line:
    """One statement: its first word, the rest, and where it stands."""

    number: int
    command: str
    rest: str


def parse_script(text: str) -> list[Line]:
    lines = []
    for number, raw in enumerate(text.splitlines(), 1):
        statement = raw.partition("#")[0].strip()
        if statement:
            command, *rest = statement.split(None, 1)
            lines.append(Line(number, command.lower(), rest[0] if rest else ""))
    return lines
