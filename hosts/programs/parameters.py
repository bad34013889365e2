"""A protocol's parameters for people: default, unit, bounds, and where each comes from, read from its options class."""

import ast
import importlib
import inspect
import io
import tokenize
from dataclasses import MISSING, Field, dataclass, fields
from pathlib import Path
from typing import Any

from hosts.parts.bounds import UNIT
from hosts.protocol import Protocol

_UNITS = {"_ms": "ms", "_s": "s", "_bps": "bit/s", "_bytes": "bytes", "_packets": "packets"}
"""By the end of a name; of others the options say it (`bounds.py`)."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One field of an options class."""

    name: str
    default: Any
    unit: str
    """Empty of words and of what is true or false."""
    origin: str
    """What the comments at the field say: section, RFC, whose value it is."""


def parameters(protocol: Protocol[Any]) -> list[Parameter]:
    """All of a protocol's, in its own order."""
    said = _comments(protocol.options)
    return [
        Parameter(field.name, _default(field), _unit(field), said.get(field.name, ""))
        for field in fields(protocol.options)
    ]


def title(protocol: Protocol[Any]) -> str:
    """The paper that it is from, by its package's docstring."""
    found = importlib.import_module(f"hosts.protocols.{protocol.name}")
    return " ".join((inspect.getdoc(found) or "").split()).rstrip(".")


def carries(protocol: Protocol[Any]) -> str:
    """What it has sessions of."""
    kinds = [(protocol.carries_files, "files and streams"), (protocol.carries_realtime, "real-time data")]
    return ", ".join(words for has, words in kinds if has)


def _default(field: "Field[Any]") -> Any:
    if field.default is not MISSING:
        return field.default
    return field.default_factory() if field.default_factory is not MISSING else ""


def _unit(field: "Field[Any]") -> str:
    ends = sorted(_UNITS.items(), key=lambda item: -len(item[0]))
    return str(field.metadata.get(UNIT, "")) or next((unit for end, unit in ends if field.name.endswith(end)), "")


def _comments(options: type) -> dict[str, str]:
    """Field -> the comment above it and behind it."""
    text = Path(inspect.getfile(options)).read_text(encoding="utf-8")
    lines = {
        token.start[0]: (token.string.lstrip("# ").strip(), not token.line[: token.start[1]].strip())
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT
    }
    found = {}
    for node in ast.walk(ast.parse(text)):
        if not (isinstance(node, ast.ClassDef) and node.name == options.__name__):
            continue
        for field in node.body:
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                found[field.target.id] = _comment_at(lines, field)
    return found


def _comment_at(lines: dict[int, tuple[str, bool]], field: ast.AnnAssign) -> str:
    above: list[str] = []
    line = field.lineno - 1
    while line in lines and lines[line][1]:
        above.insert(0, lines[line][0])
        line -= 1
    behind = [lines[field.end_lineno][0]] if field.end_lineno in lines else []
    return " ".join([*above, *behind])
