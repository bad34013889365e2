"""A scenario's mistakes, each told with the file's line, its field, and what is wrong."""

import pytest

from tests.topologies.scenario.example import GOOD, change
from topologies.scenario import ScenarioError, parse_scenario

BAD = {
    "unit missing": ("rate: 10 Mbps", "rate: 10", "9: links[0].rate: `10` has no unit"),
    "wrong unit": ("5 ms", "5 mm", "9: links[0].delay: `mm` is not a unit of a duration"),
    "zero rate": ("rate: 10 Mbps", "rate: 0 Mbps", "9: links[0].rate: must be above zero"),
    "loss over 1": ("loss: 1 %", "loss: 200 %", "14: links[2].toward.c.loss: must be between 0 and 1"),
    "unknown field": ("delay: 5 ms", "dealy: 5 ms", "9: links[0].dealy: unknown field; did you mean `delay`?"),
    "missing field": ("duration: 10 s\n", "", "1: `duration` is missing"),
    "zero duration": ("duration: 10 s", "duration: 0 s", "2: duration: must be above zero"),
    "missing kind": ("{kind: p4}", "{}", "4: nodes.s1: `kind` is missing"),
    "unknown kind": ("{kind: p4}", "{kind: ovs}", "4: nodes.s1: kind `ovs` is none of `p4`"),
    "not a mapping": ("a: {kind: host}", "a: host", "5: nodes.a: must be a mapping"),
    "bad node name": (
        "b: {kind: host, ",
        "B-1: {kind: host, ",
        "6: nodes.B-1: `B-1` is no name here: only small letters, digits and `_`, beginning with small letters",
    ),
    "no switch": ("kind: p4", "kind: host", "3: nodes: no switch"),
    "outside 10/8": ("10.0.7.7", "192.168.0.1", "6: nodes.b.address: 192.168.0.1 is not in 10.0.0.0/8"),
    "address taken": ("a: {kind: host}", "a: {kind: host, address: 10.0.7.7}", "6: nodes.b.address: 10.0.7.7 is"),
    "unknown node": ("[a, s1]", "[a, s9]", "9: links[0].between[1]: no node is called `s9`"),
    "link to itself": ("[s1, b]", "[s1, s1]", "10: links[1].between: joins `s1` to itself"),
    "two hosts": ("[s1, b]", "[c, b]", "10: links[1].between: joins two hosts"),
    "unconnected": ("  - {between: [s1, b]}\n", "", "6: nodes.b: is connected to nothing"),
    "link twice": ("[s1, b]", "[s1, a]", "10: links[1].between: the same two nodes are joined by links[0]"),
    "link name twice": (
        "  - {between: [a, s1], rate: 10 Mbps, delay: 5 ms}\n  - {between: [s1, b]}",
        "  - {name: core, between: [a, s1]}\n  - {name: core, between: [s1, b]}",
        "10: links[1].name: also the name of links[0]",
    ),
    "port too high": ("{s1: 9}", "{s1: 257}", "12: links[2].ports.s1: a switch has ports 1 to 256, not 257"),
    "port of a host": ("{s1: 9}", "{c: 1}", "12: links[2].ports.c: `c` is a host"),
    "port zero": ("{s1: 9}", "{s1: 0}", "12: links[2].ports.s1: "),
    "toward nobody": ("      c: {loss", "      b: {loss", "14: links[2].toward.b: `b` is not an end of this link"),
    "no RED limit": ("bytes: 64 kB, ", "", "14: links[2].toward.c.queue: needs a limit"),
    "RED thresholds": ("min_threshold: 9000", "min_threshold: 30000", "14: links[2].toward.c.queue.min_threshold:"),
    "RED over limit": ("64 kB", "20 kB", "14: links[2].toward.c.queue.max_threshold: must not exceed"),
    "unicast group": ("232.1.0.7", "10.1.0.7", "19: sessions[0].group: 10.1.0.7 is not a multicast address"),
    "local group": ("232.1.0.7", "224.0.0.5", "19: sessions[0].group: 224.0.0.5 is in 224.0.0.0/24"),
    "ssm group": ("port: 5007", "port: 5007\n    membership: any-source", "21: sessions[0].membership: groups in"),
    "no data": ("    size: 1 MB\n", "", "16: sessions[0]: needs something to send"),
    "sender receives": ("- b\n", "- a\n", "23: sessions[0].receivers[0]: `a` is the sender"),
    "receiver twice": ("- b\n", "- c\n", "24: sessions[0].receivers[1]: `c` is listed twice"),
    "switch receives": ("- b\n", "- s1\n", "23: sessions[0].receivers[0]: `s1` is a switch"),
    "leave first": ("leave: 5 s", "leave: 1 s", "24: sessions[0].receivers[1].leave: must come after `join`"),
    "agent without a tree": (
        "- b\n",
        "- {host: b, agent: true}\n",
        "23: sessions[0].receivers[0].agent: nobody has an agent for a parent in a tree of one level",
    ),
    "read nothing": ("- b\n", "- {host: b, read_rate: 0 Mbps}\n", "23: sessions[0].receivers[0].read_rate: must be"),
    "unknown protocol": ("mtcp", "mtpc", "17: sessions[0].protocol: unknown protocol 'mtpc' (known:"),
    "a file in real time": ("mtcp", "vlmcc", "17: sessions[0].protocol: vlmcc carries real-time data only"),
    "real time repaired": ("size: 1 MB", "realtime: true", "21: sessions[0].realtime: mtcp carries no real-time data"),
    "to itself": ("destination: b", "destination: a", "26: traffic[0].destination: is the source"),
    "no such link": ("link: [s1, a]", "link: [b, a]", "30: faults[1].link: no link joins `b` and `a`"),
    "no such switch": ("switch: s1", "switch: a", "29: faults[0].switch: no switch is called `a`"),
    "no such session": ("session: 7", "session: 8", "31: faults[2].session: no session has the id 8"),
    "fault too late": ("at: 4 s", "at: 40 s", "32: faults[3].at: comes after the end"),
    "not YAML": ("nodes:\n", "nodes: [\n", ""),
    "key twice": ("  a: {kind: host}\n", "  a: {kind: host}\n  a: {kind: host}\n", "6: nodes.a: given twice"),
}
RED = "{kind: red, bytes: 64 kB, min_threshold: 9000, max_threshold: 30000}"
QUEUES = {
    "unknown queue": (
        "{kind: sfq}",
        ": kind `sfq` is none of `droptail`, `red`, `codel`, `fq_codel`, `pie`, `dualpi2`",
    ),
    "another queue's field": ("{kind: codel, alpha: 1}", ".alpha: unknown field"),
    "two limits": ("{kind: pie, bytes: 64 kB, packets: 5}", ": needs a limit: either `packets` or `bytes`"),
    "no target": ("{kind: fq_codel, target: 0 s}", ".target: input should be greater than 0"),
    "hasty controller": ("{kind: dualpi2, update: 1 us}", ".update: input should be greater than or equal"),
}
"""In place of `RED`."""
SESSION = {
    "two data": ("file: x", "16: sessions[0]: has `file` and `size`, and can send only one of them"),
    "no word for a tree": ("tree: auto", "22: sessions[0].tree: input should be"),
    "too wide a level": ("fan_out: 1", "22: sessions[0].fan_out: 2 receivers are the sender's children in one level"),
    "stranger as parent": (
        "tree: {a: [b, c], s1: []}",
        "22: sessions[0].tree.s1: `s1` is neither the sender nor a receiver of this session",
    ),
    "stranger as child": (
        "tree:\n      a: [b, c]\n      b:\n        - d",
        "25: sessions[0].tree.b[0]: `d` is not a receiver of this session",
    ),
    "sender as child": (
        "tree: {a: [b, c], b: [a]}",
        "22: sessions[0].tree.b[0]: `a` is the sender, which is the root of the tree",
    ),
    "two parents": ("tree: {a: [b, c], b: [c]}", "22: sessions[0].tree.b[0]: `c` is also a child of `a`"),
    "no parent": ("tree: {a: [b]}", "22: sessions[0].tree: no parent is given for `c`"),
    "circle": (
        "tree:\n      a: []\n      b: [c]\n      c: [b]",
        "24: sessions[0].tree.b: no tree: `b` is below `c` is below `b`",
    ),
    "fan-out": ("fan_out: 1\n    tree: {a: [b, c]}", "23: sessions[0].tree.a: has 2 children, more than 1 (`fan_out`)"),
    "drop after 0": (
        "slow_receivers: {drop_after: 0 s}",
        "22: sessions[0].slow_receivers: parameter 'drop_after_s' must be positive",
    ),
    "parameter": ("parameters: {alhpa: 2}", "22: sessions[0].parameters: mtcp has no parameter 'alhpa'"),
}
"""What a session has beside its `size`."""
MISTAKES = (
    BAD
    | {name: (RED, queue, f"14: links[2].toward.c.queue{told}") for name, (queue, told) in QUEUES.items()}
    | {name: ("size: 1 MB", f"size: 1 MB\n    {field}", told) for name, (field, told) in SESSION.items()}
)


