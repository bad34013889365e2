"""Protocols by name: each is one package `hosts/protocols/NAME/` whose `__init__` sets `PROTOCOL`; nothing lists it."""

import importlib
import pkgutil
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from hosts.protocol import Protocol


def names() -> list[str]:
    """The protocols that exist, in alphabetical order."""
    return [name for name in listed() if _load(name) is not None]


def listed() -> list[str]:
    """Likewise by their folders alone, without importing any, as a help text may that is there at once."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if module.ispkg)


def carrying(what: Literal["files", "realtime"]) -> list[str]:
    """Those whose `PROTOCOL` has `carries_files` or `carries_realtime`, by what its text says: for a help text, too."""
    texts = {name: (Path(__file__).parent / name / "__init__.py").read_text() for name in listed()}
    if what == "files":
        return [name for name, text in texts.items() if "carries_files=False" not in text]
    return [name for name, text in texts.items() if "carries_realtime=True" in text]


@lru_cache(maxsize=64)  # each receiver of a simulation asks, and folders are looked through
def get(name: str) -> Protocol[Any]:
    """The protocol of that name; no other one is imported. ValueError lists those that exist."""
    found = _load(name) if name in listed() else None
    if found is None:
        raise ValueError(f"unknown protocol '{name}' (known: {', '.join(names())})")
    return found


def _load(name: str) -> Protocol[Any] | None:
    """What the package of that name has; None when it is no protocol's."""
    protocol = getattr(importlib.import_module(f"{__name__}.{name}"), "PROTOCOL", None)
    return protocol if isinstance(protocol, Protocol) else None
