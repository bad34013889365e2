import json
from pathlib import Path

from engine.switch.links import load_links
from tests.topologies.scenarios import small_scenario
from topologies.emulation.switches import port_links, sending_interfaces
from topologies.plan import make_plan

PLAN = make_plan(small_scenario())


def test_a_switch_emulates_what_it_sends_and_what_its_hosts_send() -> None:
    links = port_links(PLAN.switches["s1"], 7)
    assert {port: sorted(directions) for port, directions in links.items()} == {"1": ["rx", "tx"], "2": ["tx"]}
    assert links["2"]["tx"]["rate_bps"] == 10e6
    assert links["1"]["rx"]["delay_us"] == 1000.0


def test_the_embedded_switch_can_read_its_links(tmp_path: Path) -> None:
    for name, switch in PLAN.switches.items():
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(port_links(switch, 7)))
        assert set(load_links(path)) == set(switch.ports)


def test_every_direction_has_its_own_random_stream() -> None:
    seeds = [
        spec["seed"]
        for switch in PLAN.switches.values()
        for directions in port_links(switch, 7).values()
        for spec in directions.values()
    ]
    assert len(set(seeds)) == len(seeds) == 8
    assert (
        port_links(PLAN.switches["s1"], 7) == port_links(PLAN.switches["s1"], 7) != port_links(PLAN.switches["s1"], 8)
    )


def test_tc_shapes_each_direction_where_it_is_sent() -> None:
    shaped = {interface: (link.source, link.destination) for _, interface, link in sending_interfaces(PLAN)}
    assert shaped == {
        "s1-eth1": ("s1", "a"),
        "a-eth0": ("a", "s1"),
        "s1-eth2": ("s1", "s2"),
        "s2-eth7": ("s2", "s1"),
        "s2-eth1": ("s2", "b"),
        "b-eth0": ("b", "s2"),
        "s2-eth2": ("s2", "c"),
        "c-eth0": ("c", "s2"),
    }
