"""A film in two qualities over live switches: each is a session of WEBRC's layers with FEC over a window of time, and
receivers behind slow and fast links take what their links carry."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.topologies.emulation.whole.conftest import Start
from tests.topologies.emulation.whole.harness import Run
from tests.waiting import wait_for

pytestmark = [pytest.mark.root, pytest.mark.emulation]

SCENARIO = """\
name: film
duration: 60 s
nodes:
  s1: {kind: p4}
  s2: {kind: p4}
  sender: {kind: host}
  fast: {kind: host}
  slow: {kind: host}
  slower: {kind: host}
links:
  - {between: [sender, s1], rate: 100 Mbps}
  - {between: [s1, s2], rate: 100 Mbps, delay: 2 ms}
  - {between: [s2, fast], rate: 6 Mbps, delay: 5 ms, queue: {kind: droptail, packets: 30}}
  - {between: [s2, slow], rate: 1 Mbps, delay: 5 ms, queue: {kind: droptail, packets: 20}}
  - {between: [s2, slower], rate: 0.4 Mbps, delay: 5 ms, queue: {kind: droptail, packets: 20}}
"""
SECONDS, PLAYED_S = 10, 3
"""Seconds of the film; and of its end, by which who has joined has found its rate, however busy the machine is."""
RATE = 25
"""Pictures a second, each 25th of which is whole by itself."""
QUALITIES = {"low": (200, 1.2e6), "high": (800, 4e6)}
"""Video, kbit/s; and the session's rate, bit/s."""
DEADLINE_S, DELAY_S = 1.0, 1.3
TS = 188
STREAM = (sys.executable, "-m", "hosts.programs.stream_cli")
SENDING = """\
ffmpeg -loglevel error -re -i "$1" -c copy -f mpegts - | tee "$2" | exec {program} send --protocol webrc --quiet \
  --group {group} --port 5000 --set deadline_s={deadline} --set session_rate_bps={rate}
"""


def group(quality: str) -> str:
    return f"232.7.{list(QUALITIES).index(quality)}.0"


def film(path: Path, kbps: int) -> Path:
    video = ["-f", "lavfi", "-i", f"testsrc2=size=320x180:rate={RATE}:duration={SECONDS}"]
    rate = ["-b:v", f"{kbps}k", "-g", str(RATE)]
    words = ["ffmpeg", "-loglevel", "error", *video, "-c:v", "mpeg2video", *rate, "-f", "mpegts", str(path)]
    subprocess.run(words, check=True, timeout=60)
    return path


def breaks(stream: bytes) -> int:
    """Packets of a transport stream whose continuity counters are not those after the ones before."""
    found, last = 0, dict[int, int]()
    for at in range(0, len(stream) - TS + 1, TS):
        sync, high, low, control = stream[at : at + 4]
        assert sync == 0x47
        pid, counter = (high & 0x1F) << 8 | low, control & 0xF
        if control & 0x10:  # it has a payload
            found += pid in last and counter != (last[pid] + 1) % 16
            last[pid] = counter
    return found


def tail(received: bytes, sent: bytes) -> bytes:
    """The longest end of what was received that is an end of what was sent, in whole transport packets."""
    low, high = 0, min(len(received), len(sent)) // TS
    while low < high:
        middle = (low + high + 1) // 2
        same = received[-middle * TS :] == sent[-middle * TS :]
        low, high = (middle, high) if same else (low, middle - 1)
    return sent[len(sent) - low * TS :]


def frames(path: Path) -> int:
    """That can be decoded."""
    shown = ["-count_frames", "-show_entries", "stream=nb_read_frames", "-of", "csv=p=0", str(path)]
    counted = subprocess.run(["ffprobe", "-v", "error", *shown], check=True, capture_output=True, text=True, timeout=60)
    return int(counted.stdout.split()[0].strip(","))


def listen(run: Run, host: str, quality: str, output: Path) -> "subprocess.Popen[str]":
    words = ("--protocol", "webrc", "--group", group(quality), "--port", "5000", "--source", "10.0.0.1")
    playing = ("--output", str(output), "--delay", str(DELAY_S), "--wait", "30", "--json", "--quiet")
    return run.start(host, *STREAM, "recv", *words, *playing)


def test_receivers_of_different_rates_play_a_film_each_in_its_quality(start: Start, tmp_path: Path) -> None:
    """The one behind 0.4 Mbps has taken what it cannot have: its gaps are counted, and nothing else comes late."""
    assert shutil.which("ffmpeg"), "ffmpeg is missing (scripts/system_packages.sh)"
    films = {quality: film(tmp_path / f"{quality}.ts", kbps) for quality, (kbps, _) in QUALITIES.items()}
    run = start(SCENARIO, "--hold")
    run.wait_until_up()
    taken = [("fast", "low"), ("fast", "high"), ("slow", "low"), ("slower", "high")]
    listeners = {key: listen(run, *key, tmp_path / "-".join(key)) for key in taken}
    wait_for(lambda: len([line for line in run.processes().values() if "stream_cli recv" in line]) == len(taken), "all")
    senders = []
    for quality, (_, rate) in QUALITIES.items():
        script = SENDING.format(program=" ".join(STREAM), group=group(quality), deadline=DEADLINE_S, rate=rate)
        words = ("sh", "-c", script, "sh", str(films[quality]), str(tmp_path / f"{quality}.sent"))
        senders.append(run.start("sender", *words))
    for sender in senders:
        assert sender.wait(60) == 0, sender.communicate()
    for (host, quality), listener in listeners.items():
        said, _ = listener.communicate(timeout=20)
        assert listener.returncode == 0, said
        summary = json.loads(said)
        sent, received = ((tmp_path / name).read_bytes() for name in (f"{quality}.sent", f"{host}-{quality}"))
        assert summary["played_bytes"] == len(received)
        assert breaks(sent) == 0
        if host == "slower":
            assert summary["lost_packets"] > summary["played_packets"]
            continue
        played = tail(received, sent)
        assert breaks(played) == 0
        (tmp_path / "played.ts").write_bytes(played)
        assert frames(tmp_path / "played.ts") >= (PLAYED_S - 1) * RATE  # up to a second until a picture begins anew
