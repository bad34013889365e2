from xml.etree import ElementTree

import pytest

from experiments.bench.packet_time import ORDER, PacketTime, lines, measure, picture


def test_a_file_is_sent_and_both_ends_time_is_told_apart() -> None:
    sender, receiver = measure("rla", 3)
    assert (sender.role, receiver.role) == ("sender", "receiver")
    assert sender.packets == receiver.packets >= 3e6 // 1500
    for one in (sender, receiver):
        assert set(one.parts) <= set(ORDER)
        assert 100 < sum(one.parts.values()) < 1e6  # nanoseconds


def test_what_does_not_arrive_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="nonesuch"):
        measure("nonesuch", 1)


def test_the_table_and_the_picture_have_all_parts() -> None:
    found = [PacketTime("mtcp", "sender", 10, dict.fromkeys(ORDER, 100.0)), PacketTime("rla", "sender", 10, {})]
    head, *body = lines(found)
    assert head == ["ns a packet", "MTCP sender", "RLA sender"]
    assert [line[0] for line in body] == [*ORDER, "all"]
    assert body[-1][1:] == [f"{100 * len(ORDER):,}", "0"]
    drawn = picture(found)
    texts = {"".join(element.itertext()) for element in ElementTree.fromstring(drawn).iter()}
    assert {*ORDER, "MTCP, sender", "RLA, sender"} <= texts
    assert len(drawn) < 10_000
