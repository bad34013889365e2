"""The sender step by step: its buffer, and what leaves upon one input."""

import random

import pytest

from hosts.endpoint import Address, CongestionSignal, Datagram, Effect, PeerDropped, PeerJoined, PeerRefused, Send
from hosts.parts.silence import PROVEN_TIMES, SILENT_S, START_BYTES
from hosts.protocol import Session
from hosts.protocols.rla import PROTOCOL
from hosts.protocols.rla.packets import Ack, Data, encode_ack, encode_join, parse
from hosts.protocols.rla.sender import ROOM_PART, RlaSender
from hosts.wire.header import ECT_0, NOT_ECT
from hosts.wire.reason import Reason

GROUP = Address("232.1.4.1", 5000)
SENDER = Address("10.0.0.1", 5000)
RECEIVER = Address("10.0.0.2", 5000)
OTHER = Address("10.0.0.3", 5000)
SESSION = 7
PAYLOAD = 1000


def sender(*, receivers: int = 1, **parameters: float | str) -> RlaSender:
    """One that a receiver has joined, of so many that it waits for."""
    session = Session(GROUP, session=SESSION, receivers=receivers)
    core = PROTOCOL.sender(session, random.Random(1), {"payload_bytes": PAYLOAD, **parameters})
    assert isinstance(core, RlaSender)
    core.start(now=0.0)
    core.receive(Datagram(encode_join(SESSION, True, 1 << 20), RECEIVER, SENDER), now=0.0)
    return core


def acknowledge(core: RlaSender, cumulative: int, now: float, sack: int = 0) -> list[Effect]:
    ack = Ack(SESSION, False, False, False, cumulative, 1 << 20, 1, 0, 0, sack)
    return list(core.receive(Datagram(encode_ack(ack), RECEIVER, SENDER), now=now))


def sent(effects: list[Effect]) -> list[int]:
    """Sequence numbers of the data among them."""
    packets = [parse(effect.data) for effect in effects if isinstance(effect, Send)]
    return [packet.seq for packet in packets if isinstance(packet, Data)]


def test_an_application_that_refills_the_buffer_does_not_lengthen_a_burst() -> None:
    core = sender(max_burst=3, rules="paper")
    now = 0.0
    numbers = sent(list(core.write(bytes(core.send_space), now=now)))
    while core.flow.listening.cwnd < 20:
        now += 0.1
        effects = acknowledge(core, numbers[-1] + 1, now)  # all at once: the window opens suddenly
        if core.send_space:
            effects += core.write(bytes(core.send_space), now=now)
        numbers = sent(effects)
        assert len(numbers) <= 3
    assert core.limit == "burst"


