"""A member of a signed session, who has the group's keys and sends from any address, cannot pose as the sender:
receivers go on as they do without it."""

import random
from collections import Counter
from typing import Any

import pytest
from canopy_engine import Seal, Signer

from hosts import protocols
from hosts.endpoint import Address, Datagram
from hosts.protocol import Session
from hosts.security.keys import GroupKeys
from hosts.security.manifest import Manifest, encode_manifest, is_manifest, packet_hash
from hosts.security.secured import secure
from hosts.wire.tree.checking import TreeChecker
from hosts.wire.tree.growing import GrownSource
from tests.hosts.host import Host
from tests.hosts.network import Network

GROUP = Address("239.6.0.0", 5000)
SEED = bytes(range(32))
KEYS = GroupKeys([(1, bytes(range(32)))], Signer(SEED).public)
OPTIONS: dict[str, dict[str, Any]] = {
    "webrc": {"session_rate_bps": 1e6, "slot_s": 2.0, "quiescence_s": 10.0, "epoch_s": 0.1}
}
FORGED_PER_S = 200
RUN_S = 4.0


class Member:
    """Reads all, and sends what it likes to receivers, from the sender's address most of the time."""

    def __init__(self, network: Network, sender: Address, *, plays_again: bool = False) -> None:
        self.rng = random.Random(5)
        self.network = network
        self.sender = sender
        self.plays_again = plays_again
        self.seal = Seal(KEYS.epochs, 99)
        self.heard: list[tuple[str, bytes, Address]] = []
        self.sent = 0
        self.ends = False

    def hear(self, node: str, datagram: Datagram) -> None:
        if node in ("r0", "r1") and datagram.source == self.sender:
            opened = self.seal.open(datagram.data, datagram.source, datagram.destination, int(self.network.now))
            if isinstance(opened, bytes):
                self.heard.append((node, opened, datagram.destination))

    def act(self) -> None:
        if self.ends:
            return
        if self.heard:
            node, packet, destination = self.rng.choice(self.heard[-50:])
            forged = packet if self.plays_again else self.forged(packet)
            source = self.sender if self.plays_again or self.rng.random() < 0.8 else Address("10.9.9.9", 9)
            now = int(self.network.now)
            if destination == GROUP or self.plays_again or self.rng.random() < 0.5:
                victim = self.network.hosts[node]
            else:
                victim = self.network.hosts["r0"]
                destination = victim.address
            sealed = self.seal.seal(forged, source, destination, now)
            self.sent += 1
            victim.receive(Datagram(sealed, source, destination))
        self.network.at(self.network.now + self.rng.expovariate(FORGED_PER_S), self.act)

    def forged(self, packet: bytes) -> bytes:
        """Of one that the sender has sent: with other bytes, of another type, or signed by somebody else."""
        kind = self.rng.randrange(3)
        if is_manifest(packet) and kind:
            evil = packet_hash(b"evil")
            manifest = Manifest(self.rng.getrandbits(64), 0, 0, int(self.network.now), [evil], [])
            return encode_manifest(manifest, Signer(bytes(32)), self.sender, GROUP)
        data = bytearray(packet)
        if kind == 0:
            data[self.rng.randrange(len(data))] ^= 1 << self.rng.randrange(8)
        elif kind == 1:
            data[2] = self.rng.randrange(12)
        else:
            data[8:] = self.rng.randbytes(len(data[8:]))
        return bytes(data) if data != packet else b"\x01" + packet


