"""What is said of a copy on its way out."""

import pytest

from topologies.explain.journey import Departure, Stop
from topologies.explain.passage import Passage
from topologies.explain.show import stop_lines
from topologies.explain.store import Account


@pytest.mark.parametrize(
    ("waited_us", "behind", "expected"),
    [(0, 0, "no wait"), (458, 0, "waited 0.458 ms behind what was being sent"), (3302, 2, "waited 3.302 ms behind 2")],
)
def test_what_a_copy_waited_for(waited_us: int, behind: int, expected: str) -> None:
    account = Account("s1", 1, 0, 1_000_000, 6, 1474, "mtcp_data", 0, 0, 0)
    departure = Departure(2, "s2", waited_us, behind, 1_000_458, 1_007_000, "s2:1", "arrives as s2:1")
    stop = Stop(account, Passage(), "sender", [departure])
    assert list(stop_lines(stop)) == [
        ("to s2", f"port 2: {expected}, sent at 1.000458 s, arrives as s2:1 at 1.007000 s")
    ]
