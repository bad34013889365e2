"""Strangers join files and say no more, before the file begins or while its first packets are on their way, when
receivers are admitted. The others get theirs, a little later, and the sender names the strangers and ends well.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from typing import Any, NamedTuple

import pytest

from hosts import protocols
from hosts.endpoint import Address, Datagram, PeerDropped
from hosts.parts.fec.pieces import BlockStatus
from hosts.protocols.arbor.packets import JOIN as ARBOR_JOIN
from hosts.protocols.arbor.packets import Blocks, encode_blocks
from hosts.protocols.arbor.packets import Join as ArborJoin
from hosts.protocols.mtcp.packets import encode_feedback
from hosts.protocols.mtcp.tree_packets import JOIN as MTCP_JOIN
from hosts.protocols.mtcp.tree_packets import Join as MtcpJoin
from hosts.protocols.mtcp.wire import UNLIMITED
from hosts.protocols.rla.packets import ACK, Ack
from hosts.protocols.rla.packets import JOIN as RLA_JOIN
from hosts.protocols.rla.packets import Join as RlaJoin
from hosts.protocols.tfmcc.blocks import encode_status
from hosts.protocols.tfmcc.packets import Join as TfmccJoin
from hosts.protocols.tfmcc.packets import encode_join as tfmcc_join
from hosts.wire.format import Format, by_kind
from hosts.wire.header import HEADER
from hosts.wire.reason import Reason
from tests.hosts.files import FileWorld
from tests.hosts.protocols.mtcp.world import World as MtcpWorld
from tests.hosts.protocols.rla.world import World as RlaWorld

SIZE = 1_000_000
RATE_BPS = 5e6
FEEDBACK = {"ACK", "PROGRESS", "BLOCKS"}
"""Packets that tell of what was received."""
MOST_DELAY_S = 3.0
"""As for any packet of a stranger (topologies/attacks.py)."""
MOST_DELAY_BEFORE_S = 4.0
"""For one that comes before there are data."""
WINDOW = 1 << 24
LATE_S = 3.0
TELLS_S = (1.0, 1.5)
"""Twice, for the first one may come before there is anything to have."""


class Protocol(NamedTuple):
    world: Callable[..., Any]
    join: Callable[[int, int], bytes]
    """A stranger's, of this session, with this number."""
    tell: Callable[[int, int], bytes]
    """Likewise: it has the first packet, or block."""


PROTOCOLS = {
    "mtcp": Protocol(
        MtcpWorld,
        lambda session, _: MTCP_JOIN.encode(MtcpJoin(session, False, True, False, True, 0, WINDOW, 0)),
        lambda session, _: encode_feedback(session, False, 1, 0, 0, 0, UNLIMITED, 0, WINDOW, 0),
    ),
    "rla": Protocol(
        RlaWorld,
        lambda session, _: RLA_JOIN.encode(RlaJoin(session, True, WINDOW)),
        lambda session, number: ACK.encode(Ack(session, False, False, False, 1, WINDOW, 0, number - 1, 0, 0)),
    ),
    "arbor": Protocol(
        partial(FileWorld, "arbor"),
        lambda session, number: ARBOR_JOIN.encode(ArborJoin(session, number, 0, 0)),
        lambda session, number: encode_blocks(Blocks(session, number, 1, 1, ())),
    ),
    "tfmcc": Protocol(
        partial(FileWorld, "tfmcc"),
        lambda session, number: tfmcc_join(TfmccJoin(session, number, 0, 0, 0)),
        lambda session, number: encode_status(BlockStatus(session, number, 1, 1, ())),
    ),
}


def stranger(number: int) -> Address:
    return Address(f"10.7.0.{number}", 7000)


