"""Feedback that switches have merged: whom it speaks for, and what comes of it."""

from dataclasses import replace

import pytest

from hosts.endpoint import Address
from hosts.protocols.mtcp.agent import Agent
from hosts.protocols.mtcp.children import Child
from hosts.protocols.mtcp.options import MtcpOptions
from hosts.protocols.mtcp.packets import Feedback
from hosts.protocols.mtcp.wire import UNLIMITED
from tests.hosts.protocols.mtcp.parent import ONE, TWO, make_agent, multicast, repairs, signals

THREE = Address("10.0.0.3", 1)
OPTIONS = MtcpOptions()


def family(options: MtcpOptions = OPTIONS) -> tuple[Agent, list[Child]]:
    """An agent with three children that may be merged, and five packets sent."""
    agent = make_agent(options, own_clock=True)
    children = [agent.add_child(address, 10**6, now=0.0) for address in (ONE, TWO, THREE)]
    for child in children:
        child.merge = True
        if agent.witness is not None:
            agent.witness.joined(child.address, child.first, 0.0)
    for _ in range(5):
        multicast(agent, 1.0, now=1.0)
    return agent, children


def summary(cumulative: int, children: int, holders: int, sack: int = 0, **more: int) -> Feedback:
    packet = Feedback(7, False, cumulative, 0, 0, 0, UNLIMITED, 0, 10**6, sack, True, 0, children, holders, True)
    return packet._replace(**more)  # type: ignore[arg-type]


def test_a_summary_holds_for_the_children_that_it_names() -> None:
    agent, children = family()
    agent.feedback(children[0], summary(3, 0b011, 0b010), 1.1, 1.1)
    assert agent.base == 0
    agent.feedback(children[0], summary(3, 0b101, 0b100), 1.2, 1.2)
    assert agent.base == 3
    assert [child.cumulative for child in children] == [3, 3, 3]


def test_the_intersection_frees_and_is_no_nack() -> None:
    agent, children = family()
    assert agent.feedback(children[0], summary(1, 0b111, 0b001, sack=0b110), 1.1, 1.1) == []
    assert agent.base == 1
    for child in children:
        assert not child.repairs


def test_a_time_out_repairs_the_holders_only() -> None:
    agent, children = family()
    agent.feedback(children[0], summary(4, 0b111, 0b010), 1.1, 1.1)
    effects = agent.handle_timer(20.0)
    assert {address for _, address in repairs(effects)} == {TWO}
    assert signals(effects) == ["timeout"]


def test_who_is_left_out_is_on_its_own_again() -> None:
    agent, children = family()
    agent.feedback(children[0], summary(4, 0b111, 0b010), 1.1, 1.1)
    assert [child.holds for child in children] == [False, True, False]
    agent.feedback(children[0], summary(4, 0b011, 0b010), 1.2, 1.2)
    assert [child.holds for child in children] == [False, True, True]


def test_delays_of_a_summary() -> None:
    """The sample is the child's; waiting and time-out are the largest of all, as differences from it."""
    agent, children = family()
    first = summary(2, 0b111, 0b001, echo_time_us=1_000_000, queue_us=0, bound_us=240_000)
    agent.feedback(children[0], first, 1.05, 1.05)
    assert children[0].rtd_last == pytest.approx(0.05)
    assert agent.delays.rto_rtd == pytest.approx(0.05 + 0.24 + OPTIONS.ack_delay_s)
    assert children[2].timeout == pytest.approx(0.29)
    assert children[2].rtd.samples == 0


@pytest.mark.parametrize(
    ("change", "counter"),
    [
        ({"number": 1}, "drop_unwanted_summary"),
        ({"children": 0b110}, "drop_unwanted_summary"),
        ({"cumulative": 6}, "drop_ack_of_unsent"),
        ({"sack": 1 << 9}, "drop_ack_of_unsent"),
    ],
)
def test_what_cannot_be_is_dropped(change: dict[str, int], counter: str) -> None:
    agent, children = family()
    packet = summary(3, 0b111, 0b111)._replace(**change)  # type: ignore[arg-type]
    assert agent.feedback(children[0], packet, 1.1, 1.1) == []
    assert agent.base == 0
    assert agent.counters == {"feedback_packets": 1, counter: 1}


def test_a_switch_that_speaks_of_what_was_never_sent_is_found() -> None:
    agent, children = family(replace(OPTIONS, assist="switch", sample_s=1.0))
    assert agent.witness is not None
    for now in (1.1, 1.2, 1.5):
        agent.feedback(children[0], summary(9, 0b111, 0b111), now, now)
        assert agent.witness.misquoted == []
    agent.feedback(children[0], summary(9, 0b111, 0b111), 1.7, 1.7)
    assert agent.witness.misquoted == [ONE, TWO, THREE]


def test_who_is_to_join_again_leaves_nothing_in_flight() -> None:
    """Even if nobody has shown yet that it is there: all come back, and have all."""
    agent, children = family(replace(OPTIONS, assist="switch", sample_s=1.0))
    assert agent.witness is not None
    in_flight = agent.congestion.twnd.size
    agent.witness.expect(child.address for child in children)
    for child in children:
        agent.remove_child(child.address, 1.1)
    assert agent.congestion.twnd.size == 0 < in_flight
    assert agent.store.first == 0, "what they have not said themselves to have is kept"


def test_nobody_asked_for_it() -> None:
    agent, children = family()
    children[0].merge = False
    agent.feedback(children[0], summary(3, 0b111, 0b111), 1.1, 1.1)
    assert agent.counters == {"feedback_packets": 1, "drop_unwanted_summary": 1}
    children[0].merge, children[1].merge = True, False
    agent.feedback(children[0], summary(3, 0b111, 0b111), 1.2, 1.2)
    assert [child.cumulative for child in children] == [3, 0, 3]


def test_numbers_of_children_that_have_left_mean_nobody() -> None:
    agent, children = family()
    agent.remove_child(TWO, 1.05)
    agent.feedback(children[0], summary(3, 0b111, 0b010), 1.1, 1.1)
    assert agent.base == 3


def test_it_speaks_for_those_that_are_there_and_may_be_merged() -> None:
    agent, children = family()
    children[1].merge = False
    merged = agent._merged
    members = merged.arrived(summary(3, 0b101111, 0b111))
    assert members == [children[0], children[2]]
    assert merged.arrived(summary(4, 0b101111, 0b111)) is members, "they are looked up once"


def test_who_is_left_out_has_a_timeout_of_its_own_again() -> None:
    agent, children = family()
    merged = agent._merged
    merged.arrived(summary(3, 0b011, 0b011))
    for child in children[:2]:
        child.holds, child.merged_timeout = False, 0.5
    assert merged.arrived(summary(4, 0b010, 0b010)) == [children[1]]
    assert (children[0].holds, children[0].merged_timeout) == (True, None)
    assert (children[1].holds, children[1].merged_timeout) == (False, 0.5)


def test_who_has_come_or_gone_since_is_looked_up_again() -> None:
    agent, children = family()
    merged = agent._merged
    assert merged.arrived(summary(3, 0b1111, 0b1111)) == children
    another = agent.add_child(Address("10.0.0.4", 1), 10**6, now=1.2)
    another.merge = True
    assert another.number == 3
    assert merged.arrived(summary(4, 0b1111, 0b1111)) == [*children, another]
    agent.remove_child(TWO, 1.3)
    assert merged.arrived(summary(4, 0b1111, 0b1111)) == [children[0], children[2], another]
