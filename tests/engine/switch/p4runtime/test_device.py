"""What one device does between its calls, in one event loop and without gRPC."""

import asyncio

import pytest
from finsy.proto import U128, p4r, rpc_code

from engine.switch.p4runtime.datapath import MemoryDataPath
from engine.switch.p4runtime.device import Device
from engine.switch.p4runtime.pipeline import build_pipeline
from engine.switch.p4runtime.streams import ClientStream
from engine.switch.p4runtime.write import UPDATES_PER_TURN
from tests.engine.entities import CPU_PORT, DELETE, INSERT, config, frame, id_of, multicast_group, refused, update


def primary_device() -> tuple[Device, MemoryDataPath, ClientStream]:
    """A device that runs the program, its data path, and its primary client's stream."""
    path = MemoryDataPath(cpu_port=CPU_PORT)
    device = Device(1, path)
    stream = ClientStream()
    device.arbitration.update(stream, p4r.MasterArbitrationUpdate(device_id=1, election_id=U128.encode(5)))
    device.commit(build_pipeline(config(), path))
    return device, path, stream


def write_request(count: int, **fields: object) -> p4r.WriteRequest:
    request = p4r.WriteRequest(device_id=1, election_id=U128.encode(5), **fields)  # type: ignore[arg-type]
    request.updates.extend(update(INSERT, multicast_group(n, (1, 0))) for n in range(1, count + 1))
    return request


async def test_a_batch_whose_client_gives_up_is_applied_to_its_end() -> None:
    device, path, _ = primary_device()
    writing = asyncio.create_task(device.write(write_request(5 * UPDATES_PER_TURN)))
    for _ in range(3):
        await asyncio.sleep(0)
    assert path.switch is not None
    assert 0 < len(path.switch.mcast_groups()) < 5 * UPDATES_PER_TURN, "it is under way"
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    async with device.lock:
        assert len(path.switch.mcast_groups()) == 5 * UPDATES_PER_TURN


async def test_a_rollback_whose_client_gives_up_is_complete() -> None:
    device, path, _ = primary_device()
    request = write_request(3 * UPDATES_PER_TURN, atomicity=p4r.WriteRequest.ROLLBACK_ON_ERROR)
    request.updates.append(update(DELETE, multicast_group(9999)))
    writing = asyncio.create_task(device.write(request))
    for _ in range(3):
        await asyncio.sleep(0)
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    async with device.lock:
        assert path.switch is not None
        assert path.switch.mcast_groups() == {}


async def test_a_new_primary_waits_for_the_old_ones_last_write() -> None:
    device, path, _ = primary_device()
    writing = asyncio.create_task(device.write(write_request(5 * UPDATES_PER_TURN)))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    second = ClientStream()
    message = p4r.MasterArbitrationUpdate(device_id=1, election_id=U128.encode(6))
    await device.handle_stream_message(second, p4r.StreamMessageRequest(arbitration=message))
    assert path.switch is not None
    assert len(path.switch.mcast_groups()) == 5 * UPDATES_PER_TURN
    await writing
    with refused(rpc_code.PERMISSION_DENIED):
        await device.write(write_request(1))


async def test_events_of_a_program_that_no_longer_runs_are_dropped() -> None:
    device, path, stream = primary_device()
    request = p4r.WriteRequest(device_id=1, election_id=U128.encode(5))
    request.updates.append(update(INSERT, p4r.DigestEntry(digest_id=id_of("learned_t"))))
    await device.write(request)
    old = path.switch
    assert old is not None
    path.process(1, frame(1))
    _, events = path.wait_events(0)
    device.commit(build_pipeline(config(), path))
    await device.write(request)
    device.notifier.handle_events(old, events)
    stream.close()
    assert [m.WhichOneof("update") async for m in stream.messages()] == []
    device.close()
