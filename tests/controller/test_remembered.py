"""What a controller leaves to the next one, and what is made of files that are not as it wrote them."""

import json
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest

from controller.groups import GroupKey
from controller.members import MemberTable
from controller.network import Network
from controller.remembered import KEPT_EVERY_S, Remembered
from controller.statedir import DOWN_LINKS_NAME, MEMBERS_NAME
from tests.controller import networks

NETWORK = Network.model_validate(networks.line())
LINK = NETWORK.links[0].name
KEY, ANY_KEY = GroupKey(IPv4Address("10.0.0.1"), IPv4Address("232.1.0.1")), GroupKey(None, IPv4Address("239.1.0.1"))
PLACES = [(KEY, ("s1", 1)), (ANY_KEY, ("s2", 3))]


def members(*places: tuple[GroupKey, tuple[str, int]]) -> MemberTable:
    table = MemberTable(60.0)
    for key, where in places:
        table.seen(key, where, 0.0)
    return table


def test_the_next_controller_knows_it_all(tmp_path: Path) -> None:
    remembered = Remembered(tmp_path, NETWORK)
    assert remembered.down_links() == []
    assert remembered.members() == []
    remembered.keep_down_links({LINK})
    remembered.keep_members(members(*PLACES))
    again = Remembered(tmp_path, NETWORK)
    assert again.down_links() == [LINK]
    assert again.members() == PLACES


def test_members_are_kept_when_they_have_changed_and_not_all_the_time(tmp_path: Path) -> None:
    remembered, table, path = Remembered(tmp_path, NETWORK), members(), tmp_path / MEMBERS_NAME
    remembered.members_at(table, 100.0)
    assert not path.exists()
    table.seen(*PLACES[0], 100.0)
    remembered.members_at(table, 100.0)
    assert remembered.members() == PLACES[:1]
    table.gone(*PLACES[0])
    remembered.members_at(table, 100.0 + KEPT_EVERY_S / 2)
    assert remembered.members() == PLACES[:1]
    remembered.members_at(table, 200.0)
    assert remembered.members() == []
    path.unlink()
    table.gone(*PLACES[0])
    remembered.members_at(table, 300.0)
    assert not path.exists()


@pytest.mark.parametrize("text", ['["{}", "s9:1-s1:1", [], 7]', "{{}}", "x", "[" * 100_000])
def test_links_are_taken_as_far_as_it_makes_sense(tmp_path: Path, text: str) -> None:
    (tmp_path / DOWN_LINKS_NAME).write_text(text.format(LINK))
    assert Remembered(tmp_path, NETWORK).down_links() == ([LINK] if text.startswith('["{}"') else [])


GOOD = ["10.0.0.1", "232.1.0.1", "s1", 1]


@pytest.mark.parametrize(
    "row",
    [
        7, [], GOOD[:3], ["10.0.0", *GOOD[1:]], [{}, *GOOD[1:]], ["10.0.0.1", "10.0.0.2", "s1", 1],
        ["10.0.0.1", None, "s1", 1], [*GOOD[:2], "s9", 1], [*GOOD[:2], ["s1"], 1], [*GOOD[:3], 200], [*GOOD[:3], "1"],
        [*GOOD[:3], 1.5], [*GOOD[:3], []],
    ],
)  # fmt: skip
def test_members_are_taken_as_far_as_they_make_sense(tmp_path: Path, row: Any) -> None:
    (tmp_path / MEMBERS_NAME).write_text(json.dumps([row, GOOD]))
    assert Remembered(tmp_path, NETWORK).members() == PLACES[:1]


def test_members_that_cannot_be_read_or_written(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    whole = json.dumps([GOOD])
    for end in range(len(whole)):
        (tmp_path / MEMBERS_NAME).write_text(whole[:end])
        assert Remembered(tmp_path, NETWORK).members() == []
    assert str(tmp_path / MEMBERS_NAME) in caplog.text
    caplog.clear()
    Remembered(tmp_path / "gone", NETWORK).keep_members(members(*PLACES))
    assert "a restarted controller would not know" in caplog.text
