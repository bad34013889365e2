"""What all packet formats check in the same way."""

from collections import Counter

import pytest

from hosts.protocols.vlmcc.packets import encode_abort, parse
from hosts.wire.checks import DataReader, check_size, read_header, read_packet
from hosts.wire.farewell import Abort
from hosts.wire.header import HEADER, SEALED_VERSION, VERSION, PacketError
from hosts.wire.reason import Reason


def refused(call: object, *arguments: object) -> str:
    """The counter under which it is dropped."""
    assert callable(call)
    with pytest.raises(PacketError) as error:
        call(*arguments)
    return error.value.reason


def test_the_common_header() -> None:
    data = HEADER.pack(VERSION, 4, 2, 0x81, 2**32 - 1)
    assert read_header(data, 4) == read_header(data + b"more", 4) == (2, 0x81, 2**32 - 1)
    assert refused(read_header, data[:-1], 4) == "truncated"
    assert refused(read_header, data, 1) == "protocol"
    assert refused(read_header, HEADER.pack(SEALED_VERSION, 4, 2, 0, 7), 4) == "sealed"
    assert refused(read_header, HEADER.pack(SEALED_VERSION + 1, 4, 2, 0, 7), 4) == "version"


def test_sizes() -> None:
    check_size(12, 12)
    assert refused(check_size, 11, 12) == "truncated"
    assert refused(check_size, 13, 12) == "oversized"


def test_data_are_read_once_and_what_is_something_else_is_left_to_parse() -> None:
    calls = []

    def read(data: bytes) -> int:
        calls.append(data)
        if len(data) < 9:
            raise PacketError("truncated")
        return data[8]

    reader = DataReader(5, 1, read)
    packet = HEADER.pack(VERSION, 5, 1, 0, 7) + b"\x2a"
    assert [reader(packet), reader(packet)] == [42, 42]
    assert calls == [packet]
    assert reader(bytes(bytearray(packet))) == 42
    assert calls == [packet], "a switch's copies are equal, and not the same"
    for other in (b"", HEADER.pack(VERSION, 5, 2, 0, 7), HEADER.pack(VERSION, 4, 1, 0, 7), packet[:-1]):
        assert reader(other) is None
    assert calls == [packet, packet[:-1]]
    assert reader(packet) == 42


def test_drops_are_counted_by_their_reason() -> None:
    counters: Counter[str] = Counter()
    packet = encode_abort(7, Reason.INTERRUPTED)
    assert read_packet(packet, parse, counters) == read_packet(packet, parse, counters, 7)
    assert isinstance(read_packet(packet, parse, counters), Abort)
    assert not counters
    assert read_packet(packet[:-1], parse, counters) is None
    assert read_packet(packet, parse, counters, 8) is None
    assert counters == {"drop_truncated": 1, "drop_other_session": 1}
