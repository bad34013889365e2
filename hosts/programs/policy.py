"""What a receiver that runs unattended takes into its folder: names, sizes, and how much there may be."""

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from hosts.wire.manifest import FileError, Manifest
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
    """In the folder, whoever put them there."""
    patterns: tuple[str, ...] = ()
    """Names have to match one of them, as a shell's do (`*.iso`); empty: any name."""

    def check(self, manifest: Manifest) -> None:
        """Raises FileError for a file that is not taken."""
        name = manifest.name
        if self.patterns and not any(fnmatchcase(name, pattern) for pattern in self.patterns):
            raise _refused(f"{name}: its name is none of {', '.join(self.patterns)} (--allow)")
        if self.max_bytes is not None and manifest.size > self.max_bytes:
            raise _refused(f"{name}: {manifest.size} bytes, and {self.max_bytes} are the most (--max-size)")
        if self.max_files is not None and not (self.folder / name).exists() and self._files() >= self.max_files:
            raise _refused(f"{name}: {self.folder} has {self.max_files} files, which are the most (--max-files)")

    def _files(self) -> int:
        """Those that are being received, whose names begin with a dot, count too."""
        return sum(1 for path in self.folder.iterdir() if path.is_file())


def _refused(message: str) -> FileError:
    return FileError(message, Reason.REFUSED_FILE)