def run(
    name: str,
    strangers: Iterable[int],
    *,
    at_data: bool = False,
    wait: float = 1.0,
    late: Iterable[int] = (),
    late_s: float = LATE_S,
    kills: bool = False,
    claims: bool = False,
    goes_on: bool = False,
    gets_on: int = 0,
    tells_s: Iterable[float] = (),
    parameters: Mapping[str, Any] | None = None,
    limit: float = 100.0,
) -> Any:
    """Two receivers, and strangers with these numbers, whose JOINs come with the sender's first packet, or with its
    first data. `late`: receivers that hear nothing until `late_s`; `kills`: the second receiver dies when they come;
    `claims`: they say once that they have what a receiver says that it has; `goes_on`: and again each second;
    `gets_on`: and so many more packets or blocks each time. `tells_s`: so much later they say that they have the first
    packet or block.
    """
    made_by = PROTOCOLS[name]
    world = made_by.world(2, size=SIZE, rate_bps=RATE_BPS, wanted=2, wait=wait, parameters=parameters)
    network, group = world.network, world.receivers[0].endpoint.session.group
    came = False

    def hear(node: str, datagram: Datagram) -> None:
        nonlocal came
        if came or node != "core" or datagram.destination != group or (at_data and len(datagram.data) < 1000):
            return
        came = True
        for number in strangers:
            session = world.sender.endpoint.session_id
            packets = [(0.0, made_by.join(session, number))]
            packets += [(after, made_by.tell(session, number)) for after in tells_s]
            for after, packet in packets:
                said = Datagram(packet, stranger(number), world.sender.address)
                network.at(network.now + after, world.sender.receive, said)
        if kills:
            network.at(network.now, world.receivers[1].kill)

    claimed = not claims

    def claim(node: str, datagram: Datagram) -> None:
        nonlocal claimed
        if claimed or not came or node != "core" or datagram.destination != world.sender.address:
            return
        _, _, kind, flags, session = HEADER.unpack_from(datagram.data)
        found = by_kind(one for one in protocols.get(name).packets if isinstance(one, Format))[kind]
        packet: Any = found.decode(datagram.data, kind, flags, session)
        if not FEEDBACK & {one.name for one in found.kinds} or getattr(packet, "cumulative", 1) < 1:
            return
        claimed = True
        say(found, packet)

    def say(found: Format[Any], packet: Any) -> None:
        for number in strangers:
            its = packet._replace(receiver=number) if hasattr(packet, "receiver") else packet
            network.at(
                network.now, world.sender.receive, Datagram(found.encode(its), stranger(number), world.sender.address)
            )
        if goes_on:
            field = "cumulative" if hasattr(packet, "cumulative") else "delivered"
            packet = packet._replace(**{field: getattr(packet, field) + gets_on})
            network.at(network.now + 1.0, say, found, packet)

    def hear_all(node: str, datagram: Datagram) -> None:
        hear(node, datagram)
        claim(node, datagram)

    for index in late:
        for link in (network._links["edge"][f"r{index}"], network._links[f"r{index}"]["edge"]):
            link.up = False
            network.at(late_s, setattr, link, "up", True)
    network.tap = hear_all
    network.run_until_ended(limit)
    assert came
    assert claimed
    return world


def ends_s(world: Any) -> float:
    return max(float(host.progress[-1][0]) for host in world.receivers)


@cache
def undisturbed_s(name: str) -> float:
    """When all have the file where no stranger comes."""
    return ends_s(run(name, []))


def assert_only_strangers_are_lost(world: Any, *strangers: int) -> None:
    assert all(bytes(host.received) == world.data for host in world.receivers)
    dropped = [PeerDropped(stranger(number), Reason.UNPROVEN.text) for number in strangers]
    assert world.sender.events_of(PeerDropped) == dropped
    assert world.sender.end.complete, world.sender.end.reason
    assert world.sender.end.reason == "; ".join(f"{one.peer}: {one.reason}" for one in dropped)


@pytest.mark.parametrize("at_data", [False, True])
@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_stranger_that_joins_does_not_make_the_session_fail(name: str, at_data: bool) -> None:
    """Where it comes before the file begins it fills one of two places; the second receiver comes after it began."""
    world = run(name, [1] * 10, at_data=at_data)
    assert_only_strangers_are_lost(world, 1)
    assert ends_s(world) < undisturbed_s(name) + (MOST_DELAY_S if at_data else MOST_DELAY_BEFORE_S)
    assert world.network.now < 10


