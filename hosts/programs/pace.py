"""How far behind the network a stream is played: so far as its user asked for, or as the session's repairs take."""

from collections.abc import Callable
from typing import Final

from hosts.endpoint import Endpoint, ReceiverEndpoint

USUAL_DELAY_S: Final = 1.0
"""Behind the network, where nothing else is asked for (ours)."""
AFTER_REPAIRS: Final = 1.25
"""Of the time that a session's repairs take, likewise (ours): as much more as packets may be late."""


class Pace:
    """Of one receiver. `say` takes a line for its user, when what was asked for is too little."""

    def __init__(self, asked: float | None, say: Callable[[str], None]) -> None:
        self.endpoint: Endpoint | None = None
        self.delay = USUAL_DELAY_S if asked is None else asked
        self._is_asked = asked is not None
        self._say = say
        self._known = 0.0

    def now(self) -> float:
        """Seconds. What an endpoint says of its session it may not have known at first."""
        within = self.endpoint.repaired_within_s if isinstance(self.endpoint, ReceiverEndpoint) else 0.0
        if within != self._known:
            self._known = within
            enough = AFTER_REPAIRS * within
            if not self._is_asked:
                self.delay = max(self.delay, enough)
            elif self.delay <= within:
                self._say(
                    f"--delay {self.delay:g} is too little for this session's repairs, which come up to {within:g} s "
                    f"after what was lost: --delay {enough:g} plays that, too"
                )
        return self.delay
