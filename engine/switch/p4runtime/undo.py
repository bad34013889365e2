"""Every update hands back how to take it back, so that a batch can be rolled back."""

from collections.abc import Callable
from typing import TypeAlias

Undo: TypeAlias = Callable[[], object]


def nothing() -> None:
    """The undo of an update that changed nothing."""
