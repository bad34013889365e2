"""Where the `canopy` command begins. All imports but of what Python itself has loaded are inside the `try`, so that
Ctrl-C never shows a traceback."""

import errno
import os
import sys

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What a disk without room answers, to whatever is written to it."""


def main() -> None:
    """Entry point of the `canopy` command."""
    os.environ.setdefault("TYPER_USE_RICH", "0")  # help and errors as plain text: 60 ms less to import
    try:
        from engine.command.assemble import run

        status = run(sys.argv[1:])
        if sys.stdout is not None:
            sys.stdout.flush()
    except KeyboardInterrupt:
        from engine.command.exits import EXIT_INTERRUPTED

        status = EXIT_INTERRUPTED
    except OSError as error:
        if error.errno not in (*FULL, errno.EPIPE):
            raise
        if error.errno in FULL:
            from engine.command.lines import complain

            place = "" if error.filename is None else f"{error.filename}: "
            complain(f"{place}{error.strerror}")
        from engine.command.exits import EXIT_FAILED

        _discard_output()
        status = EXIT_FAILED
    sys.exit(status)


def _discard_output() -> None:
    """What standard output did not take, the interpreter would try to write again at its end."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
