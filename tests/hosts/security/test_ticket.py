import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.security.keys import KeysError
from hosts.security.ticket import Ticket, digest, is_token, parse_server, parse_ticket

TICKET = Ticket("alice", bytes(range(32)), "10.0.0.1", 7400, bytes(range(32, 64)))


def test_what_is_pasted_is_read() -> None:
    assert parse_ticket(TICKET.text + "\n") == TICKET
    assert parse_ticket(TICKET._replace(host="keys.example.org").text).host == "keys.example.org"


def test_one_for_a_key_of_its_own_has_no_secret_until_it_is_put_in() -> None:
    public = TICKET._replace(token=b"", is_own=True)
    assert public.text.startswith("alice:~@10.0.0.1:7400/")
    own = TICKET._replace(is_own=True)
    assert parse_ticket(public.text) == public
    assert parse_ticket(own.text) == own


def test_it_shows_no_token() -> None:
    assert repr(TICKET) == str(TICKET) == "Ticket(alice at 10.0.0.1:7400)"


def test_what_is_kept_tells_whose_token_it_is() -> None:
    assert is_token(TICKET.token, digest(TICKET.token))
    assert not is_token(bytes(32), digest(TICKET.token))
    assert TICKET.token not in digest(TICKET.token)


@pytest.mark.parametrize("place", range(len(TICKET.text)))
def test_one_that_is_cut_is_refused_without_its_token(place: int) -> None:
    with pytest.raises(KeysError) as error:
        parse_ticket(TICKET.text[:place])
    assert TICKET.text[6:20] not in str(error.value)


@given(st.text(max_size=80))
def test_any_text_is_a_ticket_or_an_error(text: str) -> None:
    with contextlib.suppress(KeysError):
        assert parse_ticket(text).text == text.strip()


@pytest.mark.parametrize("text", ["", "10.0.0.1", "10.0.0.1:0", "10.0.0.1:70000", "a b:1", ":1", "x:1²", "-x:1"])
def test_what_is_no_server(text: str) -> None:
    with pytest.raises(KeysError):
        parse_server(text)
