"""What members of a session are told about their place in the logical tree."""

import pytest

from hosts.endpoint import Address
from topologies.scenario.session import Parameters, Session


def session(**fields: object) -> Session:
    """Receivers r1 to r3 of the sender s."""
    base = {"id": 1, "protocol": "mtcp", "sender": "s", "group": "232.1.0.1", "port": 5001, "size": "1 MB"}
    return Session.model_validate({**base, "receivers": ["r1", "r2", {"host": "r3"}], **fields})


def told(one: Session, host: str) -> Parameters:
    return one.member_parameters(host, lambda name: Address(f"10.0.0.{name[1:]}", 20000))


def test_in_one_level_everybody_is_the_senders_child() -> None:
    one = session(receivers=[f"r{number}" for number in range(40)])
    assert told(one, "s") == {"fan_out": 40}
    assert told(one, "r7") == {"fan_out": 40, "parent": "sender", "spare": False}


def test_a_given_tree_names_parents_and_agents() -> None:
    one = session(tree={"s": ["r1", "r3"], "r1": ["r2"]}, fan_out=2)
    assert told(one, "s") == {"fan_out": 2}
    assert told(one, "r1") == {"fan_out": 2, "parent": "sender", "agent": True}
    assert told(one, "r2") == {"fan_out": 2, "parent": "10.0.0.1:20000"}
    assert told(one, "r3") == {"fan_out": 2, "parent": "sender"}


def test_one_that_stands_by_is_an_agent() -> None:
    one = session(tree={"s": ["r1", "r3"], "r1": ["r2"]}, receivers=["r1", "r2", {"host": "r3", "agent": True}])
    assert told(one, "r3") == {"fan_out": 16, "parent": "sender", "agent": True}


def test_in_an_automatic_tree_each_finds_its_parent() -> None:
    one = session(tree="automatic", receivers=[{"host": "r1", "agent": True}, "r2"])
    assert told(one, "r1") == {"fan_out": 16, "agent": True}
    assert told(one, "r2") == {"fan_out": 16}


def test_policies_are_told_and_parameters_come_first() -> None:
    one = session(slow_receivers={"drop_after": "7 s"}, assist="switch", parameters={"fan_out": 5, "spare": True})
    assert told(one, "r2") == {
        "drop_after_s": 7.0, "assist": "switch", "fan_out": 5, "parent": "sender", "spare": True
    }  # fmt: skip


def test_who_joins_a_stream_without_end_late_gets_what_is_there() -> None:
    """Unless the scenario says otherwise; a file is of use as a whole only."""
    for protocol in ("mtcp", "rla"):
        assert told(session(protocol=protocol, size=None, endless=True), "r1")["from_start"] is False
        assert "from_start" not in told(session(protocol=protocol), "r1")
        asked = {"from_start": True}
        assert told(session(protocol=protocol, size=None, endless=True, parameters=asked), "r1")["from_start"] is True


@pytest.mark.parametrize(
    ("fields", "expected"),
    [({}, 30.0), ({"slow_receivers": {"drop_after": "7 s"}}, 7.0), ({"parameters": {"drop_after_s": 9}}, 9.0)],
)
def test_the_policy_for_slow_receivers_has_a_value(fields: dict[str, object], expected: float) -> None:
    assert session(**fields).drop_after_s == expected


def test_the_policy_for_slow_receivers_has_a_least_rate() -> None:
    one = session(slow_receivers={"least_rate": "500 kbps"})
    assert told(one, "r1")["least_rate_bps"] == 500e3
    assert one.drop_after_s == 30.0
