"""Data that overtook the answer to a join."""

from hosts.protocols.mtcp.packets import Data, encode_data, encode_repair, parse
from hosts.protocols.mtcp.premature import MOST, Premature


def test_a_few_packets_are_kept_and_handed_over_once() -> None:
    premature = Premature()
    datagrams = [encode_data(7, False, seq, 1, seq, b"x", 1) for seq in range(MOST + 1)]
    kept = [parse(datagram) for datagram in datagrams]
    for seq, packet in enumerate(kept):
        assert isinstance(packet, Data)
        assert premature.keep(packet, 5.0 + seq) == (seq < MOST)
    assert premature.take() == [(packet, 5.0 + seq) for seq, packet in enumerate(kept[:MOST])]
    assert premature.take() == []


def test_repairs_are_not_kept() -> None:
    repair = parse(encode_repair(encode_data(7, False, 0, 1, 0, b"x", 1), 5))
    premature = Premature()
    assert not premature.keep(repair, 5.0)  # type: ignore[arg-type]
