"""Whom merged feedback speaks for."""

from hosts.endpoint import Address
from hosts.protocols.mtcp.children import Child
from hosts.protocols.mtcp.members import Members
from hosts.protocols.mtcp.options import MtcpOptions


def make_child(number: int, merge: bool = True) -> Child:
    address = Address("10.0.0.1", number)
    child = Child(number, address, MtcpOptions(), 0.0, first=0, first_offset=0, buffer_bytes=1 << 20)
    child.merge = merge
    return child


def test_those_that_are_there_and_may_be_merged() -> None:
    children = {number: make_child(number, number != 2) for number in (0, 1, 2, 5)}
    members = Members(children)
    named = members.named(0b101111)
    assert [child.number for child in named] == [0, 1, 5]
    assert members.named(0b101111) is named


def test_who_is_left_out_is_on_its_own() -> None:
    children = {number: make_child(number) for number in (0, 1)}
    members = Members(children)
    members.named(0b11)
    for child in children.values():
        child.holds, child.merged_timeout = False, 0.5
    assert members.named(0b10) == [children[1]]
    assert (children[0].holds, children[0].merged_timeout) == (True, None)
    assert (children[1].holds, children[1].merged_timeout) == (False, 0.5)


def test_a_number_that_another_child_has_now() -> None:
    children = {number: make_child(number) for number in (0, 1)}
    members = Members(children)
    members.named(0b11)
    children[1] = make_child(1)
    members.forget()
    assert members.named(0b11) == [children[0], children[1]]
