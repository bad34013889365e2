"""What any protocol's `parse` does with datagrams that are none of its packets."""

from collections.abc import Callable

import pytest

from hosts.wire.header import VERSION, PacketError


def refuse_a_wrong_length(parse: Callable[[bytes], object], encoded: bytes, cut: int, *, longer: bool) -> None:
    """A packet with a byte more, or without its end."""
    with pytest.raises(PacketError):
        parse(encoded + b"x" if longer else encoded[: min(cut, len(encoded) - 1)])


def parse_or_refuse(parse: Callable[[bytes], object], protocol: int, data: bytes) -> None:
    """Any bytes behind the protocol's number."""
    reason = "none"
    try:
        parse(bytes((VERSION, protocol)) + data)
    except PacketError as error:
        reason = error.reason
    assert reason in {"none", "truncated", "oversized", "type", "value"}
