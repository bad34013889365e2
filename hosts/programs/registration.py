"""A member's connection to its group's registrar, in a thread of its own: the keys change while a program sends or
receives, whatever it is busy with."""

import contextlib
import hashlib
import random
import socket
import ssl
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

from hosts.security.keyring import KeyRing
from hosts.security.keys import KeysError
from hosts.security.membership import Action, Membership
from hosts.security.ticket import Ticket

POLL_S: Final = 0.1
"""So often the thread looks at the clock and at what endpoints have seen (ours)."""
CALL_S: Final = 2.0
"""For a connection, and again for its handshake: both take less than epochs overlap, so that no known one is late."""
FIRST_S: Final = 10.0
"""For which a program that begins waits for its first keys (ours)."""


class Registration:
    """One process's."""

    def __init__(self, ticket: Ticket, say: Callable[[str], None]) -> None:
        """`say`: what a person must know; another thread calls it."""
        self.ring = KeyRing()
        self._ticket = ticket
        self._say = say
        self._core = Membership(ticket, self.ring, random.SystemRandom())
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._context.minimum_version = ssl.TLSVersion.TLSv1_3
        self._context.check_hostname = False  # its certificate is compared as a whole
        self._context.verify_mode = ssl.CERT_NONE
        self._socket: ssl.SSLSocket | None = None
        self._problem = "no answer"
        self._has_keys = threading.Event()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="registration", daemon=True)

    def begin(self, patience_s: float = FIRST_S) -> KeyRing:
        """The group's keys, which follow the registrar from now on. KeysError: there are none."""
        self._thread.start()
        if not self._has_keys.wait(patience_s) or not self.ring.epochs:
            self.stop()
            raise KeysError(f"registrar {self._ticket.host}:{self._ticket.port}: {self._problem}")
        return self.ring

    def stop(self) -> None:
        """Hang up."""
        self._stopped.set()

    def _run(self) -> None:
        self._do(self._core.start(time.monotonic()))
        while not self._stopped.is_set() and self._core.refused is None:
            self._listen()
            self._do(self._core.handle_timer(time.monotonic()))
            if self.ring.epochs:
                self._has_keys.set()
        self._hang_up()
        if self._core.refused is not None:
            self._problem = self._core.refused
            if self.ring.epochs:
                self._say(f"the registrar says: {self._core.refused}")
            self._has_keys.set()

    def _listen(self) -> None:
        """For a while."""
        if self._socket is None:
            self._stopped.wait(POLL_S)
            return
        try:
            data = self._socket.recv(1 << 14)
        except TimeoutError:
            return
        except OSError:
            data = b""
        now = time.monotonic()
        if data:
            self._do(self._core.heard(data, now))
        else:
            self._hang_up()
            self._do(self._core.lost(now))

    def _do(self, actions: Sequence[Action | bytes]) -> None:
        for action in actions:
            if action is Action.CALL:
                self._call()
            elif action is Action.HANG_UP:
                self._hang_up()
            elif isinstance(action, bytes) and self._socket is not None:
                with contextlib.suppress(OSError):  # what is lost shows when there is no answer
                    self._socket.sendall(action)

    def _call(self) -> None:
        ticket = self._ticket
        try:
            plain = socket.create_connection((ticket.host, ticket.port), CALL_S)
            try:
                found = self._context.wrap_socket(plain)
            except BaseException:
                plain.close()
                raise
        except OSError as error:
            self._problem = error.strerror or str(error) or "no answer"
            self._do(self._core.lost(time.monotonic()))
            return
        certificate = found.getpeercert(binary_form=True) or b""
        if hashlib.sha256(certificate).digest() != ticket.fingerprint:
            found.close()
            self._problem = "whoever answers there has another fingerprint than the ticket says"
            self._do(self._core.lost(time.monotonic()))
            return
        found.settimeout(POLL_S)
        self._socket = found
        self._do(self._core.connected(time.monotonic()))

    def _hang_up(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
