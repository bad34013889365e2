"""One switch as its controllers see it: arbitration, the pipeline, and what flows over their streams.

Everything here runs in one event loop. `lock` keeps writes apart from reads and from each other while a large batch
gives way to the streams; arbitration takes it too, so that a new primary starts after the old one's last write.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from finsy.proto import p4r

from engine.switch.p4runtime.arbitration import Arbitration
from engine.switch.p4runtime.errors import (
    BatchError,
    P4RuntimeError,
    failed_precondition,
    invalid_argument,
    not_found,
    permission_denied,
    unimplemented,
)
from engine.switch.p4runtime.notifications import Notifier
from engine.switch.p4runtime.packet_io import encode_packet_out
from engine.switch.p4runtime.pipeline import Pipeline, build_pipeline
from engine.switch.p4runtime.read import read_batch
from engine.switch.p4runtime.reconcile import carry_over
from engine.switch.p4runtime.roles import FULL_ACCESS, RoleKey, RoleScope
from engine.switch.p4runtime.streams import ClientStream
from engine.switch.p4runtime.write import UPDATES_PER_TURN, write_batch

if TYPE_CHECKING:
    from engine.switch.p4runtime.datapath import DataPath

logger = logging.getLogger(__name__)

SetConfig = p4r.SetForwardingPipelineConfigRequest
GetConfig = p4r.GetForwardingPipelineConfigRequest


class Device:
    """A device id with its data path. `active` forwards; `saved` was verified and saved, and is to be committed."""

    def __init__(self, device_id: int, datapath: DataPath) -> None:
        self.device_id = device_id
        self.datapath = datapath
        self.arbitration = Arbitration(device_id, self._new_primary)
        self.active: Pipeline | None = None
        self.saved: Pipeline | None = None
        self.lock = asyncio.Lock()
        self.notifier = Notifier(self.arbitration)

    @property
    def pipeline(self) -> Pipeline:
        """The pipeline that reads and writes refer to."""
        pipeline = self.saved or self.active
        if pipeline is None:
            raise failed_precondition("No forwarding pipeline config set for this device")
        return pipeline

    def is_primary_at(self, peer: str) -> bool:
        """Whether a role's primary has its stream on the connection with this other end."""
        return any(client.peer == peer for client, _ in self.arbitration.primaries())

    # RPCs.

    async def write(self, request: p4r.WriteRequest) -> None:
        """Apply a batch. A client that gives up waiting does not stop it halfway; one that is no primary is not kept
        waiting."""
        if len(request.updates) < UPDATES_PER_TURN and not self.lock.locked():
            # Once begun it waits for nothing; a task of its own would cost as much again.
            await self._write(request)
            return
        self._check_primary(request)
        task = asyncio.create_task(self._write(request))
        task.add_done_callback(_note_exception)
        await asyncio.shield(task)

    async def _write(self, request: p4r.WriteRequest) -> None:
        async with self.lock:
            scope = self._check_primary(request)
            await write_batch(self.pipeline, request.updates, request.atomicity, scope.check_write)
            self.notifier.schedule()

    async def read(self, request: p4r.ReadRequest) -> tuple[list[p4r.Entity], BatchError | None]:
        async with self.lock:
            scope = FULL_ACCESS
            if request.role:
                scope = self.arbitration.role(request.device_id, (request.role, 0)).scope
            elif request.device_id != self.device_id:
                raise not_found(f"no device has id {request.device_id}")
            return await read_batch(self.pipeline, request.entities, scope.sees)

    async def set_config(self, request: p4r.SetForwardingPipelineConfigRequest) -> None:
        self._check_primary(request)
        async with self.lock:
            scope = self._check_primary(request)
            if not scope.can_push_pipeline:
                raise permission_denied("the role may not set the forwarding pipeline config")
            if request.action == SetConfig.COMMIT:
                self._commit_saved(request)
                return
            if request.action not in (
                SetConfig.VERIFY,
                SetConfig.VERIFY_AND_SAVE,
                SetConfig.VERIFY_AND_COMMIT,
                SetConfig.RECONCILE_AND_COMMIT,
            ):
                raise invalid_argument(f"action {request.action} is none")
            if not request.HasField("config"):
                raise invalid_argument("the request has no config")
            pipeline = build_pipeline(request.config, self.datapath)
            if request.action == SetConfig.VERIFY_AND_SAVE:
                self.saved = pipeline
            elif request.action == SetConfig.VERIFY_AND_COMMIT:
                self.commit(pipeline)
            elif request.action == SetConfig.RECONCILE_AND_COMMIT:
                if self.active is not None:
                    carry_over(self.active, pipeline)
                self.commit(pipeline)

    def _check_primary(self, request: p4r.WriteRequest | p4r.SetForwardingPipelineConfigRequest) -> RoleScope:
        """What the request's role may do. NOT_FOUND or PERMISSION_DENIED when it is not of the role's primary."""
        election_id = request.election_id if request.HasField("election_id") else None
        return self.arbitration.check_primary(request.device_id, (request.role, request.role_id), election_id)

    async def get_config(
        self, request: p4r.GetForwardingPipelineConfigRequest
    ) -> p4r.GetForwardingPipelineConfigResponse:
        if request.device_id != self.device_id:
            raise not_found(f"no device has id {request.device_id}")
        if request.response_type not in GetConfig.ResponseType.values():
            raise invalid_argument(f"response type {request.response_type} is none")
        response = p4r.GetForwardingPipelineConfigResponse()
        pipeline = self.saved or self.active
        if pipeline is None:
            return response
        config, wanted = pipeline.config, request.response_type
        response.config.SetInParent()
        if config.HasField("cookie"):
            response.config.cookie.CopyFrom(config.cookie)
        if wanted in (GetConfig.ALL, GetConfig.P4INFO_AND_COOKIE):
            response.config.p4info.CopyFrom(config.p4info)
        if wanted in (GetConfig.ALL, GetConfig.DEVICE_CONFIG_AND_COOKIE):
            response.config.p4_device_config = config.p4_device_config
        return response

    def commit(self, pipeline: Pipeline) -> None:
        """Let a pipeline forward in place of the one before, whose state is gone."""
        self.datapath.install(pipeline.switch)
        self.active, self.saved = pipeline, None
        self.notifier.pipeline = pipeline
        self.notifier.schedule()

    def _commit_saved(self, request: p4r.SetForwardingPipelineConfigRequest) -> None:
        if request.HasField("config"):
            raise invalid_argument("COMMIT takes no config: it commits the saved one")
        if self.saved is None:
            raise not_found("no config has been saved")
        self.commit(self.saved)

    # Stream messages from clients.

    async def handle_stream_message(self, stream: ClientStream, request: p4r.StreamMessageRequest) -> None:
        """Raises P4RuntimeError when the stream is to end, which only a bad arbitration message does."""
        kind = request.WhichOneof("update")
        if kind == "arbitration":
            async with self.lock:
                self.arbitration.update(stream, request.arbitration)
            return
        error = p4r.StreamError()
        try:
            match kind:
                case "packet":
                    error.packet_out.packet_out.CopyFrom(request.packet)
                    self._packet_out(stream, request.packet)
                case "digest_ack":
                    error.digest_list_ack.digest_list_ack.CopyFrom(request.digest_ack)
                    self._digest_ack(stream, request.digest_ack)
                case _:
                    error.other.other.CopyFrom(request.other)
                    raise unimplemented("this target has no stream messages of its own")
        except P4RuntimeError as refused:
            error.canonical_code, error.message = refused.code, refused.message
            stream.send(p4r.StreamMessageResponse(error=error))

    def disconnect(self, stream: ClientStream) -> None:
        self.arbitration.disconnect(stream)
        if stream.dropped:
            logger.warning("a client was too slow: %d stream messages were dropped", stream.dropped)

    def _packet_out(self, stream: ClientStream, packet: p4r.PacketOut) -> None:
        if self.arbitration.primary_scope(stream) is None:
            raise permission_denied("only a role's primary client may send packets")
        if self.active is None:
            raise failed_precondition("No forwarding pipeline config set for this device")
        self.datapath.inject(encode_packet_out(packet, self.active.packet_out))

    def _digest_ack(self, stream: ClientStream, ack: p4r.DigestListAck) -> None:
        if self.active is None or ack.digest_id not in self.active.digests:
            raise invalid_argument(f"no digest has id {ack.digest_id:#x} in the P4Info")
        if self.arbitration.primary_scope(stream) is None:
            raise permission_denied("only a role's primary client may acknowledge digests")
        self.active.digests[ack.digest_id].acknowledge(ack.list_id)
        self.notifier.schedule()

    def _new_primary(self, _role: RoleKey) -> None:
        self.notifier.forget_sent_digests()

    def port_changed(self, port: int) -> None:
        """A port went up or down."""
        for pipeline in (self.active, self.saved):
            if pipeline is not None:
                pipeline.port_changed(port)

    def close(self) -> None:
        self.notifier.close()


def _note_exception(task: asyncio.Task[None]) -> None:
    """Errors of a write whose client has gone are dropped, as the specification says; faults are logged."""
    error = None if task.cancelled() else task.exception()
    if error is not None and not isinstance(error, P4RuntimeError | BatchError):
        logger.error("a write failed", exc_info=error)
