"""Where the `canopy` command begins. Slow imports are inside the `try`, so that Ctrl-C never shows a traceback."""

import sys

from engine.exits import EXIT_INTERRUPTED


def main() -> None:
    """Entry point of the `canopy` command."""
    try:
        from experiments.cli import run

        status = run(sys.argv[1:])
    except KeyboardInterrupt:
        status = EXIT_INTERRUPTED
    sys.exit(status)
