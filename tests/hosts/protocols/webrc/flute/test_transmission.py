"""FEC Object Transmission Information: byte by byte, and what there cannot be."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.protocols.webrc.flute.transmission import NO_CODE, RAPTORQ, REED_SOLOMON, Transmission
from hosts.wire.header import PacketError

SOME = [
    (Transmission(NO_CODE, 2**40 + 3, 1424, 2**14), "4004 010000000003 0000 0590 00004000"),
    (Transmission(REED_SOLOMON, 500_000, 1400, 64, 80), "4003 00000007a120 0578 40 50"),
    (Transmission(RAPTORQ, 3_000_000, 1368, z=2, al=8), "4004 00002dc6c0 00 0558 02 0001 08 0000"),
]


@pytest.mark.parametrize(("transmission", "expected"), SOME)
def test_the_extension_is_the_rfcs(transmission: Transmission, expected: str) -> None:
    extension = transmission.encode()
    assert extension == bytes.fromhex(expected)
    assert len(extension) == 4 * extension[1]
    assert Transmission.parse(transmission.scheme, extension) == transmission


@pytest.mark.parametrize("transmission", [one for one, _ in SOME])
def test_the_fdt_s_attributes_say_the_same(transmission: Transmission) -> None:
    attributes = transmission.attributes()
    assert Transmission.of_attributes(attributes, transmission.length) == transmission
    assert Transmission.of_attributes({}, 5) is None
    for name in attributes:
        if name != "FEC-OTI-FEC-Encoding-ID":
            rest = {other: value for other, value in attributes.items() if other != name}
            with pytest.raises((LookupError, ValueError)):
                Transmission.of_attributes(rest, transmission.length)


def test_blocks_differ_by_one_symbol_and_the_larger_ones_are_first() -> None:
    """RFC 5052, 9.1."""
    eleven = Transmission(RAPTORQ, 401, 40, z=2, al=8)  # 11 symbols: 6 and 5
    assert [eleven.block(0), eleven.block(1)] == [(0, 240), (240, 401)]
    four = Transmission(REED_SOLOMON, 400, 40, 3, 4)  # 10 symbols in blocks of 3 at most: 3, 3, 2, 2
    assert [four.block(number) for number in range(four.blocks)] == [(0, 120), (120, 240), (240, 320), (320, 400)]
    assert Transmission(NO_CODE, 0, 40, 3).blocks == 0


def test_the_payload_id_s_bits_are_the_scheme_s() -> None:
    for transmission, bits in zip((one for one, _ in SOME), (16, 8, 24), strict=True):
        assert transmission.payload_id(1, 3) == 1 << bits | 3


@pytest.mark.parametrize(
    "what",
    [
        {"scheme": 1, "length": 5, "symbol": 5, "most_source": 1},
        {"scheme": NO_CODE, "length": 2**48, "symbol": 1000, "most_source": 60000},
        {"scheme": NO_CODE, "length": 5, "symbol": 0, "most_source": 1},
        {"scheme": NO_CODE, "length": 5, "symbol": 5},
        {"scheme": NO_CODE, "length": 2**17, "symbol": 1, "most_source": 1},
        {"scheme": NO_CODE, "length": 2**17, "symbol": 1, "most_source": 2**18},
        {"scheme": REED_SOLOMON, "length": 5, "symbol": 5, "most_source": 5, "most_encoding": 4},
        {"scheme": REED_SOLOMON, "length": 5, "symbol": 5, "most_source": 5, "most_encoding": 256},
        {"scheme": RAPTORQ, "length": 5, "symbol": 5, "z": 0},
        {"scheme": RAPTORQ, "length": 5, "symbol": 5, "z": 2},
        {"scheme": RAPTORQ, "length": 56_404, "symbol": 1, "z": 1},
        {"scheme": RAPTORQ, "length": 50, "symbol": 5, "z": 1, "al": 4},
        {"scheme": RAPTORQ, "length": 50, "symbol": 8, "z": 1, "al": 4, "n": 3},
    ],
)
def test_there_is_none_like_that(what: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"bytes|symbols"):
        Transmission(**what)


@given(st.sampled_from([NO_CODE, REED_SOLOMON, RAPTORQ]), st.binary(min_size=0, max_size=16))
def test_any_extension_is_read_or_refused(scheme: int, rest: bytes) -> None:
    with contextlib.suppress(PacketError):
        found = Transmission.parse(scheme, b"\x40\x04" + rest)
        assert (found.blocks == 0) == (found.length == 0)
        assert found.blocks == 0 or found.block(found.blocks - 1)[1] == found.length


def test_of_no_bytes_there_are_no_blocks() -> None:
    found = Transmission.parse(RAPTORQ, Transmission(RAPTORQ, 0, 8, z=3).encode())
    assert (found.z, found.blocks, found.largest_block) == (3, 0, 0)
