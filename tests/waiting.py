"""For what another process, thread or host does."""

import time
from collections.abc import Callable


def wait_for(condition: Callable[[], object], what: str, limit_s: float = 60.0, every_s: float = 0.05) -> None:
    """Poll until it holds. AssertionError when it does not in time, which hangs only do: `what` was waited for."""
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, f"not within {limit_s:g} s: {what}"
        time.sleep(every_s)