@pytest.mark.parametrize("case", MISTAKES, ids=str)
def test_a_mistake_is_told_with_its_file_line_and_field(case: str) -> None:
    old, new, told = MISTAKES[case]
    expected = f"x.yaml:{told}"
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(change(old, new), "x.yaml")
    assert str(caught.value).startswith(expected) or f"\n{expected}" in str(caught.value), str(caught.value)
    assert all(str(problem).startswith("x.yaml:") and "\n" not in str(problem) for problem in caught.value.problems)


@pytest.mark.parametrize("digits", ["9" * 400, "0x" + "f" * 5000])
@pytest.mark.parametrize(
    ("old", "new", "line"), [("5007", "{}", 20), ("loss: 1 %", "loss: {}", 14), ("id: 7", "id: {}", 16)]
)
def test_a_number_beyond_all_bounds_is_a_mistake_as_others(old: str, new: str, line: int, digits: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(change(old, new.format(digits)), "x.yaml")
    assert str(caught.value).startswith(f"x.yaml:{line}: ")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("rate: 10 Mbps", "rate: 0.1 bps"),
        ("rate: 10 Mbps", "rate: 1e12 Gbps"),
        ("delay: 5 ms", "delay: 1e15 h"),
        ("delay: 5 ms", "queue: {kind: droptail, packets: 4294967296}"),
        ("rate: 1 Mbps, queue: {kind: red,", "queue: {kind: red, mean_packet: 5 GB,"),
        ("size: 1 MB", "size: 1e10 GB"),
        ("size: 1 MB", "size: 1 MB\n    fan_out: 100000"),
        ("congestion_control: cubic", "simulated: {initial_window: .inf}"),
        ("congestion_control: cubic", "simulated: {window_limit: 4294967296}"),
    ],
)
def test_what_no_link_or_clock_can_reckon_with_is_refused(old: str, new: str) -> None:
    with pytest.raises(ScenarioError, match=r"^x.yaml:\d+: .*(less|greater) than or equal to"):
        parse_scenario(change(old, new), "x.yaml")


