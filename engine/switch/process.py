"""`canopy switch`: the process. What it needs is checked before it serves, so that every mistake is one line."""

from __future__ import annotations

import asyncio
import gc
import ipaddress
import json
import logging
import os
import signal
import socket
import sys
from collections.abc import Container, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from canopy_engine import Capture, EngineError
from finsy.proto import p4i, p4r
from google.protobuf import text_format
from google.protobuf.message import DecodeError

from engine.command.lines import complain
from engine.command.listen import MAX_TCP_PORT, parse_address
from engine.command.notify import notify
from engine.command.tls import TlsFileError, check_tls_files
from engine.command.whole import write_whole
from engine.switch.backend import Backend
from engine.switch.limits import NO_LIMITS, Limits
from engine.switch.link_monitor import LinkMonitor
from engine.switch.links import LinkSpecError, load_links
from engine.switch.observe import TRACE_LINES, ObserveOptions, TraceWriter
from engine.switch.p4runtime.datapath import LiveDataPath, PortConfig
from engine.switch.p4runtime.errors import P4RuntimeError
from engine.switch.p4runtime.pipeline import build_pipeline
from engine.switch.p4runtime.server import P4RuntimeServer, TlsFiles

if TYPE_CHECKING:
    from engine.switch.metrics import MetricsServer

# v1model's port numbers have 9 bits, and BMv2 keeps the last one for dropped packets.
DROP_PORT = 511

# Of the whole process; the same as the engine's data path (engine/crates/live/src/worker.rs).
NICENESS = -10

# The emulation samples four times a second; a file that is a little younger than that is always fresh.
STATS_INTERVAL_S = 0.2

logger = logging.getLogger(__name__)


class SwitchError(Exception):
    """The switch cannot start; the message is one line for the user."""


@dataclass(frozen=True)
class SwitchOptions:
    """What the command line says. `interfaces`: port -> Linux interface."""

    interfaces: Mapping[int, str] = field(default_factory=dict)
    device_id: int = 1
    address: str = "127.0.0.1:9559"
    cpu_port: int | None = None
    program: Path | None = None
    p4info: Path | None = None
    links: Path | None = None
    stats: Path | None = None
    seed: int = 0
    backend: Backend = "native"
    ready_fd: int | None = None
    tls: TlsFiles | None = None
    insecure: bool = False
    """Say nothing of an address beyond this machine where anybody may control the switch."""
    observe: ObserveOptions = field(default_factory=ObserveOptions)
    limits: Limits = NO_LIMITS


def parse_interfaces(words: list[str]) -> dict[int, str]:
    """`PORT@INTERFACE` words, as simple_switch_grpc takes them. Raises SwitchError."""
    interfaces: dict[int, str] = {}
    for word in words:
        number, separator, name = word.partition("@")
        if not separator or not number.isdecimal() or not name:
            raise SwitchError(f"`{word}` is not PORT@INTERFACE")
        port = int(number)
        if port >= DROP_PORT:
            raise SwitchError(f"port {port} of {name} is not below {DROP_PORT}")
        if port in interfaces:
            raise SwitchError(f"port {port} is given twice, for {interfaces[port]} and {name}")
        if name in interfaces.values():
            raise SwitchError(f"interface {name} is given twice")
        interfaces[port] = name
    return interfaces


def observe_options(
    metrics: str | None,
    pcap: Path | None,
    pcap_ports: list[int],
    pcap_limit_mb: float,
    trace: bool,
    ports: Container[int],
) -> ObserveOptions:
    """Raises SwitchError for what contradicts itself."""
    if pcap is None and pcap_ports:
        raise SwitchError("--pcap-port needs --pcap")
    for port in pcap_ports:
        if port not in ports:
            raise SwitchError(f"--pcap-port: the switch has no port {port}")
    try:
        place = parse_address("--metrics", metrics) if metrics is not None else None
    except ValueError as error:
        raise SwitchError(str(error)) from None
    return ObserveOptions(
        metrics=place,
        pcap=pcap,
        pcap_ports=frozenset(pcap_ports),
        pcap_limit_bytes=round(pcap_limit_mb * 1e6),
        trace=trace,
    )


