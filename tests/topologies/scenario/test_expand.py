"""Scenarios in short: what they become, and that mistakes are told where they are written."""

import textwrap
from pathlib import Path

import pytest

from topologies.scenario import ScenarioError, parse_scenario

SHORT = """\
name: short
duration: 10 s
network:
  tree: {depth: 2, fanout: 3}
  links: {rate: 50 Mbps, delay: 5 ms}
  core: {rate: 20 Mbps}
  access: {rate: 100 Mbps}
nodes:
  sender: {kind: host}
  x[1-3]: {kind: host}
links:
  - {between: [sender, s1]}
  - {between: ["x[1-3]", "s[2-4]"], name: "spur[1-3]", toward: {"x[1-3]": {loss: 1 %}}}
sessions:
  - id: 1
    protocol: mtcp
    sender: sender
    group: 232.1.0.1
    port: 5001
    size: 100 kB
    receivers: ["r[1-9]", {host: "x[1-3]", join: 1 s}]
    tree:
      sender: [r1, "x[1-3]"]
      r1: ["r[2-9]"]
  - {id: 2, protocol: mtcp, sender: r1, group: 232.1.0.2, port: 5002, size: 100 kB, receivers: "r[2-4]"}
traffic:
  - {kind: udp, source: sender, destination: "r[1-2]", rate: 10 kbps}
faults:
  - {kind: link-down, at: 3 s, link: ["x[1-2]", "s[2-3]"], duration: 1 s}
"""


def problems(text: str) -> list[str]:
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(text, "short.yaml")
    return [str(problem) for problem in caught.value.problems]


def test_ranges_and_a_network_are_written_out() -> None:
    scenario = parse_scenario(SHORT)
    assert list(scenario.switches) == ["s1", "s2", "s3", "s4"]
    assert list(scenario.hosts) == [*(f"r{n}" for n in range(1, 10)), "sender", "x1", "x2", "x3"]
    spur = scenario.link_between("x2", "s3")
    assert spur is not None
    assert (spur.name, spur.direction("x2").loss, spur.direction("s3").loss) == ("spur2", 0.01, 0.0)
    core, access = scenario.link_between("s1", "s2"), scenario.link_between("r1", "s2")
    assert core is not None
    assert access is not None
    assert (core.rate, core.delay, access.rate, access.delay) == (2e7, 0.005, 1e8, 0.0)
    first, second = scenario.sessions
    assert [one.host for one in first.receivers][-4:] == ["r9", "x1", "x2", "x3"]
    assert first.receivers[-1].join == 1.0
    assert first.parents["x3"] == "sender"
    assert first.parents["r9"] == "r1"
    assert [one.host for one in second.receivers] == ["r2", "r3", "r4"]
    assert [flow.destination for flow in scenario.traffic] == ["r1", "r2"]
    assert [fault.link for fault in scenario.faults if fault.kind == "link-down"] == [("x1", "s2"), ("x2", "s3")]


def test_the_long_form_is_the_same_scenario() -> None:
    scenario = parse_scenario(SHORT)
    again = parse_scenario(scenario.at_length())
    assert scenario.is_expanded
    assert not again.is_expanded
    assert again.model_dump() == scenario.model_dump()


@pytest.mark.parametrize(
    ("there", "wrong", "told"),
    [
        ("depth: 2, fanout: 3", "depth: 1, fanout: 257", "short.yaml:3: nodes.s1: has 258 links"),
        ("depth: 2", "dept: 2", "short.yaml:4: network.tree.dept: unknown field; did you mean `depth`?"),
        ("depth: 2, fanout: 3", "depth: 9, fanout: 900", "short.yaml:3: network: makes very many nodes"),
        ("{rate: 50 Mbps", "{rate: 50", "short.yaml:5: network.links.rate: `50` has no unit"),
        ("{rate: 100 Mbps}", "{rte: 1}", "short.yaml:7: network.access.rte: unknown field"),
        ("x[1-3]: {kind: host}", "x[1-3]: {kind: hst}", "short.yaml:10: nodes.x1: kind `hst` is none of"),
        ("x[1-3]: {kind: host}", "r[9-12]: {kind: host}", "short.yaml:10: nodes.r9: given twice"),
        ('"s[2-4]"', '"s[2-3]"', "short.yaml:13: links[1]: its ranges have 2 and 3 names"),
        ("loss: 1 %", "loss: 2", "short.yaml:13: links[1].toward.x1.loss: must be between 0 and 1"),
        ('"r[1-9]", {host', '"r[1-999999]", {host', "short.yaml:21: sessions[0].receivers[0]: `r[1-999999]` has more"),
        ('"r[1-9]", {host', "r[1-9], {host", "short.yaml:21: not YAML: did not find expected"),
        ('"r[1-2]", rate: 10 kbps', '"q[1-2]", rate: 10 kbps', "short.yaml:27: traffic[0].destination: no host"),
        ("tree: {depth: 2, fanout: 3}", "graph: {file: n.gml}", "short.yaml:3: network: n.gml: No such file"),
    ],
)
def test_a_mistake_is_told_where_it_is_written(there: str, wrong: str, told: str) -> None:
    assert there in SHORT
    text = SHORT.replace(there, wrong, 1).replace("  core:", "  # core:" if "graph" in wrong else "  core:")
    assert any(problem.startswith(told) for problem in problems(text)), problems(text)


