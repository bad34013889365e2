import json
import time
from pathlib import Path

import pytest

from hosts.endpoint import Address
from hosts.programs.registry import Place, Registry
from hosts.security.keys import KeysError
from hosts.security.schedule import LEAD_S, OVERLAP_S
from hosts.security.ticket import Ticket, is_token

PLACE = Place("10.0.0.1", 7400, Address("239.1.1.1", 5000), 3600.0)


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    made = Registry(tmp_path / "lecture")
    made.create(PLACE)
    return made


def test_what_was_made_is_read_and_is_its_owner_s_only(registry: Registry) -> None:
    assert registry.place() == PLACE
    assert registry.members() == ({}, 0)
    schedule, turns = registry.epochs(5.0)
    assert ([one.serial for one in schedule.epochs], turns) == ([1], 0)
    assert schedule.newest.seals_at == pytest.approx(5.0, abs=5.0)
    assert registry.folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in registry.folder.iterdir()} == {0o600}
    with pytest.raises(FileExistsError):
        registry.create(PLACE)


def test_members_come_get_other_tickets_and_go(registry: Registry) -> None:
    first, second = registry.enroll("alice"), registry.enroll("alice")
    assert isinstance(first.keys, Ticket)
    assert isinstance(second.keys, Ticket)
    assert first.group == PLACE.session
    assert (first.keys.host, first.keys.port, first.keys.fingerprint) == ("10.0.0.1", 7400, registry.fingerprint())
    kept = registry.members().members["alice"].kept
    assert is_token(second.keys.token, kept)
    assert not is_token(first.keys.token, kept)
    assert registry.members().turns == 1, "who has the first ticket may know the epoch"
    registry.expel("alice")
    assert registry.members().members["alice"].expelled
    assert registry.members().turns == 2
    registry.ask_roll()
    assert registry.members().turns == 3
    with pytest.raises(KeysError, match="no member 'bob'"):
        registry.expel("bob")
    with pytest.raises(KeysError, match="a member's name has"):
        registry.enroll("../bob")


def test_no_file_has_a_ticket_in_it(registry: Registry) -> None:
    text = registry.enroll("alice").text
    token = text.partition(":alice:")[2] or text.partition("alice:")[2].partition("@")[0]
    assert len(token) == 43
    assert not any(token in path.read_text() for path in registry.folder.iterdir())


def test_a_roll_outlives_the_registrar(registry: Registry) -> None:
    now = 1000.0
    schedule, _ = registry.epochs(now)
    rolled = schedule.rolled(bytes(32), now)
    registry.keep_epochs(rolled, 3, now - time.time())
    again, turns = registry.epochs(77.0)
    assert turns == 3
    assert [(one.serial, one.secret) for one in again.epochs] == [(one.serial, one.secret) for one in rolled.epochs]
    assert again.epochs[0].closes_at == pytest.approx(77.0 + LEAD_S + OVERLAP_S, abs=1.0)
    assert again.newest.seals_at == pytest.approx(77.0 + LEAD_S, abs=1.0)


def test_a_clock_that_went_back_delays_nothing_for_long(registry: Registry) -> None:
    schedule, _ = registry.epochs(0.0)
    registry.keep_epochs(schedule.rolled(bytes(32), 0.0), 0, -time.time() - 1e6)  # as of eleven days from now
    again, _ = registry.epochs(50.0)
    assert again.newest.seals_at == 50.0 + LEAD_S
    assert again.epochs[0].closes_at == 50.0 + LEAD_S + OVERLAP_S


@pytest.mark.parametrize("name", ["registrar.json", "members.json", "epochs.json", "registrar.pem"])
def test_files_that_are_cut_anywhere_are_named(registry: Registry, name: str) -> None:
    registry.enroll("alice")
    path = registry.folder / name
    whole = path.read_bytes()
    read = {"registrar.json": registry.place, "members.json": registry.members, "registrar.pem": registry.fingerprint}
    for length in range(len(whole.rstrip())):
        path.write_bytes(whole[:length])
        with pytest.raises(KeysError, match=f"^{path}: "):
            read.get(name, lambda: registry.epochs(0.0))()


@pytest.mark.parametrize("said", ["[]", "{}", '{"turns": 0, "epochs": [{}]}', '{"turns": null, "members": {"a": 1}}'])
def test_other_files_are_none(registry: Registry, said: str) -> None:
    for name, read in (("members.json", registry.members), ("epochs.json", lambda: registry.epochs(0.0))):
        (registry.folder / name).write_text(said)
        with pytest.raises(KeysError, match=name):
            read()


def test_what_others_may_read_is_refused(registry: Registry) -> None:
    (registry.folder / "epochs.json").chmod(0o644)
    with pytest.raises(KeysError, match="chmod 600"):
        registry.epochs(0.0)


def test_an_epoch_s_time_is_a_number(registry: Registry) -> None:
    path = registry.folder / "epochs.json"
    said = json.loads(path.read_text())
    said["epochs"][0]["seals_at"] = float("nan")
    path.write_text(json.dumps(said))
    with pytest.raises(KeysError, match=r"epochs\.json"):
        registry.epochs(0.0)
