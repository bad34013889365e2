"""From a receiver's acknowledgment to the sender's window: the files of MTCP that one reads on the way (docs/mtcp.md).

A file is on the way when one of its functions is running, itself or in what it has called, while a packet is written or
read and while the sender's cwnd changes. What these functions ask by the way has returned by then, and is not.
"""

import sys
from pathlib import Path
from types import FrameType

import pytest

from hosts.protocols import mtcp
from hosts.protocols.mtcp import packets, progress
from hosts.protocols.mtcp.sender import MtcpSender
from tests.hosts.protocols.mtcp.world import World

ROOT = Path(mtcp.__file__).parent
PACKETS = [
    function.__code__
    for function in (packets.encode_feedback, packets.parse, progress.encode_progress, progress.decode_progress)
]
WALK = {"receiver.py", "feedback.py", "packets.py", "sender.py", "agent.py", "congestion.py"}


class Watch:
    """Calls and returns of functions, as `sys.setprofile` tells them."""

    def __init__(self, sender: MtcpSender) -> None:
        self._sender = sender
        self._cwnd = sender.agent.congestion.window.cwnd
        self.walk: set[str] = set()

    def __call__(self, frame: FrameType, event: str, value: object) -> None:
        if event == "call" and frame.f_code in PACKETS:
            self._note(frame)
        cwnd = self._sender.agent.congestion.window.cwnd
        if event in ("call", "return") and cwnd != self._cwnd:
            self._cwnd = cwnd
            self._note(frame if event == "return" else frame.f_back)  # who was running until now

    def _note(self, frame: FrameType | None) -> None:
        while frame is not None:
            path = Path(frame.f_code.co_filename)
            if path.parent == ROOT:
                self.walk.add(path.name)
            frame = frame.f_back


@pytest.mark.parametrize(
    ("rules", "own"), [("adaptive", {"progress.py", "adaptive_control.py"}), ("paper", {"paper_control.py"})]
)
def test_at_most_eight_files_lie_between_an_acknowledgment_and_cwnd(rules: str, own: set[str]) -> None:
    world = World(2, size=None, rate_bps=2e6, parameters={"rules": rules}, losses={1: 0.01})
    watch = Watch(world.sender_core)
    sys.setprofile(watch)
    try:
        world.network.run(4.0)
    finally:
        sys.setprofile(None)
    assert watch.walk == WALK | own
    assert len(watch.walk) <= 8
