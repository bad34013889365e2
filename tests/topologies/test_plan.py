from ipaddress import IPv4Address
from pathlib import Path

import pytest

from tests.topologies.scenarios import TEXT, small_scenario
from topologies.plan import (
    SourceError,
    derive_seed,
    file_sha256,
    interface_mac,
    make_plan,
    network_description,
    prepare_sources,
)
from topologies.scenario import parse_scenario

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
            for emulated in (port.tx, port.rx):
                if emulated is not None:
                    key = (emulated.source, emulated.destination)
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


def test_cables_have_both_directions() -> None:
    assert [(cable.forth.source, cable.forth.destination) for cable in PLAN.cables] == [
        (cable.one[0], cable.other[0]) for cable in PLAN.cables
    ]
    assert [(cable.back.source, cable.back.destination) for cable in PLAN.cables] == [
        (cable.other[0], cable.one[0]) for cable in PLAN.cables
    ]


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


def test_seeds_differ_by_purpose_and_are_always_the_same() -> None:
    assert derive_seed(1, "link a s1") == derive_seed(1, "link a s1")
    seeds = {derive_seed(seed, purpose) for seed in (1, 2) for purpose in ("link a s1", "link s1 a", "switch s1")}
    assert len(seeds) == 6
    assert all(0 <= seed < 2**63 for seed in seeds)


SCENARIO = small_scenario()


def test_files_are_found_beside_the_scenario_and_sizes_are_made(tmp_path: Path) -> None:
    (tmp_path / "payload").write_bytes(b"abc")
    sources = prepare_sources(SCENARIO, tmp_path, None, tmp_path / "made")
    assert sources[4].path == tmp_path / "payload"
    assert sources[4].sha256 == file_sha256(tmp_path / "payload")
    assert [sources[number].name for number in (3, 4)] == ["made from the seed", str(tmp_path / "payload")]
    assert sources[3].bytes == 1_000_000 == sources[3].path.stat().st_size


def test_what_is_made_depends_on_the_seed_only(tmp_path: Path) -> None:
    (tmp_path / "payload").write_bytes(b"abc")

    def made(seed: int, name: str) -> str:
        scenario = SCENARIO.model_copy(update={"seed": seed})
        return prepare_sources(scenario, tmp_path, None, tmp_path / name)[3].sha256

    assert made(7, "one") == made(7, "two") != made(8, "three")


def test_a_file_can_be_sent_instead(tmp_path: Path) -> None:
    (tmp_path / "mine").write_bytes(b"mine")
    sources = prepare_sources(SCENARIO, tmp_path, tmp_path / "mine", tmp_path / "made")
    assert {source.path for source in sources.values()} == {tmp_path / "mine"}
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(("name", "reason"), [("nothing", "no such file"), (".", "not a regular file")])
def test_what_cannot_be_sent_is_told_in_one_line(tmp_path: Path, name: str, reason: str) -> None:
    with pytest.raises(SourceError, match=reason):
        prepare_sources(SCENARIO, tmp_path, tmp_path / name, tmp_path / "made")


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(SourceError, match=r"session-3\.bin: Not a directory"):
        prepare_sources(SCENARIO, tmp_path, None, tmp_path / "file" / "made")


def test_the_hash_is_sha256(tmp_path: Path) -> None:
    (tmp_path / "abc").write_bytes(b"abc")
    assert file_sha256(tmp_path / "abc").startswith("ba7816bf8f01cfea")  # FIPS 180-2, appendix B.1
    with pytest.raises(OSError, match="nothing"):
        file_sha256(tmp_path / "nothing")


def test_a_switch_that_only_forwards_is_told_so() -> None:
    scenario = parse_scenario(TEXT.replace("s1: {kind: p4}", "s1: {kind: p4, assist: false}"), "small.yaml")
    network = network_description(scenario, PLAN)
    assert {switch.name: switch.assist for switch in network.switches} == {"s1": False, "s2": True}


def test_sealing_takes_time_at_the_hosts_of_sealed_sessions_alone() -> None:
    sealed = TEXT.replace("    sender: b\n", "    sender: b\n    security: group\n")
    slow = sealed.replace("  c: {kind: host}", "  c: {kind: host, receiving: {most: 9 us}}")
    hosts = make_plan(parse_scenario(slow + "simulation: {sealing: {seal: 4 us, open: 2 us}}\n")).hosts
    found = {
        name: [time and (time.least, time.most) for time in (host.settings.sending, host.settings.receiving)]
        for name, host in hosts.items()
    }
    assert found == {
        "a": [None, None],
        "b": [(4e-6, 4e-6), (2e-6, 2e-6)],
        "c": [(4e-6, 4e-6), (2e-6, pytest.approx(11e-6))],
    }
