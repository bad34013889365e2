"""What is taken of a request before it is parsed."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest
from finsy.proto import p4r, rpc_code

from engine.switch.p4runtime import intake
from engine.switch.p4runtime.intake import MOST_AT_ONCE, MOST_BACKUPS, MOST_BYTES, Intake
from engine.switch.p4runtime.rights import NAME_KEY, READER
from tests.engine.entities import action, id_of, table_entry
from tests.engine.entities import refused as refused_by
from tests.engine.served import Controller, Served, refused_with

PRIMARY, STRANGER = "ipv4:127.0.0.1:1", "ipv4:127.0.0.1:2"
LONG = b"\x22\x00" * (MOST_BYTES // 2 + 1)
"""Empty updates."""


class RefusedError(Exception):
    """With its status."""


class Context:
    """Of a call from somewhere, by somebody with a certificate of that name or without one."""

    def __init__(self, peer: str, name: str | None = None) -> None:
        self._peer = peer
        self._known = {} if name is None else {NAME_KEY: [name.encode()]}

    def auth_context(self) -> dict[str, list[bytes]]:
        return self._known

    def peer(self) -> str:
        return self._peer

    async def abort(self, code: grpc.StatusCode, words: str) -> None:
        raise RefusedError(code, words)


class NeverParsed:
    """A kind of message."""

    @classmethod
    def FromString(cls, octets: bytes) -> Any:  # noqa: N802
        raise AssertionError("parsed")


async def messages(*octets: bytes) -> AsyncGenerator[bytes, None]:
    for one in octets:
        yield one


async def silence() -> AsyncGenerator[bytes, None]:
    await asyncio.Event().wait()
    yield b""


def make() -> Intake:
    return Intake(lambda peer: peer == PRIMARY)


def refused(code: grpc.StatusCode) -> pytest.RaisesExc[RefusedError]:
    return pytest.raises(RefusedError, check=lambda error: error.args[0] is code)


def test_a_long_message_is_the_primary_s() -> None:
    async def run(peer: str, kind: type[Any]) -> Any:
        return await make().request(kind, messages(LONG), Context(peer))

    assert len(asyncio.run(run(PRIMARY, p4r.WriteRequest)).updates) == len(LONG) // 2
    with refused(grpc.StatusCode.PERMISSION_DENIED):
        asyncio.run(run(STRANGER, NeverParsed))


def test_or_of_a_client_whose_certificate_lets_it_write() -> None:
    """On any of its connections."""

    async def run(name: str, kind: type[Any]) -> Any:
        return await make().request(kind, messages(LONG), Context(STRANGER, name))

    assert len(asyncio.run(run("controller", p4r.WriteRequest)).updates) == len(LONG) // 2
    with refused(grpc.StatusCode.PERMISSION_DENIED):
        asyncio.run(run(READER, NeverParsed))


def test_what_is_no_message_is_refused_in_words() -> None:
    with refused(grpc.StatusCode.INVALID_ARGUMENT) as caught:
        asyncio.run(make().request(p4r.WriteRequest, messages(b"\xff"), Context(STRANGER)))
    assert "WriteRequest" in str(caught.value)
    with refused(grpc.StatusCode.INVALID_ARGUMENT):
        asyncio.run(make().request(p4r.WriteRequest, messages(), Context(STRANGER)))


def test_a_stranger_s_request_comes_soon_or_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "PATIENCE_S", 0.01)
    with refused(grpc.StatusCode.RESOURCE_EXHAUSTED):
        asyncio.run(make().request(p4r.WriteRequest, silence(), Context(STRANGER)))


@asynccontextmanager
async def strangers(ask: Callable[[AsyncGenerator[bytes, None]], Coroutine[Any, Any, Any]]) -> AsyncIterator[int]:
    """Three times as many of their calls, on which nothing comes, as are waited for at once: how many those are."""
    waiting = 0

    async def waits() -> AsyncGenerator[bytes, None]:
        nonlocal waiting
        waiting += 1
        await asyncio.Event().wait()
        yield b""

    calls = [asyncio.create_task(ask(waits())) for _ in range(3 * MOST_AT_ONCE)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    yield waiting
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)


async def test_few_strangers_are_waited_for_at_once_and_the_primary_waits_for_none() -> None:
    taken = make()
    async with strangers(lambda sent: taken.request(p4r.WriteRequest, sent, Context(STRANGER))) as waiting:
        assert waiting == MOST_AT_ONCE
        assert await taken.request(p4r.WriteRequest, messages(b""), Context(PRIMARY)) == p4r.WriteRequest()


async def test_few_strangers_streams_are_waited_for_at_once_and_the_primary_s_is_not_behind_them() -> None:
    taken = make()

    async def first(sent: AsyncGenerator[bytes, None]) -> bytes:
        return await anext(taken.stream(sent, Context(STRANGER)))

    async with strangers(first) as waiting:
        assert waiting == MOST_AT_ONCE
        assert [one async for one in taken.stream(messages(b"1", b"2"), Context(PRIMARY))] == [b"1", b"2"]


async def test_a_stranger_s_stream_says_something_soon_or_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "PATIENCE_S", 0.01)
    taken = make()
    for _ in range(MOST_AT_ONCE + 1):
        with refused_by(rpc_code.RESOURCE_EXHAUSTED):
            await anext(taken.stream(silence(), Context(STRANGER)))
    assert [one async for one in taken.stream(messages(), Context(STRANGER))] == []


async def test_few_backups_are_listened_to_who_are_not_known() -> None:
    async def talks() -> AsyncGenerator[bytes, None]:
        while True:
            yield b"1"

    taken = make()
    streams = [taken.stream(talks(), Context(STRANGER)) for _ in range(MOST_BACKUPS + 1)]
    for stream in streams[:-1]:
        assert [await anext(stream), await anext(stream)] == [b"1", b"1"]
    late = streams.pop()
    await anext(late)
    with refused_by(rpc_code.RESOURCE_EXHAUSTED):
        await anext(late)
    for context in (Context(PRIMARY), Context(STRANGER, "controller")):
        stream = taken.stream(talks(), context)
        assert [await anext(stream), await anext(stream)] == [b"1", b"1"]
        await stream.aclose()
    await streams.pop().aclose()
    again = taken.stream(talks(), Context(STRANGER))
    assert [await anext(again), await anext(again)] == [b"1", b"1"]
    for stream in (*streams, again):
        await stream.aclose()


def test_over_the_wire_only_the_primary_s_connection_takes_long_messages(served: Served, primary: Controller) -> None:
    """The stranger knows the primary's election id."""
    entries = [table_entry("l2", {"dst": dst}, action("forward", port=1)) for dst in range(50)]
    for entry in entries:
        entry.metadata = bytes(MOST_BYTES // 40)
    pool = [("grpc.use_local_subchannel_pool", 1)]  # a connection of its own
    stranger = Controller(served.address, options=pool)
    try:
        stranger.election_id = primary.election_id
        with refused_with(grpc.StatusCode.PERMISSION_DENIED):
            stranger.insert(*entries)
        packet = p4r.PacketOut(payload=bytes(MOST_BYTES + 1))
        stranger.send(p4r.StreamMessageRequest(packet=packet))
        with refused_with(grpc.StatusCode.PERMISSION_DENIED):
            stranger.next("error")
    finally:
        stranger.close()
    assert primary.read(p4r.TableEntry(table_id=id_of("l2"))) == []
    primary.insert(*entries)
    assert len(primary.read(p4r.TableEntry(table_id=id_of("l2")))) == len(entries)
