import pytest

from hosts.endpoint import Address, Send, SendRun
from hosts.protocols.webrc.channel_runs import ChannelRuns
from hosts.protocols.webrc.packets import Alc, encode, encode_head
from hosts.wire.header import ECT_0

GROUPS = [Address(f"232.1.1.{channel}", 5000) for channel in range(3)]
PACKETS = [(channel, bytes([number]) * 10) for number, channel in enumerate((0, 1, 0, 0, 2, 1))]


def test_packets_of_a_channel_leave_together_in_order() -> None:
    runs = ChannelRuns(GROUPS, ECT_0, 25)  # of two packets
    for packet in PACKETS:
        runs.add(*packet)
    assert (runs.made.packets, runs.made.octets) == (6, 60)
    data = {number: packet for number, (_, packet) in enumerate(PACKETS)}
    assert runs.take() == [
        SendRun(data[0] + data[2], GROUPS[0], ECT_0, 10),
        SendRun(data[1] + data[5], GROUPS[1], ECT_0, 10),
        Send(data[3], GROUPS[0], ECT_0),
        Send(data[4], GROUPS[2], ECT_0),
    ]


def test_one_of_another_size_ends_a_run() -> None:
    runs = ChannelRuns(GROUPS, ECT_0, 1000)
    for size in (4, 4, 3, 4):
        runs.add(1, bytes(size))
    found = runs.take()
    assert found == [
        SendRun(bytes(8), GROUPS[1], ECT_0, 4),
        Send(bytes(3), GROUPS[1], ECT_0),
        Send(bytes(4), GROUPS[1], ECT_0),
    ]


def test_without_runs_all_leave_alone_in_order() -> None:
    runs = ChannelRuns(GROUPS, ECT_0, 0)
    for packet in PACKETS:
        runs.add(*packet)
    assert runs.take() == [Send(data, GROUPS[channel], ECT_0) for channel, data in PACKETS]


@pytest.mark.parametrize("is_long", [False, True])
def test_symbols_are_in_packets_that_differ_in_place_and_number_only(is_long: bool) -> None:
    runs = ChannelRuns(GROUPS, ECT_0, 0)
    places = [(2, 7, 65_535), (0, 8, 1), (2, 8, 513), (1, 0, 0)]
    symbols = [bytes([number]) * 8 for number in range(3)]
    head = encode_head(9, 250, 250, 60_000, is_long, 5, 6, 77)
    runs.add_symbols(places, head, is_long, 0x2FFFF, symbols)
    packets = [
        encode(Alc(9, slot, channel, psn, is_long, 5, 6, 0x2FFFF + number, symbol))
        for number, ((channel, slot, psn), symbol) in enumerate(zip(places, symbols, strict=False))
    ]
    assert runs.made.packets == 3
    assert runs.made.octets == sum(map(len, packets))
    assert runs.take() == [
        Send(packet, GROUPS[channel], ECT_0) for packet, (channel, _, _) in zip(packets, places, strict=False)
    ]


def test_there_are_no_other_channels() -> None:
    runs = ChannelRuns(GROUPS, ECT_0, 0)
    with pytest.raises(ValueError, match="channel"):
        runs.add(3, b"")
    with pytest.raises(ValueError, match="head"):
        runs.add_symbols([(0, 0, 0)], b"short", False, 0, [b""])
