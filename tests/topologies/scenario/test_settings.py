from typing import Any

import pytest
import yaml

from topologies.scenario import parse_scenario
from topologies.scenario.settings import Setting, SettingError, apply, combinations, parse_setting

TEXT = """\
name: settings
duration: 10 s
nodes:
  s1: {kind: p4}
  a: {kind: host}
  b: {kind: host}
links:
  - {name: core, between: [a, s1], rate: 10 Mbps}
  - {between: [s1, b], rate: 20 Mbps}
sessions:
  - {id: 7, protocol: mtcp, sender: a, group: 232.1.0.7, port: 5007, size: 1 MB, receivers: [b]}
traffic:
  - {kind: udp, source: a, destination: b, rate: 1 Mbps}
"""


def changed(path: str, value: Any) -> dict[str, Any]:
    scenario = parse_scenario(TEXT)
    document = scenario.model_dump(mode="json", exclude_none=True)
    apply(scenario, document, path, value)
    parse_scenario(yaml.safe_dump(document, sort_keys=False))
    return document


def test_values_are_read_as_a_scenarios() -> None:
    assert parse_setting("links.core.loss=0.001,0.01") == Setting("links.core.loss", (0.001, 0.01))
    assert parse_setting("links.core.rate=1 Mbps, 2 Mbps").values == ("1 Mbps", "2 Mbps")
    queue = {"kind": "droptail", "packets": 9}
    assert parse_setting("links.core.queue={kind: droptail, packets: 9}").values == (queue,)
    assert parse_setting("a=true,off").values == (True, "off")


@pytest.mark.parametrize("text", ["links.core.loss", "=3", "a=", "a=[", "a=1,]"])
def test_what_is_no_setting_is_refused(text: str) -> None:
    with pytest.raises(SettingError):
        parse_setting(text)


def test_all_values_are_combined() -> None:
    found = list(combinations([Setting("a", (1, 2)), Setting("b", (3, 4))]))
    assert found == [{"a": 1, "b": 3}, {"a": 1, "b": 4}, {"a": 2, "b": 3}, {"a": 2, "b": 4}]
    assert list(combinations([])) == [{}]


def test_paths_go_into_lists_by_name_ends_id_and_number() -> None:
    assert changed("links.core.loss", 0.5)["links"][0]["loss"] == 0.5
    assert changed("links.s1-b.rate", "1 kbps")["links"][1]["rate"] == "1 kbps"
    assert changed("links.b-s1.rate", "1 kbps")["links"][1]["rate"] == "1 kbps"
    assert changed("links.1.queue.packets", 5)["links"][1]["queue"]["packets"] == 5
    assert changed("sessions.7.receivers.b.join", "1 s")["sessions"][0]["receivers"][0]["join"] == "1 s"
    assert changed("traffic.0.packet", "100 B")["traffic"][0]["packet"] == "100 B"
    assert changed("duration", "1 s")["duration"] == "1 s"


def test_directions_and_parameters_need_not_be_there_yet() -> None:
    assert changed("links.core.toward.s1.loss", 0.1)["links"][0]["toward"] == {"s1": {"loss": 0.1}}
    parameters = changed("sessions.7.parameters.ack_every", 4)["sessions"][0]["parameters"]
    assert parameters == {"ack_every": 4}


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("lnks.core.loss", "a scenario has no `lnks`; did you mean `links`?"),
        ("links.cor.loss", "links has no `cor`; did you mean `core`? (there is core, s1-b)"),
        ("links.core.los", "links.core has no `los`; did you mean `loss`"),
        ("nodes.x.address", "nodes has no `x` (there is s1, a, b)"),
        ("sessions.8.size", "sessions has no `8` (there is 7)"),
        ("faults.0.at", "faults has no `0` (there is nothing)"),
        ("links.core.loss.x", "links.core.loss is a value; it has no `x`"),
        ("nodes.a.sending.most", "nodes.a.sending is not set in the scenario; set it as a whole"),
    ],
)
def test_a_bad_path_is_told_with_what_exists(path: str, message: str) -> None:
    with pytest.raises(SettingError) as caught:
        changed(path, 1)
    assert message in str(caught.value)
