"""The last words of a sender."""

from hosts.parts.parting import INTERVAL_S, Parting
from hosts.wire.farewell import ABORT_COPIES


def test_it_is_said_a_few_times_and_over_after_the_last_interval() -> None:
    parting, said = Parting(5.0), []
    while not parting.is_over:
        now = parting.at
        if parting.says(now):
            said.append(now)
        assert not parting.says(now)  # a timer that comes twice
    assert said == [5.0 + number * INTERVAL_S for number in range(ABORT_COPIES)]