def session(name: str, kind: str) -> tuple[list[Host], Member]:
    """One that has run for a while."""
    network = Network(1)
    found = protocols.get(name)
    protocol = secure(found, KEYS, random.Random(1), lambda: network.now, signer=KEYS.signer, seed=SEED)
    realtime = not protocol.carries_files or not protocol.knows_receivers
    source = network.address("sender").host
    network.link("sender", "hub", rate_bps=1e6, delay_s=0.005)
    sender = protocol.sender(Session(GROUP, None, 7, 2, realtime=realtime), random.Random(1), OPTIONS.get(name))
    data = random.Random(1).randbytes(200_000)
    if kind == "tree":
        assert sender.checked_bytes is not None
        grown = GrownSource(Bytes(data), *sender.checked_bytes)
        data = b"".join(iter(lambda: grown.read(1000), b""))
    hosts = [network.host("sender", sender, source=data)]
    hosts[0].endless = realtime
    for number in range(2):
        network.link("hub", f"r{number}", rate_bps=10e6, delay_s=0.005, loss=0.01)
        receiver = protocol.receiver(
            Session(GROUP, source, 7, realtime=realtime), random.Random(number), OPTIONS.get(name)
        )
        if kind == "tree":
            receiver.check_by(TreeChecker())
        hosts.append(network.host(f"r{number}", receiver))
    member = Member(network, network.address("sender"), plays_again=kind == "again")
    network.tap = member.hear
    if kind != "alone":
        network.at(0.01, member.act)
    network.run(RUN_S)
    if kind == "tree":
        member.ends = True
        network.run(10 * RUN_S)
    return hosts, member


@pytest.mark.parametrize("name", protocols.names())
def test_a_member_that_poses_as_the_sender_changes_nothing(name: str) -> None:
    alone, _ = session(name, "alone")
    attacked, member = session(name, "forged")
    assert member.sent > FORGED_PER_S
    for one, other in zip(alone, attacked, strict=True):
        assert one.events == other.events
        assert one.progress == other.progress
    dropped = sum((Counter(one.endpoint.counters) for one in attacked), Counter())
    assert dropped["drop_unsigned"] > FORGED_PER_S
    assert dropped["signed"] > 20
    whole = protocols.get(name).carries_files and protocols.get(name).knows_receivers
    assert not whole or all(bytes(one.received) == alone[0].source for one in attacked[1:])


class Bytes:
    """A content."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def read(self, space: int) -> bytes:
        piece = self.data[self.at : self.at + space]
        self.at += len(piece)
        return piece

    def rewind(self) -> None:
        self.at = 0


@pytest.mark.parametrize("name", ["mtcp", "rla"])
def test_of_a_file_with_a_tree_it_changes_no_byte(name: str) -> None:
    """Heads of its packets are not signed one by one, so that it may slow the session down as long as it goes on."""
    hosts, member = session(name, "tree")
    assert member.sent > FORGED_PER_S
    for one in hosts[1:]:
        assert bytes(one.received) == hosts[0].source
        assert one.end is not None
        assert one.end.complete
        assert one.endpoint.counters["drop_unsigned"] > 10
        assert one.endpoint.counters["signed"] < 40


@pytest.mark.parametrize("name", ["mtcp", "rla", "tfmcc", "arbor"])
def test_what_it_plays_again_does_no_harm(name: str) -> None:
    attacked, member = session(name, "again")
    assert member.sent > FORGED_PER_S
    for one in attacked[1:]:
        assert bytes(one.received) == attacked[0].source
        assert one.end is not None
        assert one.end.complete


@pytest.mark.parametrize("seed", [bytes(32), None])
def test_without_the_sender_s_key_nothing_is_taken(seed: bytes | None) -> None:
    """The sender signs with another, or not at all."""
    network, found = Network(1), protocols.get("mtcp")
    protocol = secure(found, KEYS, random.Random(1), lambda: network.now, signer=KEYS.signer, seed=seed)
    network.link("sender", "r")
    network.host("sender", protocol.sender(Session(GROUP), random.Random(1)), source=b"data")
    receiver = network.host("r", protocol.receiver(Session(GROUP), random.Random(2)))
    network.run(3.0)
    assert receiver.endpoint.session_id is None
    assert receiver.endpoint.counters["drop_unsigned"] > 5
    assert "signed" not in receiver.endpoint.counters


def test_an_agent_speaks_for_itself() -> None:
    protocol = secure(protocols.get("mtcp"), KEYS, random.Random(1), lambda: 0.0, signer=KEYS.signer)
    with pytest.raises(ValueError, match="has no agents"):
        protocol.receiver(Session(GROUP), random.Random(1), {"agent": True})