@pytest.mark.parametrize("name", PROTOCOLS)
def test_one_that_also_says_that_it_has_something_costs_no_more(name: str) -> None:
    world = run(name, [1], at_data=True, claims=True)
    assert_only_strangers_are_lost(world, 1)
    assert ends_s(world) < undisturbed_s(name) + MOST_DELAY_S
    assert world.network.now < 10


@pytest.mark.parametrize("name", PROTOCOLS)
def test_nor_does_one_that_says_the_same_each_second(name: str) -> None:
    world = run(name, [1], at_data=True, claims=True, goes_on=True)
    assert_only_strangers_are_lost(world, 1)
    assert ends_s(world) < undisturbed_s(name) + MOST_DELAY_S
    assert world.network.now < 10


@pytest.mark.parametrize("name", ["mtcp", "rla"])
def test_one_that_gets_on_by_a_packet_a_second_is_a_slow_member(name: str) -> None:
    """It is left behind where a least rate is asked for, as any."""
    policy = {"least_rate_bps": 500e3, "least_rate_s": 2.0}
    world = run(name, [1], at_data=True, claims=True, goes_on=True, gets_on=1, parameters=policy)
    assert all(bytes(host.received) == world.data for host in world.receivers)
    assert world.sender.events_of(PeerDropped) == [PeerDropped(stranger(1), Reason.TOO_SLOW.text)]
    assert world.network.now < 10


@pytest.mark.parametrize("name", PROTOCOLS)
def test_one_that_claims_the_whole_and_does_not_say_that_it_is_through(name: str) -> None:
    """What it has is beyond what has been sent until all is."""
    size = 400 if name in ("mtcp", "rla") else 1
    world = run(name, [1], at_data=True, claims=True, goes_on=True, gets_on=size, limit=60.0)
    assert all(bytes(host.received) == world.data for host in world.receivers)
    assert [one.peer for one in world.sender.events_of(PeerDropped)] == [stranger(1)]
    assert world.network.now < 45


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_receiver_that_comes_later_still_gets_the_file(name: str) -> None:
    world = run(name, [1], late=[1])
    assert_only_strangers_are_lost(world, 1)
    assert ends_s(world) < LATE_S + undisturbed_s(name) + MOST_DELAY_BEFORE_S


@pytest.mark.parametrize("name", PROTOCOLS)
def test_strangers_that_fill_all_places(name: str) -> None:
    world = run(name, [1, 2], late=[0, 1])
    assert_only_strangers_are_lost(world, 1, 2)
    assert ends_s(world) < LATE_S + undisturbed_s(name) + MOST_DELAY_BEFORE_S


@pytest.mark.parametrize("name", PROTOCOLS)
def test_those_who_also_say_that_they_have_the_first_of_it_keep_nobody_out(name: str) -> None:
    world = run(name, [1, 2], late=[0, 1], wait=20.0, tells_s=TELLS_S)
    assert_only_strangers_are_lost(world, 1, 2)
    assert ends_s(world) < LATE_S + undisturbed_s(name) + MOST_DELAY_BEFORE_S


@pytest.mark.parametrize("name", PROTOCOLS)
def test_when_they_have_been_found_out_receivers_are_waited_for_as_before(name: str) -> None:
    world = run(name, [1, 2], wait=60.0, late=[0, 1], late_s=40.0)
    assert_only_strangers_are_lost(world, 1, 2)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_and_no_longer(name: str) -> None:
    world = run(name, [1, 2], wait=20.0, late=[0, 1], late_s=200.0)
    assert not world.sender.end.complete
    assert str(stranger(1)) in world.sender.end.reason
    assert 20 <= max(now for now, event in world.sender.events if event is world.sender.end) < 32


@pytest.mark.parametrize("name", PROTOCOLS)
@pytest.mark.parametrize("strangers", [0, 1])
def test_a_receiver_that_is_missing_does(name: str, strangers: int) -> None:
    """It has died before it acknowledged anything, as if it had been a stranger; but it was asked for."""
    world = run(name, range(1, strangers + 1), at_data=True, kills=True)
    assert not world.sender.end.complete
    assert str(world.receivers[1].address) in world.sender.end.reason
