"""Files that people write, read as far as such files go: a device has no end."""

import errno
import os
from pathlib import Path


def read_bounded(path: Path, most: int) -> bytes:
    """All of a file. Raises OSError: EFBIG where it has more than `most` bytes."""
    with path.open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
    return content
