"""Reed-Solomon over GF(2^8): any k of the symbols, and the codes of others."""

from random import Random

from hosts.protocols.webrc.flute.reed_solomon import POINTS, RFC_POINTS, combine, decode, interpolation, repair

RNG = Random(1)


def test_any_k_symbols_make_the_block() -> None:
    for k in (1, 2, 17, 64):
        source = [RNG.randbytes(30) for _ in range(k)]
        every = {**dict(enumerate(source)), **{number: repair(source, number) for number in range(k, k + 20)}}
        for _ in range(5):
            found = {number: every[number] for number in RNG.sample(sorted(every), k)}
            assert decode(found, k) == source


def test_the_rfc_s_own_points_are_another_code() -> None:
    source = [RNG.randbytes(10) for _ in range(4)]
    other = combine(source, interpolation(RFC_POINTS[:4], RFC_POINTS[6]))
    found = {0: source[0], 2: source[2], 3: source[3], 6: other}
    assert decode(found, 4, RFC_POINTS) == source
    assert decode(found, 4, POINTS) != source


def test_the_code_is_the_one_in_use() -> None:
    """Repair symbols that flute-alc 1.11.7 makes of five bytes, one a symbol."""
    source = [bytes([value]) for value in (1, 2, 3, 4, 5)]
    assert [repair(source, number)[0] for number in range(5, 9)] == [169, 94, 3, 109]
