"""Objects as symbols: every scheme, from any part of what is sent."""

from random import Random

import pytest
from canopy_engine import RaptorqEncoder

from hosts.protocols.webrc.flute.coding import Encoders
from hosts.protocols.webrc.flute.decoding import SYMBOL_COST, ObjectDecoder
from hosts.protocols.webrc.flute.objects import BETWEEN, MAX_BLOCK_SYMBOLS, SCHEMES, object_encoder, plan
from hosts.protocols.webrc.flute.transmission import NO_CODE, RAPTORQ, REED_SOLOMON, Transmission
from hosts.storage import BytesContent, MemoryRoom
from hosts.wire.header import PacketError
from tests.hosts.protocols.webrc.memory import next_packet


def decoder_of(transmission: Transmission) -> ObjectDecoder:
    found = ObjectDecoder(transmission)
    found.settle(MemoryRoom(), "")
    return found


def wholes(decoder: ObjectDecoder) -> list[bytes]:
    return [b"".join(decoder.pieces()) for _ in decoder.candidates()]


def test_raptorq_blocks_are_small_as_long_as_there_are_not_too_many() -> None:
    for symbols, blocks in ((2048, 1), (2049, 2), (2048 * 256, 255), (MAX_BLOCK_SYMBOLS * 255, 255)):
        transmission = plan(RAPTORQ, 1368 * symbols, 1370)
        assert (transmission.z, transmission.n, transmission.al, transmission.symbol) == (blocks, 1, 8, 1368)
        assert Transmission.parse(RAPTORQ, transmission.encode()) == transmission  # Z has 8 bits
    longer = plan(RAPTORQ, 1368 * MAX_BLOCK_SYMBOLS * 255 + 1, 1370)  # each object has a scheme of its own
    assert longer == plan(REED_SOLOMON, longer.length, 1370)
    with pytest.raises(ValueError, match="at most"):
        plan(RAPTORQ, 10**12, 1370)
    with pytest.raises(ValueError, match="no symbol"):
        plan(RAPTORQ, 5, 7)


def test_files_of_a_hundred_gigabytes_fit_the_other_schemes() -> None:
    for scheme in (NO_CODE, REED_SOLOMON):
        transmission = plan(scheme, 10**11, 1368)
        assert transmission.block(transmission.blocks - 1)[1] == 10**11


def test_raptorq_blocks_have_visits_and_the_carousel_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hosts.protocols.webrc.flute.objects.BLOCK_SYMBOLS", 8)
    monkeypatch.setattr("hosts.protocols.webrc.flute.objects.MOST_SENT", 32)
    data = Random(1).randbytes(40 * 30 - 7)
    transmission = plan(RAPTORQ, len(data), 40)
    encoder = object_encoder(1, BytesContent(data), transmission, Encoders())
    assert transmission.blocks == 4
    decoder = decoder_of(transmission)
    sent = []
    for _ in range(80):
        count = encoder.visit(0.5)
        sent += [next_packet(encoder, 3) for _ in range(count)]
    numbers = [payload_id >> 24 for payload_id, _ in sent]
    assert set(numbers[:16]) == {0, 1, 2, 3}
    assert numbers[0] == numbers[1] == numbers[2]
    assert [numbers.count(number) for number in range(4)] == [80, 80, 60, 60]
    assert len(set(sent)) == 4 * 32  # all that may be sent, then the same again
    taken = Random(2).sample(sent, len(sent))
    while not decoder.add(*taken.pop()):
        assert decoder.needed > 0
    assert wholes(decoder) == [data]
    assert decoder.needed == 0
    with pytest.raises(PacketError):
        decoder.add(4 << 24, bytes(40))


