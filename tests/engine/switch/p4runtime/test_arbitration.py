"""Arbitration and roles, by the specification's rules for MasterArbitrationUpdate messages."""

from collections.abc import Callable

import pytest
from finsy.proto import U128, p4r, rpc_code, stratum
from google.protobuf import any_pb2
from google.protobuf.message import Message

from engine.switch.p4runtime.arbitration import MAX_ROLES, MAX_STREAMS_PER_ROLE, Arbitration
from engine.switch.p4runtime.roles import DEFAULT_ROLE, RoleKey, RoleScope, parse_role
from tests.engine.entities import entity, id_of, raw, refused, table_entry

DEVICE = 7
OK, ALREADY_EXISTS, NOT_FOUND = rpc_code.OK, rpc_code.ALREADY_EXISTS, rpc_code.NOT_FOUND


class Client:
    """Notes the arbitration messages as (status code, election id)."""

    peer = "ipv4:127.0.0.1:1"

    def __init__(self) -> None:
        self.messages: list[p4r.MasterArbitrationUpdate] = []

    def send_arbitration(self, message: p4r.MasterArbitrationUpdate) -> None:
        self.messages.append(message)

    def send(self, message: p4r.StreamMessageResponse) -> bool:
        raise AssertionError(f"unexpected message {message}")

    def take(self) -> list[tuple[int, int | None]]:
        taken = [
            (m.status.code, U128.decode(m.election_id) if m.HasField("election_id") else None) for m in self.messages
        ]
        self.messages.clear()
        return taken


def update(
    election_id: int | None, role: p4r.Role | None = None, device_id: int = DEVICE
) -> p4r.MasterArbitrationUpdate:
    message = p4r.MasterArbitrationUpdate(device_id=device_id, role=role)
    if election_id is not None:
        message.election_id.CopyFrom(U128.encode(election_id))
    return message


def role(name: str, config: Message | None = None) -> p4r.Role:
    message = p4r.Role(name=name)
    if config is not None:
        packed = any_pb2.Any()
        packed.Pack(config)
        message.config.CopyFrom(packed)
    return message


@pytest.fixture
def primaries() -> list[RoleKey]:
    """The roles that have got a new primary, in order."""
    return []


@pytest.fixture
def arbitration(primaries: list[RoleKey]) -> Arbitration:
    return Arbitration(DEVICE, primaries.append)


def write_allowed(arbitration: Arbitration, election_id: int | None, name: str = "") -> RoleScope:
    id_ = None if election_id is None else U128.encode(election_id)
    return arbitration.check_primary(DEVICE, (name, 0), id_)


def test_the_first_client_becomes_primary(arbitration: Arbitration, primaries: list[RoleKey]) -> None:
    client = Client()
    arbitration.update(client, update(5))
    assert client.take() == [(OK, 5)]
    assert primaries == [DEFAULT_ROLE]
    write_allowed(arbitration, 5)


def test_election_ids_have_128_bits(arbitration: Arbitration) -> None:
    low, high = Client(), Client()
    arbitration.update(low, update(2**64 - 1))
    arbitration.update(high, update(2**64))
    assert high.take() == [(OK, 2**64)]
    assert low.take() == [(OK, 2**64 - 1), (ALREADY_EXISTS, 2**64)]


def test_a_lower_id_becomes_backup_and_the_primary_hears_nothing(arbitration: Arbitration) -> None:
    primary, backup = Client(), Client()
    arbitration.update(primary, update(5))
    primary.take()
    arbitration.update(backup, update(4))
    assert backup.take() == [(ALREADY_EXISTS, 5)]
    assert primary.take() == []
    with refused(rpc_code.PERMISSION_DENIED):
        write_allowed(arbitration, 4)


def test_a_higher_id_takes_over_and_all_others_are_told_first(arbitration: Arbitration) -> None:
    order: list[str] = []

    class Named(Client):
        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

        def send_arbitration(self, message: p4r.MasterArbitrationUpdate) -> None:
            super().send_arbitration(message)
            order.append(self.name)

    old, backup, new = Named("old"), Named("backup"), Named("new")
    arbitration.update(old, update(5))
    arbitration.update(backup, update(1))
    order.clear()
    arbitration.update(new, update(6))
    assert order == ["old", "backup", "new"]
    assert old.take()[-1] == (ALREADY_EXISTS, 6)
    assert new.take() == [(OK, 6)]
    with refused(rpc_code.PERMISSION_DENIED):
        write_allowed(arbitration, 5)
    write_allowed(arbitration, 6)


