"""A registrar in a process of its own, and members that call it over TLS: what they are told, whom they believe, and
what is left of it all when the registrar is killed."""

import contextlib
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hosts.endpoint import Address
from hosts.programs.keyfile import public
from hosts.programs.registrar_server import MOST_STRANGERS
from hosts.programs.registration import Registration
from hosts.programs.registry import Place, Registry
from hosts.security.keys import KeysError
from hosts.security.link import Link
from hosts.security.messages import MOST_BYTES
from hosts.security.ticket import Ticket
from tests.waiting import wait_for

SERVE = "from hosts.programs.keys_cli import app; app()"


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


class Office:
    """A registrar that may be killed and begun again."""

    def __init__(self, folder: Path) -> None:
        self.registry = Registry(folder)
        self.port = free_port()
        self.registry.create(Place("127.0.0.1", self.port, Address("239.1.1.1", 5000), 3600.0))
        self.said = folder.parent / "said"
        self._process: subprocess.Popen[bytes] | None = None

    def begin(self) -> None:
        with self.said.open("wb") as said:
            self._process = subprocess.Popen(
                [sys.executable, "-c", SERVE, "serve", str(self.registry.folder)], stderr=said
            )
        wait_for(lambda: b"registrar at" in self.said.read_bytes(), "the registrar runs")

    def end(self, number: int = signal.SIGKILL) -> None:
        assert self._process is not None
        os.kill(self._process.pid, number)
        self._process.wait(10.0)

    def ticket(self, name: str) -> Ticket:
        keys = self.registry.enroll(name).keys
        assert isinstance(keys, Ticket)
        return keys

    @property
    def serial(self) -> int:
        return self.registry.epochs(0.0)[0].newest.serial


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    made = Office(tmp_path / "lecture")
    yield made
    if made._process is not None:
        made._process.kill()
        made._process.wait(10.0)


@contextlib.contextmanager
def member(ticket: Ticket, said: list[str] | None = None) -> Iterator[Registration]:
    registration = Registration(ticket, ([] if said is None else said).append)
    registration.begin(30.0)
    try:
        yield registration
    finally:
        registration.stop()


def newest(registration: Registration) -> int:
    return max(number for number, _ in registration.ring.epochs)


def test_an_expelled_member_learns_no_more_and_a_killed_registrar_loses_nothing(office: Office) -> None:
    alice, eve, said = office.ticket("alice"), office.ticket("eve"), list[str]()
    office.begin()
    with member(alice) as one, member(eve, said) as other:
        assert one.ring.epochs == other.ring.epochs
        assert [number for number, _ in one.ring.epochs] == [1]
        office.registry.expel("eve")
        wait_for(lambda: office.serial == 2, "another epoch")
        office.end()  # on disk it is; whether alice was told is a matter of chance
        wait_for(lambda: said, "it says something")
        assert said == ["the registrar says: this member was expelled"]
        assert [number for number, _ in other.ring.epochs] == [1]
        office.begin()
        assert office.serial == 2, "the roll that was asked for has been done"
        wait_for(lambda: one.ring.epochs[-1][0] == 2, "the member has it")
        with member(alice) as again:
            wait_for(lambda: newest(again) == 2, "who came later has it")
        with pytest.raises(KeysError, match=r"^registrar 127.0.0.1:\d+: this member was expelled$"):
            Registration(eve, said.append).begin(30.0)
        assert [number for number, _ in other.ring.epochs] == [1]
    office.end(signal.SIGTERM)
    logged = office.said.read_text()
    assert "1 member(s), epoch 2" in logged
    assert not any(secret in logged for secret in (alice.text, eve.text))


def test_who_has_a_key_of_its_own_gets_the_keys_until_it_is_expelled(office: Office) -> None:
    seed = bytes(range(32))
    ticket = office.registry.enroll("alice", public(seed)).keys
    assert isinstance(ticket, Ticket)
    assert not ticket.token
    office.begin()
    with member(ticket._replace(token=seed)) as one:
        assert one.ring.epochs
        with pytest.raises(KeysError, match="knows no such member"):
            Registration(ticket._replace(token=bytes(32)), print).begin(30.0)
        office.registry.expel("alice")
        wait_for(lambda: office.serial == 2, "another epoch")
        assert [number for number, _ in one.ring.epochs] == [1]


def test_whom_a_member_believes_and_whom_a_registrar(office: Office) -> None:
    alice = office.ticket("alice")
    office.begin()
    for ticket, reason in (
        (alice._replace(fingerprint=bytes(32)), "another fingerprint than the ticket says"),
        (alice._replace(token=bytes(32)), "knows no such member"),
        (alice._replace(port=free_port()), "refused"),
    ):
        with pytest.raises(KeysError, match=reason) as error:
            Registration(ticket, print).begin(2.0)
        assert Link(office.registry.place().session, ticket).text not in str(error.value)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    for words in (b"", b"{}\n", b"x" * 2 * MOST_BYTES, b"\n"):
        with context.wrap_socket(socket.create_connection(("127.0.0.1", office.port), 10.0)) as stranger:
            assert stranger.version() == "TLSv1.3"
            stranger.sendall(words)
            with contextlib.suppress(ConnectionError):
                if words:
                    with stranger.makefile("rb") as heard:
                        assert set(json.loads(heard.readline())) == {"canopy", "challenge"}
                        assert heard.read() == b""
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with (
        pytest.raises((ssl.SSLError, ConnectionError)),
        context.wrap_socket(socket.create_connection(("127.0.0.1", office.port), 10.0)),
    ):
        pass
    with member(alice) as one:
        assert one.ring.epochs


def test_strangers_who_begin_no_handshake_are_bounded(office: Office) -> None:
    alice = office.ticket("alice")
    office.begin()
    with contextlib.ExitStack() as silent:
        for _ in range(MOST_STRANGERS):
            silent.enter_context(socket.create_connection(("127.0.0.1", office.port), 10.0))
        one_more = silent.enter_context(socket.create_connection(("127.0.0.1", office.port), 2.0))
        with contextlib.suppress(ConnectionError):
            assert one_more.recv(1) == b"", "it is hung up on at once"
    with member(alice) as one:
        assert one.ring.epochs


def test_a_registrar_says_what_is_wrong_with_its_folder(office: Office) -> None:
    (office.registry.folder / "epochs.json").write_text("{")
    command = [sys.executable, "-c", SERVE, "serve", str(office.registry.folder)]
    done = subprocess.run(command, check=False, capture_output=True, timeout=60, text=True)
    assert done.returncode == 2
    assert done.stderr == f"canopy: {office.registry.folder}/epochs.json: not whole, or no registrar's file\n"
