"""`canopy send` and `canopy recv` as processes: exit statuses and single clear lines."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from engine.command import assemble
from hosts.programs.keyfile import new_keys, write_keys
from hosts.programs.part import BLOCK_BYTES
from tests.hosts.runtime.test_runtime import free_port
from tests.waiting import wait_for

PROGRAM = [sys.executable, "-m", "hosts.programs.cli"]
ROOT = Path(__file__).parents[3]


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen([*PROGRAM, *arguments], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def end(process: subprocess.Popen[str], timeout: float = 60) -> tuple[int, str, str]:
    output, errors = process.communicate(timeout=timeout)
    return process.returncode, output, errors


def run(*arguments: str) -> tuple[int, str, str]:
    return end(start(*arguments))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file.bin"
    path.write_bytes(os.urandom(300_000))
    return path


def options(group: str, port: int) -> list[str]:
    return ["--group", group, "--port", str(port), "--interface", "lo"]


def test_a_transfer_with_everything(tmp_path: Path, file: Path) -> None:
    common = options("232.7.7.1", free_port())
    status = tmp_path / "status"
    status.mkdir()
    receivers = [
        start(
            "recv",
            *common,
            "--source",
            "127.0.0.1",
            "-o",
            str(tmp_path / f"r{index}"),
            "--json",
            "--trace",
            str(tmp_path / f"r{index}.jsonl"),
        )
        for index in range(2)
    ]
    code, output, errors = run(
        "send", str(file), *common, "--receivers", "2", "--session", "77", "--json",
        "--status-dir", str(status), "--trace", str(tmp_path / "s.jsonl"), "--set", "ack_every=3", "--seed", "1",
    )  # fmt: skip
    assert code == 0, errors
    summary = json.loads(output)
    assert summary["complete"]
    assert summary["size_bytes"] == 300_000
    assert [row["state"] for row in summary["receivers"].values()] == ["complete"] * 2
    assert "all 2 receivers have it" in errors
    for index, receiver in enumerate(receivers):
        code, output, errors = end(receiver)
        assert code == 0, errors
        result = json.loads(output)
        assert result["sha256"] == summary["sha256"]
        assert (tmp_path / f"r{index}" / "file.bin").read_bytes() == file.read_bytes()
        rows = [json.loads(line) for line in (tmp_path / f"r{index}.jsonl").read_text().splitlines()]
        assert rows[0]["role"] == "receiver"
        assert rows[-1]["received_bytes"] > 300_000
    final = json.loads((status / "77.json").read_text())
    assert (final["state"], final["session"], final["source"]) == ("done", 77, "127.0.0.1")
    rows = [json.loads(line) for line in (tmp_path / "s.jsonl").read_text().splitlines()]
    assert rows[0]["trace"] == 1
    assert rows[-1]["state"] == "done"
    assert rows[-1]["data_packets"] == summary["data_packets"]


def test_a_tree_of_two_levels(tmp_path: Path, file: Path) -> None:
    """The second receiver is the first one's child, and reads slowly: the sender waits for it."""
    common = options("232.7.7.9", free_port())
    place = str(free_port())
    receivers = [
        start("recv", *common, "--source", "127.0.0.1", "-o", str(tmp_path / name), "--json", *more)
        for name, more in {
            "agent": ["--agent", "--parent", "sender", "--local-port", place],
            "child": ["--parent", f"127.0.0.1:{place}", "--read-rate", "1.6e6", "--set", "buffer_bytes=30000"],
        }.items()
    ]
    code, output, errors = run("send", str(file), *common, "--receivers", "2", "--json")
    assert code == 0, errors
    summary = json.loads(output)
    agent = f"127.0.0.1:{place}"
    child = next(name for name in summary["receivers"] if name != agent)
    assert summary["receivers"][child]["parent"] == agent
    assert [row["state"] for row in summary["receivers"].values()] == ["complete"] * 2
    assert 0 < summary["cpu_s"] < summary["duration_s"] + 1
    assert summary["duration_s"] > 0.9 * 300_000 * 8 / 1.6e6
    for name, receiver in zip(("agent", "child"), receivers, strict=True):
        code, _, errors = end(receiver)
        assert code == 0, errors
        assert (tmp_path / name / "file.bin").read_bytes() == file.read_bytes()