def test_all_mistakes_are_told_in_the_order_of_the_file() -> None:
    text = change("rate: 10 Mbps", "rate: 10").replace("10.0.7.7", "nowhere").replace("size: 1 MB", "size: many")
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(text, "x.yaml")
    assert [problem.line for problem in caught.value.problems] == [6, 9, 21]


def test_session_ids_and_groups_are_used_once() -> None:
    first = GOOD[GOOD.index("  - id: 7") : GOOD.index("traffic:")]
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(GOOD.replace("traffic:", f"{first}traffic:"), "x.yaml")
    assert [str(problem) for problem in caught.value.problems] == [
        "x.yaml:25: sessions[1].id: also the id of sessions[0]",
        "x.yaml:29: sessions[1].port: 232.1.0.7 port 5007 is used by sessions[0]",
    ]


def test_a_network_in_two_parts_is_refused() -> None:
    text = change("  s1: {kind: p4}\n", "  s1: {kind: p4}\n  s2: {kind: p4}\n").replace("[s1, b]", "[s2, b]")
    with pytest.raises(ScenarioError, match=r"x.yaml:5: nodes.s2: cannot be reached from the rest .*\(b, s2\)"):
        parse_scenario(text, "x.yaml")


def test_a_field_that_an_anchor_brought_stands_at_the_anchor() -> None:
    text = change("rate: 10 Mbps, delay: 5 ms}", "<<: &access {rate: 10, delay: 5 ms}}")
    with pytest.raises(ScenarioError, match=r"^x.yaml:9: links\[0\].rate: `10` has no unit"):
        parse_scenario(text, "x.yaml")
