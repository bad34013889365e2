"""Where the hashes of a stream's packets are in it."""

import pytest

from hosts.wire.tree.layout import ROOT, TreeLayout

SHAPES = [
    (88, 5, 1),
    (88, 88 * 8 + 1, 2),
    (88, 88 * 100, 3),
    (100, 100 * 3000 - 7, 2),
    (72, 72 * 9000, 5),
    (1400, 10**7, 69),
]


@pytest.mark.parametrize(("packet", "content", "ahead"), SHAPES)
def test_every_packet_has_one_place(packet: int, content: int, ahead: int) -> None:
    layout = TreeLayout(packet, content, ahead)
    order = [(-1, 0)]
    for block in range(-(-layout.counts[0] // layout.hashes)):
        assert layout.begins_at(block) == len(order)
        order += layout.before(block)
        assert layout.content_at(block) == len(order)
        last = min(layout.counts[0], (block + 1) * layout.hashes)
        order += [(0, index) for index in range(block * layout.hashes, last)]
    assert len(order) == layout.packets
    assert [layout.place(level, index) for level, index in order[1:]] == list(range(1, layout.packets))


@pytest.mark.parametrize(("packet", "content", "ahead"), SHAPES)
def test_a_hash_is_sent_so_many_blocks_before_its_packet(packet: int, content: int, ahead: int) -> None:
    layout = TreeLayout(packet, content, ahead)
    for level in range(layout.levels):
        for index in range(layout.counts[level]):
            table, place = layout.place(level + 1, index // layout.hashes), layout.place(level, index)
            assert table < place
            assert table < layout.content_at(0) or place - table > (ahead - 1) * layout.hashes


def test_a_hundred_gigabytes() -> None:
    layout = TreeLayout(1400, 10**11, 69)
    assert layout.levels == 3
    assert layout.stream_bytes / 10**11 < 1.007
    assert layout.place(0, layout.counts[0] - 1) == layout.packets - 1


def test_the_root_is_read_as_it_was_written() -> None:
    layout = TreeLayout(1400, 10**6, 7)
    root = layout.write(bytes(range(8)))
    read = TreeLayout.read(root)
    assert read is not None
    assert (read.packet_bytes, read.content_bytes, read.ahead, len(root)) == (1400, 10**6, 7, 1400)
    assert root[ROOT.size : ROOT.size + 8] == bytes(range(8))
    assert TreeLayout.read(b"CFIL" + bytes(1396)) is None
    assert TreeLayout.read(root[:10]) is None
    for wrong in (root[:-1], b"CTRE\2" + root[5:], root[:6] + bytes(2) + root[8:], root[:12] + bytes(8) + root[20:]):
        with pytest.raises(ValueError, match="no tree"):
            TreeLayout.read(wrong)
    with pytest.raises(ValueError, match="too short"):
        TreeLayout(60, 1, 1)
    with pytest.raises(ValueError, match="too long"):
        TreeLayout(64, 2**64 - 1, 1)
