from ipaddress import IPv4Address

import pytest

from tests.topologies.scenarios import small_scenario
from topologies.plan.plan import derive_seed, hosts_file, interface_mac, make_plan, network_description

PLAN = make_plan(small_scenario())


def test_hosts_without_an_address_take_the_lowest_that_is_free() -> None:
    addresses = {name: str(host.address) for name, host in PLAN.hosts.items()}
    assert addresses == {"a": "10.0.0.2", "b": "10.0.0.1", "c": "10.0.0.3"}


def test_macs_say_whose_they_are() -> None:
    assert PLAN.hosts["a"].mac == "02:00:0a:00:00:02"
    assert PLAN.switches["s2"].mac == "02:01:00:00:00:02"
    assert interface_mac(2, 7) == "02:02:00:00:02:07"
    macs = [host.mac for host in PLAN.hosts.values()] + [switch.mac for switch in PLAN.switches.values()]
    macs += [interface_mac(switch.device_id, port) for switch in PLAN.switches.values() for port in switch.ports]
    assert len(set(macs)) == len(macs)


def test_ports_are_the_given_ones_and_the_lowest_that_are_free() -> None:
    ports = {name: {n: port.neighbour for n, port in switch.ports.items()} for name, switch in PLAN.switches.items()}
    assert ports == {"s1": {1: "a", 2: "s2"}, "s2": {7: "s1", 1: "b", 2: "c"}}
    assert PLAN.switches["s2"].ports[7].interface == "s2-eth7"
    assert PLAN.hosts["c"].interface == "c-eth0"
    assert (PLAN.hosts["c"].switch, PLAN.hosts["c"].port) == ("s2", 2)


def test_a_direction_is_emulated_once_by_the_switch_that_sends_it_or_the_one_behind_the_host() -> None:
    owners: dict[tuple[str, str], int] = {}
    for switch in PLAN.switches.values():
        for port in switch.ports.values():
            for link in (port.tx, port.rx):
                if link is not None:
                    key = (link.source, link.destination)
                    owners[key] = owners.get(key, 0) + 1
    ends = [("a", "s1"), ("s1", "s2"), ("s2", "b"), ("s2", "c")]
    assert owners == {pair: 1 for one, other in ends for pair in ((one, other), (other, one))}


@pytest.mark.parametrize(
    ("one", "other", "switch", "port"), [("s1", "s2", "s1", 2), ("s2", "s1", "s2", 7), ("a", "s1", "s1", 1)]
)
def test_a_direction_is_found_at_its_port(one: str, other: str, switch: str, port: int) -> None:
    found, at = PLAN.port_towards(one, other)
    assert (found.name, at.number) == (switch, port)


def test_a_port_that_leads_nowhere_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        PLAN.switches["s1"].port_to("c")


def test_each_switch_has_its_own_p4runtime_address() -> None:
    assert [switch.grpc_address for switch in PLAN.switches.values()] == ["127.0.0.1:9559", "127.0.0.1:9560"]


def test_cables_join_what_the_scenario_joins() -> None:
    assert [(cable.one, cable.other) for cable in PLAN.cables] == [
        (("a", 0), ("s1", 1)),
        (("s1", 2), ("s2", 7)),
        (("s2", 1), ("b", 0)),
        (("s2", 2), ("c", 0)),
    ]


def test_the_controller_is_told_the_same_network() -> None:
    network = network_description(small_scenario(), PLAN)
    assert [(link.a, link.a_port, link.b, link.b_port) for link in network.links] == [("s1", 2, "s2", 7)]
    assert network.links[0].cost == pytest.approx(0.006)
    assert {host.name: (host.switch, host.port) for host in network.hosts}["b"] == ("s2", 1)
    assert [(session.session, session.source) for session in network.sessions] == [
        (3, IPv4Address("10.0.0.2")),
        (4, None),
    ]


def test_names_are_given_to_hosts() -> None:
    assert hosts_file(PLAN).splitlines() == ["127.0.0.1 localhost", "10.0.0.2 a", "10.0.0.1 b", "10.0.0.3 c"]


def test_seeds_differ_by_purpose_and_are_always_the_same() -> None:
    assert derive_seed(1, "link a s1") == derive_seed(1, "link a s1")
    seeds = {derive_seed(seed, purpose) for seed in (1, 2) for purpose in ("link a s1", "link s1 a", "switch s1")}
    assert len(seeds) == 6
    assert all(0 <= seed < 2**63 for seed in seeds)
