"""Endpoints behind a seal, and what their protocols' options become."""

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from canopy_engine import Seal

from hosts import protocols
from hosts.endpoint import Address, Datagram, ReceiverEndpoint, Send, SenderEndpoint
from hosts.parts.bounds import most
from hosts.protocol import Session
from hosts.runtime.datagrams import RUN_BYTES
from hosts.security.complaint import complaint
from hosts.security.keys import GroupKeys
from hosts.security.secured import RUN_PACKETS, SIZES, SecuredReceiver, SecuredSender, sealed_options, secure
from hosts.wire.header import MAX_DATAGRAM_BYTES, SEAL_BYTES, SEALED_VERSION
from tests.hosts.network import Network

KEYS = GroupKeys([(1, bytes(32))])
GROUP = Address("239.1.1.1", 5000)
SLOW = {"webrc": {"session_rate_bps": 1e6, "slot_s": 2.0, "quiescence_s": 10.0, "epoch_s": 0.1}}


def members_of(base: type) -> set[str]:
    """What a class of the seam has that its users call."""
    names = {name for kind in base.__mro__ for name in vars(kind) if not name.startswith("_")}
    return names - {"counters", "run_bytes"}


@pytest.mark.parametrize(("base", "kind"), [(SenderEndpoint, SecuredSender), (ReceiverEndpoint, SecuredReceiver)])
def test_nothing_of_the_seam_passes_the_seal_by(base: type, kind: type) -> None:
    wrapping = kind.__mro__[: kind.__mro__.index(base)]
    assert members_of(base) <= {name for one in wrapping for name in vars(one)}


@pytest.mark.parametrize("name", protocols.names())
def test_a_stream_comes_whole_in_packets_that_fit(name: str) -> None:
    network = Network(1)
    protocol = secure(protocols.get(name), KEYS, random.Random(1), lambda: network.now)
    realtime = not protocol.carries_files or not protocol.knows_receivers
    longest = 0

    def tap(node: str, datagram: Datagram) -> None:
        nonlocal longest
        assert datagram.data[0] == SEALED_VERSION
        longest = max(longest, len(datagram.data))

    network.tap = tap
    network.link("sender", "r", rate_bps=1e6, delay_s=0.01)
    data = random.Random(1).randbytes(100_000)
    session = Session(GROUP, network.address("sender").host, 7, realtime=realtime)
    sender = network.host("sender", protocol.sender(session, random.Random(2), SLOW.get(name)), source=data)
    receiver = network.host("r", protocol.receiver(session, random.Random(3), SLOW.get(name)))
    sender.endless = realtime
    network.run(6.0)
    assert sender.endpoint.session_id == receiver.endpoint.session_id == 7
    assert receiver.endpoint.counters["opened"] > 50, receiver.endpoint.counters
    assert not {"drop_forged", "drop_replayed", "drop_open"} & receiver.endpoint.counters.keys()
    assert longest <= MAX_DATAGRAM_BYTES
    if not realtime:
        assert bytes(receiver.received) == data
        assert receiver.end is not None
        assert receiver.end.complete


@pytest.mark.parametrize("name", protocols.names())
def test_a_sealed_run_leaves_as_one_message(name: str) -> None:
    protocol = secure(protocols.get(name), KEYS, random.Random(1), lambda: 1.8e9)
    core = protocol.sender(Session(GROUP, "10.0.0.1", 7), random.Random(2), SLOW.get(name))
    assert isinstance(core, SecuredSender)
    core.place(Address("10.0.0.1", 4000))
    core.start(now=0.0)
    assert core.core.run_bytes == 0, "who was not told that runs may be sent sends none"
    core.run_bytes = RUN_BYTES
    core.start(now=0.0)
    for size in range(20, MAX_DATAGRAM_BYTES - SEAL_BYTES + 1):
        assert min(core.core.run_bytes // size, RUN_PACKETS) * (size + SEAL_BYTES) <= RUN_BYTES


@pytest.mark.parametrize("name", protocols.names())
def test_packets_are_so_much_shorter(name: str) -> None:
    protocol = protocols.get(name)
    options = sealed_options(protocol, protocol.options())
    (size,) = protocol.option_names.intersection(SIZES)
    longest = most(protocol.options(), size)
    assert getattr(options, size) == min(getattr(protocol.options(), size), longest - SEAL_BYTES)
    with pytest.raises(ValueError, match=r"must be at most .* where packets are sealed"):
        sealed_options(protocol, protocol.parse_options({size: longest - SEAL_BYTES + 1}))


@pytest.mark.parametrize("given", [{}, {"fan_out": 20}])
def test_where_the_sender_signs_it_serves_all(given: Mapping[str, Any]) -> None:
    protocol = protocols.get("mtcp")
    options: Any = protocol.parse_options(given)
    sealed: Any = sealed_options(protocol, options)
    assert sealed.fan_out == options.fan_out
    signed: Any = sealed_options(protocol, options, is_signed=True)
    assert (signed.fan_out, signed.spare) == (given.get("fan_out", 0xFFFF), False)


@pytest.mark.parametrize("name", protocols.names())
def test_an_open_session_s_members_know_a_sealed_packet(name: str) -> None:
    found = protocols.get(name)
    seal = Seal(KEYS.epochs, 5)
    member = found.receiver(Session(GROUP, "10.0.0.1"), random.Random(1))
    member.start(now=0.0)
    source = Address("10.0.0.1", 4000)
    effects = member.receive(Datagram(seal.seal(bytes(60), source, GROUP, 0), source, GROUP), now=0.0)
    assert not [effect for effect in effects if isinstance(effect, Send)]
    assert complaint(member.counters) is not None, member.counters


def test_switches_cannot_help_with_what_they_cannot_read() -> None:
    signed = secure(protocols.get("mtcp"), KEYS, random.Random(1), lambda: 0.0, seed=bytes(32))
    with pytest.raises(ValueError, match="switches copy what a sender signs"):
        signed.sender(Session(GROUP), random.Random(1), {"assist": "switch"})
    shut = replace(protocols.get("rla"), open_heads={})
    with pytest.raises(ValueError, match="rla's feedback is not merged where its packets are sealed"):
        secure(shut, KEYS, random.Random(1), lambda: 0.0).sender(Session(GROUP), random.Random(1), {"assist": "switch"})


def test_switches_can_help_each_protocol_that_has_such() -> None:
    helped = {name for name in protocols.names() if "assist" in protocols.get(name).option_names}
    assert helped == {"arbor", "mtcp", "rla", "tfmcc", "vlmcc"}
    for name in helped:
        protocol = secure(protocols.get(name), KEYS, random.Random(1), lambda: 0.0)
        protocol.sender(Session(GROUP, realtime=name == "vlmcc"), random.Random(1), {"assist": "switch"})


def test_who_leaves_says_so_under_the_seal() -> None:
    protocol = secure(protocols.get("mtcp"), KEYS, random.Random(1), lambda: 0.0)
    sender = protocol.sender(Session(GROUP), random.Random(1))
    sender.place(Address("10.0.0.1", 4000))
    sender.start(now=0.0)
    sends = [effect for effect in sender.close(now=1.0, reason="enough") if isinstance(effect, Send)]
    assert sends
    assert all(send.data[0] == SEALED_VERSION for send in sends)
    assert sender.closed
