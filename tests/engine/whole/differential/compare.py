"""One program on both switches: the same updates and packets, and all that can be seen of either."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from finsy.proto import p4r

from tests.engine.whole.differential.entries import Entries
from tests.engine.whole.differential.packets import Packets
from tests.engine.whole.differential.programs import Program
from tests.engine.whole.differential.switches import Side
from tests.engine.whole.differential.values import Values

UPDATES_PER_BATCH = 50


@dataclass(frozen=True)
class Difference:
    """Something that both switches should do alike."""

    what: str
    ours: object
    theirs: object

    def __str__(self) -> str:
        ours, theirs = self.ours, self.theirs
        if isinstance(ours, list) and isinstance(theirs, list):
            ours, theirs = _without(ours, theirs), _without(theirs, ours)
        return f"{self.what}\n  only ours:   {_shown(ours)}\n  only theirs: {_shown(theirs)}"


def differences(
    program: Program, ours: Side, theirs: Side, *, seed: int, packets: int, cut: bool = True
) -> Iterator[Difference]:
    """Install random entries, send random packets, and read everything back; what differs, as it is found.

    `cut`: see `Packets`. What a field of an invalid header reads as is undefined, and in BMv2 left over from an earlier
    packet."""
    values = Values(random.Random(seed), program.parsed)
    entries = Entries(program.p4info, values)
    updates = list(entries.updates())
    for start in range(0, len(updates), UPDATES_PER_BATCH):
        batch = updates[start : start + UPDATES_PER_BATCH]
        for update, mine, other in zip(batch, ours.write(batch), theirs.write(batch), strict=True):
            if mine != other:
                yield Difference(f"{program}, seed {seed}, update {update}", mine, other)
    maker = Packets(program.parsed, program.p4info, entries.tables, values, cut=cut)
    for number in range(packets):
        port, packet = maker.next()
        # simple_switch_grpc has several egress threads: the order of a packet's copies is by chance.
        mine_out, other_out = sorted(ours.send(port, packet)), sorted(theirs.send(port, packet))
        if mine_out != other_out:
            what = f"{program}, seed {seed}, packet {number} at port {port}: {packet.hex()}"
            yield Difference(what, mine_out, other_out)
    # PI keeps a digest that comes again before its acknowledgement to itself, whatever the configuration.
    told, other_told = sorted(set(ours.told())), sorted(set(theirs.told()))
    if told != other_told:
        yield Difference(f"{program}, seed {seed}, digests and packet-ins", told, other_told)
    for request in _state(program):
        found, other_found = ours.read(request), theirs.read(request)
        if found is None or other_found is None:
            continue
        read, other_read = _comparable(found), _comparable(other_found)
        if read != other_read:
            yield Difference(f"{program}, seed {seed}, read of {request}", read, other_read)


def _state(program: Program) -> Iterator[p4r.Entity]:
    """What both targets can read: entries with their direct counters, members and groups, indexed counters. PI, the
    P4Runtime server of simple_switch_grpc, loses track of tables whose entries the program brings."""
    for table in program.p4info.tables:
        if table.is_const_table:
            continue
        yield p4r.Entity(table_entry=p4r.TableEntry(table_id=table.preamble.id))
        if any(counter.direct_table_id == table.preamble.id for counter in program.p4info.direct_counters):
            entry = p4r.TableEntry(table_id=table.preamble.id)
            yield p4r.Entity(direct_counter_entry=p4r.DirectCounterEntry(table_entry=entry))
    for profile in program.p4info.action_profiles:
        id_ = profile.preamble.id
        yield p4r.Entity(action_profile_member=p4r.ActionProfileMember(action_profile_id=id_))
        yield p4r.Entity(action_profile_group=p4r.ActionProfileGroup(action_profile_id=id_))
    for counter in program.p4info.counters:
        yield p4r.Entity(counter_entry=p4r.CounterEntry(counter_id=counter.preamble.id))


def _comparable(entities: list[p4r.Entity]) -> list[p4r.Entity]:
    """In one order. A range that takes everything is left out, as the specification says; PI does not."""
    for entity in entities:
        if entity.HasField("action_profile_group"):
            entity.action_profile_group.members.sort(key=lambda member: member.member_id)
        for entry in (entity.table_entry, entity.direct_counter_entry.table_entry):
            kept = [match for match in entry.match if not _takes_all(match)]
            if len(kept) != len(entry.match):
                del entry.match[:]
                entry.match.extend(kept)
    return sorted(entities, key=lambda entity: entity.SerializeToString(deterministic=True))


def _takes_all(match: p4r.FieldMatch) -> bool:
    """Whether it is a range from 0 to the largest number, of whichever width."""
    low, high = (int.from_bytes(value, "big") for value in (match.range.low, match.range.high))
    return match.HasField("range") and low == 0 and high & (high + 1) == 0 and high > 1


def _without(items: list[Any], others: list[Any]) -> list[Any]:
    rest = list(others)
    found = []
    for item in items:
        if item in rest:
            rest.remove(item)
        else:
            found.append(item)
    return found


def _shown(side: object) -> str:
    if isinstance(side, list):
        return "[" + ", ".join(_shown(item) for item in side) + "]"
    if isinstance(side, tuple) and len(side) == 2 and isinstance(side[1], bytes):
        return f"port {side[0]}: {side[1].hex()}"
    return " ".join(str(side).split())
