"""`canopy keys serve`: a group's registrar on TLS 1.3."""

import asyncio
import contextlib
import secrets
import signal
import ssl
import time
from collections.abc import Callable
from typing import Final

from hosts.programs.registry import Registry
from hosts.security.keys import SECRET_BYTES, KeysError
from hosts.security.messages import (
    CHALLENGE_BYTES,
    MOST_BYTES,
    Challenge,
    Hello,
    decode_hello,
    encode_challenge,
    encode_keys,
    encode_refusal,
    is_again,
)
from hosts.security.registrar import Registrar

LOOK_S: Final = 0.25
"""So often it looks whether commands have changed its folder (ours)."""
HELLO_S: Final = 5.0
"""In which who connects must have said who it is, the handshake among it (ours)."""
SILENCE_S: Final = 60.0
"""After which a member that says nothing is gone: they ask four times as often (ours)."""
PAUSE_S: Final = 0.2
"""Between answers on one connection (ours)."""
CLOSE_S: Final = 1.0
"""In which a connection that ends has taken what was still said (ours)."""
MOST_STRANGERS: Final = 256
"""Connections that have not said who they are, those without a handshake yet among them (ours)."""
MOST_CONNECTIONS: Final = 8
"""Of one member: a process each (ours)."""
MOST_UNSENT_BYTES: Final = 1 << 16
"""What a member may leave unread before it is cut off (ours)."""


class RegistrarServer:
    """One group's."""

    def __init__(self, registry: Registry, say: Callable[[str], None]) -> None:
        """KeysError, OSError."""
        self._registry = registry
        self._say = say
        self._place = registry.place()
        self._ahead = time.monotonic() - time.time()
        schedule, turns = registry.epochs(time.monotonic())
        self._changed_at = registry.members_changed_at
        members, every_s = registry.members(), self._place.every_s
        fingerprint = registry.fingerprint()
        self._core = Registrar(
            members, schedule, turns, every_s, lambda: secrets.token_bytes(SECRET_BYTES), fingerprint
        )
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.minimum_version = ssl.TLSVersion.TLSv1_3
        try:
            self._context.load_cert_chain(registry.certificate, registry.key)
        except ssl.SSLError:
            raise KeysError(f"{registry.certificate}, {registry.key}: not a certificate and its key") from None
        self._members: dict[asyncio.StreamWriter, tuple[Hello, Challenge]] = {}
        self._strangers = 0
        self._complaint = ""

    async def run(self, ready: Callable[[], None] | None = None) -> None:
        """Until SIGTERM or SIGINT. OSError: it cannot listen there."""
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, ended.set)
        server = await asyncio.start_server(self._connected, self._place.host, self._place.port, limit=MOST_BYTES)
        epoch = self._core.schedule.newest.serial
        count = sum(not one.expelled for one in self._core.members.members.values())
        self._say(f"registrar at {self._place.host}:{self._place.port}, {count} member(s), epoch {epoch}")
        if ready is not None:
            ready()
        try:
            while not ended.is_set():
                self._look()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(ended.wait(), LOOK_S)
        finally:
            server.close()
            for writer in list(self._members):
                writer.transport.abort()

    def _look(self) -> None:
        """Follow the folder and the clock."""
        try:
            changed_at = self._registry.members_changed_at
            if changed_at != self._changed_at:
                self._core.members = self._registry.members()
                self._changed_at = changed_at
                self._part()
            if self._roll():
                self._say(f"epoch {self._core.schedule.newest.serial}")
                for writer in list(self._members):
                    self._tell(writer)
            self._complaint = ""
        except (KeysError, OSError) as error:  # it goes on with what it has, and says so once
            if str(error) != self._complaint:
                self._complaint = str(error)
                self._say(str(error))

    def _roll(self) -> bool:
        """Whether there is a new epoch, which is on disk then: one that is not, nobody is told of."""
        core = self._core
        before = core.schedule, core.turns
        if not core.handle_timer(time.monotonic()):
            return False
        try:
            self._registry.keep_epochs(core.schedule, core.turns, self._ahead)
        except OSError:
            core.schedule, core.turns = before
            raise
        return True

    def _part(self) -> None:
        """From who was expelled, or has another ticket now."""
        for writer, (hello, challenge) in list(self._members.items()):
            refusal = self._core.admit(hello, challenge)
            if refusal is not None:
                self._say(f"{hello.name}: {refusal.reason}")
                writer.write(encode_refusal(refusal))
                writer.close()
                self._members.pop(writer, None)

    def _tell(self, writer: asyncio.StreamWriter) -> None:
        if writer.transport.get_write_buffer_size() > MOST_UNSENT_BYTES:
            self._members.pop(writer, None)
            writer.transport.abort()
            return
        writer.write(encode_keys(self._core.schedule, time.monotonic()))

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._strangers >= MOST_STRANGERS:
            writer.transport.abort()
            return
        self._strangers += 1
        is_stranger = True
        challenge = Challenge(secrets.token_bytes(CHALLENGE_BYTES))
        try:
            async with asyncio.timeout(HELLO_S):
                await writer.start_tls(self._context)  # nothing before it may wait: what comes would be lost
                writer.write(encode_challenge(challenge))
                hello = decode_hello(await reader.readline())
            if not self._admit(hello, challenge, writer):
                await asyncio.wait_for(writer.drain(), HELLO_S)
                return
            self._strangers -= 1
            is_stranger = False
            while is_again(await asyncio.wait_for(reader.readline(), SILENCE_S)):
                await asyncio.sleep(PAUSE_S)
                if writer not in self._members:
                    return
                self._tell(writer)
        except (KeysError, OSError, TimeoutError, ValueError, EOFError):
            pass  # who talks nonsense, or nothing, is hung up on
        finally:
            self._members.pop(writer, None)
            writer.close()
            with contextlib.suppress(OSError, TimeoutError):
                await asyncio.wait_for(writer.wait_closed(), CLOSE_S)
            writer.transport.abort()
            self._strangers -= is_stranger

    def _admit(self, hello: Hello, challenge: Challenge, writer: asyncio.StreamWriter) -> bool:
        refusal = self._core.admit(hello, challenge)
        if refusal is not None:
            writer.write(encode_refusal(refusal))
            return False
        if sum(one.name == hello.name for one, _ in self._members.values()) >= MOST_CONNECTIONS:
            return False
        self._members[writer] = hello, challenge
        self._tell(writer)
        return True
