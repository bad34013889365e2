"""A wire between a host and a bridge. Needs root."""

import subprocess

import pytest

from experiments.peers.fast import Crowd, Unshaped
from experiments.peers.network import SENDER, receiver

pytestmark = pytest.mark.root
_DELAY_S = 0.03
_ANSWER = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 5))
while True:
    s.sendto(*s.recvfrom(65507))
"""
_ASK = """
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(0.5)
s.setsockopt(socket.IPPROTO_UDP, 103, 1000)  # UDP_SEGMENT: one frame until somebody has to cut it
for _ in range(20):
    began = time.monotonic()
    try:
        s.sendto(bytes(range(250)) * 180, ("10.79.0.2", 5))
        got = [s.recv(65507) for _ in range(45)]
    except OSError:
        continue
    assert got == [bytes(range(250)) * 4] * 45
    print(time.monotonic() - began)
    break
"""


def test_what_comes_at_one_end_leaves_by_the_other_so_much_later() -> None:
    with Unshaped(Crowd(1, delay_s=_DELAY_S)) as lan:
        answers = subprocess.Popen(lan.command(receiver(1), "python3", "-c", _ANSWER))
        try:
            asked = lan.command(SENDER, "python3", "-c", _ASK)
            took = float(subprocess.run(asked, check=True, capture_output=True, text=True, timeout=30).stdout)
        finally:
            answers.kill()
            answers.wait()
    assert took >= 2 * _DELAY_S, "there and back"
