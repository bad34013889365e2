"""Who is primary (specification, "Client Arbitration and Controller Replication"). No I/O.

Within a role the client with the highest election id that the switch has ever seen is primary; there is none while that
client is away. Ids are 128-bit numbers; None is an unset id, which never becomes primary.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol

from finsy.proto import U128, p4r, rpc_code

from engine.switch.p4runtime.errors import (
    failed_precondition,
    invalid_argument,
    not_found,
    permission_denied,
    resource_exhausted,
)
from engine.switch.p4runtime.roles import DEFAULT_ROLE, FULL_ACCESS, RoleKey, RoleScope, key_of_role, parse_role

# Far above what controllers need, and enough to bound what a faulty one can make the switch remember.
MAX_STREAMS_PER_ROLE = 64
MAX_ROLES = 64


class Client(Protocol):
    """The switch's end of one StreamChannel."""

    @property
    def peer(self) -> str: ...
    def send_arbitration(self, message: p4r.MasterArbitrationUpdate) -> None: ...
    def send(self, message: p4r.StreamMessageResponse) -> bool: ...


@dataclass(slots=True)
class Session:
    """A client that takes part in the arbitration of one role."""

    client: Client
    role: RoleKey
    election_id: int | None


@dataclass(slots=True)
class RoleState:
    """`highest` is the highest election id ever seen, None before the first primary."""

    key: RoleKey
    sessions: list[Session] = field(default_factory=list)
    highest: int | None = None
    message: p4r.Role | None = None
    scope: RoleScope = FULL_ACCESS

    def primary(self) -> Session | None:
        if self.highest is None:
            return None
        return next((s for s in self.sessions if s.election_id == self.highest), None)


class Arbitration:
    """The sessions of one device. `on_new_primary` is called when another client has become a role's primary."""

    def __init__(self, device_id: int, on_new_primary: Callable[[RoleKey], None]) -> None:
        self._device_id = device_id
        self._on_new_primary = on_new_primary
        self._roles: dict[RoleKey, RoleState] = {DEFAULT_ROLE: RoleState(DEFAULT_ROLE)}
        self._sessions: dict[int, Session] = {}

    def update(self, client: Client, message: p4r.MasterArbitrationUpdate) -> None:
        """Handle a MasterArbitrationUpdate. An error ends the client's stream."""
        key = key_of_role(message.role)
        scope = parse_role(message.role)
        election_id = U128.decode(message.election_id) if message.HasField("election_id") else None
        session = self._sessions.get(id(client))
        if session is None:
            if message.device_id != self._device_id:
                raise not_found(f"no device has id {message.device_id}")
            role = self._role(key)
        else:
            if message.device_id != self._device_id:
                raise failed_precondition(f"this stream is of device {self._device_id}")
            if key != session.role:
                raise failed_precondition("a stream cannot change its role; open another one")
            role = self._roles[key]
        self._check_unused(role, election_id, session)
        self._check_exclusive(role, scope)
        if session is None:
            if len(role.sessions) >= MAX_STREAMS_PER_ROLE:
                raise resource_exhausted(f"the role has {MAX_STREAMS_PER_ROLE} streams already")
            session = Session(client, key, None)
            role.sessions.append(session)
            self._sessions[id(client)] = session
        self._elect(role, session, election_id, message.role, scope)

    def disconnect(self, client: Client) -> None:
        """The client's stream has ended."""
        session = self._sessions.pop(id(client), None)
        if session is None:
            return
        role = self._roles[session.role]
        was_primary = role.primary() is session
        role.sessions.remove(session)
        if was_primary:
            self._notify(role, role.sessions)

    def primaries(self) -> list[tuple[Client, RoleScope]]:
        """Each role's primary with what it may do."""
        found = ((role.primary(), role.scope) for role in self._roles.values())
        return [(session.client, scope) for session, scope in found if session is not None]

    def primary_scope(self, client: Client) -> RoleScope | None:
        """What a client may do as primary, None when it is not."""
        session = self._sessions.get(id(client))
        if session is None:
            return None
        role = self._roles[session.role]
        return role.scope if role.primary() is session else None

    def check_primary(self, device_id: int, key: RoleKey, election_id: p4r.Uint128 | None) -> RoleScope:
        """The checks before a Write or SetForwardingPipelineConfig: NOT_FOUND, then PERMISSION_DENIED."""
        role = self.role(device_id, key)
        primary = role.primary()
        if primary is None or election_id is None or U128.decode(election_id) != primary.election_id:
            raise permission_denied("only the role's primary client may do this")
        return role.scope

    def role(self, device_id: int, key: RoleKey) -> RoleState:
        """The role, with the highest id and the scope. Raises NOT_FOUND for a device or role that is not known."""
        if device_id != self._device_id:
            raise not_found(f"no device has id {device_id}")
        if key not in self._roles:
            raise not_found(f"the device has no role {key[0] or key[1]!r}")
        return self._roles[key]

    def _role(self, key: RoleKey) -> RoleState:
        if key not in self._roles:
            if len(self._roles) >= MAX_ROLES:
                raise resource_exhausted(f"the device has {MAX_ROLES} roles already")
            self._roles[key] = RoleState(key)
        return self._roles[key]

    @staticmethod
    def _check_unused(role: RoleState, election_id: int | None, session: Session | None) -> None:
        if election_id is not None and any(s.election_id == election_id for s in role.sessions if s is not session):
            raise invalid_argument(f"Election id {election_id} is already used by another client of the role")

    def _check_exclusive(self, role: RoleState, scope: RoleScope) -> None:
        """What one live role has exclusively, another role's config may not name."""
        for other in self._roles.values():
            if other is role or not other.sessions or other.scope.p4_ids is None or scope.p4_ids is None:
                continue
            common = (other.scope.exclusive_ids & scope.p4_ids) | (scope.exclusive_ids & other.scope.p4_ids)
            if common:
                raise invalid_argument(f"object {min(common):#x} is in role {other.key[0]!r} too, and exclusive")

    def _elect(
        self, role: RoleState, session: Session, election_id: int | None, message: p4r.Role, scope: RoleScope
    ) -> None:
        before = role.primary()
        session.election_id = election_id
        if election_id is None or (role.highest is not None and election_id < role.highest):
            self._notify(role, role.sessions if before is session else [session])
            return
        role.highest, role.scope = election_id, scope
        role.message = p4r.Role()
        role.message.CopyFrom(message)
        if before is not session:
            self._on_new_primary(role.key)
        # The others first: nobody is told that it is primary while another still believes to be.
        self._notify(role, [s for s in role.sessions if s is not session])
        self._notify(role, [session])

    def _notify(self, role: RoleState, sessions: Iterable[Session]) -> None:
        primary = role.primary()
        for session in list(sessions):
            message = p4r.MasterArbitrationUpdate(device_id=self._device_id)
            if role.key != DEFAULT_ROLE:
                message.role.name, message.role.id = role.key
                if role.message is not None and role.message.HasField("config"):
                    message.role.config.CopyFrom(role.message.config)
            if role.highest is not None:
                message.election_id.CopyFrom(U128.encode(role.highest))
            if primary is session:
                message.status.code, message.status.message = rpc_code.OK, "this client is primary"
            elif primary is not None:
                message.status.code, message.status.message = rpc_code.ALREADY_EXISTS, "another client is primary"
            else:
                message.status.code, message.status.message = rpc_code.NOT_FOUND, "the role has no primary"
            session.client.send_arbitration(message)
