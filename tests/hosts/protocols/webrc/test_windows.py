"""A stream's windows, without a network."""

from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.endpoint import DeliverDatagram
from hosts.parts.unsent import Unsent
from hosts.protocols.webrc import description
from hosts.protocols.webrc.options import LEAST_WINDOW_BYTES, WebrcOptions
from hosts.protocols.webrc.packets import RAPTORQ, Alc, payload_bytes
from hosts.protocols.webrc.windows import KEPT, MOST_OPEN, MOST_SYMBOLS, IncomingWindows, OutgoingWindows, Symbol
from hosts.wire.header import PacketError

PAYLOAD = 216
WINDOW_S = 1.0
RATE = 100.0
"""Packets a second, of which the stream has a fifth."""


def packet(symbol: Symbol) -> Alc:
    toi, fti, payload_id, data = symbol
    return Alc(7, 0, 0, 1, toi=toi, encoding=RAPTORQ, payload_id=payload_id, symbol=data, fti=fti)


def stream(data: bytes, out: OutgoingWindows) -> Iterator[tuple[float, Symbol]]:
    """All packets, with their times."""
    unsent, tick, written = Unsent(), 0, 0
    while True:
        now = tick / RATE
        due = min(len(data), int(out.most_data * RATE / 5 * now))
        unsent.add(data[written:due])
        written = due
        yield now, out.next_symbol(unsent, now, is_last=written == len(data))
        if out.is_over(now):
            return
        tick += 1


def received(data: bytes, share: float, first: int = 1) -> tuple[list[DeliverDatagram], IncomingWindows]:
    """What somebody has who gets such a share of the packets."""
    out, windows, rng = OutgoingWindows(PAYLOAD, WINDOW_S), IncomingWindows(), Random(4)
    out._first = first
    found: list[DeliverDatagram] = []
    for now, symbol in stream(data, out):
        if rng.random() < share:
            found += windows.take(packet(symbol), now)
    return found, windows


@pytest.mark.parametrize("first", [1, 2**32 - 50])
def test_whoever_gets_more_packets_than_the_stream_has_gets_the_stream(first: int) -> None:
    data = Random(1).randbytes(33_333)
    found, windows = received(data, 0.4, first)
    found.sort()
    assert data.endswith(b"".join(piece.data for piece in found))
    numbers = [piece.seq for piece in found]
    # TOI 0 is the FDT's: where numbers of 32 bits begin again one may be left out.
    assert numbers[-1] - numbers[0] + 1 - len(numbers) in (0, 0 if first == 1 else 1)
    assert found[0].offset < 4000  # all from the first packet of it that came
    assert windows.recovered > len(found) / 2
    assert all(piece.arrived_at - piece.sent_at <= 2 * WINDOW_S + 0.1 for piece in found)


def test_whoever_gets_less_has_what_came() -> None:
    data = Random(1).randbytes(33_333)
    found, windows = received(data, 0.1)
    assert windows.recovered < 5  # of a short last window
    assert 0 < len(found) < 40
    assert all(data[piece.offset :].startswith(piece.data) for piece in found)


def test_a_stream_that_is_faster_than_the_session_leaves_half_of_the_packets_to_repairs() -> None:
    out, unsent = OutgoingWindows(PAYLOAD, WINDOW_S), Unsent()
    unsent.add(bytes(1_000_000))
    symbols = [out.next_symbol(unsent, tick / RATE, is_last=False) for tick in range(1000)]
    stream_packets = sum(not symbol.fti for symbol in symbols[200:])
    assert stream_packets == 400
    windows = {symbol.toi for symbol in symbols}
    assert 9 <= len(windows) <= 11


def test_a_window_ends_with_as_many_symbols_as_it_may_have() -> None:
    out, unsent = OutgoingWindows(PAYLOAD, WINDOW_S), Unsent()
    unsent.add(bytes(out.most_data * (MOST_SYMBOLS + 1)))
    symbols = [out.next_symbol(unsent, 0.0, is_last=False) for _ in range(MOST_SYMBOLS + 2)]
    assert [symbol.toi for symbol in symbols] == [1] * MOST_SYMBOLS + [1, 1 + MOST_SYMBOLS]
    assert symbols[-2].fti


def test_no_window_is_opened_for_symbols_of_another_size_than_the_packet_has() -> None:
    out, windows = OutgoingWindows(PAYLOAD, WINDOW_S), IncomingWindows()
    symbols = [symbol for _, symbol in stream(bytes(range(250)) * 40, out)]
    assert windows.take(packet(next(one for one in symbols if any(one.data) and not one.fti)), 0.0)
    repair = packet(next(one for one in symbols if one.fti))
    with pytest.raises(PacketError):
        windows.take(repair._replace(symbol=repair.symbol[:8]), 0.1)
    assert not windows._open


def test_after_a_long_silence_the_stream_is_taken_where_it_is_and_one_strangers_packet_is_no_silence() -> None:
    out, windows = OutgoingWindows(PAYLOAD, WINDOW_S), IncomingWindows()
    symbols = [symbol for _, symbol in stream(bytes(range(250)) * 40, out) if not symbol.fti and symbol.toi]
    pieces = [one for one in symbols if any(one.data)]
    assert windows.take(packet(pieces[0]), 0.0)
    far = packet(pieces[1])._replace(toi=pieces[1].toi + 2 * KEPT)
    with pytest.raises(PacketError):
        windows.take(far, 0.1)
    assert windows.take(packet(pieces[1]), 0.2)
    with pytest.raises(PacketError):
        windows.take(far, 0.3)
    found = windows.take(far, 0.4)
    assert found[0].seq == far.toi + far.payload_id


@given(st.lists(st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1), st.binary(max_size=40)), max_size=20))
def test_any_packet_is_taken_or_refused(packets: list[tuple[int, int, bytes]]) -> None:
    windows = IncomingWindows()
    for toi, payload_id, data in packets:
        try:
            windows.take(packet(Symbol(toi, data[:16], payload_id, data[16:])), 0.0)
        except PacketError:
            continue
    assert len(windows._open) <= MOST_OPEN
    assert len(windows._symbols) <= KEPT


def test_packets_too_small_for_a_window_are_refused_with_the_options() -> None:
    options = WebrcOptions(deadline_s=1.0, packet_bytes=LEAST_WINDOW_BYTES)
    room = payload_bytes(options.packet_bytes, is_long=True) - len(description.encode_description(options))
    assert OutgoingWindows(room, WINDOW_S).most_data > 0
    with pytest.raises(ValueError, match="hold no symbol"):
        OutgoingWindows(room - 1, WINDOW_S)
    with pytest.raises(ValueError, match="'packet_bytes' must be at least 158 with 'deadline_s'"):
        WebrcOptions(deadline_s=1.0, packet_bytes=LEAST_WINDOW_BYTES - 1)