def test_when_the_primary_leaves_there_is_none_until_its_id_is_reached(arbitration: Arbitration) -> None:
    primary, backup = Client(), Client()
    arbitration.update(primary, update(5))
    arbitration.update(backup, update(4))
    backup.take()
    arbitration.disconnect(primary)
    assert backup.take() == [(NOT_FOUND, 5)]
    with refused(rpc_code.PERMISSION_DENIED):
        write_allowed(arbitration, 5)
    third = Client()
    arbitration.update(third, update(3))
    assert third.take() == [(NOT_FOUND, 5)]
    arbitration.update(backup, update(5))
    assert backup.take() == [(OK, 5)]
    assert third.take() == [(ALREADY_EXISTS, 5)]


def test_when_a_backup_leaves_nobody_is_told(arbitration: Arbitration) -> None:
    primary, backup = Client(), Client()
    arbitration.update(primary, update(5))
    arbitration.update(backup, update(4))
    primary.take()
    arbitration.disconnect(backup)
    arbitration.disconnect(backup)
    assert primary.take() == []


def test_a_primary_may_downgrade_itself(arbitration: Arbitration) -> None:
    primary, backup = Client(), Client()
    arbitration.update(primary, update(5))
    arbitration.update(backup, update(3))
    primary.take(), backup.take()
    arbitration.update(primary, update(4))
    assert primary.take() == [(NOT_FOUND, 5)]
    assert backup.take() == [(NOT_FOUND, 5)]


def test_an_unset_id_never_becomes_primary(arbitration: Arbitration) -> None:
    standby, zero = Client(), Client()
    arbitration.update(standby, update(None))
    assert standby.take() == [(NOT_FOUND, None)]
    arbitration.update(zero, update(0))
    assert zero.take() == [(OK, 0)]
    with refused(rpc_code.PERMISSION_DENIED):
        write_allowed(arbitration, None)
    write_allowed(arbitration, 0)


def test_several_clients_may_have_an_unset_id(arbitration: Arbitration) -> None:
    for _ in range(2):
        arbitration.update(Client(), update(None))


def test_an_id_in_use_is_refused(arbitration: Arbitration) -> None:
    arbitration.update(Client(), update(5))
    # finsy recognises the words.
    with refused(rpc_code.INVALID_ARGUMENT, r"Election id 5 is already used\b"):
        arbitration.update(Client(), update(5))
    other = Client()
    arbitration.update(other, update(4))
    with refused(rpc_code.INVALID_ARGUMENT):
        arbitration.update(other, update(5))


def test_the_same_id_again_is_accepted(arbitration: Arbitration, primaries: list[RoleKey]) -> None:
    client = Client()
    arbitration.update(client, update(5))
    arbitration.update(client, update(5))
    assert client.take() == [(OK, 5), (OK, 5)]
    assert primaries == [DEFAULT_ROLE]


def test_another_device_is_not_found_first_and_a_failed_precondition_later(arbitration: Arbitration) -> None:
    client = Client()
    with refused(rpc_code.NOT_FOUND):
        arbitration.update(client, update(5, device_id=8))
    arbitration.update(client, update(5))
    with refused(rpc_code.FAILED_PRECONDITION):
        arbitration.update(client, update(5, device_id=8))


def test_a_stream_keeps_its_role(arbitration: Arbitration) -> None:
    client = Client()
    arbitration.update(client, update(5))
    with refused(rpc_code.FAILED_PRECONDITION):
        arbitration.update(client, update(5, role("other")))


def test_streams_and_roles_are_bounded(arbitration: Arbitration) -> None:
    for election_id in range(MAX_STREAMS_PER_ROLE):
        arbitration.update(Client(), update(election_id))
    with refused(rpc_code.RESOURCE_EXHAUSTED, "streams"):
        arbitration.update(Client(), update(999))
    for number in range(1, MAX_ROLES):
        arbitration.update(Client(), update(1, role(f"r{number}")))
    with refused(rpc_code.RESOURCE_EXHAUSTED, "roles"):
        arbitration.update(Client(), update(1, role("one more")))


