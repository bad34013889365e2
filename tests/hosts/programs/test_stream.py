"""`canopy stream` in programs of its own, over the loopback interface."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from engine.command import assemble
from hosts.programs.input import InputSource
from tests.hosts.runtime.test_runtime import free_port
from tests.waiting import wait_for

FAST = ("--set", "initial_rtt_s=0.02")
"""A local network: what the session begins with."""


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "hosts.programs.stream_cli", *words]


def wait_for_receivers(port: int, count: int = 1) -> None:
    """Until so many programs have bound the UDP port: nobody else of this machine has it."""
    local = f":{port:04X} "
    sockets = Path("/proc/net/udp")
    wait_for(
        lambda: sum(local in line[:21] for line in sockets.read_text().splitlines()) >= count,
        f"no receiver at port {port}",
    )


def feedback_packets(trace: Path) -> int:
    """What the sender of a trace that is still written has counted so far."""
    whole = trace.read_text().rpartition("\n")[0].splitlines() if trace.exists() else []
    return int(json.loads(whole[-1])["feedback_packets"]) if len(whole) > 1 else 0


def stream(tmp_path: Path, content: bytes, *more: str, receivers: int = 2) -> tuple[dict[str, object], list[Path]]:
    """Send `content` through a pipe; the sender's summary, and what each receiver wrote."""
    port = free_port()
    where = ("--group", "239.7.7.7", "--port", str(port), "--interface", "lo", *FAST)
    files = [tmp_path / f"out{number}.ts" for number in range(receivers)]
    listeners = [
        subprocess.Popen(
            command("recv", *where, "--output", str(file), "--delay", "0.3", "--wait", "30", "--json", "--quiet"),
            stderr=subprocess.PIPE,
            text=True,
        )
        for file in files
    ]
    wait_for_receivers(port, receivers)
    sent = subprocess.run(
        command("send", *where, "--json", "--quiet", *more),
        input=content,
        stdout=subprocess.PIPE,
        timeout=60,
        check=True,
    )
    for listener in listeners:
        _, words = listener.communicate(timeout=60)
        assert listener.returncode == 0, words
        summary = json.loads(words)
        assert summary["complete"]
        assert summary["loss"] == 0
        assert summary["rate_bps"] > 0
        assert 0 <= summary["jitter_s"] < 0.3
    return json.loads(sent.stdout), files


def run(words: Sequence[str]) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True, timeout=60).stdout


def test_a_media_file_is_playable_on_the_other_side(tmp_path: Path) -> None:
    assert shutil.which("ffmpeg"), "ffmpeg is missing (scripts/system_packages.sh)"
    media = tmp_path / "media.ts"
    pattern = ["-f", "lavfi", "-i", "testsrc2=size=160x120:rate=15:duration=3"]
    tone = ["-f", "lavfi", "-i", "sine=frequency=440:duration=3"]
    run(
        [
            "ffmpeg",
            "-loglevel",
            "error",
            *pattern,
            *tone,
            "-c:v",
            "mpeg2video",
            "-c:a",
            "mp2",
            "-f",
            "mpegts",
            str(media),
        ]
    )
    summary, files = stream(tmp_path, media.read_bytes())
    assert summary["sent_bytes"] == media.stat().st_size
    for file in files:
        assert file.read_bytes() == media.read_bytes()
        frames = ["-count_frames", "-show_entries", "stream=codec_type,nb_read_frames", "-of", "csv=p=0"]
        counted = dict(line.split(",")[:2] for line in run(["ffprobe", "-v", "error", *frames, str(file)]).split())
        assert int(counted["video"]) == 45
        assert int(counted["audio"]) > 100


def test_an_empty_input_ends_a_session_too(tmp_path: Path) -> None:
    summary, _ = stream(tmp_path, b"", receivers=0)
    assert summary["complete"]