def tls_files(
    certificate: Path | None, key: Path | None, ca: Path | None, require_client: bool, *, is_wanted: bool
) -> TlsFiles | None:
    """Raises SwitchError when a file is missing, cannot be read or is not whole, and when there are some and TLS is
    `is_wanted` not: who forgets that would serve anybody."""
    if not is_wanted:
        if certificate or key or ca or require_client:
            raise SwitchError("certificates, and clients that must have one, need --grpc-server-ssl")
        return None
    if certificate is None or key is None:
        raise SwitchError("--grpc-server-ssl needs --grpc-server-cert and --grpc-server-key")
    if require_client and ca is None:
        raise SwitchError("--grpc-server-with-client-auth needs --grpc-server-cacert")
    try:
        check_tls_files(certificate, key, ca)
    except TlsFileError as error:
        raise SwitchError(str(error)) from None
    return TlsFiles(certificate, key, ca, require_client)


def exposure(options: SwitchOptions) -> str | None:
    """One line on who may control the switch, when that is anybody who reaches it from another machine."""
    host = options.address.rpartition(":")[0].strip("[]")
    is_local = options.address.startswith(("unix:", "vsock:")) or host == "localhost"
    with suppress(ValueError):
        is_local = is_local or ipaddress.ip_address(host).is_loopback
    if is_local or options.insecure or (options.tls is not None and options.tls.require_client):
        return None
    how = "TLS without client certificates" if options.tls is not None else "no TLS"
    return (
        f"{options.address} with {how}: whoever reaches it controls the switch (canopy keys ca makes certificates; "
        "--insecure says that this is meant)"
    )


def run_switch(options: SwitchOptions) -> None:
    """Serve until SIGINT or SIGTERM. Raises SwitchError when it cannot start."""
    _check_interfaces(options.interfaces)
    check_address(options.address)
    if (warning := exposure(options)) is not None:
        complain(warning, "canopy switch")
    # The data path's thread takes this priority by itself. Control must not wait for it, nor for what floods it. Who
    # has no right to it does without it.
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, NICENESS)
    asyncio.run(_serve(options))


