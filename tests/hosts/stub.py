"""An endpoint to which nothing happens, for tests of what is around endpoints or above a protocol."""

from collections.abc import Sequence

from hosts.endpoint import Datagram, Effect, Endpoint, Sample


class Still(Endpoint):
    """It never has anything to do or to show. What a test is about it overrides, or has from a base before this one."""

    def start(self, *, now: float) -> Sequence[Effect]:
        return ()

    def receive(self, datagram: Datagram, *, now: float) -> Sequence[Effect]:
        return ()

    def handle_timer(self, *, now: float) -> Sequence[Effect]:
        return ()

    @property
    def wake_at(self) -> float | None:
        return None

    def sample(self, *, now: float) -> Sample:
        return {}
