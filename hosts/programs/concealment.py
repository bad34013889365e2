"""A secret in a command line is taken out of the process list, where every user of the machine could read it."""

import ctypes
from pathlib import Path
from typing import Final

_AFTER_NAME: Final = 3
"""The first field of /proc/self/stat behind the program's name, which may have spaces in it."""
_ARG_START: Final = 48 - _AFTER_NAME
_ARG_END: Final = 49 - _AFTER_NAME
"""Fields of /proc/self/stat, proc(5): where the kernel takes from what it shows as the process's arguments."""


def conceal(secret: str) -> bool:
    """Put asterisks where it stands among this process's arguments, in what the kernel shows of them. Whether it was
    there; what the program itself was given stays as it is."""
    octets = secret.encode()
    try:
        fields = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        start, end = int(fields[_ARG_START]), int(fields[_ARG_END])
    except (OSError, ValueError, IndexError):
        return False
    shown = (ctypes.c_char * max(0, end - start)).from_address(start)
    at = shown.raw.find(octets) if octets else -1
    if at < 0:
        return False
    ctypes.memset(start + at, ord("*"), len(octets))
    return True
