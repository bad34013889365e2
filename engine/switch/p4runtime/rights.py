"""Who may change something: over TLS with client certificates, everybody but the client named `reader`."""

from __future__ import annotations

from typing import Any, Final

import grpc

READER: Final = "reader"
"""The common name in the certificate of a client that may look only."""

NAME_KEY: Final = "x509_common_name"
"""gRPC's name for it in what it knows of a connection."""


def is_known(context: Any) -> bool:
    """Whether a client has shown by a certificate that it may change something."""
    names = context.auth_context().get(NAME_KEY, ())
    return bool(names) and READER.encode() not in names


async def check_may_change(context: Any) -> None:
    """Ends a reader's call that would change something, or could make it primary, before its request has come."""
    if READER.encode() in context.auth_context().get(NAME_KEY, ()):
        await context.abort(grpc.StatusCode.PERMISSION_DENIED, "this client may read only")
