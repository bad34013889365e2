import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.security.keys import KEPT, MOST_EPOCH, SECRET_BYTES, GroupKeys, KeysError, parse_keys

ONE, TWO = bytes(range(SECRET_BYTES)), bytes(SECRET_BYTES)
EPOCHS = st.lists(
    st.tuples(st.integers(1, MOST_EPOCH), st.binary(min_size=SECRET_BYTES, max_size=SECRET_BYTES)),
    min_size=1, max_size=KEPT, unique_by=lambda epoch: epoch[0],
)  # fmt: skip


@given(EPOCHS)
def test_the_text_is_read_as_it_was(epochs: list[tuple[int, bytes]]) -> None:
    keys = GroupKeys(epochs)
    assert parse_keys("# a comment\n\n" + keys.text).epochs == tuple(epochs)
    assert parse_keys(keys.newest).epochs == (epochs[-1],)


@given(st.text() | st.text("0123456789.=ABCab-_\n", max_size=60))
def test_any_text_is_keys_or_an_error_that_does_not_tell_them(text: str) -> None:
    try:
        found: GroupKeys | KeysError = parse_keys(text)
    except KeysError as error:
        found = error
    if isinstance(found, GroupKeys):
        assert parse_keys(found.text).epochs == found.epochs
    else:
        assert not any(word in str(found) for word in re.split(r"[\s.]+", text) if len(word) > 6)


@given(st.lists(st.binary(min_size=SECRET_BYTES, max_size=SECRET_BYTES), max_size=600))
def test_epochs_go_on_and_the_last_ones_are_kept(secrets: list[bytes]) -> None:
    keys = GroupKeys([(1, ONE)])
    for number, secret in enumerate(secrets, 2):
        before, keys = keys, keys.rolled(secret)
        assert keys.epochs == (before.epochs[-1], ((number - 1) % MOST_EPOCH + 1, secret))


@pytest.mark.parametrize(
    ("epochs", "message"),
    [
        ([], "no secret is in it: is it whole?"),
        ([(1, ONE), (2, ONE), (3, ONE)], "not 3"),
        ([(0, ONE)], "numbers from 1 to 255"),
        ([(256, ONE)], "numbers from 1 to 255"),
        ([(1, ONE), (1, TWO)], "different"),
        ([(1, ONE[1:])], "32 bytes"),
    ],
)
def test_what_are_no_keys(epochs: list[tuple[int, bytes]], message: str) -> None:
    with pytest.raises(KeysError, match=message):
        GroupKeys(epochs)


def test_what_shows_them_does_not_tell_them() -> None:
    keys = GroupKeys([(1, ONE), (2, TWO)])
    assert repr(keys) == str(keys) == f"{keys}" == "GroupKeys(epoch 2)"
