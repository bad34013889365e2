"""One forwarding pipeline config, the data plane that runs it, and all entities that belong to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from finsy.proto import p4r

from engine.switch.p4runtime.action_profiles import Ports, Profile
from engine.switch.p4runtime.actions import ActionCodec
from engine.switch.p4runtime.counters import Counter
from engine.switch.p4runtime.digests import Digest
from engine.switch.p4runtime.errors import P4RuntimeError, invalid_argument, unimplemented
from engine.switch.p4runtime.meters import Meter
from engine.switch.p4runtime.p4data import P4DataCodec
from engine.switch.p4runtime.p4info import P4InfoIndex
from engine.switch.p4runtime.packet_io import PacketHeader, packet_header
from engine.switch.p4runtime.program import Program, check_consistency, digest_names, read_program
from engine.switch.p4runtime.replication import CloneSessions, MulticastGroups
from engine.switch.p4runtime.tables import Entry, Table
from engine.switch.p4runtime.value_sets import ValueSet

if TYPE_CHECKING:
    from canopy_engine import Switch

    from engine.switch.p4runtime.datapath import DataPath

T = TypeVar("T")


@dataclass
class Pipeline:
    """The entities, each kind by P4Info id. `config` is what GetForwardingPipelineConfig answers with."""

    config: p4r.ForwardingPipelineConfig
    info: P4InfoIndex
    program: Program
    switch: Switch
    ports: Ports
    profiles: dict[int, Profile] = field(init=False)
    tables: dict[int, Table] = field(init=False)
    counters: dict[int, Counter] = field(init=False)
    meters: dict[int, Meter] = field(init=False)
    value_sets: dict[int, ValueSet] = field(init=False)
    digests: dict[int, Digest] = field(init=False)
    packet_in: PacketHeader | None = field(init=False)
    packet_out: PacketHeader | None = field(init=False)
    groups: MulticastGroups = field(init=False)
    clone_sessions: CloneSessions = field(init=False)

    def __post_init__(self) -> None:
        info, switch = self.info, self.switch
        actions = ActionCodec(info, self.program)
        self.profiles = {p.id: Profile(p, switch, actions, info, self.ports) for p in info.profiles}
        self.tables = {
            t.id: Table(t, info, self.program, actions, self.profiles.get(t.profile_id), switch) for t in info.tables
        }
        self.counters = {c.id: Counter(c, switch) for c in info.counters}
        self.meters = {m.id: Meter(m, switch) for m in info.meters}
        self.value_sets = {v.id: ValueSet(v, switch) for v in info.value_sets}
        data = P4DataCodec(info.message.type_info, self.program)
        self.digests = {d.id: Digest(d, data.builder(d.type_spec, f"digest {d.name!r}")) for d in info.digests}
        self.packet_in = packet_header(info.packet_in, self.program.headers)
        self.packet_out = packet_header(info.packet_out, self.program.headers)
        self.groups = MulticastGroups(switch)
        self.clone_sessions = CloneSessions(switch)

        names = digest_names(info, self.program)
        self._digests_by_name = {names[d.info.name]: d for d in self.digests.values()}
        self._tables_by_name = {t.info.name: t for t in self.tables.values()}

    def digest_named(self, name: str) -> Digest | None:
        return self._digests_by_name.get(name)

    def table_named(self, name: str) -> Table | None:
        return self._tables_by_name.get(name)

    def port_changed(self, port: int) -> None:
        for profile in self.profiles.values():
            profile.port_changed(port)


def by_id(entities: dict[int, T], id_: int, kind: str) -> T:
    """The object that a message names. Raises INVALID_ARGUMENT: client and switch do not speak of the same program."""
    if id_ == 0:
        raise invalid_argument(f"the {kind}'s id is missing")
    if id_ not in entities:
        raise invalid_argument(f"no {kind} has id {id_:#x} in the P4Info")
    return entities[id_]


def direct_target(pipeline: Pipeline, message: p4r.TableEntry, resource: str) -> tuple[Table, Entry]:
    """The table entry that a direct counter or meter belongs to; `resource` is "counter" or "meter".

    Raises INVALID_ARGUMENT when the table has none, NOT_FOUND when there is no such entry."""
    table = direct_table(pipeline, message.table_id, resource)
    if message.is_default_action:
        raise unimplemented(f"{table.what}: this target's default entries have no direct resources")
    return table, table.find(message)


def direct_table(pipeline: Pipeline, table_id: int, resource: str) -> Table:
    table = by_id(pipeline.tables, table_id, "table")
    has = table.info.direct_counter_id if resource == "counter" else table.info.direct_meter_id
    if not has:
        raise invalid_argument(f"{table.what} has no direct {resource}")
    return table


def build_pipeline(config: p4r.ForwardingPipelineConfig, datapath: DataPath, like: Pipeline | None = None) -> Pipeline:
    """Verify a config and make its data plane, which does not forward yet. `like` is a pipeline that was made of the
    same config: what was read of its program serves both.

    Raises INVALID_ARGUMENT when a part is missing, the JSON is not p4c's, or the P4Info is not the JSON's."""
    if not config.HasField("p4info"):
        raise invalid_argument("the config has no P4Info")
    if not config.p4_device_config:
        raise invalid_argument("the config has no device config (p4c's BMv2 JSON)")
    try:
        text = config.p4_device_config.decode()
    except UnicodeDecodeError as error:
        raise invalid_argument(f"the device config is not UTF-8 text: {error}") from None
    switch = datapath.make_switch(text)
    ports = Ports(datapath.has_port, datapath.is_port_up)
    if like is not None:
        return Pipeline(like.config, like.info, like.program, switch, ports)
    try:
        info = P4InfoIndex(config.p4info)
        program = read_program(switch, text)
        check_consistency(info, program)
        return Pipeline(config, info, program, switch, ports)
    except P4RuntimeError as error:
        # "INVALID_ARGUMENT if the provided config cannot be realized", whatever the reason was.
        raise invalid_argument(error.message) from None
