"""How one program of this package starts another: below all layers that do."""

import sys


def module_command(module: str, *arguments: str) -> list[str]:
    """The command that runs a module of ours with this Python.

    Modules come from where they are installed, never from the working folder (-P): a user's file there may be called
    random.py, and another checkout's hosts/ is not ours."""
    return [sys.executable, "-P", "-m", module, *arguments]
