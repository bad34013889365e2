"""simple_switch_grpc as a target of the program's tests."""

import time
from collections.abc import Mapping, Sequence

from finsy.proto import p4r

from tests.p4src.bench.program import Program, number, to_bytes
from tests.p4src.bench.target import Digest, Key, Output, PacketIn, Rates, Target
from tests.simple_switch import SimpleSwitchProcess


class SimpleSwitch(Target):
    """One simple_switch_grpc process. Its time is the machine's, and a reset loads the program again."""

    def __init__(self, program: Program, executable: str) -> None:
        super().__init__(program)
        self._replication: list[p4r.Entity] = []  # groups and clone sessions
        self._digests: list[Digest] = []
        self._packet_ins: list[PacketIn] = []
        self._process = SimpleSwitchProcess(executable, number("CPU_PORT"), self._receive)
        try:
            self.reset()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._process.close()

    def send(self, port: int, packet: bytes) -> list[Output]:
        return self._process.send(port, packet)

    def digests(self) -> list[Digest]:
        self._process.settle()
        messages, self._digests = self._digests, []
        return messages

    def packet_ins(self) -> list[PacketIn]:
        self._process.settle()
        packets, self._packet_ins = self._packet_ins, []
        return packets

    def advance(self, microseconds: int) -> None:
        time.sleep(microseconds / 1e6)

    def reset(self) -> None:
        # A new pipeline makes PI forget the groups and sessions but leaves them in the switch.
        if self._replication:
            self._process.write_all(p4r.Update.DELETE, self._replication)
            self._replication.clear()
        self._process.push(self.program.p4info, self.program.json)
        self._process.settle()
        self._digests.clear()
        self._packet_ins.clear()
        at_once = p4r.DigestEntry.Config(max_timeout_ns=0, max_list_size=1, ack_timeout_ns=0)
        self._process.write_all(
            p4r.Update.INSERT,
            [
                p4r.Entity(digest_entry=p4r.DigestEntry(digest_id=digest, config=at_once))
                for digest in self.program.digest_ids()
            ],
        )

    def set_default(self, table: str, action: str, params: Mapping[str, int]) -> None:
        entry = self._entry(table, {}, action, params)
        entry.is_default_action = True
        self._process.write_all(p4r.Update.MODIFY, [p4r.Entity(table_entry=entry)])

    def insert(self, table: str, key: Mapping[str, Key], action: str, params: Mapping[str, int]) -> None:
        self._process.write_all(p4r.Update.INSERT, [p4r.Entity(table_entry=self._entry(table, key, action, params))])

    def modify(self, table: str, key: Mapping[str, Key], action: str, params: Mapping[str, int]) -> None:
        self._process.write_all(p4r.Update.MODIFY, [p4r.Entity(table_entry=self._entry(table, key, action, params))])

    def delete(self, table: str, key: Mapping[str, Key]) -> None:
        entry = p4r.TableEntry(table_id=self.program.table(table).id, match=self._match(table, key))
        self._process.write_all(p4r.Update.DELETE, [p4r.Entity(table_entry=entry)])

    def set_groups(self, groups: Mapping[int, Sequence[int]]) -> None:
        entities = [self._group(group, ports) for group, ports in groups.items()]
        self._process.write_all(p4r.Update.INSERT, entities)
        self._replication += entities

    def change_group(self, group: int, ports: Sequence[int]) -> None:
        self._process.write_all(p4r.Update.MODIFY, [self._group(group, ports)])

    def set_clone_session(self, session: int, port: int) -> None:
        replicas = [p4r.Replica(egress_port=port, instance=0)]
        entry = p4r.CloneSessionEntry(session_id=session, replicas=replicas)
        engine = p4r.PacketReplicationEngineEntry(clone_session_entry=entry)
        entities = [p4r.Entity(packet_replication_engine_entry=engine)]
        self._process.write_all(p4r.Update.INSERT, entities)
        self._replication += entities

    def counter(self, name: str, index: int) -> tuple[int, int]:
        entry = p4r.CounterEntry(counter_id=self.program.counter_id(name), index=p4r.Index(index=index))
        (found,) = self._process.read(p4r.Entity(counter_entry=entry))
        data = found.counter_entry.data
        return int(data.packet_count), int(data.byte_count)

    def set_meter(self, name: str, index: int, rates: Rates) -> None:
        config = p4r.MeterConfig(
            cir=rates.committed_rate, cburst=rates.committed_burst, pir=rates.peak_rate, pburst=rates.peak_burst
        )
        entry = p4r.MeterEntry(meter_id=self.program.meter_id(name), index=p4r.Index(index=index), config=config)
        self._process.write_all(p4r.Update.MODIFY, [p4r.Entity(meter_entry=entry)])

    def _entry(self, table: str, key: Mapping[str, Key], action: str, params: Mapping[str, int]) -> p4r.TableEntry:
        call = self.program.action(action)
        values = call.encode(params)
        return p4r.TableEntry(
            table_id=self.program.table(table).id,
            match=self._match(table, key),
            action=p4r.TableAction(
                action=p4r.Action(
                    action_id=call.id,
                    params=[
                        p4r.Action.Param(param_id=index, value=_canonical(value))
                        for index, value in enumerate(values, start=1)
                    ],
                )
            ),
        )

    def _match(self, table: str, key: Mapping[str, Key]) -> list[p4r.FieldMatch]:
        match = []
        for index, (name, width, _) in enumerate(self.program.table(table).fields, start=1):
            if name not in key:
                continue
            value = key[name]
            if isinstance(value, tuple):
                if value[1] == 0:
                    continue  # P4Runtime leaves out a field that matches everything
                prefix = p4r.FieldMatch.LPM(value=_canonical(to_bytes(value[0], width)), prefix_len=value[1])
                match.append(p4r.FieldMatch(field_id=index, lpm=prefix))
            else:
                exact = p4r.FieldMatch.Exact(value=_canonical(to_bytes(value, width)))
                match.append(p4r.FieldMatch(field_id=index, exact=exact))
        return match

    def _group(self, group: int, ports: Sequence[int]) -> p4r.Entity:
        replicas = [p4r.Replica(egress_port=port, instance=0) for port in ports]
        entry = p4r.MulticastGroupEntry(multicast_group_id=group, replicas=replicas)
        engine = p4r.PacketReplicationEngineEntry(multicast_group_entry=entry)
        return p4r.Entity(packet_replication_engine_entry=engine)

    def _receive(self, message: p4r.StreamMessageResponse) -> None:
        if message.HasField("digest"):
            name = self.program.digest_ids()[message.digest.digest_id]
            fields = self.program.digest_fields(name)
            for entry in message.digest.data:
                values = [int.from_bytes(member.bitstring, "big") for member in entry.struct.members]
                self._digests.append(Digest(name, dict(zip(fields, values, strict=True))))
        elif message.HasField("packet"):
            ids = {tag: name for tag, name, _ in self.program.header_fields("packet_in")}
            header = {ids[part.metadata_id]: int.from_bytes(part.value, "big") for part in message.packet.metadata}
            packet_in = PacketIn(header["ingress_port"], header["reason"], message.packet.payload)
            self._packet_ins.append(packet_in)


def _canonical(value: bytes) -> bytes:
    """P4Runtime's canonical byte string: no leading zeros."""
    return value.lstrip(b"\0") or b"\0"
