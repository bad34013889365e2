import random

from canopy_engine import Signer, verify_signature

from hosts.security.keyring import KeyRing
from hosts.security.membership import ALIVE_S, ANSWER_S, FIRST_RETRY_S, LEAST_AGAIN_S, MOST_RETRY_S, Action, Membership
from hosts.security.messages import (
    AGAIN,
    MOST_BYTES,
    Challenge,
    Hello,
    Refusal,
    decode_hello,
    encode_challenge,
    encode_keys,
    encode_refusal,
)
from hosts.security.schedule import LEAD_S, Epoch, Schedule
from hosts.security.ticket import Ticket

TICKET = Ticket("alice", bytes(32), "10.0.0.1", 7400, bytes(32))
SCHEDULE = Schedule([Epoch(3, bytes(32), 0.0)])
KEYS = encode_keys(SCHEDULE, 0.0)


def member() -> Membership:
    core = Membership(TICKET, KeyRing(), random.Random(1))
    assert core.start(0.0) == [Action.CALL]
    return core


def connected(now: float = 0.0) -> Membership:
    core = member()
    (hello,) = core.connected(now)
    assert isinstance(hello, bytes)
    assert decode_hello(hello) == Hello("alice", bytes(32))
    assert core.heard(KEYS, now) == []
    return core


def test_who_has_a_key_of_its_own_waits_for_what_to_sign() -> None:
    seed, challenge = bytes(range(32)), Challenge(bytes([7] * 32))
    core = Membership(TICKET._replace(token=seed, is_own=True), KeyRing(), random.Random(1))
    core.start(0.0)
    assert core.connected(0.0) == []
    (said,) = core.heard(encode_challenge(challenge), 0.1)
    assert isinstance(said, bytes)
    hello = decode_hello(said)
    assert hello.is_signed
    assert verify_signature(Signer(seed).public, challenge.message("alice", TICKET.fingerprint), hello.token)
    assert core.heard(KEYS, 0.2) == []
    assert core.ring.epochs
    assert member().heard(encode_challenge(challenge), 0.1) == [], "who has a token has said it"


def test_keys_come_in_pieces_of_a_line() -> None:
    core = member()
    core.connected(0.0)
    for place in range(len(KEYS)):
        assert not core.ring.epochs
        core.heard(KEYS[place : place + 1], 0.0)
    assert core.ring.epochs == ((3, bytes(32)),)


def test_a_roll_is_followed_at_its_time() -> None:
    core = connected()
    core.heard(encode_keys(SCHEDULE.rolled(bytes([1] * 32), 10.0), 10.0), 500.0)
    assert core.ring.epochs[-1][0] == 3
    assert core.wake_at(500.0) == 500.0 + LEAD_S
    core.handle_timer(500.0 + LEAD_S)
    assert core.ring.epochs[-1][0] == 4
    core.heard(KEYS, 600.0)
    assert core.ring.epochs[-1][0] == 4, "epochs do not go back"


def test_calls_that_fail_are_fewer_and_fewer() -> None:
    core, now, calls = member(), 0.0, []
    core.lost(now)
    while now < 200.0:
        now += 0.1
        if core.handle_timer(now):
            calls.append(now)
            core.lost(now)
    assert calls[0] <= FIRST_RETRY_S + 0.1
    assert 6 < len(calls) < 25
    assert MOST_RETRY_S / 2 <= calls[-1] - calls[-2] <= MOST_RETRY_S + 0.1


def test_a_packet_of_an_unknown_epoch_makes_it_ask_but_not_more_often_than_once_a_second() -> None:
    core, asked = connected(), 0
    for tick in range(100):
        now = 1.0 + tick / 10
        core.ring.is_behind = True  # a stranger can send as many as it likes
        if core.handle_timer(now) == [AGAIN]:
            asked += 1
            core.heard(KEYS, now)
    assert 9 <= asked <= 10 / LEAST_AGAIN_S + 1


def test_the_same_without_a_connection() -> None:
    core, calls = member(), []
    core.lost(0.0)
    core._retry_s = MOST_RETRY_S
    for tick in range(1, 100):
        core.ring.is_behind = True
        if core.handle_timer(tick / 10):
            calls.append(tick)
            core.lost(tick / 10)
    assert 8 <= len(calls) <= 11


def test_who_does_not_answer_is_hung_up_on() -> None:
    core = connected()
    assert core.handle_timer(ALIVE_S) == [AGAIN]
    assert core.handle_timer(ALIVE_S + ANSWER_S - 0.1) == []
    assert core.handle_timer(ALIVE_S + ANSWER_S) == [Action.HANG_UP]
    assert core.handle_timer(ALIVE_S + ANSWER_S + FIRST_RETRY_S) == [Action.CALL]
    assert core.ring.epochs, "it goes on with what it has"


def test_who_talks_nonsense_too() -> None:
    for nonsense in (b"{}\n", b"x\n", bytes(MOST_BYTES + 1)):
        core = connected()
        assert core.heard(nonsense, 1.0) == [Action.HANG_UP]
        assert core.handle_timer(1.0 + FIRST_RETRY_S) == [Action.CALL]


def test_a_refusal_is_the_end() -> None:
    core = connected()
    assert core.heard(encode_refusal(Refusal("this member was expelled")), 5.0) == [Action.HANG_UP]
    assert core.refused == "this member was expelled"
    core.lost(5.0)
    assert core.handle_timer(1000.0) == []
