from hosts.endpoint import Address, Send, SendRun
from hosts.protocols.webrc.channel_runs import ChannelRuns
from hosts.wire.header import ECT_0

GROUPS = [Address(f"232.1.1.{channel}", 5000) for channel in range(3)]
PACKETS = [(channel, bytes([number]), bytes(9)) for number, channel in enumerate((0, 1, 0, 0, 2, 1))]


def test_packets_of_a_channel_leave_together_in_order() -> None:
    runs = ChannelRuns(GROUPS, ECT_0, 25)  # of two packets
    for packet in PACKETS:
        runs.add(*packet)
    assert (runs.packets, runs.octets) == (6, 60)
    data = {number: head + rest for number, (_, head, rest) in enumerate(PACKETS)}
    assert runs.take() == [
        SendRun(data[0] + data[2], GROUPS[0], ECT_0, 10),
        SendRun(data[1] + data[5], GROUPS[1], ECT_0, 10),
        Send(data[3], GROUPS[0], ECT_0),
        Send(data[4], GROUPS[2], ECT_0),
    ]


def test_one_of_another_size_ends_a_run() -> None:
    runs = ChannelRuns(GROUPS, ECT_0, 1000)
    for size in (4, 4, 3, 4):
        runs.add(1, b"", bytes(size))
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
    assert runs.take() == [Send(head + rest, GROUPS[channel], ECT_0) for channel, head, rest in PACKETS]
