"""Files that somebody may read at any time, written by who may be killed at any time."""

import os
from pathlib import Path


def write_whole(path: Path, content: str | bytes) -> None:
    """Put a file in the place of the one before, as a whole or not at all. What is there and is no file, as a pipe or
    /dev/null, is written to and not replaced. OSError."""
    data = content.encode() if isinstance(content, str) else content
    if path.exists() and not path.is_file():
        with open(path, "wb", opener=_at_once) as device:
            device.write(data)
        return
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        draft.write_bytes(data)
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def _at_once(path: str, flags: int) -> int:
    """A pipe that nobody reads is an error, and not waited for. Nothing is made or cut."""
    return os.open(path, os.O_WRONLY | os.O_NONBLOCK | flags & os.O_CLOEXEC)
