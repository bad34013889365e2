import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.endpoint import Address
from hosts.security.keys import SECRET_BYTES, GroupKeys, KeysError
from hosts.security.link import Link, parse_link
from hosts.security.ticket import Ticket

SECRET = bytes(range(SECRET_BYTES))
WORD = "1.AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"


def test_a_link_is_one_word() -> None:
    link = Link(Address("239.1.2.3", 5000), GroupKeys([(1, SECRET)]))
    assert link.text == f"canopy://239.1.2.3:5000#{WORD}"
    found = parse_link(f" {link.text}\n")
    assert isinstance(found.keys, GroupKeys)
    assert (found.group, found.keys.epochs) == (link.group, ((1, SECRET),))
    assert parse_link("canopy://239.1.2.3:5000") == Link(link.group, None)
    assert Link(link.group, None).text == "canopy://239.1.2.3:5000"
    member = Link(link.group, Ticket("alice", SECRET, "10.0.0.1", 7400, SECRET))
    assert member.text == f"canopy://239.1.2.3:5000#alice:{WORD[2:]}@10.0.0.1:7400/{WORD[2:]}"
    assert parse_link(member.text) == member


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("239.1.2.3:5000", "not canopy://GROUP:PORT"),
        ("canopy://239.1.2.3", "not canopy://GROUP:PORT"),
        ("canopy://here:5000", "'here' is not an IPv4 address"),
        ("canopy://239.1.2.3:0", "'0' is not a UDP port"),
        ("canopy://239.1.2.3:65536", "not a UDP port"),
        ("canopy://239.1.2.3:five", "not a UDP port"),
        ("canopy://239.1.2.3:5000#", "no secret is in it: is it whole?"),
        (f"canopy://239.1.2.3:5000#{WORD[:-3]}", "32 bytes"),
        (f"canopy://239.1.2.3:5000#{WORD[2:]}", "it looks like"),
    ],
)
def test_what_is_no_link(text: str, message: str) -> None:
    with pytest.raises(KeysError, match=message) as caught:
        parse_link(text)
    assert WORD[2:12] not in str(caught.value)


@given(st.text() | st.from_regex(r"canopy://[0-9.]{0,20}:[0-9]{0,7}#?[0-9]?\.?[A-Za-z0-9_=-]{0,50}"))
def test_any_text_is_a_link_or_an_error(text: str) -> None:
    try:
        link = parse_link(text)
    except KeysError:
        return
    assert parse_link(link.text).group == link.group