@pytest.mark.parametrize("scheme", list(SCHEMES.values()))
def test_in_an_ordered_pass_whoever_gets_nearly_all_has_few_blocks_open(
    scheme: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And who comes later has the next one."""
    name = "hosts.protocols.webrc.flute.objects."
    monkeypatch.setattr(name + "OPEN_BYTES", 40 * 200)
    monkeypatch.setattr(name + "BLOCK_SYMBOLS", 50)
    monkeypatch.setattr(name + "NO_CODE_SYMBOLS", 50)
    data = Random(6).randbytes(40 * 1500 - 7)
    transmission = plan(scheme, len(data), 40)
    encoder = object_encoder(1, BytesContent(data), transmission, Encoders())
    few = 2 * transmission.largest_block * (40 + SYMBOL_COST)
    for begun, passes, gives_up in ((0, 1.0, False), (1000, BETWEEN + 2, True)):
        rng, decoder, given_up, left = Random(7), decoder_of(transmission), 0, passes * encoder.pass_packets
        for _ in range(begun):
            encoder.visit(0.01)
            next_packet(encoder)
        while not decoder.is_whole and left > 0:
            for _ in range(encoder.visit(0.2)):
                left -= 1
                payload_id, symbol = next_packet(encoder, rng.randrange(9))
                if scheme == NO_CODE or rng.random() > 0.04:
                    decoder.add(payload_id, symbol)
                if decoder.held > few:
                    given_up += 1
                    decoder = decoder_of(transmission)
        assert decoder.is_whole
        assert wholes(decoder)[0] == data
        assert bool(given_up) == gives_up


def test_an_encoder_is_made_before_its_visit(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the same is sent as without."""
    monkeypatch.setattr("hosts.protocols.webrc.flute.objects.BLOCK_SYMBOLS", 8)
    monkeypatch.setattr("hosts.protocols.webrc.flute.coding.ENCODER_BYTES", 0)  # so that they are made anew each time
    data = Random(1).randbytes(40 * 30 - 7)
    transmission = plan(RAPTORQ, len(data), 40)
    ahead = object_encoder(1, BytesContent(data), transmission, Encoders())
    plain = object_encoder(1, BytesContent(data), transmission, Encoders())
    made: list[int] = []

    def counted(data: bytes, symbol: int) -> RaptorqEncoder:
        made.append(symbol)
        return RaptorqEncoder(data, symbol)

    monkeypatch.setattr("hosts.protocols.webrc.flute.coding.RaptorqEncoder", counted)
    works = 0
    for _ in range(40):
        count = ahead.visit(0.5)
        assert count == plain.visit(0.5)
        made.clear()
        sent = [next_packet(ahead, 3) for _ in range(count)]
        assert not made, "while packets wait"
        assert sent == [next_packet(plain, 3) for _ in range(count)]
        if (work := ahead.ahead()) is not None:
            assert ahead.ahead() is None, "it has begun"
            work()
            works += 1
    assert works > 20


def test_a_visit_goes_on_while_the_next_block_is_made_ready() -> None:
    data = Random(1).randbytes(40 * 8 * 2048)  # eight blocks
    sender = object_encoder(1, BytesContent(data), plan(RAPTORQ, len(data), 40), Encoders())
    work, sent = None, []
    while work is None:
        count = sender.visit(0.5)
        sent += [next_packet(sender)[0] >> 24 for _ in range(count)]
        work = sender.ahead()
    here = sent[-1]
    more = 0
    while (count := sender.visit(0.5)) < 1000:
        assert [next_packet(sender)[0] >> 24 for _ in range(count)] == [here] * count
        more += count
    assert more == 2048, "not for longer"
    assert next_packet(sender)[0] >> 24 != here


@pytest.mark.parametrize("scheme", [REED_SOLOMON, NO_CODE])
@pytest.mark.parametrize("size", [1, 39, 40, 41, 50_000])
def test_any_one_channel_brings_all_symbols_of_the_finite_schemes(scheme: int, size: int) -> None:
    data = Random(size).randbytes(size)
    transmission = plan(scheme, size, 40)
    encoder = object_encoder(1, BytesContent(data), transmission, Encoders())
    for channel in (0, 5):
        decoder = decoder_of(transmission)
        packets = 0
        while not decoder.add(*next_packet(encoder, channel)):
            packets += 1
        # In the worst order all of Reed-Solomon's repair, a quarter of the source, comes first.
        assert packets <= transmission.symbols * 1.3 + 1
        assert data in wholes(decoder)


def test_a_packet_may_have_several_symbols() -> None:
    data = Random(3).randbytes(4 * 24 + 5)
    transmission = plan(SCHEMES["no-code"], len(data), 24)
    decoder = decoder_of(transmission)
    assert not decoder.add(0, data[:72])
    assert decoder.add(3, data[72:])
    assert wholes(decoder) == [data]


def test_raptorq_with_sub_blocks_is_read() -> None:
    """RFC 6330, 4.4.1.2: of N = 2 sub-blocks each symbol has a part."""
    data = Random(4).randbytes(20 * 24)
    transmission = Transmission(RAPTORQ, len(data), 24, z=1, n=2, al=4)
    decoder = decoder_of(transmission)
    halves = [data[: 20 * 12], data[20 * 12 :]]
    source = [halves[0][12 * number :][:12] + halves[1][12 * number :][:12] for number in range(20)]
    for number, symbol in enumerate(source[3:], 3):
        decoder.add(number, symbol)
    for number, symbol in enumerate(RaptorqEncoder(data, 24, 2, 4).repair(0, 6), 20):
        if decoder.add(number, symbol):
            break
    assert wholes(decoder) == [data]


def test_hostile_packets_are_refused() -> None:
    decoder = decoder_of(plan(RAPTORQ, 1000, 40))
    for payload in (b"", bytes(39), bytes(41)):
        with pytest.raises(PacketError):
            decoder.add(0, payload)
    decoder = decoder_of(plan(REED_SOLOMON, 1000, 40))
    assert not decoder.add(200, bytes(40))  # no symbol of the block
    assert not decoder.add(0, bytes(400))
    assert decoder.needed == 15


def test_raptorq_s_last_source_symbol_may_come_without_its_padding() -> None:
    """RFC 6330, 4.4.2. No other symbol may be shorter."""
    data = Random(3).randbytes(4 * 24 + 5)
    transmission = Transmission(RAPTORQ, len(data), 24, z=2, al=8)  # 3 and 2 symbols
    decoder = decoder_of(transmission)
    for payload_id, payload in ((1 << 24, data[72:-1]), (1 << 24 | 2, data[96:]), (0, data[:71]), (2, data[48:53])):
        with pytest.raises(PacketError):
            decoder.add(payload_id, payload)
    assert not decoder.add(0, data[:72])
    assert decoder.add(1 << 24, data[72:])
    assert wholes(decoder) == [data]
