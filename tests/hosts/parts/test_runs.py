"""Runs of packets, with MTCP's and hostile ones."""

from hypothesis import given
from hypothesis import strategies as st

from hosts.endpoint import Address, DatagramRun
from hosts.parts.runs import pieces
from hosts.protocols.mtcp.packets import DATA_BYTES, STREAM, Data, encode_data, encode_run, parse

SOURCE, GROUP = Address("10.0.0.1", 1), Address("232.0.0.1", 2)


@given(st.integers(0, 2**33), st.integers(1, 20), st.integers(1, 50))
def test_a_run_is_its_packets(seq: int, count: int, size: int) -> None:
    payload = bytes(range(200)) * 5
    payload = payload[: count * size]
    count = len(payload) // size
    payload = payload[: count * size]
    data = encode_run(7, seq, 123, 456, payload, size, 9)
    each = [
        encode_data(7, False, seq + n, 123, 456 + n * size, payload[n * size : (n + 1) * size], 9) for n in range(count)
    ]
    assert data == b"".join(each)
    run = DatagramRun(data, DATA_BYTES + size, SOURCE, GROUP, 1.0, 3.0)
    ((part, joined),) = pieces(STREAM, run)
    assert (part, joined) == (run, payload)


def test_a_gap_another_kind_and_a_shorter_end_are_parts_of_their_own() -> None:
    def data(seq: int, end: bool = False, payload: bytes = b"abcd") -> bytes:
        return encode_data(7, end, seq, 1, 4 * seq, payload)

    packets = [data(1), data(2), data(4), data(5), data(6, end=True), bytes(DATA_BYTES + 4), data(7, payload=b"x")]
    run = DatagramRun(b"".join(packets), DATA_BYTES + 4, SOURCE, GROUP, 0.0, 6.0, None, 2)
    found = list(pieces(STREAM, run))
    assert [part.packets for part, _ in found] == [2, 2, 1, 1, 1]
    assert [(part.first_at, part.arrived_at) for part, _ in found] == [(0, 1), (2, 3), (4, 4), (5, 5), (6, 6)]
    assert b"".join(part.data for part, _ in found) == run.data
    assert {(part.source, part.destination, part.ecn) for part, _ in found} == {(SOURCE, GROUP, 2)}
    first = parse(found[1][0].datagram(1).data)
    assert isinstance(first, Data)
    assert first.seq == 5


@given(st.binary(max_size=400), st.integers(1, 100))
def test_any_bytes_come_out_as_they_are(data: bytes, size: int) -> None:
    parts = [part for part, _ in pieces(STREAM, DatagramRun(data, size, SOURCE, GROUP))]
    assert b"".join(part.data for part in parts) == data
