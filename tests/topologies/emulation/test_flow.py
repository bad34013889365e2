import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from topologies.emulation.flow import tcp_measurements

MODULE = [sys.executable, "-m", "topologies.emulation.flow"]


def test_the_kernel_tells_what_tcp_measures() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        peer, _ = server.accept()
        with peer:
            client.sendall(bytes(5000))
            received = 0
            while received < 5000:
                received += len(peer.recv(5000))
            peer.sendall(b"x")
            client.recv(1)  # carries the acknowledgment of all 5,000
            measured = tcp_measurements(client)
    assert measured["acked_bytes"] in (5000, 5001)  # the kernel counts the SYN
    assert measured["cwnd"] >= 1
    assert 500 < measured["mss"] <= 65536
    assert 0 < measured["rtt_s"] < 5
    assert measured["retransmitted"] == 0


def last_row(path: Path) -> dict[str, float]:
    lines = path.read_text().splitlines() if path.exists() else []
    row: dict[str, float] = json.loads(lines[-1]) if lines else {}
    return row


@pytest.mark.parametrize(
    ("kind", "column", "options"),
    [
        ("tcp", "acked_bytes", ["--congestion-control", "reno"]),
        ("tcp", "acked_bytes", ["--pacing"]),
        ("udp", "received_bytes", ["--rate", "4e6", "--packet", "500"]),
        (
            "udp",
            "received_bytes",
            ["--rate", "8e6", "--on", "0.01", "--off", "0.01", "--distribution", "exponential", "--seed", "3"],
        ),
    ],
)
def test_a_source_and_a_sink_move_bytes(tmp_path: Path, kind: str, column: str, options: list[str]) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    traces = {"source": tmp_path / "source", "sink": tmp_path / "sink"}
    processes = [
        subprocess.Popen(
            [*MODULE, f"{kind}-{role}", address, "--trace", str(trace), *(options if role == "source" else [])]
        )
        for role, trace in traces.items()
    ]  # the source first: it waits for its sink
    try:
        watched = traces["source" if kind == "tcp" else "sink"]
        for _ in range(1000):
            if last_row(watched).get(column, 0) > 100_000:
                break
            with pytest.raises(subprocess.TimeoutExpired):
                processes[0].wait(0.02)
        assert last_row(watched)[column] > 100_000
    finally:
        for process in processes:
            process.terminate()
        statuses = [process.wait(10) for process in processes]
    assert statuses == [0, 0]
