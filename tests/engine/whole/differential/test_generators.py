"""What the generators make is sound and varied, and what once differed from simple_switch stays as it is there.

These need no simple_switch."""

import hashlib
import random
import struct

import pytest
from finsy.proto import p4r, rpc_code

from tests.engine.whole.differential.entries import Entries
from tests.engine.whole.differential.packets import Packets
from tests.engine.whole.differential.programs import DATA, Program, own_programs, read
from tests.engine.whole.differential.switches import Embedded
from tests.engine.whole.differential.values import Values

PACKETS = 300
SEEDS = 4
OWN = sorted(source.stem for source in DATA.glob("*.p4"))


@pytest.mark.parametrize("name", OWN)
def test_the_programs_were_compiled_since_they_changed(name: str) -> None:
    """Otherwise run tests/engine/compile."""
    digest, file = (DATA / f"{name}.sha256").read_text().split()
    assert hashlib.sha256((DATA / file).read_bytes()).hexdigest() == digest


def test_what_the_compiler_wrote_is_read() -> None:
    assert [program.name for program in own_programs()] == [*OWN, "entities"]


@pytest.mark.parametrize("program", own_programs(), ids=str)
def test_entries_are_accepted_and_packets_make_a_difference(program: Program) -> None:
    outputs = set()
    for seed in range(SEEDS):
        switch = Embedded(program)
        values = Values(random.Random(seed), program.parsed)
        entries = Entries(program.p4info, values)
        updates = list(entries.updates())
        assert set(switch.write(updates)) == {rpc_code.OK}
        for table in program.p4info.tables:
            if table.match_fields and not table.is_const_table:
                assert entries.tables[table.preamble.name], table.preamble.name
        packets = Packets(program.parsed, program.p4info, entries.tables, values)
        sent = [packets.next() for _ in range(PACKETS)]
        assert len({packet for _, packet in sent}) > PACKETS * 0.9
        outputs |= {tuple(switch.send(port, packet)) for port, packet in sent}
    # With some seeds a table drops by default, and most packets leave no trace.
    assert len(outputs) > PACKETS / 5


def test_the_same_seed_makes_the_same() -> None:
    def made() -> tuple[list[bytes], list[tuple[int, bytes]]]:
        program = read(DATA, "matching")
        values = Values(random.Random(7), program.parsed)
        entries = Entries(program.p4info, values)
        updates = [update.SerializeToString() for update in entries.updates()]
        packets = Packets(program.parsed, program.p4info, entries.tables, values)
        return updates, [packets.next() for _ in range(20)]

    assert made() == made()


def test_most_entries_are_hit() -> None:
    program = read(DATA, "matching")
    switch = Embedded(program)
    values = Values(random.Random(3), program.parsed)
    entries = Entries(program.p4info, values)
    switch.write(list(entries.updates()))
    packets = Packets(program.parsed, program.p4info, entries.tables, values)
    for _ in range(1000):
        switch.send(*packets.next())
    counts = switch.read(p4r.Entity(direct_counter_entry=p4r.DirectCounterEntry(table_entry=p4r.TableEntry())))
    hit = [entity for entity in counts or () if entity.direct_counter_entry.data.packet_count]
    assert len(hit) > len(counts or ()) / 2


# What the packet of traffic.p4 asks for: bits of at_ingress and at_egress.
UNICAST, RECIRCULATE, TRUNCATE_AT_EGRESS = 1, 2, 4
MARK = 0x7472A5ED


def test_a_recirculated_packet_is_whole() -> None:
    """BMv2 cuts a packet when it leaves, so on its way back to ingress it has its full length."""
    switch = Embedded(read(DATA, "traffic"))
    port, cut_to = 4, 100
    order = struct.pack(">BBHHH", UNICAST, RECIRCULATE | TRUNCATE_AT_EGRESS, port << 7 | cut_to, 0, 0)
    ((out_port, packet),) = switch.send(1, order + bytes(200))
    assert (out_port, len(packet)) == (port, cut_to)
    mark, *_, length, _, _, _, passes = struct.unpack_from(">IIIHHHHIHHBB", packet)
    assert (mark, passes) == (MARK, 3)
    assert length == len(order) + 200 + struct.calcsize(">IIIHHHHIHHBB")