TO = ("--group", "232.1.1.1", "--port", "5000")
SEND = ("send", "{file}", *TO)
RECV = ("recv", "--group", "239.1.1.1", "--port", "5000")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["send", "{missing}", *TO], "No such file or directory"),
        (["send", "{empty}", *TO], "there is no file in it"),
        (["send", "{file}", "{file}", *TO], "two files have the name file.bin"),
        (
            ["send", "{file}", "{empty}", *TO, "--name", "x"],
            "--name: there are several files",
        ),
        (
            ["send", "{file}", "{file}", *TO, "--protocol", "webrc"],
            "a session of webrc has one file; `canopy broadcast`",
        ),
        (["send", "{file}", "--group", "10.1.1.1", "--port", "5000"], "--group: 10.1.1.1 is not a multicast address"),
        (["send", "{file}", "--group", "nonsense", "--port", "5000"], "--group: 'nonsense' is not an IPv4 address"),
        ([*SEND, "--protocol", "x"], "unknown protocol 'x'"),
        ([*SEND, "--protocol", "vlmcc"], "real-time data only"),
        ([*SEND, "--set", "x=1"], "has no parameter 'x'"),
        ([*SEND, "--set", "x"], "'x' is not NAME=VALUE"),
        ([*SEND, "--interface", "no0"], "no interface 'no0'"),
        ([*SEND, "--source", "192.0.2.200"], "not an address of"),
        ([*SEND, "--status-dir", "{missing}"], "no such folder"),
        ([*SEND, "--trace", "{missing}/x"], "No such file"),
        (
            [*SEND, "--protocol", "webrc", "--rate-limit", "1e6"],
            "--rate-limit: webrc has no such limit; --set session_rate_bps",
        ),
        (
            [*SEND, "--slow-receivers", "drop:1e6"],
            "--slow-receivers: 'drop:1e6' is neither least_rate=BIT/S nor drop_after=SECONDS",
        ),
        ([*SEND, "--slow-receivers", ""], "--slow-receivers: '' is neither"),
        ([*SEND, "--name", ""], "--name: it is empty"),
        (
            [*SEND, "--slow-receivers", "least_rate=x"],
            "parameter 'least_rate_bps' must be of type float, not 'x'",
        ),
        (
            ["stream", "send", "--group", "232.1.1.1", "--protocol", "vlmcc", "--slow-receivers", "drop_after=9"],
            "--slow-receivers: vlmcc has no drop_after",
        ),
        (
            [*SEND, "--protocol", "webrc", "--receivers", "2"],
            "--receivers: a sender of webrc hears of no receivers",
        ),
        (
            [*SEND, "--protocol", "webrc", "--wait", "3"],
            "--wait: a sender of webrc hears of no receivers and waits for none",
        ),
        (
            ["send", "{huge}", *TO, "--protocol", "webrc"],
            "cannot be sent: it has 1000000000000 bytes, and in such packets at most",
        ),
        (["recv", *TO], "is source-specific (RFC 4607): give --source"),
        ([*RECV, "-o", "{file}"], "no folder, but a file"),
        ([*RECV, "-o", "/proc/nowhere"], "/proc/nowhere"),
        ([*RECV, "-o", "{missing}/in"], "missing is no folder"),
        ([*RECV, "--source", "239.1.1.2"], "is a multicast address"),
        ([*RECV, "--parent", "nearby"], "nearby"),
    ],
)  # fmt: skip
def test_bad_input_is_one_clear_line(
    arguments: list[str], message: str, tmp_path: Path, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    with (tmp_path / "huge").open("wb") as huge:
        huge.truncate(10**12)  # sparse: who read it would not end
    places = {name: str(tmp_path / name) for name in ("missing", "empty", "huge")} | {"file": str(file)}
    filled = [argument.format(**places) for argument in arguments]
    if "--interface" not in filled:
        filled += ["--interface", "lo"]
    code = assemble.run(filled)
    output, errors = capsys.readouterr()
    assert code == 2
    assert message in errors
    assert len(errors.splitlines()) == 1
    assert errors.startswith("canopy: ")
    assert output == ""


@pytest.mark.parametrize("arguments", [["send"], ["send", "x", "--group", "232.1.1.1"], ["recv", "--port", "70000"]])
def test_wrong_usage(arguments: list[str]) -> None:
    code, _, errors = run(*arguments)
    assert code == 2
    assert "Traceback" not in errors


def test_bad_input_ends_the_program(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    told = run("send", str(missing), *options("232.1.1.1", 5000))
    assert told == (2, "", f"canopy: {missing}: No such file or directory\n")


def test_nobody_joins(file: Path) -> None:
    code, _, errors = run("send", str(file), *options("232.7.7.2", free_port()), "--wait", "0.3", "--quiet")
    assert (code, errors) == (1, "canopy: no receiver joined within 0.3 s\n")


def test_nobody_sends(tmp_path: Path) -> None:
    code, _, errors = run("recv", *options("239.7.7.3", free_port()), "--wait", "0.3", "-q", "-o", str(tmp_path / "in"))
    assert (code, errors) == (1, "canopy: no sender was heard within 0.3 s\n")


def test_fewer_receivers_than_asked_for(tmp_path: Path, file: Path) -> None:
    common = options("232.7.7.4", free_port())
    receiver = start("recv", *common, "--source", "127.0.0.1", "-o", str(tmp_path / "in"))
    assert receiver.stderr is not None
    assert receiver.stderr.readline() == f"made the folder {tmp_path / 'in'}\n"
    assert receiver.stderr.readline().endswith("from 127.0.0.1 at 127.0.0.1 (lo)\n")
    code, output, errors = run("send", str(file), *common, "--receivers", "2", "--wait", "2", "--json", "-q")
    assert code == 1
    assert errors == "canopy: only 1 of 2 receivers joined\n"
    assert not json.loads(output)["complete"]
    assert end(receiver)[0] == 0
    assert (tmp_path / "in" / "file.bin").read_bytes() == file.read_bytes()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_receiver(tmp_path: Path, file: Path, number: signal.Signals) -> None:
    common = options("232.7.7.5", free_port())
    folder = tmp_path / "in"
    receiver = start("recv", *common, "--source", "127.0.0.1", "-o", str(folder), "-q")
    sender = start("send", str(file), *common, "--rate-limit", "200000", "-q")
    wait_for(lambda: folder.is_dir() and any(folder.iterdir()), "the part file appears")
    receiver.send_signal(number)
    code, _, errors = end(receiver)
    assert (code, errors) == (130, "canopy: interrupted\n")
    assert list(folder.iterdir()) == []
    code, _, errors = end(sender)
    assert code == 1
    assert "no receiver is left" in errors
    assert "interrupted" in errors


def test_an_interrupted_sender(tmp_path: Path, file: Path) -> None:
    common = options("232.7.7.6", free_port())
    folder = tmp_path / "in"
    status = tmp_path / "status"
    status.mkdir()
    receiver = start("recv", *common, "--source", "127.0.0.1", "-o", str(folder), "-q")
    sender = start(
        "send", str(file), *common, "--rate-limit", "200000", "-q", "--status-dir", str(status), "--session", "5"
    )
    wait_for(lambda: folder.is_dir() and any(folder.iterdir()), "the part file appears")
    sender.send_signal(signal.SIGINT)
    code, _, errors = end(sender)
    assert (code, errors) == (130, "canopy: interrupted\n")
    assert json.loads((status / "5.json").read_text())["state"] == "aborted"
    code, _, errors = end(receiver)
    assert (code, errors) == (1, "canopy: the sender ended the session: interrupted\n")
    assert list(folder.iterdir()) == []


def test_a_killed_receiver_leaves_no_half_file_under_the_name(tmp_path: Path, file: Path) -> None:
    common = options("232.7.7.7", free_port())
    folders = [tmp_path / "one", tmp_path / "two"]
    receivers = [start("recv", *common, "--source", "127.0.0.1", "-o", str(folder), "-q") for folder in folders]
    sender = start(
        "send", str(file), *common, "--receivers", "2", "--rate-limit", "800000", "--set", "drop_after_s=2", "-q"
    )
    wait_for(lambda: folders[0].is_dir() and any(folders[0].iterdir()), "the part file appears")
    receivers[0].kill()
    assert end(receivers[0])[0] == -signal.SIGKILL
    code, _, errors = end(sender)
    assert code == 1
    assert "for too long" in errors
    assert end(receivers[1])[0] == 0
    assert (folders[1] / "file.bin").read_bytes() == file.read_bytes()
    assert not (folders[0] / "file.bin").exists()


@pytest.mark.parametrize("victim", ["sender", "receiver"])
def test_who_is_killed_in_the_middle_goes_on_where_it_was(tmp_path: Path, victim: str) -> None:
    """Nothing has the final name until all is there, and what had come is not sent again."""
    file, folder = tmp_path / "file.bin", tmp_path / "in"
    file.write_bytes(os.urandom(2 * BLOCK_BYTES + 1_000_000))
    common = [*options("232.7.7.10", free_port()), "--set", "silence_s=1", "--set", "drop_after_s=2"]
    for step in range(2):
        receiver = start("recv", *common, "--source", "127.0.0.1", "-o", str(folder), "--resume", "--json")
        sender = start("send", str(file), *common, "--rate-limit", "100e6" if step == 0 else "1e9", "--json")
        if step == 0:
            wait_for(lambda: sum(path.stat().st_size for path in folder.glob(".*.part-*")) > BLOCK_BYTES, "half of it")
            (sender if victim == "sender" else receiver).kill()
        ends = end(sender), end(receiver)
        if step == 0:
            expected = (-signal.SIGKILL, 1) if victim == "sender" else (1, -signal.SIGKILL)
            assert tuple(code for code, _, _ in ends) == expected, ends
            assert not (folder / "file.bin").exists()
    assert [code for code, _, _ in ends] == [0, 0], ends
    skipped, had = (
        json.loads(output)[name] for (_, output, _), name in zip(ends, ("skipped_bytes", "had_bytes"), strict=True)
    )
    assert skipped == had
    assert had in (BLOCK_BYTES, 2 * BLOCK_BYTES)
    assert (folder / "file.bin").read_bytes() == file.read_bytes()
    assert [path.name for path in folder.iterdir()] == ["file.bin"]


def test_an_existing_file(tmp_path: Path, file: Path) -> None:
    common = options("232.7.7.8", free_port())
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "file.bin").write_text("mine")
    receiver = start("recv", *common, "--source", "127.0.0.1", "-o", str(folder), "-q")
    code, _, errors = run("send", str(file), *common, "-q")
    assert code == 1
    assert "the file is refused" in errors
    code, _, errors = end(receiver)
    assert code == 2
    assert errors == f"canopy: {folder / 'file.bin'}: File exists (--replace puts the new one in its place)\n"
    assert (folder / "file.bin").read_text() == "mine"


def line_of(process: subprocess.Popen[str], start: str) -> str:
    """The next line of what a process says that begins so."""
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith(start):
            return line
    raise AssertionError(f"it ended without '{start}'")


def test_a_secret_line_is_all_that_a_receiver_needs(tmp_path: Path, file: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    sender = start("send", str(file), "--secure", "--interface", "lo", "--json", "--trace", str(trace))
    words = line_of(sender, "receivers: canopy recv canopy://").split()
    receiver = start(*words[2:], "--interface", "lo", "-o", str(tmp_path / "in"), "--json")
    code, output, errors = end(receiver)
    assert code == 0, errors
    assert (tmp_path / "in" / "file.bin").read_bytes() == file.read_bytes()
    told = [output, errors, *end(sender)[1:], trace.read_text()]
    secret = words[3].partition("#")[2].partition(".")[2]
    assert not any(secret in text for text in told)
    assert json.loads(told[2])["counters"]["opened"] > 0


def test_settings_that_differ_are_told_within_two_seconds(tmp_path: Path, file: Path) -> None:
    keys = [tmp_path / "one.keys", tmp_path / "two.keys"]
    for path in keys:
        write_keys(path, new_keys())
    common = options("239.7.7.9", free_port())
    sender = start("send", str(file), *common, "--wait", "60", "--secret-file", str(keys[0]))
    line_of(sender, "file.bin: ")
    for settings, said in (([], "--secret-file"), (["--secret-file", str(keys[1])], "the sender's secret")):
        receiver = start("recv", *common, *settings, "--wait", "2.5", "-o", str(tmp_path / "in"))
        line_of(receiver, "listening on")
        begun = time.monotonic()
        assert said in line_of(receiver, "canopy: ")
        assert time.monotonic() - begun < 2.0
        assert end(receiver)[0] == 1
    sender.send_signal(signal.SIGINT)
    assert end(sender)[0] == 130


def test_an_open_session_says_that_it_is() -> None:
    receiver = start("recv", *options("239.7.7.10", free_port()), "--wait", "0.3")
    assert "open to whoever reaches 239.7.7.10" in end(receiver)[2]