def test_a_carousel_s_packets_keep_their_size(tmp_path: Path) -> None:
    """WEBRC's are part of the session's description; a stream begins and ends with its input all the same."""
    where = ("--group", "239.7.7.7", "--port", str(free_port()), "--interface", "lo", "--protocol", "webrc")
    done = subprocess.run(
        command("send", *where, "--json", "--quiet"), input=b"", capture_output=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_protocol_for_files_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--group", "239.7.7.7", "--port", "5000", "--interface", "lo", "--protocol", "mtcp"]
    assert assemble.run(["stream", "send", *words]) == 2
    assert "mtcp carries no real-time data" in capsys.readouterr().err


def test_ctrl_c_ends_a_sender_whose_input_is_silent() -> None:
    where = ("--group", "239.7.7.7", "--port", str(free_port()), "--interface", "lo")
    with subprocess.Popen(command("send", *where), stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as sender:
        assert sender.stderr is not None
        assert sender.stderr.readline().startswith("streaming to")
        assert sender.stderr.readline().startswith("open to whoever reaches 239.7.7.7")
        time.sleep(0.5)
        sender.send_signal(signal.SIGINT)
        status = sender.wait(timeout=60)
        assert status == 130
        assert sender.stderr.read() == "canopy: interrupted\n"


def test_a_receiver_whose_output_is_full_leaves_and_says_so(tmp_path: Path) -> None:
    port = free_port()
    where = ("--group", "239.7.7.7", "--port", str(port), "--interface", "lo", *FAST)
    words = command("recv", *where, "--output", "/dev/full", "--delay", "1", "--quiet", "--wait", "30")
    listener = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    wait_for_receivers(port)
    sending = command("send", *where, "--trace", str(tmp_path / "trace"), "--quiet")
    with subprocess.Popen(sending, stdin=subprocess.PIPE) as sender:
        assert sender.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            sender.stdin.write(bytes(300_000))
            sender.stdin.flush()
        _, said = listener.communicate(timeout=60)
        time.sleep(0.5)
        sender.send_signal(signal.SIGINT)
    assert (listener.returncode, said) == (2, "canopy: /dev/full: No space left on device\n")
    rows = [json.loads(line) for line in (tmp_path / "trace").read_text().splitlines()]
    assert any(row.get("clr") for row in rows)
    assert rows[-1]["clr"] is None


def listen(*more: str) -> tuple[subprocess.Popen[bytes], tuple[str, ...]]:
    """A receiver that plays into a pipe; and where it listens."""
    port = free_port()
    where = ("--group", "239.7.7.7", "--port", str(port), "--interface", "lo", *FAST)
    words = command("recv", *where, "--quiet", "--wait", "30", *more)
    listener = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for_receivers(port)
    return listener, where


def test_a_reader_that_stands_still_stops_neither_the_protocol_nor_ctrl_c(tmp_path: Path) -> None:
    listener, where = listen("--delay", "0.1", "--json")
    trace = tmp_path / "trace"
    with subprocess.Popen(command("send", *where, "--trace", str(trace), "--quiet"), stdin=subprocess.PIPE) as sender:
        assert sender.stdin is not None
        written, reported, deadline = 0, 0, time.monotonic() + 60.0
        while written < 800_000 or feedback_packets(trace) <= reported + 5:
            assert time.monotonic() < deadline, "it reports while its reader sleeps"
            sender.stdin.write(bytes(20_000))
            sender.stdin.flush()
            written += 20_000
            if written == 800_000:  # twelve times what the reader's pipe holds
                reported = feedback_packets(trace)
            time.sleep(0.05)
        listener.send_signal(signal.SIGINT)
        assert listener.wait(timeout=60) == 130
        sender.send_signal(signal.SIGINT)
    assert listener.stderr is not None
    said = listener.stderr.read().decode()
    summary = json.loads(said[said.index("{") :])
    assert summary["unread_packets"] > 0
    assert summary["lost_packets"] >= summary["unread_packets"]


def test_a_slow_reader_gets_the_end_of_the_stream() -> None:
    listener, where = listen("--delay", "4")
    content = bytes(range(256)) * 800  # more than a pipe holds, and there in less than four seconds
    subprocess.run(command("send", *where, "--quiet"), input=content, timeout=60, check=True)
    time.sleep(5.0)  # all of it is due
    assert listener.poll() is None
    played, said = listener.communicate(timeout=60)
    assert (listener.returncode, said) == (0, b"")
    assert played == content


def test_a_reader_that_dies_ends_the_session() -> None:
    listener, where = listen("--delay", "0.1")
    assert listener.stdout is not None
    listener.stdout.close()
    assert listener.stderr is not None
    with subprocess.Popen(command("send", *where, "--quiet"), stdin=subprocess.PIPE) as sender:
        assert sender.stdin is not None
        sender.stdin.write(bytes(100_000))
        sender.stdin.flush()
        status = listener.wait(timeout=60)
        sender.send_signal(signal.SIGINT)
    assert (status, listener.stderr.read()) == (2, b"canopy: standard output: Broken pipe\n")


@pytest.mark.parametrize(("verb", "closed", "name"), [("send", "<&-", "input"), ("recv", ">&-", "output")])
def test_a_closed_standard_stream_is_one_line(verb: str, closed: str, name: str) -> None:
    words = command(verb, "--group", "239.7.7.7", "--port", str(free_port()), "--interface", "lo")
    shell = ["sh", "-c", f'exec "$@" {closed}', "sh", *words]
    done = subprocess.run(shell, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(f"canopy: standard {name} is closed")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("pieces", [[b"abc", b"defgh"], [b"x" * 300_000]])
def test_a_pipe_is_read_as_it_fills_and_no_further_than_needed(pieces: list[bytes]) -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb", buffering=0) as stream, os.fdopen(writing, "wb", buffering=0) as pipe:
        source = InputSource(stream, lambda: None)
        source.start()
        got = b""
        for piece in pieces:
            left = piece
            while left or len(got) < sum(map(len, pieces[: pieces.index(piece) + 1])):
                if left:
                    written = pipe.write(left[:4096])
                    left = left[written:]
                got += source.read(1000)
        assert not source.exhausted
        pipe.close()
        while not source.exhausted:
            got += source.read(1000)
        assert got == b"".join(pieces)
