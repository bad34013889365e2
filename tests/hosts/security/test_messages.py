import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.security.keys import KeysError
from hosts.security.messages import (
    AGAIN,
    MOST_BYTES,
    Challenge,
    Hello,
    Refusal,
    decode_answer,
    decode_hello,
    encode_challenge,
    encode_hello,
    encode_keys,
    encode_refusal,
    is_again,
)
from hosts.security.schedule import LEAD_S, Epoch, Schedule

SECRET = bytes(range(32))
SCHEDULE = Schedule([Epoch(7, SECRET, 0.0)]).rolled(bytes(32), 1000.0)


def test_a_member_says_who_it_is() -> None:
    signed = Hello("alice", bytes(64), is_signed=True)
    assert decode_hello(encode_hello(signed)) == signed
    assert decode_answer(encode_challenge(Challenge(SECRET)), 0.0) == Challenge(SECRET)
    hello = Hello("alice", SECRET)
    assert decode_hello(encode_hello(hello)) == hello
    assert repr(hello) == "Hello(alice)"
    assert is_again(AGAIN)


def test_epochs_keep_their_times_on_another_clock() -> None:
    answer = decode_answer(encode_keys(SCHEDULE, 1001.0), 5.0)
    assert isinstance(answer, Schedule)
    old, new = answer.epochs
    assert (old.serial, old.secret, old.seals_at, old.closes_at) == (7, SECRET, -math.inf, 12.0)
    assert (new.serial, new.secret, new.seals_at, new.closes_at) == (8, bytes(32), 4.0 + LEAD_S, math.inf)
    assert decode_answer(encode_keys(SCHEDULE, 2000.0), 5.0).epochs == (new._replace(seals_at=-math.inf),)  # type: ignore


def test_a_refusal_has_its_reason() -> None:
    assert decode_answer(encode_refusal(Refusal("enough")), 0.0) == Refusal("enough")


def test_lines_are_within_their_bound() -> None:
    assert len(encode_keys(SCHEDULE, 1000.0)) < MOST_BYTES
    assert len(encode_hello(Hello("a" * 64, SECRET))) < MOST_BYTES


VALUES: st.SearchStrategy[object] = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=50) | st.just([]) | st.just({})
)


@given(st.data())
def test_nothing_but_an_answer_is_taken(data: st.DataObject) -> None:
    said = json.loads(encode_keys(SCHEDULE, 1000.0))
    target = data.draw(st.sampled_from([said, *said["epochs"]]))
    target[data.draw(st.sampled_from(sorted(target)))] = data.draw(VALUES)
    try:
        answer = decode_answer(json.dumps(said).encode(), 0.0)
    except KeysError:
        return
    if isinstance(answer, Schedule):
        assert answer.at(0.0)


@given(
    st.binary(max_size=200).filter(lambda one: b"again" not in one) | st.sampled_from([b"[" * 1500, b'{"again": 2}'])
)
def test_any_bytes_are_an_error(line: bytes) -> None:
    for read in (decode_hello, is_again, lambda one: decode_answer(one, 0.0)):
        with pytest.raises(KeysError):
            read(line)


@pytest.mark.parametrize("said", [{"canopy": 1}, {"canopy": 1, "name": "a/b", "token": "x"}, {"canopy": 1, "name": 3}])
def test_what_is_no_hello(said: dict[str, object]) -> None:
    with pytest.raises(KeysError):
        decode_hello(json.dumps(said).encode())