def test_each_role_has_its_own_primary_and_ids(arbitration: Arbitration) -> None:
    first, second = Client(), Client()
    arbitration.update(first, update(5))
    arbitration.update(second, update(5, role("metering")))
    (message,) = second.messages
    assert message.role.name == "metering"
    assert message.status.code == OK
    assert not first.messages[0].HasField("role")
    assert len(arbitration.primaries()) == 2
    write_allowed(arbitration, 5, "metering")


def test_writes_name_their_device_and_role(arbitration: Arbitration) -> None:
    with refused(rpc_code.NOT_FOUND, "device"):
        arbitration.check_primary(8, DEFAULT_ROLE, U128.encode(5))
    with refused(rpc_code.NOT_FOUND, "role 'nobody'"):
        arbitration.check_primary(DEVICE, ("nobody", 0), U128.encode(5))
    with refused(rpc_code.PERMISSION_DENIED):
        arbitration.check_primary(DEVICE, DEFAULT_ROLE, U128.encode(5))


# Role configs.

L2_ONLY = stratum.P4RoleConfig(exclusive_p4_ids=[id_of("l2")], shared_p4_ids=[id_of("sources")])


def test_a_role_config_limits_what_its_primary_may_do(arbitration: Arbitration) -> None:
    client = Client()
    arbitration.update(client, update(5, role("l2", L2_ONLY)))
    assert client.messages[0].role.config.Is(stratum.P4RoleConfig.DESCRIPTOR)
    scope = write_allowed(arbitration, 5, "l2")
    scope.check_write(entity(table_entry("l2", {"dst": 1})))
    scope.check_write(entity(table_entry("sources", {"src": 1})))
    with refused(rpc_code.PERMISSION_DENIED, f"{id_of('acl'):#x}"):
        scope.check_write(entity(table_entry("acl", {})))
    assert not scope.can_push_pipeline
    assert not scope.takes_packet_in(p4r.PacketIn())
    assert scope.sees(entity(p4r.MulticastGroupEntry()))


def test_a_role_without_config_has_full_access(arbitration: Arbitration) -> None:
    arbitration.update(Client(), update(5, role("all")))
    assert write_allowed(arbitration, 5, "all").can_push_pipeline


def test_a_backup_does_not_set_the_config(arbitration: Arbitration) -> None:
    arbitration.update(Client(), update(5, role("l2", L2_ONLY)))
    arbitration.update(Client(), update(4, role("l2")))
    assert not write_allowed(arbitration, 5, "l2").can_push_pipeline


@pytest.mark.parametrize(
    ("make", "message"),
    [(lambda: role("l2", p4r.Uint128()), "is not a stratum.P4RoleConfig"), (lambda: role("", L2_ONLY), "default role")],
)
def test_refused_role_configs(arbitration: Arbitration, make: Callable[[], p4r.Role], message: str) -> None:
    with refused(rpc_code.INVALID_ARGUMENT, message):
        arbitration.update(Client(), update(5, make()))


def test_what_one_role_has_exclusively_another_may_not_have(arbitration: Arbitration) -> None:
    owner = Client()
    arbitration.update(owner, update(5, role("l2", L2_ONLY)))
    shared = stratum.P4RoleConfig(shared_p4_ids=[id_of("l2")])
    with refused(rpc_code.INVALID_ARGUMENT, "in role 'l2' too"):
        arbitration.update(Client(), update(5, role("other", shared)))
    arbitration.disconnect(owner)
    arbitration.update(Client(), update(5, role("other", shared)))


def test_a_packet_in_filter() -> None:
    config = stratum.P4RoleConfig(receives_packet_ins=True)
    config.packet_in_filter.metadata_id, config.packet_in_filter.value = 2, b"\x05"
    scope = parse_role(role("r", config))
    assert scope.takes_packet_in(raw.PacketIn(metadata=[{"metadata_id": 2, "value": b"\x05"}]))
    assert not scope.takes_packet_in(raw.PacketIn(metadata=[{"metadata_id": 2, "value": b"\x06"}]))
    assert not scope.takes_packet_in(p4r.PacketIn())
