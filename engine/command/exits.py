"""Exit statuses of the `canopy` command: one name for each, below all layers that have commands."""

import signal
from typing import Final

EXIT_FAILED: Final = 1
"""It ran, and what was wanted did not come about."""
EXIT_BAD_INPUT: Final = 2
"""Nothing was run: wrong usage, a bad scenario, a missing file, program or interface, a port in use, no root."""
SIGNALLED: Final = 128
"""A shell's status of a program that a signal ended is this plus the signal's number."""
EXIT_INTERRUPTED: Final = SIGNALLED + signal.SIGINT
"""After Ctrl-C."""
