"""Whether a program's files for TLS are whole. gRPC says of none which it is, takes an empty authority for one, and
with half a certificate of its own connects to nobody.
"""

import contextlib
import ssl
from collections.abc import Iterator
from pathlib import Path


class TlsFileError(Exception):
    """One of them is not; one line for the user."""


def check_tls_files(certificate: Path, key: Path, authority: Path | None) -> None:
    """A program's own certificate and its key, and the authority of others' (PEM). TlsFileError."""
    certificates = [certificate] if authority is None else [certificate, authority]
    for path in (key, *certificates):
        with _named(path, ""):
            path.read_bytes()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    for path in certificates:
        with _named(path, "no certificate"):
            context.load_verify_locations(path)
    with _named(key, f"not the key of {certificate}"):
        context.load_cert_chain(certificate, key, "")  # else a password would be asked for on the terminal


@contextlib.contextmanager
def _named(path: Path, lack: str) -> Iterator[None]:
    try:
        yield
    except ssl.SSLError:
        raise TlsFileError(f"{path}: {lack}, or not whole") from None
    except OSError as error:
        raise TlsFileError(f"{path}: {error.strerror}") from None
