"""The blocks of docs/deploy.md: what is typed on which machine.

A block is indented by four spaces. Its first line says where: `# on v1 v2`, `# at the end on s1`, or `# example` for
what is shown and not run; a block without such a line is a picture.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_FIRST: Final = re.compile(r"# (at the end )?on ((?:\w+ ?)+)$")


@dataclass(frozen=True, slots=True)
class Block:
    """What is typed, at once, into a root shell."""

    machines: tuple[str, ...]
    script: str
    at_end: bool
    line: int
    """Of the page."""


def blocks(page: Path) -> list[Block]:
    """Those that are run, in the order in which a reader comes to them."""
    found = [block for line, text in _indented(page.read_text("utf-8")) if (block := _block(line, text)) is not None]
    return sorted(found, key=lambda block: block.at_end)


def _block(line: int, text: str) -> Block | None:
    first, _, rest = text.partition("\n")
    where = _FIRST.match(first)
    return None if where is None else Block(tuple(where[2].split()), rest, where[1] is not None, line)


def _indented(text: str) -> Iterator[tuple[int, str]]:
    """Blocks of lines that begin with four spaces, and the number of each one's first line. An empty line ends one."""
    block: list[str] = []
    for number, line in enumerate([*text.splitlines(), ""], 1):
        if line.startswith("    "):
            block.append(line[4:])
        elif block:
            yield number - len(block), "\n".join(block) + "\n"
            block = []
