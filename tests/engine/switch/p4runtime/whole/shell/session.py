"""A session of p4runtime-shell with a switch that runs entities.p4: `session.py ADDRESS P4INFO JSON`.

The shell's own interpreter runs this. What the test is to do goes to stdout, a line each: `frame PORT HEX` lets a frame
arrive at the switch, `advance MICROSECONDS` lets its time pass. Ends with status 0 when everything was as it should be.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import p4runtime_sh.shell as sh
from p4runtime_sh.p4runtime import P4RuntimeWriteException

LIMIT_S = 20
CPU_PORT = 510
PADDING = "0800" + "00" * 20


def ask(*words: object) -> None:
    print(*words, flush=True)


def frame(port: int, dst: int, src: int = 0xAA) -> bytes:
    """Let a frame arrive at a port; its bytes."""
    made = bytes.fromhex(f"{dst:012x}{src:012x}{PADDING}")
    ask("frame", port, made.hex())
    return made


@contextmanager
def refused(code: str) -> Iterator[None]:
    """The block's write, of one update, is refused with this code."""
    answer = "OK"
    try:
        yield
    except P4RuntimeWriteException as error:
        answer = str(error)
    assert code in answer, f"not {code} but {answer}"


def tables() -> None:
    entry = sh.TableEntry("l2")(action="forward")
    entry.match["dst"] = "00:00:00:00:00:01"
    entry.action["port"] = "3"
    entry.insert()
    with refused("ALREADY_EXISTS"):
        entry.insert()
    entry.action["port"] = "4"
    entry.modify()
    (read,) = sh.TableEntry("l2").read()
    assert read.action.msg().params[0].value == b"\x04", read

    acl = sh.TableEntry("acl")(action="deny", priority=7)
    acl.match["src"] = "00:00:00:00:00:00&&&00:00:00:00:ff:00"
    acl.match["type"] = "0x86dd"
    acl.match["ingress_port"] = "1..4"
    acl.insert()
    with refused("INVALID_ARGUMENT"):
        acl.priority = 0
        acl.insert()
    (read,) = sh.TableEntry("acl").read()
    assert read.priority == 7
    assert sorted(match.field_id for match in read.msg().match) == [1, 2, 3]

    default = sh.TableEntry("keyless")(action="forward", is_default=True)
    default.action["port"] = "2"
    default.modify()
    (read,) = sh.TableEntry("keyless")(is_default=True).read()
    assert read.action.action_name == "Pipe.forward", read

    entry.delete()
    with refused("NOT_FOUND"):
        entry.delete()
    assert list(sh.TableEntry("l2").read()) == []
    acl.priority = 7
    acl.delete()


def profiles() -> None:
    for number in (1, 2):
        member = sh.ActionProfileMember("spread")(member_id=number, action="forward")
        member.action["port"] = str(number)
        member.insert()
    sh.ActionProfileGroup("spread")(group_id=5).add(1).add(2, weight=3).insert()
    route = sh.TableEntry("routes")(group_id=5)
    route.match["dst"] = "00:10:00:00:00:00/12"
    route.insert()
    (group,) = sh.ActionProfileGroup("spread").read()
    assert [(member.member_id, member.weight) for member in group.members] == [(1, 1), (2, 3)]
    with refused("FAILED_PRECONDITION"):
        member.delete()
    route.delete()
    group.delete()
    for read in list(sh.ActionProfileMember("spread").read()):
        read.delete()
    shot = sh.TableEntry("routes")
    shot.match["dst"] = "00:20:00:00:00:00/12"
    shot.oneshot.add(sh.Action("drop"), weight=2)
    shot.insert()
    (read,) = sh.TableEntry("routes").read()
    assert [action.weight for action in read.oneshot.actions] == [2]
    shot.delete()


