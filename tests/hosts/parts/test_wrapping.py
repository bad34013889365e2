"""What wrappers pass on. That they forget nothing of the seam is seen in tests/hosts/security/test_secured.py."""

from collections.abc import Sequence
from random import Random

from hosts import protocols
from hosts.endpoint import Address, Effect
from hosts.parts.wrapping import WrappedSender
from hosts.protocol import Session

GROUP = Address("232.1.1.1", 5000)


class Counting(WrappedSender):
    """Counts what it is given."""

    def _passed(self, effects: Sequence[Effect], now: float) -> Sequence[Effect]:
        self.counters["passed"] = self.counters.get("passed", 0) + len(effects)
        return effects


def test_effects_go_through_one_place_and_the_rest_is_the_cores() -> None:
    core = protocols.get("mtcp").sender(Session(GROUP), Random(1))
    sender = Counting(core)
    sender.run_bytes = 9
    effects = sender.start(now=0.0)
    assert core.run_bytes == 9
    assert effects
    assert core.counters["passed"] == len(effects)
    assert (sender.session_id, sender.wake_at, sender.checked_bytes) == (
        core.session_id,
        core.wake_at,
        core.checked_bytes,
    )
    assert sender.checked_bytes is not None
