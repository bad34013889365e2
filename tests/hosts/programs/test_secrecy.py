import io
from pathlib import Path

import pytest

from hosts.programs import secrecy
from hosts.programs.keyfile import new_keys, new_seed, public, write_keys, write_seed
from hosts.programs.progress import Display
from hosts.programs.secrecy import Place, Secrecy, receiver_place, sender_place, who
from hosts.security.keys import GroupKeys, KeysError
from hosts.security.link import parse_link

KEYS = GroupKeys([(1, bytes(32))])
LOUD = Display(quiet=False)
LINK = "canopy://239.1.2.3:5000#1." + "A" * 43


def test_an_open_session_says_so() -> None:
    place = sender_place("239.1.1.1", 5000, Secrecy(False, secret_file=None), LOUD)
    assert place == Place("239.1.1.1", 5000, None)
    assert who(place) == "open to whoever reaches 239.1.1.1:5000 (--secure closes it)"


def test_what_a_sender_says_is_what_a_receiver_takes() -> None:
    place = sender_place(None, None, Secrecy(True, secret_file=None), LOUD)
    words = who(place, "canopy recv", "10.0.0.1", "rla").split()
    assert words[:3] == ["receivers:", "canopy", "recv"]
    assert words[4:] == ["--protocol", "rla", "--source", "10.0.0.1"]
    found = receiver_place(words[3], None, None, asked=False, secret_file=None, display=LOUD)
    assert place.keys is not None
    assert found.keys is not None
    assert (found.group, found.port, found.keys.epochs) == (place.group, place.port, place.keys.epochs)
    assert who(found) == ""
    assert place.group.startswith("239.255.")


def test_a_file_s_keys_are_not_said(tmp_path: Path) -> None:
    path, keys = tmp_path / "group.keys", new_keys()
    write_keys(path, keys)
    place = sender_place("239.1.1.1", 5000, Secrecy(True, secret_file=path), Display(quiet=True))
    assert place.keys is not None
    assert (place.keys.epochs, who(place, "canopy recv")) == (keys.epochs, "")
    found = receiver_place("canopy://239.1.1.1:5000", None, None, asked=True, secret_file=path, display=LOUD)
    assert found.keys is not None
    assert found.keys.epochs == keys.epochs


def test_a_secret_may_be_told_on_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrecy.sys, "stdin", io.StringIO(parse_link(LINK).keys.newest + "\n"))  # type: ignore
    place = receiver_place(None, "239.1.1.1", 5000, asked=True, secret_file=None, display=LOUD)
    assert place.keys is not None
    assert place.keys.epochs == KEYS.epochs


@pytest.mark.parametrize(
    ("link", "group", "port", "message"),
    [
        (None, None, None, "give what the sender printed"),
        (None, "239.1.1.1", None, "give what the sender printed"),
        (LINK, "239.1.1.1", None, "--group 239.1.1.1: the line .* says 239.1.2.3"),
        (LINK, None, 5001, "--port 5001: the line .* says 5000"),
        ("x", None, None, "'x' is not canopy://"),
    ],
)
def test_where_a_receiver_cannot_go(link: str | None, group: str | None, port: int | None, message: str) -> None:
    with pytest.raises(KeysError, match=message):
        receiver_place(link, group, port, asked=False, secret_file=None, display=LOUD)


def test_where_a_sender_cannot_be() -> None:
    with pytest.raises(KeysError, match="give --group and --port"):
        sender_place("239.1.1.1", None, Secrecy(False, secret_file=None), LOUD)
    with pytest.raises(KeysError, match="--quiet would hide the secret"):
        sender_place(None, None, Secrecy(True, secret_file=None), Display(quiet=True))


def test_a_signing_sender_s_line_has_what_receivers_check_by() -> None:
    place = sender_place(None, None, Secrecy(True, signed=True), LOUD)
    assert place.seed is not None
    link = who(place, "canopy recv").split()[3]
    found = receiver_place(link, None, None, asked=False, secret_file=None, display=LOUD)
    assert found.signer == place.signer == public(place.seed)
    assert found.seed is None


def test_a_key_file_s_sender_signs_with_the_file_that_belongs_to_it(tmp_path: Path) -> None:
    keys, signs, other = tmp_path / "group.keys", tmp_path / "group.sign", tmp_path / "other.sign"
    seed = new_seed()
    write_seed(signs, seed)
    write_seed(other, new_seed())
    write_keys(keys, new_keys(public(seed)))
    place = sender_place("239.1.1.1", 5000, Secrecy(False, False, keys, signs), LOUD)
    assert (place.seed, place.signer) == (seed, public(seed))
    assert receiver_place(None, "239.1.1.1", 5000, asked=False, secret_file=keys, display=LOUD).signer == place.signer
    for sign_file, message in ((None, "takes only what is signed"), (other, "not what the members")):
        with pytest.raises(KeysError, match=message):
            sender_place("239.1.1.1", 5000, Secrecy(False, False, keys, sign_file), LOUD)
    write_keys(keys, new_keys(), replace=True)
    with pytest.raises(KeysError, match="--signed: give --sign-file"):
        sender_place("239.1.1.1", 5000, Secrecy(True, True, keys), LOUD)
