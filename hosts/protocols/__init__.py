"""Protocols by name: each is one package `hosts/protocols/NAME/` whose `__init__` sets `PROTOCOL`; nothing lists it."""

import importlib
import pkgutil
from typing import Any

from hosts.protocol import Protocol


def names() -> list[str]:
    """The protocols that exist, in alphabetical order."""
    return sorted(name for name in _packages() if _load(name) is not None)


def get(name: str) -> Protocol[Any]:
    """The protocol of that name; no other one is imported. ValueError lists those that exist."""
    found = _load(name) if name in _packages() else None
    if found is None:
        raise ValueError(f"unknown protocol '{name}' (known: {', '.join(names())})")
    return found


def _packages() -> list[str]:
    return [module.name for module in pkgutil.iter_modules(__path__) if module.ispkg]


def _load(name: str) -> Protocol[Any] | None:
    """What the package of that name has; None when it is no protocol's."""
    protocol = getattr(importlib.import_module(f"{__name__}.{name}"), "PROTOCOL", None)
    return protocol if isinstance(protocol, Protocol) else None