def test_mistakes_of_one_line_that_are_alike_are_one() -> None:
    text = SHORT.replace('"s[2-3]"], duration: 1 s', '"s[2-3]"], duration: 1')
    (told,) = problems(text)
    assert told.startswith("short.yaml:29: faults[0].duration: `1` has no unit")
    assert told.endswith("(and 1 more like it)")


def test_within_brackets_the_message_says_that_a_range_needs_quotes() -> None:
    (told,) = problems(SHORT.replace('destination: "r[1-2]"', "destination: r[1-2]"))
    assert told.endswith('within brackets a range needs quotes, as in ["r[1-30]"]')


def test_all_ranges_together_are_bounded() -> None:
    text = SHORT + "".join('  - {kind: link-down, at: 3 s, link: [a, "b[1-9999]"]}\n' for _ in range(4))
    assert any("more than 30000 names together" in problem for problem in problems(text))


def test_aliases_upon_aliases_are_walked_once() -> None:
    levels = ["x0: &a0 [sender]"]
    levels += [f"x{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    text = "\n".join(levels) + '\nlinks:\n  - {between: *a11, x: "r[1-2]"}\nname: bomb\nduration: 1 s\nnodes: {}\n'
    assert problems(text)


def test_a_file_is_looked_for_beside_the_scenario(tmp_path: Path) -> None:
    (tmp_path / "net.gml").write_text("graph [ node [ id 1 ] node [ id 2 ] edge [ source 1 target 2 ] ]")
    text = SHORT.partition("network:")[0] + "network: {graph: {file: net.gml, hosts: 3}}\n"
    scenario = parse_scenario(text, str(tmp_path / "short.yaml"))
    assert (len(scenario.switches), len(scenario.hosts)) == (2, 6)


def test_a_graphs_labels_and_the_generated_hosts_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "net.gml").write_text(
        'graph [ node [ id 1 label "R1" ] node [ id 2 label "r2" ] edge [ source 1 target 2 ] ]'
    )
    text = SHORT.partition("network:")[0] + "network: {graph: {file: net.gml}, hosts: HOSTS}\n"
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(text.replace("HOSTS", "r"), str(tmp_path / "short.yaml"))
    assert [str(problem).partition("network: ")[2] for problem in caught.value.problems] == [
        "a node of the file and a generated host have the name `r1`; give `hosts` another name"
    ]
    scenario = parse_scenario(text.replace("HOSTS", "v"), str(tmp_path / "short.yaml"))
    assert ([*scenario.switches], [*scenario.hosts]) == (["r1", "r2"], ["v1", "v2"])


def test_the_documents_network_is_one() -> None:
    page = (Path(__file__).parents[3] / "docs" / "scenario.md").read_text("utf-8")
    block = next(part for part in page.split("\n\n") if part.startswith("    network:"))
    scenario = parse_scenario("name: page\nduration: 1 s\n" + textwrap.dedent(block))
    assert (len(scenario.switches), len(scenario.hosts)) == (6, 26)


def test_the_documents_fields_make_a_scenario(tmp_path: Path) -> None:
    """Those that a simulation alone uses in a network of the test's."""
    docs = Path(__file__).parents[3] / "docs"
    fields = (docs / "scenario.md").read_text("utf-8").partition("## The fields\n\n")[2].partition("\n\nAn ")[0]
    (tmp_path / "data.bin").write_bytes(b"data")
    assert len(parse_scenario(textwrap.dedent(fields), str(tmp_path / "page.yaml")).faults) == 7
    simulated = (docs / "simulation.md").read_text("utf-8").partition("sizes of UDP.\n\n")[2].partition("\n\nLinks ")[0]
    text = "name: page\nduration: 1 s\nlinks: [{between: [a, core]}, {between: [b, core]}]\n" + textwrap.dedent(
        simulated
    )
    session = (
        "{id: 1, protocol: mtcp, sender: a, group: 232.1.0.1, port: 5001, size: 1 kB, receivers: [b], security: group}"
    )
    text = text.replace("nodes:\n", f"sessions: [{session}]\nnodes:\n  b: {{kind: host}}\n", 1)
    assert len(parse_scenario(text, "page.yaml").traffic) == 3
