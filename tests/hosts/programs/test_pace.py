"""How far behind the network a stream is played."""

from random import Random

import pytest

from hosts.programs.pace import Pace
from hosts.protocols.webrc.options import WebrcOptions
from hosts.protocols.webrc.receiver import WebrcReceiver
from tests.hosts.protocols.webrc.memory import session


@pytest.mark.parametrize(
    ("asked", "deadline_s", "delay", "said"),
    [
        (None, 0.0, 1.0, ""),
        (None, 4.0, 5.0, ""),
        (6.0, 4.0, 6.0, ""),
        (1.0, 0.0, 1.0, ""),
        (2.0, 4.0, 2.0, "--delay 5"),
    ],
)
def test_it_is_as_far_as_repairs_take_or_a_line_says_that_it_is_not(
    asked: float | None, deadline_s: float, delay: float, said: str
) -> None:
    lines: list[str] = []
    pace = Pace(asked, lines.append)
    pace.endpoint = WebrcReceiver(session(realtime=True), WebrcOptions(deadline_s=deadline_s), Random(1))
    assert [pace.now(), pace.now()] == [delay, delay]
    assert [said in line for line in lines] == ([True] if said else [])
