"""Tests may leave out the front of a name: `l2` is `ingress.l2` when nothing else ends in it."""

import re
from collections.abc import Collection, Iterable

from engine.switch.p4runtime.program import Table
from engine.switch.stf.errors import StfError

STACK_INDEX = re.compile(r"\$(\d+)")


def find(name: str, names: Collection[str], kind: str) -> str:
    """The full name: exactly this one, or else the only one that ends in it."""
    if name in names:
        return name
    candidates = sorted({n for n in names if n.endswith("." + name)} or {n for n in names if n.endswith(name)})
    if not candidates:
        raise StfError(f"the program has no {kind} {name}")
    if len(candidates) > 1:
        raise StfError(f"{kind} {name} may be {' or '.join(candidates)}")
    return candidates[0]


def find_key_field(name: str, table: Table) -> int:
    """The position of a key's field. `h$0.f` is `h[0].f`, and `h.valid` or `h.$valid$` the validity of `h`."""
    name = STACK_INDEX.sub(r"[\1]", name)
    names = [field.name for field in table.key]
    for wanted in _spellings(name):
        if wanted in names:
            return names.index(wanted)
    for wanted in _spellings(name):
        for position, full in enumerate(names):
            if full.endswith("." + wanted):
                return position
    raise StfError(f"table {table.name} does not match {name}, but {', '.join(names) or 'nothing'}")


def _spellings(name: str) -> Iterable[str]:
    yield name
    yield f"{name}$"
    yield f"{name}.$valid$"
    yield f"{name}.isValid()"
    if name == "valid" or name.endswith(".valid"):
        stem = name.removesuffix("valid")
        yield f"{stem}$valid$"
        yield f"{stem}isValid()"
