"""The packet replication engine: multicast groups, clone sessions (specification, "PacketReplicationEngineEntry")."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from finsy.proto import p4r

from engine.switch.p4runtime import bytestrings
from engine.switch.p4runtime.errors import already_exists, invalid_argument, not_found, unimplemented
from engine.switch.p4runtime.undo import Undo

if TYPE_CHECKING:
    from canopy_engine import Switch

# v1model: standard_metadata.egress_rid has 16 bits, ports have 9, and BMv2 numbers groups and clone sessions with 15.
MAX_MULTICAST_GROUP_ID = (1 << 15) - 1
MAX_INSTANCE = (1 << 16) - 1
MAX_PORT = (1 << 9) - 1
MAX_CLONE_SESSION_ID = (1 << 15) - 1
# PSA's ClassOfService_t in the program's headers; v1model's standard_metadata.priority has 3 bits.
MAX_CLASS_OF_SERVICE = 7

ReplicaPairs = list[tuple[int, int]]


class MulticastGroups:
    """Multicast groups by id; a message is what a Read answers with."""

    def __init__(self, switch: Switch) -> None:
        self._switch = switch
        self._messages: dict[int, p4r.MulticastGroupEntry] = {}

    def insert(self, message: p4r.MulticastGroupEntry) -> Undo:
        id_ = self._checked_id(message)
        canonical, pairs = self._parse(message)
        if id_ in self._messages:
            raise already_exists(f"multicast group {id_} exists")
        self._switch.mcast_group_add(id_, pairs)
        self._messages[id_] = canonical
        return lambda: self._remove(id_)

    def modify(self, message: p4r.MulticastGroupEntry) -> Undo:
        id_ = self._checked_id(message)
        canonical, pairs = self._parse(message)
        old = self.message(id_)
        self._switch.mcast_group_modify(id_, pairs)
        self._messages[id_] = canonical

        def undo() -> None:
            self._switch.mcast_group_modify(id_, _pairs(old.replicas))
            self._messages[id_] = old

        return undo

    def delete(self, message: p4r.MulticastGroupEntry) -> Undo:
        id_ = self._checked_id(message)
        old = self.message(id_)
        self._remove(id_)

        def undo() -> None:
            self._switch.mcast_group_add(id_, _pairs(old.replicas))
            self._messages[id_] = old

        return undo

    def message(self, id_: int) -> p4r.MulticastGroupEntry:
        if id_ not in self._messages:
            raise not_found(f"no multicast group {id_}")
        return self._messages[id_]

    def ids(self) -> list[int]:
        return list(self._messages)

    def _remove(self, id_: int) -> None:
        self._switch.mcast_group_delete(id_)
        del self._messages[id_]

    @staticmethod
    def _checked_id(message: p4r.MulticastGroupEntry) -> int:
        id_ = message.multicast_group_id
        if not 0 < id_ <= MAX_MULTICAST_GROUP_ID:
            raise invalid_argument(f"multicast group id {id_} is not 1 to {MAX_MULTICAST_GROUP_ID}")
        return id_

    @staticmethod
    def _parse(message: p4r.MulticastGroupEntry) -> tuple[p4r.MulticastGroupEntry, ReplicaPairs]:
        what = f"multicast group {message.multicast_group_id}"
        replicas, pairs = _canonical_replicas(message.replicas, what)
        return p4r.MulticastGroupEntry(
            multicast_group_id=message.multicast_group_id, replicas=replicas, metadata=message.metadata
        ), pairs


class CloneSessions:
    """Clone sessions by id; a message is what a Read answers with."""

    def __init__(self, switch: Switch) -> None:
        self._switch = switch
        self._messages: dict[int, p4r.CloneSessionEntry] = {}

    def insert(self, message: p4r.CloneSessionEntry) -> Undo:
        id_ = self._checked_id(message)
        canonical = self._parse(message)
        if id_ in self._messages:
            raise already_exists(f"clone session {id_} exists")
        self._write(canonical)
        return lambda: self._remove(id_)

    def modify(self, message: p4r.CloneSessionEntry) -> Undo:
        canonical = self._parse(message)
        old = self.message(self._checked_id(message))
        self._write(canonical)
        return lambda: self._write(old)

    def delete(self, message: p4r.CloneSessionEntry) -> Undo:
        id_ = self._checked_id(message)
        old = self.message(id_)
        self._remove(id_)
        return lambda: self._write(old)

    def message(self, id_: int) -> p4r.CloneSessionEntry:
        if id_ not in self._messages:
            raise not_found(f"no clone session {id_}")
        return self._messages[id_]

    def ids(self) -> list[int]:
        return list(self._messages)

    def _write(self, message: p4r.CloneSessionEntry) -> None:
        self._switch.clone_session_set(
            message.session_id, _pairs(message.replicas), message.packet_length_bytes, message.class_of_service
        )
        self._messages[message.session_id] = message

    def _remove(self, id_: int) -> None:
        self._switch.clone_session_delete(id_)
        del self._messages[id_]

    @staticmethod
    def _checked_id(message: p4r.CloneSessionEntry) -> int:
        if not 0 < message.session_id <= MAX_CLONE_SESSION_ID:
            raise invalid_argument(f"clone session id {message.session_id} is not 1 to {MAX_CLONE_SESSION_ID}")
        return message.session_id

    @staticmethod
    def _parse(message: p4r.CloneSessionEntry) -> p4r.CloneSessionEntry:
        what = f"clone session {message.session_id}"
        replicas, _ = _canonical_replicas(message.replicas, what)
        if message.packet_length_bytes < 0:
            raise invalid_argument(f"{what}: packet length {message.packet_length_bytes} is negative")
        if message.class_of_service > MAX_CLASS_OF_SERVICE:
            raise invalid_argument(
                f"{what}: class of service {message.class_of_service} is not 0 to {MAX_CLASS_OF_SERVICE}"
            )
        return p4r.CloneSessionEntry(
            session_id=message.session_id,
            replicas=replicas,
            class_of_service=message.class_of_service,
            packet_length_bytes=message.packet_length_bytes,
        )


def _port(replica: p4r.Replica) -> int:
    """The port, from whichever of its two forms the client uses (`egress_port` was deprecated in 1.4.0)."""
    return int.from_bytes(replica.port, "big") if replica.HasField("port") else replica.egress_port


def _pairs(replicas: Iterable[p4r.Replica]) -> ReplicaPairs:
    return [(_port(replica), replica.instance) for replica in replicas]


def _canonical_replicas(replicas: Iterable[p4r.Replica], what: str) -> tuple[list[p4r.Replica], ReplicaPairs]:
    """Checked replicas with canonical ports, and the data plane's (port, instance) pairs."""
    result = []
    for replica in replicas:
        if replica.backup_replicas:
            raise unimplemented(f"{what}: this target has no backup replicas")
        if replica.WhichOneof("port_kind") == "port" and not replica.port:
            raise invalid_argument(f"{what}: a replica has an empty port")
        if (port := _port(replica)) > MAX_PORT:
            raise invalid_argument(f"{what}: port {port} is above {MAX_PORT}")
        if replica.instance > MAX_INSTANCE:
            raise invalid_argument(f"{what}: instance {replica.instance} is above {MAX_INSTANCE}")
        copy = p4r.Replica()
        copy.CopyFrom(replica)
        if replica.HasField("port"):
            copy.port = bytestrings.canonical(replica.port)
        result.append(copy)
    pairs = _pairs(result)
    if len(set(pairs)) != len(pairs):
        twice = next(pair for pair in pairs if pairs.count(pair) > 1)
        raise invalid_argument(f"{what}: port {twice[0]} with instance {twice[1]} is named twice")
    return result, pairs