def check_address(address: str) -> None:
    """That "host:port" can be listened on: gRPC itself does not say why it cannot. Raises SwitchError.

    What names a socket of another kind, as "unix:PATH" does, is left to gRPC."""
    if address.startswith(("unix:", "vsock:")):
        return
    host, separator, port = address.rpartition(":")
    if not separator or not port.isdecimal() or int(port) > MAX_TCP_PORT:
        raise SwitchError(f"`{address}` is not HOST:PORT")
    try:
        family, kind, protocol, _, sockaddr = socket.getaddrinfo(
            host.strip("[]") or None, int(port), type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(sockaddr)
    except OSError as error:
        raise SwitchError(f"cannot listen on {address}: {error.strerror or error}") from None


async def _serve(options: SwitchOptions) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    monitor = LinkMonitor(options.interfaces)
    capture = _capture(options.observe)
    datapath = LiveDataPath(
        _ports(options),
        seed=options.seed,
        backend=options.backend,
        cpu_port=options.cpu_port,
        is_up=monitor.is_up,
        capture=capture,
        captured={port for port in options.interfaces if options.observe.captures(port)},
        trace_lines=TRACE_LINES if options.observe.trace else 0,
        limits=options.limits,
    )
    loop.add_signal_handler(signal.SIGHUP, _read_links_again, datapath, options)
    metrics = _metrics(datapath) if options.observe.metrics is not None else None
    server = P4RuntimeServer(options.device_id, datapath, interceptors=[metrics.calls] if metrics is not None else [])
    if options.program is not None:
        _load_program(server, datapath, options.program, options.p4info)
    try:
        await server.start(options.address, options.tls)
    except OSError as error:
        raise SwitchError(str(error)) from None
    gc.freeze()  # what is there by now stays: collections need not go through it
    stats = asyncio.create_task(_write_stats(datapath, options.stats)) if options.stats is not None else None
    trace = TraceWriter(lambda: datapath.switch) if options.observe.trace else None
    try:
        if metrics is not None and options.observe.metrics is not None:
            _serve_metrics(metrics, options.observe.metrics)
        monitor.start(server.device.port_changed)
        _announce(f"ready {_served_address(options.address, server.port)} device {options.device_id}", options.ready_fd)
        notify("READY=1")
        await stopped.wait()
    finally:
        notify("STOPPING=1")
        if stats is not None:
            stats.cancel()
        monitor.stop()
        await server.stop()
        if metrics is not None:
            await asyncio.to_thread(metrics.stop)
        if trace is not None:
            trace.stop()
        if capture is not None:
            capture.close()


def _capture(observe: ObserveOptions) -> Capture | None:
    try:
        return Capture(observe.pcap, limit_bytes=observe.pcap_limit_bytes) if observe.pcap is not None else None
    except OSError as error:
        raise SwitchError(f"--pcap {observe.pcap}: {error.strerror}") from None


def _metrics(datapath: LiveDataPath) -> MetricsServer:
    """Imported only when it is asked for: a switch without metrics starts the sooner."""
    from engine.switch.metrics import MetricsServer

    return MetricsServer(datapath)


def _serve_metrics(metrics: MetricsServer, address: tuple[str, int]) -> None:
    host, port = address
    try:
        served = metrics.start(host, port)
    except OSError as error:
        raise SwitchError(f"--metrics {host}:{port}: {error.strerror or error}") from None
    logger.info("metrics at http://%s:%d/metrics", host, served)


def _check_interfaces(interfaces: Mapping[int, str]) -> None:
    """That the interfaces are there and may be opened."""
    for port, name in interfaces.items():
        try:
            socket.if_nametoindex(name)
        except OSError:
            raise SwitchError(f"port {port}: there is no interface {name}") from None
    if interfaces:
        try:
            socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close()
        except PermissionError:
            raise SwitchError(
                "opening network interfaces needs root (CAP_NET_RAW); without root the switch runs without -i, and "
                "`canopy switch stf` runs packet tests"
            ) from None


def _ports(options: SwitchOptions) -> list[PortConfig]:
    try:
        links = load_links(options.links) if options.links is not None else {}
    except LinkSpecError as error:
        raise SwitchError(str(error)) from None
    for port in links:
        if port not in options.interfaces:
            raise SwitchError(f"{options.links}: the switch has no port {port}")
    return [
        PortConfig(port, name, links.get(port, {}).get("tx"), links.get(port, {}).get("rx"))
        for port, name in options.interfaces.items()
    ]


def _read_links_again(datapath: LiveDataPath, options: SwitchOptions) -> None:
    """The ports' links as their file has them now. A mistake in it is logged, and its port's links stay as they are."""
    try:
        datapath.set_links(_ports(options))
    except (SwitchError, ValueError, TypeError, EngineError) as error:
        logger.error("links: %s", error)


def _load_program(server: P4RuntimeServer, datapath: LiveDataPath, program: Path, p4info: Path | None) -> None:
    """Start with a program; without its P4Info it forwards, but P4Runtime clients must still push a config."""
    try:
        text = program.read_bytes()
        if p4info is None:
            datapath.install(datapath.make_switch(text.decode()))
            return
        config = p4r.ForwardingPipelineConfig(p4info=_read_p4info(p4info), p4_device_config=text)
        server.device.commit(build_pipeline(config, datapath))
    except P4RuntimeError as error:
        raise SwitchError(f"{program}: {error.message}") from None
    except UnicodeDecodeError:
        raise SwitchError(f"{program}: not UTF-8 text") from None
    except OSError as error:
        raise SwitchError(f"{error.filename or program}: {error.strerror or error}") from None


def _read_p4info(path: Path) -> p4i.P4Info:
    """A P4Info as text or as binary protobuf, whichever it is. Raises SwitchError."""
    data, info = path.read_bytes(), p4i.P4Info()
    try:
        text_format.Parse(data.decode(), info)
        return info
    except (UnicodeDecodeError, text_format.ParseError) as error:
        try:
            info.ParseFromString(data)
            return info
        except DecodeError:
            raise SwitchError(f"{path}: not a P4Info: {str(error).splitlines()[0]}") from None


async def _write_stats(datapath: LiveDataPath, path: Path) -> None:
    """Keep a file of port statistics up to date; a reader sees a whole file at any time."""
    while True:
        with suppress(OSError, EngineError):
            stats = {"ports": datapath.port_stats(), "switch": datapath.switch_stats(), "backend": datapath.backend()}
            write_whole(path, json.dumps(stats) + "\n")
        await asyncio.sleep(STATS_INTERVAL_S)


def _served_address(address: str, port: int) -> str:
    """The address with the port that port 0 has become."""
    return f"{address.removesuffix(':0')}:{port}" if address.endswith(":0") else address


def _announce(line: str, ready_fd: int | None) -> None:
    """Tell who started the switch that it serves."""
    with suppress(OSError):
        print(line, flush=True)
    if ready_fd is not None:
        with suppress(OSError), os.fdopen(ready_fd, "w") as pipe:
            pipe.write(line + "\n")
    logger.info("%s, pid %d, %s", line, os.getpid(), sys.version.split()[0])
