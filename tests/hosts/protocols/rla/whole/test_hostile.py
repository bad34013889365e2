"""What strangers and members may send to RLA's sender without harm: nothing stalls, raises, or grows without bound."""

import pytest

from hosts.endpoint import Address, Datagram, Effect, PeerRefused, Send
from hosts.protocols.rla import sender as module
from hosts.protocols.rla.branch import MOST_REPEATED
from hosts.protocols.rla.packets import Ack, JoinAck, encode_ack, encode_fin, encode_join, parse
from hosts.protocols.rla.sender import RlaSender
from hosts.wire.reason import Reason
from tests.hosts.protocols.rla.test_sender import PAYLOAD, RECEIVER, SENDER, SESSION, acknowledge, sender


def get(core: RlaSender, data: bytes, source: Address, now: float = 0.0) -> list[Effect]:
    return list(core.receive(Datagram(data, source, SENDER), now=now))


def waiting() -> RlaSender:
    """For a second receiver."""
    core = sender(receivers=2)
    assert core.state == "waiting"
    return core


def test_who_joins_and_leaves_before_the_start_holds_nobody_up() -> None:
    core = waiting()
    get(core, encode_fin(SESSION, False, False, Reason.INTERRUPTED), RECEIVER)
    for host in range(4, 6):
        get(core, encode_join(SESSION, True, 1 << 20), Address(f"10.0.0.{host}", 5000))
    assert core.state == "sending"
    core.write(bytes(PAYLOAD), now=0.0)
    for host in range(4, 6):
        ack = Ack(SESSION, False, False, False, 1, 1 << 20, 1, 0, 0, 0)
        get(core, encode_ack(ack), Address(f"10.0.0.{host}", 5000), 0.1)
    assert core.flow.base == 1


def test_an_acknowledgment_that_forgets_what_was_said_before_is_harmless() -> None:
    """A member says that it has packet 1, then that this is the first that it lacks."""
    core = sender(initial_cwnd=10, max_burst=10)
    core.write(bytes(4 * PAYLOAD), now=0.0)
    acknowledge(core, 0, 0.1, sack=0b1)
    acknowledge(core, 1, 0.2)
    assert core.flow.base == 2
    now = 0.2
    while now < 3.0:
        now = max(now + 0.01, core.wake_at or 0.0)
        core.handle_timer(now=now)
    assert core.counters["timeouts"] > 0
    acknowledge(core, 4, now)
    assert core.flow.base == 4


def test_receivers_that_come_and_go_are_refused_at_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their numbers have 16 bits, here 12, and who has ended is remembered."""
    assert module.MOST_RECEIVERS == 1 << 16
    most = 1 << 12
    monkeypatch.setattr(module, "MOST_RECEIVERS", most)
    core = sender(max_receivers=8)
    refused = None
    join, fin = encode_join(SESSION, False, 1 << 20), encode_fin(SESSION, False, False, Reason.NONE)
    for index in range(most + 10):
        source = Address(f"10.{index >> 16}.{index >> 8 & 255}.{index & 255}", 7000)
        effects = get(core, join, source)
        answer = next(parse(effect.data) for effect in effects if isinstance(effect, Send))
        assert isinstance(answer, JoinAck)
        if answer.reason is not Reason.NONE:
            refused = refused or index
            assert answer.reason is Reason.FULL
            assert isinstance(effects[-1], PeerRefused)
            continue
        get(core, fin, source)
    assert refused == most - 1  # one has been there from the beginning
    assert len(core.ended) < most


def test_asking_in_a_hurry_again_and_again_is_remembered_for_the_latest_only() -> None:
    core = sender(initial_cwnd=10, max_burst=10)
    core.write(bytes(10 * PAYLOAD), now=0.0)
    now = 0.1
    for _ in range(2000):
        now += 0.001
        # It echoes what was sent just now: no round trip is as short as that.
        ack = Ack(SESSION, False, False, True, 0, 1 << 20, int(now * 1e6), 0, 0, 0b10000)
        get(core, encode_ack(ack), RECEIVER, now)
    assert len(core.flow.branches[RECEIVER]._repeated) <= MOST_REPEATED


def test_a_round_trip_longer_than_any_is_not_believed() -> None:
    core = sender()
    core.write(bytes(PAYLOAD), now=1e6)
    ack = Ack(SESSION, False, False, False, 1, 1 << 20, 1, 0, 0, 0)
    get(core, encode_ack(ack), RECEIVER, 1e6 + 0.1)
    assert core.flow.window.srtt_max == 0
    assert core.counters["drop_echo"] == 1
    assert core.flow.base == 1
