"""The Write RPC's batches (specification, "Write RPC")."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

import canopy_engine
from finsy.proto import p4r, rpc_code

from engine.switch.p4runtime.errors import BatchError, P4RuntimeError, from_engine, invalid_argument, unimplemented
from engine.switch.p4runtime.kinds import kind_of
from engine.switch.p4runtime.pipeline import Pipeline
from engine.switch.p4runtime.undo import Undo

ATOMICITIES: Final = frozenset(p4r.WriteRequest.Atomicity.values())
INSERT, MODIFY, DELETE = p4r.Update.INSERT, p4r.Update.MODIFY, p4r.Update.DELETE

# A large batch gives way to stream messages after so many updates; other writes still wait for its end.
UPDATES_PER_TURN = 128


async def write_batch(
    pipeline: Pipeline,
    updates: Sequence[p4r.Update],
    atomicity: p4r.WriteRequest.Atomicity.ValueType,
    check_allowed: Callable[[p4r.Entity], None],
) -> None:
    """Apply the updates in order. Raises BatchError if some failed, P4RuntimeError if the atomicity cannot be had.

    The caller keeps other writers out. `check_allowed` raises PERMISSION_DENIED for what the role may not write."""
    if atomicity not in ATOMICITIES:
        raise invalid_argument(f"atomicity {atomicity} is none")
    if atomicity == p4r.WriteRequest.DATAPLANE_ATOMIC and len(updates) > 1:
        raise unimplemented("DATAPLANE_ATOMIC is supported for a single update only")
    rollback = atomicity == p4r.WriteRequest.ROLLBACK_ON_ERROR
    errors: list[P4RuntimeError | None] = []
    undos: list[Undo] = []
    for number, update in enumerate(updates, 1):
        try:
            check_allowed(update.entity)
            undo = apply_update(pipeline, update)
            if rollback:
                undos.append(undo)
            errors.append(None)
        except P4RuntimeError as error:
            errors.append(error)
            if rollback:
                _roll_back(undos)
                raise BatchError("Write failed and was rolled back", _aborted(errors, len(updates))) from None
        if number % UPDATES_PER_TURN == 0:
            await asyncio.sleep(0)
    if any(errors):
        raise BatchError("Write failed in part", errors)


def _roll_back(undos: list[Undo]) -> None:
    while undos:
        undos.pop()()


def _aborted(errors: list[P4RuntimeError | None], total: int) -> list[P4RuntimeError | None]:
    """The failed update keeps its error; the others were undone or never tried."""
    aborted = P4RuntimeError(rpc_code.ABORTED, "not applied: another update of the batch failed")
    return [*(error or aborted for error in errors), *[aborted] * (total - len(errors))]


def apply_update(pipeline: Pipeline, update: p4r.Update) -> Undo:
    """One update, in the data plane and in the server; raises P4RuntimeError and then has changed nothing."""
    if update.type not in (INSERT, MODIFY, DELETE):
        raise invalid_argument(f"update type {update.type} is none")
    writer = kind_of(update.entity).writer(pipeline, update.entity)
    operation = {INSERT: writer.insert, MODIFY: writer.modify, DELETE: writer.delete}[update.type]
    if operation is None:
        raise invalid_argument(f"{update.entity.WhichOneof('entity')} can only be modified")
    try:
        return operation()
    except canopy_engine.EngineError as error:
        raise from_engine(error) from None
