"""`canopy switch` as a process."""

import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest
from finsy.proto import p4i, p4r
from typer.testing import CliRunner

from engine.switch.cli import app
from engine.switch.p4runtime.server import TlsFiles
from engine.switch.process import SwitchError, SwitchOptions, exposure, parse_interfaces, run_switch
from tests.engine.crossbar import raw_socket, wait_for
from tests.engine.entities import DATA, INFO, action, frame, id_of, program_file, table_entry
from tests.engine.namespaces import Namespace, ip
from tests.engine.served import Controller

# Far beyond the start of a switch on a busy machine.
LIMIT_S = 30.0

# The destination of a frame that ends a series.
END = 0xEE

PROGRAM, P4INFO = program_file(), DATA / "entities.p4info.txtpb"


@pytest.fixture(autouse=True)
def _priority() -> Iterator[None]:
    """What is run here, and not as a process, takes a priority that the tests after it are not to have."""
    before = os.getpriority(os.PRIO_PROCESS, 0)
    yield
    os.setpriority(os.PRIO_PROCESS, 0, before)


class Process:
    """A running `canopy switch`."""

    def __init__(self, *arguments: str, **options: object) -> None:
        command = [sys.executable, "-m", "engine.switch.cli", *arguments]
        self._process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **options,  # type: ignore[call-overload]
        )

    @property
    def pid(self) -> int:
        return int(self._process.pid)

    def ready(self) -> str:
        """The line that it prints once it serves."""
        waiting, _, _ = select.select([self._process.stdout], [], [], LIMIT_S)
        assert waiting, "the switch has not become ready"
        line: str = self._process.stdout.readline()
        return line.strip() or self._process.stderr.read()

    def stop(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """Exit status and stderr."""
        self._process.send_signal(number)
        _, stderr = self._process.communicate(timeout=LIMIT_S)
        return self._process.returncode, stderr

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()


@contextmanager
def process(*arguments: str, **options: object) -> Iterator[Process]:
    running = Process(*arguments, **options)
    try:
        yield running
    finally:
        running.kill()


@contextmanager
def controller(address: str) -> Iterator[Controller]:
    made = Controller(address)
    try:
        yield made
    finally:
        made.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_until_a_signal_and_ends_with_status_0(number: signal.Signals) -> None:
    with process("--no-p4", "--device-id", "7", "--log-console", "--", "--grpc-server-addr", "127.0.0.1:0") as switch:
        words = switch.ready().split()
        assert words[0] == "ready"
        assert words[2:] == ["device", "7"]
        with controller(words[1]) as client:
            assert client.arbitrate(1, device_id=7).status.code == 0
            assert switch.stop(number) == (0, "")


def test_it_starts_with_a_program_and_tells_a_descriptor_that_it_is_ready(tmp_path: Path) -> None:
    binary = tmp_path / "p4info.bin"
    binary.write_bytes(INFO.SerializeToString())
    address = f"unix:{tmp_path}/switch"
    for p4info in (P4INFO, binary):
        reader, writer = os.pipe()
        arguments = [str(PROGRAM), "--p4info", str(p4info), "--grpc-server-addr", address, "--ready-fd", str(writer)]
        with process(*arguments, pass_fds=[writer]) as switch:
            os.close(writer)
            with os.fdopen(reader) as pipe:
                assert pipe.read() == switch.ready() + "\n" == f"ready {address} device 1\n"
            with controller(address) as client:
                assert client.get_config().config.p4info == INFO
                assert len(client.read(p4r.TableEntry(table_id=id_of("fixed")))) == 2


def test_a_program_without_p4info_waits_for_a_config(tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/switch"
    with process(str(PROGRAM), "--grpc-server-addr", address) as switch, controller(address) as client:
        switch.ready()
        assert not client.get_config().HasField("config")
        client.arbitrate(1)
        client.push()
        assert client.get_config().HasField("config")


@pytest.fixture
def own_priority(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or all further tests of this process would have the switch's."""
    monkeypatch.setattr(os, "setpriority", lambda *which: None)


@pytest.mark.usefixtures("own_priority")
def test_mistakes_are_one_line_with_status_2(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("no program")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for arguments, message in (
            (["--bogus"], "No such option: --bogus"),
            (["--device-id", "x"], "Invalid value for '--device-id'"),
            (["-i", "veth1"], "`veth1` is not PORT@INTERFACE"),
            (["-i", "1@nothere0"], "port 1: there is no interface nothere0"),
            (["-i", "1@lo", "-i", "1@eth0"], "port 1 is given twice, for lo and eth0"),
            (["-i", "1@lo", "-i", "2@lo"], "interface lo is given twice"),
            (["-i", "511@lo"], "port 511 of lo is not below 511"),
            (["--grpc-server-addr", f"127.0.0.1:{port}"], f"cannot listen on 127.0.0.1:{port}: Address already in use"),
            (["--grpc-server-addr", "nowhere"], "`nowhere` is not HOST:PORT"),
            (["--grpc-server-addr", "127.0.0.1:99999"], "is not HOST:PORT"),
            (["--grpc-server-addr", "192.0.2.1:9559"], "cannot listen on 192.0.2.1:9559"),
            ([str(tmp_path / "none.json")], "none.json: No such file or directory"),
            ([str(text)], f"{text}: the device config is not p4c's BMv2 JSON"),
            ([str(PROGRAM), "--p4info", str(text)], f"{text}: not a P4Info"),
            ([str(PROGRAM), "--p4info", str(tmp_path / "none")], "none: No such file or directory"),
            ([str(PROGRAM), "--no-p4"], "exclude each other"),
            (["--p4info", str(P4INFO)], "--p4info needs the program"),
            (["--log-level", "loud"], "`loud` is none of trace, debug"),
            (["--links", str(text)], f"{text}: not JSON"),
            (["--metrics", "nowhere"], "--metrics: `nowhere` is not HOST:PORT"),
            (["--metrics", f"127.0.0.1:{port}"], f"--metrics 127.0.0.1:{port}: Address already in use"),
            (["--pcap", "/proc/nowhere"], "--pcap /proc/nowhere: "),
            (["--pcap-port", "1"], "--pcap-port needs --pcap"),
            (["--pcap", str(tmp_path), "--pcap-port", "1"], "--pcap-port: the switch has no port 1"),
            (["--pcap-limit-mb", "inf"], "inf is not in the range"),
            (["--ready-fd", str(2**31)], "is not in the range"),
            (["--device-id", str(2**64)], "is not in the range"),
            (["--seed", str(2**64)], "is not in the range"),
            (["--grpc-server-with-client-auth"], "need --grpc-server-ssl"),
            (["--grpc-server-cacert", str(text)], "need --grpc-server-ssl"),
            (["--grpc-server-ssl"], "--grpc-server-ssl needs --grpc-server-cert and --grpc-server-key"),
            (
                ["--grpc-server-ssl", "--grpc-server-cert", str(text), "--grpc-server-key", str(tmp_path / "key")],
                "key: No such file or directory",
            ),
            (["--grpc-server-ssl", "--grpc-server-cert", str(text), "--grpc-server-key", str(text)], "no certificate"),
            (
                [
                    *("--grpc-server-ssl", "--grpc-server-with-client-auth"),
                    *("--grpc-server-cert", str(text), "--grpc-server-key", str(text)),
                ],
                "--grpc-server-with-client-auth needs --grpc-server-cacert",
            ),
        ):
            address = [] if "--grpc-server-addr" in arguments else ["--grpc-server-addr", "127.0.0.1:0"]
            result = CliRunner().invoke(app, [*arguments, *address])
            assert result.exit_code == 2, (arguments, result.output, result.exception)
            assert message in result.stderr
            assert result.stderr.startswith("canopy switch: ")
            assert result.stderr.count("\n") == 1


def test_without_root_it_says_what_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(socket, "socket", refuse)
    with pytest.raises(SwitchError, match="needs root"):
        run_switch(SwitchOptions(interfaces={1: "lo"}))


@pytest.mark.usefixtures("own_priority")
def test_links_of_a_port_that_the_switch_lacks(tmp_path: Path) -> None:
    links = tmp_path / "links.json"
    links.write_text('{"3": {}}')
    result = CliRunner().invoke(app, ["--links", str(links), "--grpc-server-addr", "127.0.0.1:0"])
    assert result.exit_code == 2
    assert result.stderr == f"canopy switch: {links}: the switch has no port 3\n"


def test_interfaces() -> None:
    assert parse_interfaces(["1@s1-eth1", "0@veth@0"]) == {1: "s1-eth1", 0: "veth@0"}


def test_help_names_the_commands() -> None:
    result = CliRunner().invoke(app, ["--help"])
    assert result.exit_code == 0
    assert "stf-suite" in result.output
    assert "PORT@IFACE" in CliRunner().invoke(app, ["run", "--help"]).output


# Between real interfaces.


@pytest.mark.root
def test_frames_pass_and_the_program_is_replaced_under_traffic(wired: Namespace, tmp_path: Path) -> None:
    """gRPC uses a Unix socket here: its threads are not in the test's namespace."""
    links, stats = tmp_path / "links.json", tmp_path / "stats.json"
    links.write_text('{"1": {"tx": {"delay_us": 1000}}}')
    address = f"unix:{tmp_path}/switch"
    options = ["-i", "1@s1", "-i", "2@s2", "--cpu-port", "510", "--links", str(links), "--stats", str(stats)]
    with process(*options, "--grpc-server-addr", address) as switch, controller(address) as client:
        assert switch.ready() == f"ready {address} device 1"
        client.arbitrate(1)
        for _ in range(2):
            client.push()
            client.insert(
                table_entry("l2", {"dst": 2}, action("forward", port=2)),
                table_entry("l2", {"dst": 3}, action("to_cpu", reason=1)),
                p4r.DigestEntry(digest_id=id_of("learned_t")),
            )
            with raw_socket("h1") as host1, raw_socket("h2") as host2:
                host1.send(frame(2, src=5))
                assert host2.recv(2000).startswith(frame(2, src=5))
                assert client.next("digest").digest.data[0].struct.members[0].bitstring == b"\x05"
                host1.send(frame(3, src=5))
                # Digests and packet-ins come in an order of their own.
                both = {m.WhichOneof("update"): m for m in (client.next_of_any_kind() for _ in range(2))}
                assert both["digest"].digest.data[0].struct.members[1].bitstring == b"\x01"
                assert both["packet"].packet.payload.startswith(frame(3, src=5))
                packet_out = p4r.PacketOut(payload=frame(9))
                packet_out.metadata.add(metadata_id=1, value=b"\x01")
                packet_out.metadata.add(metadata_id=2, value=b"\0")
                client.send(p4r.StreamMessageRequest(packet=packet_out))
                assert host1.recv(2000).startswith(frame(9))
        wait_for(lambda: '"tx_packets": 1' in stats.read_text())
        assert switch.stop() == (0, "")


@pytest.mark.root
def test_a_watch_port_follows_its_interface(wired: Namespace, tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/switch"
    ports = ["-i", "1@s1", "-i", "2@s2", "--grpc-server-addr", address]
    with process(*ports) as switch, controller(address) as client, raw_socket("h1") as host1:
        switch.ready()
        client.arbitrate(1)
        client.push()
        target = p4r.TableAction()
        for port in (1, 2):
            target.action_profile_action_set.action_profile_actions.add(
                action=action("forward", port=port), weight=1, watch_port=bytes([port])
            )
        client.insert(
            table_entry("routes", {"dst": (0x12 << 40, 8)}, target),
            table_entry("l2", {"dst": END}, action("forward", port=1)),
        )

        def leaving_by_port_1() -> int:
            """Of 16 frames from different sources."""
            for src in range(16):
                host1.send(frame(0x12 << 40, src=src))
            host1.send(frame(END))
            received = iter(lambda: host1.recv(2000)[:6], END.to_bytes(6, "big"))
            return sum(1 for _ in received)

        assert 0 < leaving_by_port_1() < 16
        ip("link", "set", "h2", "down")
        wait_for(lambda: leaving_by_port_1() == 16)
        ip("link", "set", "h2", "up")
        wait_for(lambda: leaving_by_port_1() < 16)


@pytest.mark.root
def test_an_interface_that_disappears_refuses_the_next_config_and_keeps_the_old(
    wired: Namespace, tmp_path: Path
) -> None:
    address = f"unix:{tmp_path}/switch"
    with process("-i", "1@s1", "-i", "2@s2", "--grpc-server-addr", address) as switch, controller(address) as client:
        switch.ready()
        client.arbitrate(1)
        client.push()
        ip("link", "del", "s2")
        with pytest.raises(grpc.RpcError, match="port 2, s2"):
            client.push()
        assert client.get_config().HasField("config")
        assert isinstance(client.get_config().config.p4info, p4i.P4Info)


def test_who_may_control_it_from_elsewhere_is_told(tmp_path: Path) -> None:
    tls, strict = (TlsFiles(tmp_path, tmp_path, tmp_path, client) for client in (False, True))
    for address, options, warned in (
        ("127.0.0.1:9559", {}, False),
        ("[::1]:9559", {}, False),
        ("localhost:9559", {}, False),
        ("unix:/run/switch", {}, False),
        ("0.0.0.0:9559", {}, True),
        (":9559", {}, True),
        ("192.0.2.1:9559", {"tls": tls}, True),
        ("192.0.2.1:9559", {"tls": strict}, False),
        ("0.0.0.0:9559", {"insecure": True}, False),
    ):
        said = exposure(SwitchOptions(address=address, **options))
        assert (said is not None) == warned, address
        assert said is None or "--insecure" in said
