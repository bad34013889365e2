"""The gRPC server's outside: addresses, TLS, start and stop."""

import socket
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import grpc
import pytest
from finsy.proto import p4r, p4r_grpc

from engine.switch.certificates import make_certificates
from engine.switch.p4runtime import server
from engine.switch.p4runtime.datapath import MemoryDataPath
from engine.switch.p4runtime.server import P4RuntimeServer, TlsFiles
from tests.engine.entities import raw
from tests.engine.served import DEADLINE_S, Served


def capabilities(channel: grpc.Channel) -> str:
    with channel:
        stub = p4r_grpc.P4RuntimeStub(channel)
        return stub.Capabilities(p4r.CapabilitiesRequest(), timeout=DEADLINE_S).p4runtime_api_version


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CA, and the certificates of a server and its clients that it signed."""
    folder = tmp_path_factory.mktemp("certificates") / "made"
    make_certificates(folder, ["localhost"])
    return folder


def credentials(folder: Path, client: str | None = None) -> grpc.ChannelCredentials:
    """`client`: whose certificate it shows."""
    shown = () if client is None else ((folder / f"{client}.key").read_bytes(), (folder / f"{client}.pem").read_bytes())
    return grpc.ssl_channel_credentials((folder / "ca.pem").read_bytes(), *shown)


def strict(folder: Path) -> TlsFiles:
    """Clients must show a certificate."""
    return TlsFiles(folder / "localhost.pem", folder / "localhost.key", folder / "ca.pem", True)


def test_tls(certificates: Path) -> None:
    with Served(TlsFiles(certificates / "localhost.pem", certificates / "localhost.key")) as served:
        address = f"localhost:{served.server.port}"
        assert capabilities(grpc.secure_channel(address, credentials(certificates))) == "1.5.0"
        with pytest.raises(grpc.RpcError):
            capabilities(grpc.insecure_channel(address))


def test_tls_with_client_certificates(certificates: Path) -> None:
    with Served(strict(certificates)) as served:
        address = f"localhost:{served.server.port}"
        assert capabilities(grpc.secure_channel(address, credentials(certificates, "controller"))) == "1.5.0"
        with pytest.raises(grpc.RpcError):
            capabilities(grpc.secure_channel(address, credentials(certificates)))
        with pytest.raises(grpc.RpcError):  # a server's is no client's
            capabilities(grpc.secure_channel(address, credentials(certificates, "localhost")))


def test_a_certificate_of_another_authority_is_none(certificates: Path, tmp_path: Path) -> None:
    make_certificates(tmp_path / "other", ["localhost"])
    key, certificate = ((tmp_path / "other" / f"controller.{end}").read_bytes() for end in ("key", "pem"))
    shown = grpc.ssl_channel_credentials((certificates / "ca.pem").read_bytes(), key, certificate)
    with Served(strict(certificates)) as served, pytest.raises(grpc.RpcError):
        capabilities(grpc.secure_channel(f"localhost:{served.server.port}", shown))


async def test_a_port_in_use_is_an_error_and_free_again_after_the_stop() -> None:
    first, second = P4RuntimeServer(1, MemoryDataPath()), P4RuntimeServer(2, MemoryDataPath())
    await first.start("127.0.0.1:0")
    address = f"127.0.0.1:{first.port}"
    with pytest.raises(OSError, match="cannot listen"):
        await second.start(address)
    await first.stop()
    await second.start(address)
    await second.stop()


async def test_stopping_ends_open_streams_and_twice_is_no_error() -> None:
    server = P4RuntimeServer(1, MemoryDataPath())
    await server.start("127.0.0.1:0")
    async with grpc.aio.insecure_channel(f"127.0.0.1:{server.port}") as channel:
        stub: Any = p4r_grpc.P4RuntimeStub(channel)
        call = stub.StreamChannel()
        await call.write(raw.StreamMessageRequest(arbitration={"device_id": 1}))
        await call.read()
        await server.stop()
        assert await call.code() != grpc.StatusCode.OK
    await server.stop()


def test_connections_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "MAX_CONNECTIONS", 2)
    hello = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])  # and no settings
    with Served() as served, ExitStack() as open_ones:
        answered = []
        for _ in range(3):
            one = open_ones.enter_context(socket.create_connection(("127.0.0.1", served.server.port), 10.0))
            with suppress(ConnectionError):
                one.sendall(hello)
                answered.append(bool(one.recv(1)))
        assert [found for found in answered if found] == [True, True]
