"""The Read RPC's batches (specification, "Read RPC"): each entity of a request is a filter with wildcards."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence

import canopy_engine
from finsy.proto import p4r

from engine.switch.p4runtime.errors import BatchError, P4RuntimeError, from_engine
from engine.switch.p4runtime.kinds import kind_of
from engine.switch.p4runtime.pipeline import Pipeline

# A large read gives way to stream messages after so many entities; writes still wait for its end.
ENTITIES_PER_TURN = 256

# gRPC clients take messages of up to 4 MiB by default; a response is closed well before that.
RESPONSE_BYTES = 256 * 1024


async def read_batch(
    pipeline: Pipeline, requests: Sequence[p4r.Entity], visible: Callable[[p4r.Entity], bool]
) -> tuple[list[p4r.Entity], BatchError | None]:
    """What the requests select, and the error when some of them are invalid. The caller keeps writers out.

    `visible` filters entities by the client's role."""
    entities: list[p4r.Entity] = []
    errors: list[P4RuntimeError | None] = []
    for request in requests:
        start = len(entities)
        try:
            for entity in read_entity(pipeline, request):
                if visible(entity):
                    entities.append(entity)
                    if len(entities) % ENTITIES_PER_TURN == 0:
                        await asyncio.sleep(0)
            errors.append(None)
        except P4RuntimeError as error:
            del entities[start:]
            errors.append(error)
    return entities, BatchError("Read failed in part", errors) if any(errors) else None


def responses(entities: Iterable[p4r.Entity]) -> Iterator[p4r.ReadResponse]:
    """The entities in responses of bounded size."""
    response, size = p4r.ReadResponse(), 0
    for entity in entities:
        response.entities.append(entity)
        size += entity.ByteSize()
        if size >= RESPONSE_BYTES:
            yield response
            response, size = p4r.ReadResponse(), 0
    if response.entities:
        yield response


def read_entity(pipeline: Pipeline, request: p4r.Entity) -> Iterator[p4r.Entity]:
    """What one request selects. Raises P4RuntimeError when it is invalid."""
    try:
        yield from kind_of(request).select(pipeline, request)
    except canopy_engine.EngineError as error:
        raise from_engine(error) from None
