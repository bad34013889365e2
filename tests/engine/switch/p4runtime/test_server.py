"""The gRPC server's outside: addresses, TLS, start and stop."""

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import grpc
import pytest
from finsy.proto import p4r, p4r_grpc

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
    """A CA, and a server's and a client's certificate that it signed; NAME.pem and NAME.key."""
    folder = tmp_path_factory.mktemp("certificates")

    def make(name: str, *options: str) -> None:
        kind = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
        names = ["-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.pem"]
        subprocess.run(["openssl", *kind, *names, *options], cwd=folder, check=True, capture_output=True)

    make("ca")
    for name in ("server", "client"):
        make(name, "-CA", "ca.pem", "-CAkey", "ca.key", "-addext", "subjectAltName=DNS:localhost")
    return folder


def credentials(folder: Path, client: bool = False) -> grpc.ChannelCredentials:
    key, certificate = (folder / "client.key").read_bytes(), (folder / "client.pem").read_bytes()
    return grpc.ssl_channel_credentials((folder / "ca.pem").read_bytes(), *((key, certificate) if client else ()))


def test_tls(certificates: Path) -> None:
    with Served(TlsFiles(certificates / "server.pem", certificates / "server.key")) as served:
        address = f"localhost:{served.server.port}"
        assert capabilities(grpc.secure_channel(address, credentials(certificates))) == "1.5.0"
        with pytest.raises(grpc.RpcError):
            capabilities(grpc.insecure_channel(address))


def test_tls_with_client_certificates(certificates: Path) -> None:
    files = TlsFiles(certificates / "server.pem", certificates / "server.key", certificates / "ca.pem", True)
    with Served(files) as served:
        address = f"localhost:{served.server.port}"
        assert capabilities(grpc.secure_channel(address, credentials(certificates, client=True))) == "1.5.0"
        with pytest.raises(grpc.RpcError):
            capabilities(grpc.secure_channel(address, credentials(certificates)))


def test_a_port_in_use_is_an_error_and_free_again_after_the_stop() -> None:
    async def run() -> None:
        first, second = P4RuntimeServer(1, MemoryDataPath()), P4RuntimeServer(2, MemoryDataPath())
        await first.start("127.0.0.1:0")
        address = f"127.0.0.1:{first.port}"
        with pytest.raises(OSError, match="cannot listen"):
            await second.start(address)
        await first.stop()
        await second.start(address)
        await second.stop()

    asyncio.run(run())


def test_stopping_ends_open_streams_and_twice_is_no_error() -> None:
    async def run() -> None:
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

    asyncio.run(run())
