"""Which code a result comes from: canopy's version, the commit of its checkout, and how hosts/ ran."""

import subprocess
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final, Literal, TypeAlias

from pydantic import BaseModel

ROOT = Path(__file__).parents[2]
"""The checkout, where the program is one."""
CHANGES: Final = "+changes"
"""Behind a commit when what ran was not just that."""
_OTHER = ("experiments/results", "docs", "tests")
"""Folders that no run reads. Results are among them because rows are written while others still run."""
_GIT_TIMEOUT_S = 20.0
"""Ours: far more than git takes for this project, so that a dead file system does not hold results up."""

HostsKind: TypeAlias = Literal["compiled", "interpreted"]


class Made(BaseModel):
    """Where a result comes from. Fields that an older file lacks, or that were not known, are None."""

    date: str | None = None
    """Day on which it was written, UTC, as in 2026-01-31."""
    world: str | None = None
    """Of all cases: `sim`, `emu`, `formula`, or several of them, as in `emu, sim`."""
    canopy: str | None = None
    """Its version."""
    commit: str | None = None
    """Its first digits, with CHANGES where what ran was not just that; None outside a checkout."""
    hosts: str | None = None
    """How they ran: `compiled` or `interpreted`."""


class Checkout:
    """The commit that is checked out in a folder, and whether the code stays what it says."""

    def __init__(self, root: Path = ROOT) -> None:
        self._root = root
        top = self._git("rev-parse", "--show-toplevel")
        # An installed copy may lie within a checkout of something else.
        is_ours = top is not None and Path(top).resolve() == root.resolve()
        self._commit = self._git("rev-parse", "--short=12", "HEAD") if is_ours else None
        self._has_changed = False
        self.commit()

    def commit(self) -> str | None:
        """The commit at construction, with CHANGES when the code differed from it then, now or when last asked.

        None outside a checkout, or without git."""
        if self._commit is None:
            return None
        self._has_changed = self._has_changed or self._differs(self._commit)
        return self._commit + (CHANGES if self._has_changed else "")

    def _differs(self, commit: str) -> bool:
        """Whether files that may take part in a run are other than the commit's, or new. True when git cannot say."""
        paths = ["--", ".", *(f":(exclude){folder}" for folder in _OTHER)]
        answers = (
            self._git("diff", "--name-only", commit, *paths),
            self._git("ls-files", "--others", "--exclude-standard", *paths),
        )
        return any(answer != "" for answer in answers)

    def _git(self, *arguments: str) -> str | None:
        """What git prints; None when it fails. It writes nothing, and takes the folder whoever owns it, for root may
        run the emulations of a user's checkout."""
        command = ["git", "--no-optional-locks", "-c", f"safe.directory={self._root}", *arguments]
        try:
            done = subprocess.run(
                command, cwd=self._root, capture_output=True, text=True, timeout=_GIT_TIMEOUT_S, check=True
            )
        except (OSError, subprocess.SubprocessError):
            return None
        return done.stdout.strip()


def made_now(checkout: Checkout, worlds: Iterable[str]) -> Made:
    """Where a result comes from that is written now."""
    return Made(
        date=datetime.now(UTC).date().isoformat(),
        world=", ".join(sorted(set(worlds))),
        canopy=canopy_version(),
        commit=checkout.commit(),
        hosts=hosts_kind(),
    )


def canopy_version() -> str | None:
    """Of the installed package; None when it runs from its sources alone."""
    try:
        return version("canopy")
    except PackageNotFoundError:
        return None


def hosts_kind() -> HostsKind:
    """`compiled` when any module of `hosts` that this process has is an extension module, as mypyc makes them."""
    files = [module.__file__ or "" for name, module in sys.modules.items() if name.startswith("hosts.")]
    return "compiled" if any(file.endswith(tuple(EXTENSION_SUFFIXES)) for file in files) else "interpreted"
