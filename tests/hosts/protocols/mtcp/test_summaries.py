"""The congestion summary: Fig. 4 of the paper, and the plain minimum and maximum."""

from hypothesis import given
from hypothesis import strategies as st

from hosts.endpoint import Address
from hosts.protocols.mtcp.child import Child
from hosts.protocols.mtcp.options import MtcpOptions
from hosts.protocols.mtcp.summaries import Summaries
from hosts.protocols.mtcp.window import Summary
from hosts.protocols.mtcp.wire import UNLIMITED

SEGMENT = 1400


def summarise(cwnd: int, twnd: int, children: list[tuple[int, int]], end_offset: int = 0) -> Summary:
    """An agent's summary when its children have everything and report (min_cwnd, max_twnd)."""
    summaries = Summaries(0)
    for number, (min_cwnd, max_twnd) in enumerate(children):
        child = Child(
            number, Address("10.0.0.1", number), MtcpOptions(), 0.0, first=0, first_offset=0, buffer_bytes=1 << 20
        )
        child.highest_offset = end_offset
        summaries.add(child)
        summaries.reported(child, min_cwnd, max_twnd)
    return summaries.summary(cwnd, twnd, end_offset)


def test_figure_4() -> None:
    """Node 7 reports 30 and 8, node 9 15 and 10, both to node 3; node 1 reports 25 and 5. The sender may send 5."""
    leaf = [(UNLIMITED, 0)]
    node_7 = summarise(30, 8, leaf)
    node_9 = summarise(15, 10, leaf)
    node_3 = summarise(20, 3, [node_7, node_9])
    assert node_3 == (15, 10)
    node_1 = summarise(25, 5, leaf)
    sender = summarise(40, 2, [node_3, node_1])
    assert sender == (15, 10)
    assert sender.current_window == 5


SIZES = st.integers(0, UNLIMITED - 1)


@given(SIZES, SIZES, st.lists(st.tuples(SIZES, SIZES), max_size=20), st.integers(0, 2**50))
def test_against_minimum_and_maximum(cwnd: int, twnd: int, children: list[tuple[int, int]], end_offset: int) -> None:
    expected = (min(cwnd, *(one for one, _ in children), cwnd), max(twnd, *(one for _, one in children), twnd))
    assert summarise(cwnd, twnd, children, end_offset) == expected
    assert summarise(cwnd, twnd, [*children, (UNLIMITED, 0)], end_offset) == expected  # a leaf is neutral


def test_what_was_sent_since_a_report_is_in_transit_too() -> None:
    summaries = Summaries(0)
    child = Child(0, Address("10.0.0.1", 1), MtcpOptions(), 0.0, first=0, first_offset=0, buffer_bytes=1 << 20)
    summaries.add(child)
    child.highest_offset = 10 * SEGMENT
    summaries.reported(child, 20 * SEGMENT, 4 * SEGMENT)
    assert summaries.summary(30 * SEGMENT, 0, 10 * SEGMENT).current_window == 16 * SEGMENT
    assert summaries.summary(30 * SEGMENT, 3 * SEGMENT, 13 * SEGMENT).current_window == 13 * SEGMENT
    summaries.twnd_floor = 13 * SEGMENT  # a timeout: what was sent before does not count
    summaries.reported(child, 20 * SEGMENT, 0)
    assert summaries.summary(30 * SEGMENT, 0, 13 * SEGMENT).current_window == 20 * SEGMENT
