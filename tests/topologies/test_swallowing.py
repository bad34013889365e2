"""A stranger's receiver that serves others: it says what makes it an agent, and passes nothing on."""

from pathlib import Path

import pytest

from hosts import protocols
from tests.topologies.test_attacks import SCENARIO
from topologies.attacks import FORGERIES, MOST_AGENT_DELAY_S, SIMULATED, Effect, attacked
from topologies.scenario import load_scenario
from topologies.scenario.session import Session
from topologies.swallowing import AGENT, has_agents

NEAR = "  - {between: [sender, s1], rate: 100 Mbps, delay: 1 ms}\n"
FAR = """\
  - {between: [sender, s0], rate: 100 Mbps, delay: 1 ms}
  - {between: [s0, s1], rate: 100 Mbps, delay: 1 ms}
"""


def test_only_one_protocol_has_agents() -> None:
    assert [name for name in protocols.names() if has_agents(name)] == ["mtcp"]
    assert AGENT in FORGERIES


@pytest.fixture
def effects(tmp_path: Path) -> dict[str, Effect]:
    """Of a session whose sender is a switch farther away than the stranger, who is therefore chosen; by ways."""
    text = SCENARIO % ("mtcp", "size: 200 kB, start: 1 s")
    assert NEAR in text
    path = tmp_path / "far.yaml"
    path.write_text(text.replace(NEAR, FAR).replace("  s1:", "  s0: {kind: p4}\n  s1:"))
    found = attacked(path, load_scenario(path, purpose="simulate"), [AGENT], SIMULATED)
    return {effect.way: effect for effect in found}


def test_its_children_leave_it_within_seconds(effects: dict[str, Effect]) -> None:
    for way in ("open", "open behind P4"):
        assert effects[way].is_survived
        assert effects[way].ok, "the sender knows that all have it"
        assert 4.0 < (effects[way].later_s or 0.0) < MOST_AGENT_DELAY_S, "it was chosen"
    for way in ("sealed", "sealed, switches help", "signed"):
        assert effects[way].words == "harmless"
        assert effects[way].harmless


def test_where_the_sender_signs_there_is_no_tree(tmp_path: Path) -> None:
    path = Path(__file__).parents[2] / "topologies/tree.yaml"
    scenario = load_scenario(path, purpose="simulate")
    small = scenario.model_copy(update={"sessions": [_small(one) for one in scenario.sessions]})
    ways = [way for way in SIMULATED if way.name in ("open", "signed")]
    open_one, signed = attacked(path, small, [AGENT], ways)
    assert open_one.is_survived, "though an agent dies as well"
    assert signed.harmless


def _small(session: Session) -> Session:
    return session.model_copy(update={"file": None, "size": 1_000_000})
