"""Protocols by name, and their parameters."""

import random
import subprocess
import sys
from dataclasses import replace

import pytest

from hosts import protocols
from hosts.endpoint import Address, Datagram, ReceiverEndpoint, Send, SenderEndpoint
from hosts.protocol import Session
from hosts.protocols.mtcp.options import MtcpOptions
from hosts.wire.manifest import Manifest

SESSION = Session(Address("232.1.1.1", 5000), "10.0.0.1", 7)


def test_a_package_is_all_it_takes() -> None:
    assert "mtcp" in protocols.names()
    assert protocols.listed() == protocols.names()
    mtcp = protocols.get("mtcp")
    assert isinstance(mtcp.sender(SESSION, random.Random(1)), SenderEndpoint)
    assert isinstance(mtcp.receiver(SESSION, random.Random(1), {"ack_every": 4}), ReceiverEndpoint)


def test_what_each_carries_is_known_without_loading_it() -> None:
    known = [protocols.get(name) for name in protocols.names()]
    assert protocols.carrying("files") == [protocol.name for protocol in known if protocol.carries_files]
    assert protocols.carrying("realtime") == [protocol.name for protocol in known if protocol.carries_realtime]


@pytest.mark.parametrize("name", protocols.names())
def test_endpoints_can_be_sampled_before_they_start(name: str) -> None:
    """As a trace's first row does."""
    protocol = protocols.get(name)
    session = replace(SESSION, realtime=not protocol.carries_files)
    for endpoint in (protocol.sender(session, random.Random(1)), protocol.receiver(session, random.Random(1))):
        assert endpoint.sample(now=1e5)


def test_a_session_of_any_source_admits_everybody() -> None:
    sender, other = Address("10.0.0.1", 9), Address("10.0.0.2", 9)
    assert [SESSION.admits(address) for address in (sender, other)] == [True, False]
    anyone = replace(SESSION, source=None)
    assert [anyone.admits(address) for address in (sender, other)] == [True, True]


@pytest.mark.parametrize("name", protocols.names())
def test_each_has_its_package_s_name(name: str) -> None:
    assert protocols.get(name).name == name


@pytest.mark.parametrize("name", protocols.names())
def test_what_receivers_tell_is_known_as_feedback(name: str) -> None:
    """A host's time for each packet of feedback (`feedback` in a scenario) goes by this."""
    protocol = protocols.get(name)
    assert bool(protocol.feedback_types) == protocol.knows_receivers
    for number in protocol.feedback_types:
        assert protocol.is_feedback(bytes([0, protocol.number, number, *bytes(60)]))
    assert not protocol.is_feedback(bytes([0, protocol.number ^ 1, *protocol.feedback_types, *bytes(60)]))


def test_one_is_had_without_the_others() -> None:
    """Numpy, which WEBRC's needs, costs each of a session's programs a fifth of a second."""
    code = "import sys; from hosts.protocols import get; get('mtcp'); sys.exit('hosts.protocols.webrc' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("name", ["sctp", "fec", "cli", "mtcp.sender", ""])
def test_unknown_protocol(name: str) -> None:
    with pytest.raises(
        ValueError, match=rf"unknown protocol '{name}' \(known: arbor, mtcp, rla, tfmcc, vlmcc, webrc\)"
    ):
        protocols.get(name)


def test_numbers_are_distinct() -> None:
    numbers = [protocols.get(name).number for name in protocols.names()]
    assert len(set(numbers)) == len(numbers)


@pytest.mark.parametrize(("text", "value"), [("2", 2), (2, 2), (2.0, 2), ("2e1", 20)])
def test_parameters_from_text_and_numbers(text: object, value: int) -> None:
    options = protocols.get("mtcp").parse_options({"ack_every": text, "alpha": "1.5"})
    assert isinstance(options, MtcpOptions)
    assert options.ack_every == value
    assert type(options.ack_every) is int
    assert options.alpha == 1.5


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"ack_evry": 1}, "mtcp has no parameter 'ack_evry'"),
        ({"ack_every": "two"}, "parameter 'ack_every' must be of type int, not 'two'"),
        ({"ack_every": 1.5}, "must be of type int"),
        ({"ack_every": True}, "must be of type int"),
        ({"ack_every": "inf"}, "must be of type int"),
        ({"alpha": None}, "parameter 'alpha' must be of type float"),
        ({"ack_every": 0}, "'ack_every' must be in 1..65535"),
        ({"payload_bytes": 9000}, "'payload_bytes' must be in"),
        ({"alpha": 5, "beta": 2}, "alpha <= beta"),
        ({"drop_after_s": 0}, "'drop_after_s' must be positive"),
        ({"ack_delay_s": "nan"}, "'ack_delay_s' must be positive"),
        ({"rto_margin_s": -1}, "'rto_margin_s' must not be negative"),
        ({"buffer_bytes": 1000}, "'buffer_bytes' must hold"),
    ],
)
def test_bad_parameters_are_named(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        protocols.get("mtcp").parse_options(parameters)


@pytest.mark.parametrize("name", protocols.names())
def test_whose_session_a_datagram_is(name: str) -> None:
    """Of what a sender sends first, and of nothing else."""
    protocol = protocols.get(name)
    session = Session(Address("232.1.1.1", 5000), None, 77, realtime=not protocol.carries_files)
    sender = protocol.sender(session, random.Random(1))
    effects = [*sender.start(now=0.0)]
    if not protocol.knows_receivers:  # it waits for nobody
        content = Manifest("file", 10_000, "0" * 64).encode() + bytes(10_000)
        effects += [*sender.write(content, now=0.0), *sender.finish(now=0.0)]
    while not (sends := [effect for effect in effects if isinstance(effect, Send)]):
        assert sender.wake_at is not None
        effects += sender.handle_timer(now=sender.wake_at)
    here = Address("10.0.0.1", 4000)
    assert protocol.session_of(Datagram(sends[0].data, here, session.group)) == 77
    for data in (b"", sends[0].data[:7], bytes(200)):
        assert protocol.session_of(Datagram(data, here, session.group)) is None
