"""What a receiver that runs unattended takes into its folder: names, sizes, and how much there may be."""

import os
import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from hosts.wire.contents import Contents
from hosts.wire.manifest import FileError
from hosts.wire.reason import Reason

_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)([kMGT]?)")
_UNITS: Final = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def parse_size(text: str) -> int:
    """Bytes: a number, also with k, M, G or T (powers of 1000) behind it. ValueError: it is none."""
    found = _SIZE.fullmatch(text)
    if found is None:
        raise ValueError(f"'{text}' is not a size (as 500M is)")
    return int(float(found[1]) * _UNITS[found[2]])


@dataclass(frozen=True, slots=True)
class Policy:
    """What is taken; what is not is refused before its first byte is written, and the sender is told."""

    folder: Path
    max_bytes: int | None = None
    """Of one file."""
    max_files: int | None = None
    """In the folder and below it, whoever put them there."""
    patterns: tuple[str, ...] = ()
    """Names have to match one of them, as a shell's do (`*.iso`); empty: any name."""

    def check(self, contents: Contents) -> None:
        """Raises FileError for what is not taken, which is nothing of it then."""
        new = 0
        for entry in contents.files:
            if self.patterns and not any(fnmatchcase(entry.name, pattern) for pattern in self.patterns):
                raise _refused(f"{entry.path}: its name is none of {', '.join(self.patterns)} (--allow)")
            if self.max_bytes is not None and entry.size > self.max_bytes:
                raise _refused(f"{entry.path}: {entry.size} bytes, and {self.max_bytes} are the most (--max-size)")
            new += self.max_files is not None and not (self.folder / entry.path).exists()
        if self.max_files is not None and new and self._files() + new > self.max_files:
            raise _refused(f"{contents.label}: {self.folder} would have more than {self.max_files} files (--max-files)")

    def _files(self) -> int:
        """Those that are being received, whose names begin with a dot, count too."""
        return sum(len(names) for _, _, names in os.walk(self.folder))


def _refused(message: str) -> FileError:
    return FileError(message, Reason.REFUSED_FILE)
