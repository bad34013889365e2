"""Who is through with a file, and what the others' words free."""

from collections import Counter

import pytest

from hosts.endpoint import Address
from hosts.parts.file_sending import FileSending
from hosts.parts.roster import Member
from hosts.parts.silence import START_BLOCKS
from hosts.wire.farewell import MemberFin
from hosts.wire.reason import Reason

NEAR, FAR, STRANGER = (Address(f"10.0.0.{number}", 5000) for number in (1, 2, 3))


@pytest.fixture
def counters() -> Counter[str]:
    return Counter()


@pytest.fixture
def file(counters: Counter[str]) -> FileSending:
    """Two receivers, 1 and 2, of a file that has not ended."""
    made = FileSending(counters, 1000, 4)
    for number, address in enumerate((NEAR, FAR), 1):
        made.roster.members[number] = Member(address, 0.0, 0.0, 0.1)
    made.begin(5.0)
    return made


def fin(receiver: int, *, complete: bool) -> MemberFin:
    return MemberFin(7, False, complete, Reason.INTERRUPTED, receiver)


def test_it_begins_with_everybody_heard(file: FileSending) -> None:
    assert file.roster.overdue(0, 1.0, 5.5) == []
    assert [receiver for receiver, _ in file.roster.overdue(0, 1.0, 6.5)] == [1, 2]


def test_who_claims_the_whole_of_what_is_not_made_yet_breaks_off(file: FileSending) -> None:
    assert file.verdict(fin(1, complete=True), NEAR) == ("left", Reason.BROKEN_STREAM)
    assert file.verdict(fin(1, complete=False), NEAR) == ("left", Reason.INTERRUPTED)
    file.blocks.write(bytes(100))
    file.blocks.finish()
    assert file.verdict(fin(1, complete=True), NEAR) == ("complete", Reason.INTERRUPTED)
    assert file.verdict(fin(1, complete=True), FAR) is None


def test_a_fin_of_nobody_is_dropped_and_one_of_who_is_through_is_not(file: FileSending, counters: Counter[str]) -> None:
    file.remove(1, "left", Reason.INTERRUPTED)
    assert not file.is_strange(fin(1, complete=False), NEAR)
    assert file.is_strange(fin(9, complete=False), STRANGER)
    assert counters["drop_stranger"] == 1


def test_the_first_blocks_are_kept_until_all_have_more(file: FileSending) -> None:
    """Who says that it has them may not be there, and those who were meant come later."""
    for seq in range(START_BLOCKS + 1):
        file.blocks.write(bytes(file.blocks.space))
        while file.blocks.has_piece:
            file.blocks.next_piece(seq)
        for member in file.roster.members.values():
            assert file.blocks.has_all
            file.told(member, file.blocks.passed, (), seq, 5.0)
    assert not file.blocks.has_all
