"""What counts as arrived of children whose acknowledgments are lost."""

from hosts.endpoint import Address
from hosts.protocols.mtcp.children import Child
from hosts.protocols.mtcp.congestion import Summary
from hosts.protocols.mtcp.options import MtcpOptions
from hosts.protocols.mtcp.presumed import MEMORY_S, Presumed


def _child(number: int, highest: int, interval_s: float) -> Child:
    """With a round trip of 0.1 s, that has the stream up to `highest` and speaks every so many seconds."""
    address = Address(f"10.0.0.{number + 2}", 1)
    child = Child(number, address, MtcpOptions(), 0.0, first=0, first_offset=0, buffer_bytes=10**6)
    child.highest_offset = highest
    for _ in range(200):
        child.add_rtd(0.1, 0.0, 0.0)
        child.interval.add(interval_s)
    return child


def test_nothing_while_no_acknowledgment_is_known_to_be_lost() -> None:
    presumed = Presumed({})
    presumed.look(1.0)
    assert not presumed.is_on
    presumed.misheard(1.0)
    assert presumed.is_on
    presumed.look(1.0 + MEMORY_S)
    assert not presumed.is_on


def test_what_a_silent_child_had_no_time_to_say_but_no_more_than_a_window_beyond_somebody() -> None:
    """A window of 10,000 bytes, and children that are usually silent for a round trip."""
    children = [_child(0, highest=50_000, interval_s=0.1), _child(1, highest=41_000, interval_s=0.1)]
    presumed = Presumed({child.address: child for child in children})
    presumed.misheard(1.0)
    summary = Summary(min_cwnd=10_000, max_twnd=14_000)
    assert presumed.less(summary, 55_000).max_twnd == 5_000, "as it is to the one that has most"
    assert presumed.less(summary._replace(max_twnd=19_000), 55_000).max_twnd == 9_000, "a round trip's, and no more"
    assert presumed.less(summary._replace(max_twnd=2_000), 55_000).max_twnd == 2_000, "never more than is"


def test_who_is_set_aside_tells_nothing() -> None:
    children = [_child(0, highest=50_000, interval_s=0.1), _child(1, highest=41_000, interval_s=0.1)]
    children[0].aside = True
    presumed = Presumed({child.address: child for child in children})
    presumed.misheard(1.0)
    assert presumed.less(Summary(10_000, 20_000), 55_000).max_twnd == 14_000