def test_an_application_that_was_waited_for_is_not_made_to_wait() -> None:
    core = sender()
    assert core.limit == "application"
    assert sent(list(core.write(bytes(PAYLOAD), now=0.0))) == [0]
    acknowledge(core, 1, 0.1)
    assert sent(list(core.write(bytes(PAYLOAD // 2), now=0.2))) == []
    assert sent(list(core.finish(now=0.3))) == [1]


def test_room_is_offered_in_large_parts_and_never_beyond_the_buffer() -> None:
    buffer_bytes = 16_000
    core = sender(buffer_bytes=buffer_bytes)
    assert core.send_space == buffer_bytes
    core.write(bytes(buffer_bytes), now=0.0)  # a packet leaves at once
    assert core.send_space == PAYLOAD == buffer_bytes // ROOM_PART
    core.write(bytes(PAYLOAD - 1), now=0.0)
    assert core.send_space == 0
    with pytest.raises(ValueError, match="send_space"):
        core.write(b"ab", now=0.0)


def test_who_comes_late_gets_the_whole_until_somebody_has_shown_that_it_is_there() -> None:
    core = sender()
    core.write(bytes(PROVEN_TIMES * PAYLOAD), now=0.0)
    for number in range(PROVEN_TIMES):
        assert core.flow.has_start
        acknowledge(core, number + 1, number * SILENT_S)
    effects = core.receive(Datagram(encode_join(SESSION, True, 1 << 20), OTHER, SENDER), now=10.0)
    assert any(isinstance(effect, PeerRefused) and effect.peer == OTHER for effect in effects)


def test_no_more_than_the_beginning_is_kept_for_who_may_come() -> None:
    core = sender()
    now = 0.0
    while core.flow.has_start:
        now += 1e-4
        core.write(bytes(core.send_space), now=now)
        acknowledge(core, core.flow.end, now)
        assert core.flow.base * PAYLOAD <= START_BYTES + (1 << 20)
    assert not core.flow.branches[RECEIVER].presence.is_proven


@pytest.mark.parametrize(("rules", "ecn"), [("tcp", ECT_0), ("paper", NOT_ECT)])
def test_a_mark_is_a_congestion_signal_and_repeats_nothing(rules: str, ecn: int) -> None:
    core = sender(initial_cwnd=10, max_burst=10, rules=rules)
    effects = core.write(bytes(10 * PAYLOAD), now=0.0)
    assert {effect.ecn for effect in effects if isinstance(effect, Send)} == {ecn}
    before = core.flow.listening.cwnd
    ack = Ack(SESSION, False, False, False, 1, 1 << 20, 1, 0, 0, 0, marked=True)
    effects = core.receive(Datagram(encode_ack(ack), RECEIVER, SENDER), now=0.1)
    assert core.flow.listening.cwnd < before
    assert core.counters["repair_packets"] == 0
    assert any(isinstance(effect, CongestionSignal) for effect in effects)


def test_after_a_timeout_what_else_is_missing_does_not_wait_for_timeouts_of_its_own() -> None:
    """All of a window is lost, and nothing new may be sent: no later packet will show that the others are missing."""
    core = sender(initial_cwnd=10, max_burst=10)
    core.write(bytes(10 * PAYLOAD), now=0.0)
    acknowledge(core, 1, 0.1)
    timer = core.wake_at
    while timer is not None and not (again := sent(list(core.handle_timer(now=timer)))):
        timer = core.wake_at
    assert timer is not None
    assert again == [1]
    assert core.counters["timeouts"] == 1
    assert sent(acknowledge(core, 2, timer + 0.1)) == [2, 3]
    assert sent(acknowledge(core, 3, timer + 0.15)) == [4, 5]
    assert sent(acknowledge(core, 4, timer + 0.2)) == [6, 7]
    assert core.counters["timeouts"] == 1


def of_two_receivers() -> tuple[RlaSender, int, int]:
    """With switches that merge; the receivers' numbers."""
    session = Session(GROUP, session=SESSION, receivers=2)
    core = PROTOCOL.sender(
        session, random.Random(1), {"payload_bytes": PAYLOAD, "initial_cwnd": 10, "max_burst": 10, "assist": "switch"}
    )
    assert isinstance(core, RlaSender)
    core.start(now=0.0)
    for address in (RECEIVER, OTHER):
        core.receive(Datagram(encode_join(SESSION, True, 1 << 20), address, SENDER), now=0.0)
    first, second = (core.flow.branches[address].number for address in (RECEIVER, OTHER))
    return core, first, second


@pytest.mark.parametrize(("silent_s", "timeouts"), [(2.9, 0), (3.2, 1)])
def test_a_fast_receiver_is_heard_of_when_the_slowest_in_its_summary_has_answered(
    silent_s: float, timeouts: int
) -> None:
    """Round trips of 50 ms and 1 s: summaries come after a second, and the fast one has lost nothing. When nothing
    comes for the slow one's timeout of 3 s, one of them times out, and its packet is repeated to both."""
    core, fast, slow = of_two_receivers()
    core.write(bytes(30 * PAYLOAD), now=0.0)
    for number, address, rtt in ((fast, RECEIVER, 0.05), (slow, OTHER, 1.0)):
        own = Ack(SESSION, False, True, False, 1, 1 << 20, 1, number, 1 << number, 0, True)
        core.receive(Datagram(encode_ack(own), address, SENDER, arrived_at=rtt), now=rtt)
    merged = Ack(SESSION, True, True, False, 2, 1 << 20, 0, 0, 1 << fast | 1 << slow, 0)
    core.receive(Datagram(encode_ack(merged), OTHER, SENDER), now=1.1)
    while core.wake_at is not None and core.wake_at <= 1.1 + silent_s:
        core.handle_timer(now=core.wake_at)
    assert core.counters["timeouts"] == timeouts


def test_a_summary_holds_nobody_up_who_told_more_before() -> None:
    """The receiver that lacks packet 0 holds the others' summary there. What another one said before counts still: with
    the summary's bitmap it is further, and it is not the one that times out."""
    core, _, _ = of_two_receivers()
    assert sent(list(core.write(bytes(10 * PAYLOAD), now=0.0))) == list(range(10))
    lacking, other = (core.flow.branches[address] for address in (RECEIVER, OTHER))
    own = Ack(SESSION, False, True, False, 1, 4 * PAYLOAD, 1, other.number, 1 << other.number, 0, True)
    core.receive(Datagram(encode_ack(own), OTHER, SENDER), now=0.1)
    opened = other.window_end
    merged = Ack(SESSION, True, True, False, 0, 3 * PAYLOAD, 0, 0, 0b11, 0b1111)
    core.receive(Datagram(encode_ack(merged), RECEIVER, SENDER), now=0.2)
    assert (lacking.cumulative, other.cumulative) == (0, 5)
    assert (lacking.window_end, other.window_end) == (1 << 20, opened)
    assert (lacking.progress_at, other.progress_at) == (0.0, 0.2)


def test_who_is_silent_and_has_told_of_nothing_leaves_its_place_to_another() -> None:
    core = sender(receivers=2, max_receivers=2)
    core.receive(Datagram(encode_join(SESSION, True, 1 << 20), OTHER, SENDER), now=0.0)
    core.write(bytes(4 * PAYLOAD), now=0.0)
    now = 0.0
    for cumulative in (1, 2, 3, 4):
        now += 1.0
        acknowledge(core, cumulative, now)
        core.handle_timer(now=now + 0.1)
    assert core.flow.is_aside(core.flow.branches[OTHER])
    third = OTHER._replace(port=6000)
    effects = core.receive(Datagram(encode_join(SESSION, True, 1 << 20), third, SENDER), now=now)
    assert PeerDropped(OTHER, Reason.UNPROVEN.text) in effects
    assert PeerJoined(third) in effects
    assert set(core.flow.branches) == {RECEIVER, third}


def test_who_was_joined_by_somebody_else_may_still_come() -> None:
    core = sender(receivers=2, drop_after_s=2.0)
    join = Datagram(encode_join(SESSION, True, 1 << 20), OTHER, SENDER)
    core.receive(join, now=0.0)
    core.write(bytes(PAYLOAD), now=0.0)
    acknowledge(core, 0, 2.0)
    assert PeerDropped(OTHER, Reason.UNPROVEN.text) in core.handle_timer(now=2.1)
    assert PeerJoined(OTHER) in core.receive(join, now=2.2)
