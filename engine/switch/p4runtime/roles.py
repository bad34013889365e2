"""Roles: what a named role's config lets its clients do (specification, "Role Config").

The scheme is Stratum's `P4RoleConfig`, whose protobuf class comes with finsy. A role without config has full access,
and so has the default role, which takes no config. Packet replication entries have no P4 id that a config could name;
every role may write them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import TypeAlias

from finsy.proto import p4r, stratum

from engine.switch.p4runtime.errors import invalid_argument, permission_denied

RoleKey: TypeAlias = tuple[str, int]
"""A role's name and, for clients older than P4Runtime 1.4.0, its numeric id. ("", 0) is the default role."""

DEFAULT_ROLE: RoleKey = ("", 0)

# Where each kind of entity has the P4Info id of its object; a direct resource belongs to its table.
P4_ID_OF: dict[str, Callable[[p4r.Entity], int]] = {
    kind: attrgetter(f"{kind}.{path}")
    for kind, path in {
        "table_entry": "table_id",
        "action_profile_member": "action_profile_id",
        "action_profile_group": "action_profile_id",
        "meter_entry": "meter_id",
        "direct_meter_entry": "table_entry.table_id",
        "counter_entry": "counter_id",
        "direct_counter_entry": "table_entry.table_id",
        "value_set_entry": "value_set_id",
        "register_entry": "register_id",
        "digest_entry": "digest_id",
    }.items()
}


@dataclass(frozen=True)
class RoleScope:
    """What a role may do; None for `p4_ids` is everything. `packet_in_filter`: (metadata id, value), None for all."""

    p4_ids: frozenset[int] | None = None
    exclusive_ids: frozenset[int] = frozenset()
    receives_packet_ins: bool = True
    packet_in_filter: tuple[int, bytes] | None = None
    can_push_pipeline: bool = True

    def has(self, p4_id: int | None) -> bool:
        """Whether the object is in scope; an entity without P4 id always is."""
        return self.p4_ids is None or p4_id is None or p4_id in self.p4_ids

    def check_write(self, entity: p4r.Entity) -> None:
        id_ = p4_id_of(entity)
        if not self.has(id_):
            raise permission_denied(f"the role may not write to object {id_:#x}")

    def sees(self, entity: p4r.Entity) -> bool:
        return self.has(p4_id_of(entity))

    def takes_packet_in(self, packet: p4r.PacketIn) -> bool:
        if not self.receives_packet_ins:
            return False
        if self.packet_in_filter is None:
            return True
        return any((m.metadata_id, m.value) == self.packet_in_filter for m in packet.metadata)


FULL_ACCESS = RoleScope()


def key_of_role(role: p4r.Role) -> RoleKey:
    return (role.name, role.id)


def parse_role(role: p4r.Role) -> RoleScope:
    """Raises INVALID_ARGUMENT when the config is not of the scheme."""
    if not role.HasField("config"):
        return FULL_ACCESS
    if key_of_role(role) == DEFAULT_ROLE:
        raise invalid_argument("the default role has full access and takes no config")
    config = stratum.P4RoleConfig()
    if not role.config.Unpack(config):
        raise invalid_argument(f"role config {role.config.type_url!r} is not a stratum.P4RoleConfig")
    packet_filter = None
    if config.HasField("packet_in_filter"):
        packet_filter = (config.packet_in_filter.metadata_id, config.packet_in_filter.value)
    exclusive = frozenset(config.exclusive_p4_ids)
    return RoleScope(
        p4_ids=exclusive | frozenset(config.shared_p4_ids),
        exclusive_ids=exclusive,
        receives_packet_ins=config.receives_packet_ins,
        packet_in_filter=packet_filter,
        can_push_pipeline=config.can_push_pipeline,
    )


def p4_id_of(entity: p4r.Entity) -> int | None:
    """The P4Info id of the object that an entity belongs to, None when it has none."""
    id_of = P4_ID_OF.get(entity.WhichOneof("entity") or "")
    return id_of(entity) if id_of is not None else None
