"""Errors with a canonical code, and how gRPC carries them (P4Runtime specification, "Error Reporting Messages")."""

from collections.abc import Sequence
from functools import partial

import grpc
from canopy_engine import EngineError
from finsy.proto import p4r, rpc_code, rpc_status

# The numeric values of google.rpc.Code are those of grpc.StatusCode.
STATUS_CODE_OF: dict[int, grpc.StatusCode] = {status.value[0]: status for status in grpc.StatusCode}

CODE_OF_ENGINE_ERROR: dict[str, int] = {
    "not_found": rpc_code.NOT_FOUND,
    "already_exists": rpc_code.ALREADY_EXISTS,
    "invalid_argument": rpc_code.INVALID_ARGUMENT,
    "resource_exhausted": rpc_code.RESOURCE_EXHAUSTED,
    "unimplemented": rpc_code.UNIMPLEMENTED,
}

STATUS_DETAILS_KEY = "grpc-status-details-bin"

# gRPC refuses a trailer beyond the client's limit and then reports neither status nor details (specification, "gRPC
# Metadata Maximum Size"). The default limit is 8 KiB; below, the details have room in it even when sent in base64.
# Texts give way to stay within that, the last first.
DETAILS_WITH_TEXTS_BYTES = 5 * 1024
# The codes alone may take what a client that asks for 64 KiB accepts (finsy does). A batch too large even for that gets
# the status and the summary without details, which says more than the RESOURCE_EXHAUSTED that gRPC would make of it.
DETAILS_BYTES = 48 * 1024


class P4RuntimeError(Exception):
    """A request, or one entity of it, was refused. `code` is a google.rpc.Code."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


# Each takes the message.
invalid_argument = partial(P4RuntimeError, rpc_code.INVALID_ARGUMENT)
not_found = partial(P4RuntimeError, rpc_code.NOT_FOUND)
already_exists = partial(P4RuntimeError, rpc_code.ALREADY_EXISTS)
permission_denied = partial(P4RuntimeError, rpc_code.PERMISSION_DENIED)
failed_precondition = partial(P4RuntimeError, rpc_code.FAILED_PRECONDITION)
out_of_range = partial(P4RuntimeError, rpc_code.OUT_OF_RANGE)
resource_exhausted = partial(P4RuntimeError, rpc_code.RESOURCE_EXHAUSTED)
unimplemented = partial(P4RuntimeError, rpc_code.UNIMPLEMENTED)


def from_engine(error: EngineError) -> P4RuntimeError:
    """What the data plane refused, in P4Runtime's words; an unknown code is INTERNAL."""
    code, message = error.args
    return P4RuntimeError(CODE_OF_ENGINE_ERROR.get(code, rpc_code.INTERNAL), message)


class BatchError(Exception):
    """Some entities of a Write or Read failed: one error per entity, None where it succeeded."""

    def __init__(self, message: str, errors: Sequence[P4RuntimeError | None]) -> None:
        super().__init__(message)
        self.message = message
        self.errors = list(errors)

    def summary(self) -> str:
        """The status message: how many failed, and the first of them."""
        failed = [(position, error) for position, error in enumerate(self.errors) if error is not None]
        position, first = failed[0]
        code = STATUS_CODE_OF[first.code].name
        return f"{self.message}: {len(failed)} of {len(self.errors)} failed; number {position}: {code}: {first.message}"

    def status(self) -> rpc_status.Status:
        """The google.rpc.Status for the trailing metadata: code UNKNOWN and one p4.v1.Error per entity."""
        message = self.summary()[: DETAILS_WITH_TEXTS_BYTES // 4]
        details = [_detail(error) for error in self.errors]
        status = _pack(message, details)
        excess = status.ByteSize() - DETAILS_WITH_TEXTS_BYTES
        if excess <= 0:
            return status
        for detail in reversed(details):
            if excess <= 0:
                break
            excess -= len(detail.message.encode())
            detail.message = ""
        status = _pack(message, details)
        return status if status.ByteSize() <= DETAILS_BYTES else _pack(message, [])


def _detail(error: P4RuntimeError | None) -> p4r.Error:
    if error is None:
        return p4r.Error(canonical_code=rpc_code.OK)
    return p4r.Error(canonical_code=error.code, message=error.message)


def _pack(message: str, details: Sequence[p4r.Error]) -> rpc_status.Status:
    status = rpc_status.Status(code=rpc_code.UNKNOWN, message=message)
    for detail in details:
        status.details.add().Pack(detail)
    return status
