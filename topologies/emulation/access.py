"""Run a program on a node of a running emulation, as `canopy exec` does."""

import os
from collections.abc import Sequence
from typing import NoReturn

from topologies.emulation.kernel import enter_network_namespace
from topologies.emulation.state import MARK, Emulation, StateError


def execute_on(emulation: Emulation, node: str, command: Sequence[str]) -> NoReturn:
    """Replace this process with `command` in the network namespace of `node`, so that terminal, signals and exit status
    are the program's own. StateError when there is no such node, or one may not; OSError when it cannot be run.

    The program is part of the emulation: it ends with it."""
    record = emulation.nodes.get(node)
    if record is None:
        raise StateError(f"{emulation.name} has no node `{node}` (it has {', '.join(emulation.nodes)})")
    try:
        enter_network_namespace(record.pid)
    except PermissionError:
        raise StateError("entering a node's namespace needs root") from None
    except OSError as error:
        raise StateError(f"{node} is gone: {error.strerror}") from None
    os.execvpe(command[0], list(command), {**os.environ, MARK: emulation.name, "CANOPY_NODE": node})
