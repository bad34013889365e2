"""What is taken of a request before it is parsed: parsing makes many times its size of it, and anybody may send one.

gRPC takes a request in as soon as somebody waits for it, and says nothing of its length before. So of clients that may
be anybody few are waited for at once, and what is longer than their requests need be is refused as bytes. Who has a
certificate that lets it write is known on each of its connections; without certificates only the connection on which a
role's primary has its stream tells anything.
"""

from __future__ import annotations

import asyncio
import ctypes
from collections.abc import AsyncGenerator, AsyncIterable, Callable
from contextlib import aclosing
from typing import Any, Final, NoReturn, TypeVar

import grpc
from google.protobuf.message import DecodeError, Message

from engine.switch.p4runtime.errors import resource_exhausted
from engine.switch.p4runtime.rights import is_known

MOST_BYTES: Final = 64 * 1024
"""Of a message of a client that is not known: a Read of 2,000 entities (ours). Empty updates become 43 times
their size when they are parsed."""
MOST_AT_ONCE: Final = 4
"""Requests of such clients that are waited for at once: as many times gRPC's limit of a message are held at most
(ours)."""
PATIENCE_S: Final = 2.0
"""In which such a request has to come, once it is waited for (ours), and likewise the first message of a stream."""
MOST_BACKUPS: Final = 8
"""Streams of such clients, all roles' together, on which more than a first message is waited for: each may bring a
message of that limit at any time (ours: more than there are controllers)."""

TRIMMED_BYTES: Final = 1 << 20
"""Of a message that was refused, from which on its memory is given back at once (ours)."""
_TRIM: Final[Callable[[int], int] | None] = getattr(ctypes.CDLL(None), "malloc_trim", None)
"""glibc's; others have none."""

M = TypeVar("M", bound=Message)


class Intake:
    """Of one server. `is_primary` says of a connection (gRPC's name for its other end) whether a role's primary has its
    stream there."""

    def __init__(self, is_primary: Callable[[str], bool]) -> None:
        self._is_primary = is_primary
        self._turns = asyncio.Semaphore(MOST_AT_ONCE)
        self._stream_turns = asyncio.Semaphore(MOST_AT_ONCE)  # apart, for a stranger's streams may wait in vain
        self._backups = 0

    async def request(self, kind: type[M], requests: AsyncGenerator[bytes, None], context: Any) -> M:
        """The one request of a call. Ends the call when it is none, too long, or does not come."""
        try:
            async with aclosing(requests):  # which holds what it gave out
                if self._is_trusted(context):
                    octets = await anext(requests)
                else:
                    async with self._turns, asyncio.timeout(PATIENCE_S):
                        octets = await anext(requests)
        except TimeoutError:
            await _refuse(context, grpc.StatusCode.RESOURCE_EXHAUSTED, f"no request within {PATIENCE_S:g} s")
        except StopAsyncIteration:
            await _refuse(context, grpc.StatusCode.INVALID_ARGUMENT, "the call has no request")
        if self.is_too_long(octets, context):
            words, size = too_long(octets), len(octets)
            del octets  # an error's traceback would hold it
            self.give_back(size)
            await _refuse(context, grpc.StatusCode.PERMISSION_DENIED, words)
        try:
            return kind.FromString(octets)
        except DecodeError:
            await _refuse(context, grpc.StatusCode.INVALID_ARGUMENT, f"not a {kind.DESCRIPTOR.name}")

    async def stream(self, messages: AsyncGenerator[bytes, None], context: Any) -> AsyncGenerator[bytes, None]:
        """What a client sends on its stream, until it ends its side. RESOURCE_EXHAUSTED: the first message does not
        come in time, or as many clients that are not known are listened to as may be."""
        try:
            if self._is_trusted(context):
                yield await anext(messages)
            else:
                async with self._stream_turns, asyncio.timeout(PATIENCE_S):
                    octets = await anext(messages)
                yield octets
                del octets
        except TimeoutError:
            raise resource_exhausted(f"no message within {PATIENCE_S:g} s") from None
        except StopAsyncIteration:
            return
        is_backup = not self._is_trusted(context)
        if is_backup and self._backups == MOST_BACKUPS:
            raise resource_exhausted(f"{MOST_BACKUPS} clients that are neither primary nor known have streams already")
        self._backups += is_backup
        try:
            async for octets in messages:
                yield octets
                del octets
        finally:
            self._backups -= is_backup

    def is_too_long(self, octets: bytes, context: Any) -> bool:
        """Whether a message is longer than its sender's may be."""
        return len(octets) > MOST_BYTES and not self._is_trusted(context)

    def _is_trusted(self, context: Any) -> bool:
        return self._is_primary(context.peer()) or is_known(context)

    def give_back(self, octets: int) -> None:
        """A message of so many bytes was refused: the C library keeps what it was in, unless it is asked for it."""
        if octets > TRIMMED_BYTES and _TRIM is not None:
            _TRIM(0)


def generated(requests: AsyncIterable[bytes]) -> AsyncGenerator[bytes, None]:
    """What gRPC hands a call as its requests: a generator, behind an object that cannot be closed."""
    generator = aiter(requests)
    assert isinstance(generator, AsyncGenerator)
    return generator


def too_long(octets: bytes) -> str:
    """Why such a message is refused."""
    return (
        f"a message of {len(octets):,} bytes: more than {MOST_BYTES:,} are taken only on the connection on which a "
        "role's primary client has its stream, or of clients whose certificates let them write"
    )


async def _refuse(context: Any, code: grpc.StatusCode, words: str) -> NoReturn:
    await context.abort(code, words)
    raise AssertionError("abort does not return")
