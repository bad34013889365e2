"""Random control plane state for a program, as P4Runtime updates that both switches should accept."""

import random
from collections.abc import Iterator

from finsy.proto import p4i, p4r

from engine.switch.p4runtime import bytestrings
from engine.switch.p4runtime.p4info import PRIORITY_MATCH_TYPES
from tests.engine.whole.differential.values import Values

INSERT, MODIFY = p4r.Update.INSERT, p4r.Update.MODIFY

ENTRIES_PER_TABLE = 12
MEMBERS_PER_PROFILE = 5
GROUPS_PER_PROFILE = 3
MAX_ONE_SHOT = 3
MULTICAST_GROUPS = range(1, 5)
CLONE_SESSIONS = range(1, 6)
PORT_BITS = 9
GROUP_BITS = 16


class Entries:
    """Makes the updates of one program; `tables` are the entries of each table, by its name."""

    def __init__(self, p4info: p4i.P4Info, values: Values) -> None:
        self.tables: dict[str, list[p4r.TableEntry]] = {}
        self._p4info = p4info
        self._values = values
        self._chooser: random.Random = values.chooser
        self._actions = {action.preamble.id: action for action in p4info.actions}
        self._profiles = {profile.preamble.id: profile for profile in p4info.action_profiles}
        self._direct_meters = {meter.preamble.id for meter in p4info.direct_meters}
        self._members: dict[int, list[int]] = {}
        self._groups: dict[int, list[int]] = {}

    def updates(self) -> Iterator[p4r.Update]:
        for group in MULTICAST_GROUPS:
            entry = p4r.MulticastGroupEntry(multicast_group_id=group, replicas=self._replicas())
            yield _replication(p4r.PacketReplicationEngineEntry(multicast_group_entry=entry))
        for session in CLONE_SESSIONS:
            clone = p4r.CloneSessionEntry(session_id=session, replicas=self._replicas())
            yield _replication(p4r.PacketReplicationEngineEntry(clone_session_entry=clone))
        for digest in self._p4info.digests:
            config = p4r.DigestEntry.Config(max_timeout_ns=0, max_list_size=1, ack_timeout_ns=0)
            entity = p4r.Entity(digest_entry=p4r.DigestEntry(digest_id=digest.preamble.id, config=config))
            yield p4r.Update(type=INSERT, entity=entity)
        for meter in self._p4info.meters:
            for index in self._chooser.sample(range(meter.size), meter.size * 2 // 3):
                cell = p4r.MeterEntry(
                    meter_id=meter.preamble.id, index=p4r.Index(index=index), config=self._meter_config()
                )
                yield p4r.Update(type=MODIFY, entity=p4r.Entity(meter_entry=cell))
        for profile in self._p4info.action_profiles:
            yield from self._profile(profile)
        for table in self._p4info.tables:
            yield from self._table(table)

    def _replicas(self) -> list[p4r.Replica]:
        pairs = {(self._values.port(), self._chooser.randrange(3)) for _ in range(self._chooser.randrange(1, 5))}
        return [p4r.Replica(egress_port=port, instance=instance) for port, instance in sorted(pairs)]

    def _meter_config(self) -> p4r.MeterConfig:
        """Of rate 0, for time is another one on each switch: only the bursts last."""
        committed, more = self._chooser.choice([1, 3, 10, 500]), self._chooser.choice([0, 1, 5, 1000])
        return p4r.MeterConfig(cburst=committed, pburst=committed + more)

    def _action(self, ids: list[int]) -> p4r.Action:
        action = self._actions[self._chooser.choice(ids)]
        message = p4r.Action(action_id=action.preamble.id)
        for param in action.params:
            message.params.add(param_id=param.id, value=bytestrings.encode(self._argument(param.bitwidth)))
        return message

    def _argument(self, width: int) -> int:
        """What has a port's or a multicast group's width most often is one that exists."""
        if width == PORT_BITS:
            return self._values.port()
        if width == GROUP_BITS and self._chooser.random() < 0.6:
            return self._chooser.choice(MULTICAST_GROUPS)
        return self._values.pick(width)

    def _profile(self, profile: p4i.ActionProfile) -> Iterator[p4r.Update]:
        """Members and groups, or neither when the tables' entries are to bring one-shot sets."""
        id_ = profile.preamble.id
        self._members[id_] = []
        self._groups[id_] = []
        tables = [table for table in self._p4info.tables if table.implementation_id == id_]
        if not tables or (profile.with_selector and self._chooser.random() < 0.5):
            return
        ids = sorted(set.intersection(*(set(_entry_actions(table)) for table in tables)))
        if not ids:
            return
        for member in range(1, MEMBERS_PER_PROFILE + 1):
            entry = p4r.ActionProfileMember(action_profile_id=id_, member_id=member, action=self._action(ids))
            yield p4r.Update(type=INSERT, entity=p4r.Entity(action_profile_member=entry))
            self._members[id_].append(member)
        for group in range(1, GROUPS_PER_PROFILE + 1) if profile.with_selector else ():
            entry_of_group = p4r.ActionProfileGroup(action_profile_id=id_, group_id=group)
            count = self._chooser.randrange(1, MEMBERS_PER_PROFILE)
            for member in self._chooser.sample(self._members[id_], count):
                entry_of_group.members.add(member_id=member, weight=1)
            yield p4r.Update(type=INSERT, entity=p4r.Entity(action_profile_group=entry_of_group))
            self._groups[id_].append(group)

    def _table(self, table: p4i.Table) -> Iterator[p4r.Update]:
        entries = self.tables[table.preamble.name] = []
        if not table.const_default_action_id and not table.implementation_id and self._chooser.random() < 0.3:
            ids = [ref.id for ref in table.action_refs if ref.scope != p4i.ActionRef.TABLE_ONLY]
            default = p4r.TableEntry(table_id=table.preamble.id, is_default_action=True)
            default.action.action.CopyFrom(self._action(ids))
            yield p4r.Update(type=MODIFY, entity=p4r.Entity(table_entry=default))
        if table.is_const_table or not table.match_fields or not _entry_actions(table):
            return
        ordered = any(field.match_type in PRIORITY_MATCH_TYPES for field in table.match_fields)
        count = min(ENTRIES_PER_TABLE, table.size)
        if profile := self._profiles.get(table.implementation_id):
            # One-shot sets fill it.
            count = min(count, profile.size // (MAX_ONE_SHOT * len(profile.table_ids)))
        priorities = self._chooser.sample(range(1, 100), count)
        seen = set()
        for priority in priorities:
            entry = p4r.TableEntry(table_id=table.preamble.id, priority=priority if ordered else 0)
            for field in table.match_fields:
                self._match(entry, field)
            key = tuple(match.SerializeToString() for match in entry.match)
            if key in seen:
                continue
            seen.add(key)
            entry.action.CopyFrom(self._table_action(table))
            if self._direct_meters & set(table.direct_resource_ids) and self._chooser.random() < 0.7:
                entry.meter_config.CopyFrom(self._meter_config())
            entries.append(entry)
            yield p4r.Update(type=INSERT, entity=p4r.Entity(table_entry=entry))

    def _table_action(self, table: p4i.Table) -> p4r.TableAction:
        profile = self._profiles.get(table.implementation_id)
        if profile is None:
            return p4r.TableAction(action=self._action(_entry_actions(table)))
        groups, members = self._groups[profile.preamble.id], self._members[profile.preamble.id]
        if groups and self._chooser.random() < 0.7:
            return p4r.TableAction(action_profile_group_id=self._chooser.choice(groups))
        if members:
            return p4r.TableAction(action_profile_member_id=self._chooser.choice(members))
        one_shot = p4r.TableAction()
        for _ in range(self._chooser.randint(1, MAX_ONE_SHOT)):
            action = self._action(_entry_actions(table))
            one_shot.action_profile_action_set.action_profile_actions.add(action=action, weight=1)
        return one_shot

    def _match(self, entry: p4r.TableEntry, field: p4i.MatchField) -> None:
        """Add a match for the field; a wildcard adds none."""
        width, kind = field.bitwidth, field.match_type
        is_port = width == PORT_BITS and self._chooser.random() < 0.8
        value = self._values.port() if is_port else self._values.pick(width)
        if kind == p4i.MatchField.EXACT:
            entry.match.add(field_id=field.id).exact.value = bytestrings.encode(value)
        elif self._chooser.random() < 0.2:
            return
        elif kind == p4i.MatchField.OPTIONAL:
            entry.match.add(field_id=field.id).optional.value = bytestrings.encode(value)
        elif kind == p4i.MatchField.LPM:
            length = self._chooser.choice([1, width // 2 or 1, width, self._chooser.randrange(1, width + 1)])
            prefix = entry.match.add(field_id=field.id).lpm
            prefix.value = bytestrings.encode(value >> (width - length) << (width - length))
            prefix.prefix_len = length
        elif kind == p4i.MatchField.RANGE:
            first, second = sorted((value, self._values.pick(width)))
            # Everything is left out; PI takes 0..255 of nine bits for that, too.
            if first or second & (second + 1):
                between = entry.match.add(field_id=field.id).range
                between.low, between.high = bytestrings.encode(first), bytestrings.encode(second)
        else:
            mask = self._chooser.choice([(1 << width) - 1, self._values.pick(width), self._chooser.getrandbits(width)])
            if mask:
                ternary = entry.match.add(field_id=field.id).ternary
                ternary.value, ternary.mask = bytestrings.encode(value & mask), bytestrings.encode(mask)


def fitting_value(match: p4r.FieldMatch, values: Values, width: int) -> int:
    """A value that the match takes."""
    noise = values.chooser.getrandbits(width)
    number = int.from_bytes
    match match.WhichOneof("field_match_type"):
        case "exact":
            return number(match.exact.value, "big")
        case "optional":
            return number(match.optional.value, "big")
        case "lpm":
            rest = (1 << (width - match.lpm.prefix_len)) - 1
            return number(match.lpm.value, "big") | (noise & rest)
        case "range":
            return values.chooser.randint(number(match.range.low, "big"), number(match.range.high, "big"))
        case _:
            mask = number(match.ternary.mask, "big")
            return number(match.ternary.value, "big") | (noise & ~mask)


def _entry_actions(table: p4i.Table) -> list[int]:
    return [ref.id for ref in table.action_refs if ref.scope != p4i.ActionRef.DEFAULT_ONLY]


def _replication(entry: p4r.PacketReplicationEngineEntry) -> p4r.Update:
    return p4r.Update(type=INSERT, entity=p4r.Entity(packet_replication_engine_entry=entry))