def replication() -> None:
    group = sh.MulticastGroupEntry(9).add(1, 1).add(2, 1)
    group.insert()
    group.add(3)
    group.modify()
    (read,) = sh.MulticastGroupEntry().read()
    assert [(replica.egress_port, replica.instance) for replica in read.replicas] == [(1, 1), (2, 1), (3, 0)]
    clone = sh.CloneSessionEntry(5).add(4)
    clone.packet_length_bytes = 30
    clone.insert()
    (read,) = sh.CloneSessionEntry(5).read()
    assert (read.session_id, read.packet_length_bytes) == (5, 30)
    clone.delete()
    group.delete()
    assert list(sh.MulticastGroupEntry().read()) == []


def cells() -> None:
    counter = sh.CounterEntry("port_counter")(index=3)
    counter.packet_count, counter.byte_count = 8, 9
    counter.modify()
    (read,) = sh.CounterEntry("port_counter")(index=3).read()
    assert (read.packet_count, read.byte_count) == (8, 9)
    assert len(list(sh.CounterEntry("port_counter").read())) == 512
    meter = sh.MeterEntry("cell_meter")(index=2)
    meter.cir, meter.cburst, meter.pir, meter.pburst = 10, 2, 20, 4
    meter.modify()
    (read,) = sh.MeterEntry("cell_meter")(index=2).read()
    assert (read.cir, read.cburst, read.pir, read.pburst) == (10, 2, 20, 4)
    with refused("OUT_OF_RANGE"):
        meter.index = 4
        meter.modify()


def packets_and_counts() -> None:
    packet_ins = sh.PacketIn()
    entry = sh.TableEntry("l2")(action="to_cpu")
    entry.match["dst"] = "2"
    entry.action["reason"] = "3"
    entry.insert()
    sent = frame(5, 2)
    packet = packet_ins.packet_in_queue.get(timeout=LIMIT_S).packet
    assert packet.payload == sent
    assert [(m.metadata_id, m.value) for m in packet.metadata] == [(1, b"\x05"), (2, b"\x03"), (3, b"\x00")]
    direct = sh.DirectCounterEntry("l2_counter")
    direct.table_entry.match["dst"] = "2"
    (read,) = direct.read()
    assert (read.packet_count, read.byte_count) == (1, len(sent))
    # To the CPU port itself, so that it comes back.
    out = sh.PacketOut(sent, egress_port=str(CPU_PORT))
    out.send()
    assert packet_ins.packet_in_queue.get(timeout=LIMIT_S).packet.payload == sent
    entry.delete()


def digests() -> None:
    lists = sh.DigestList()
    digest = sh.DigestEntry("learned_t")
    digest.max_list_size, digest.ack_timeout_ns = 1, 10**12
    digest.insert()
    frame(6, 2, src=0xBEEF)
    (data,) = lists.digest_list_queue.get(timeout=LIMIT_S).digest.data
    assert [member.bitstring for member in data.struct.members] == [b"\xbe\xef", b"\x06"]
    digest.delete()


def idle_timeouts() -> None:
    notifications = sh.IdleTimeoutNotification()
    entry = sh.TableEntry("sources")(action="known")
    entry.match["src"] = "7"
    entry.idle_timeout_ns = 1_000_000_000
    entry.insert()
    ask("advance", 2_000_000)
    frame(1, 0x99)
    (idle,) = notifications.notification_queue.get(timeout=LIMIT_S).idle_timeout_notification.table_entry
    assert idle.match[0].exact.value == b"\x07"
    entry.delete()


def main() -> None:
    address, p4info, device_config = sys.argv[1:]
    config = sh.FwdPipeConfig(p4info, device_config)
    sh.setup(device_id=1, grpc_addr=address, election_id=(0, 1), config=config, verbose=False)
    try:
        assert sh.APIVersion() == "1.5.0", sh.APIVersion()
        for step in (tables, profiles, replication, cells, packets_and_counts, digests, idle_timeouts):
            step()
    finally:
        sh.teardown()


if __name__ == "__main__":
    main()
