"""The bounded queue towards one client."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from finsy.proto import p4r, rpc_code

from engine.switch.p4runtime.errors import P4RuntimeError, not_found
from engine.switch.p4runtime.streams import MAX_WAITING_ARBITRATIONS, MAX_WAITING_MESSAGES, ClientStream


def packet(number: int) -> p4r.StreamMessageResponse:
    return p4r.StreamMessageResponse(packet=p4r.PacketIn(payload=number.to_bytes(4, "big")))


def numbers(messages: list[p4r.StreamMessageResponse]) -> list[int]:
    return [int.from_bytes(m.packet.payload, "big") for m in messages if m.HasField("packet")]


async def take(messages: AsyncIterator[p4r.StreamMessageResponse], count: int) -> list[p4r.StreamMessageResponse]:
    return [await anext(messages) for _ in range(count)]


async def test_messages_come_in_order_and_arbitration_overtakes() -> None:
    stream = ClientStream()
    stream.send(packet(1))
    stream.send(packet(2))
    stream.send_arbitration(p4r.MasterArbitrationUpdate(device_id=3))
    found = await take(stream.messages(), 3)
    assert found[0].arbitration.device_id == 3
    assert numbers(found) == [1, 2]


async def test_a_reader_that_waits_gets_what_comes() -> None:
    stream = ClientStream()
    reader = asyncio.create_task(take(stream.messages(), 2))
    await asyncio.sleep(0)
    stream.send(packet(1))
    await asyncio.sleep(0)
    stream.send(packet(2))
    assert numbers(await reader) == [1, 2]


async def test_a_client_that_does_not_read_costs_bounded_memory() -> None:
    stream = ClientStream()
    sent = [stream.send(packet(n)) for n in range(MAX_WAITING_MESSAGES + 5)]
    assert sent.count(False) == stream.dropped == 5
    for device_id in range(1, 10 * MAX_WAITING_ARBITRATIONS + 1):
        stream.send_arbitration(p4r.MasterArbitrationUpdate(device_id=device_id))
    found = await take(stream.messages(), MAX_WAITING_ARBITRATIONS + MAX_WAITING_MESSAGES)
    assert found[MAX_WAITING_ARBITRATIONS - 1].arbitration.device_id == 10 * MAX_WAITING_ARBITRATIONS
    assert numbers(found) == list(range(MAX_WAITING_MESSAGES))


async def test_closing_ends_the_messages() -> None:
    stream = ClientStream()
    stream.close()
    assert [m async for m in stream.messages()] == []


async def test_closing_with_an_error_raises_it() -> None:
    stream = ClientStream()
    reader = asyncio.create_task(take(stream.messages(), 1))
    await asyncio.sleep(0)
    stream.close(not_found("no device"))
    with pytest.raises(P4RuntimeError) as caught:
        await reader
    assert caught.value.code == rpc_code.NOT_FOUND
