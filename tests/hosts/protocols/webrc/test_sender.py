import random

from hosts.endpoint import Address, Compute, Send, SendRun
from hosts.protocol import Session
from hosts.protocols.webrc.options import WebrcOptions
from hosts.protocols.webrc.sender import MOST_LATE_S, TURN_PACKETS, WebrcSender
from hosts.storage import BytesContent, Content, FileChange
from hosts.wire.manifest import Manifest


def begun(size: int) -> WebrcSender:
    """A sender of a file of zeros, 8 Mbit/s, that sends in runs."""
    sender = WebrcSender(
        Session(Address("232.1.1.1", 5000), "10.0.0.1", 7), WebrcOptions(session_rate_bps=8e6), random.Random(1)
    )
    sender.run_bytes = 65_507
    content = Content(Manifest("zeros", size, "0" * 64), b"", BytesContent(bytes(size)))
    sender.change(FileChange([content], is_last=True), now=0.0)
    return sender


def test_of_packets_that_are_late_the_first_leave_while_the_others_are_made() -> None:
    sender = begun(1_000_000)
    now = 2 * MOST_LATE_S
    turns = []
    while (wake := sender.wake_at) is not None and wake <= now:
        effects = sender.handle_timer(now=now)
        turns.append(sum(effect.packets if isinstance(effect, SendRun) else 1 for effect in effects))
        assert all(isinstance(effect, Send | SendRun) for effect in effects)
    assert turns[:-1] == [TURN_PACKETS] * (len(turns) - 1)
    assert len(turns) > 1
    sample = sender.sample(now=now)
    assert sample["data_packets"] == sum(turns)
    assert sample["skipped_packets"] == int((MOST_LATE_S - 1 / sender.waves.session_rate) * sender.waves.session_rate)


def test_what_takes_milliseconds_is_done_elsewhere_before_it_is_wanted() -> None:
    sender = begun(3_000_000)
    works: list[Compute] = []
    while not works:
        assert sender.wake_at is not None
        assert sender.wake_at < 60.0
        works = [effect for effect in sender.handle_timer(now=sender.wake_at) if isinstance(effect, Compute)]
    assert works[0].has_time
    again = sender.handle_timer(now=sender.wake_at or 0.0)
    assert not any(isinstance(effect, Compute) for effect in again)
