"""Session descriptions: what is written is read, others' too, and what is wrong is said with its line."""

import contextlib
from pathlib import Path
from random import Random

import pytest

from hosts.programs.sdp import Description, encode_sdp, parse_sdp, read_sdp

OURS = Description(
    "232.6.0.0", 5000, "10.0.0.1", 77, 56, {"session_rate_bps": 1e8, "p": 0.75, "slot_s": 10.0, "packet_bytes": 1440}
)
TEXT = encode_sdp(OURS, name="songs", scheme=6, ttl=16, rate_bps=1e8)
OTHERS = """v=0
o=user123 2890844526 2890842807 IN IP4 192.0.2.9
s=File delivery
i=more
t=2873397496 2873404696
a=FEC-declaration:0 encoding-id=1
a=source-filter: incl IN IP4 * 192.0.2.9
a=flute-tsi:3
m=application 12345 FLUTE/UDP 0
c=IN IP4 239.1.2.3/127
b=64
a=FEC:0
"""


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.sdp"
    path.write_text(TEXT, newline="")
    assert read_sdp(path) == OURS
    assert "c=IN IP4 232.6.0.0/16/56\r\n" in TEXT
    assert "b=AS:100000\r\n" in TEXT


def test_others_are_read() -> None:
    assert parse_sdp(OTHERS) == Description("239.1.2.3", 12345, "192.0.2.9", 3)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("v=0", "v=1", "line 1: this is no session"),
        ("s=File delivery", "File delivery", "line 3: this is no session"),
        ("FLUTE/UDP", "RTP/AVP", "line 9: .*not FLUTE"),
        ("12345", "99999", "line 9"),
        ("239.1.2.3", "10.1.2.3", "line 10: .*multicast"),
        ("239.1.2.3", "239.1.2.999", "line 10"),
        ("IP4 * 192.0.2.9", "IP4 * here", "line 7"),
        ("incl", "excl", "line 7: a filter for one sender"),
        ("tsi:3", "tsi:three", "line 8: 'three' is no session"),
        ("a=flute-tsi:3\n", "", "line 11: it ends without a=flute-tsi"),
        ("a=flute-tsi:3\n", "a=flute-tsi:3\na=flute-ch:4\n", "4 channels without WEBRC"),
        ("a=FEC:0", "m=application 5 FLUTE/UDP 0", "line 12: .*addresses in a row"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, old: str, new: str, words: str) -> None:
    path = tmp_path / "a.sdp"
    path.write_text(OTHERS.replace(old, new, 1))
    with pytest.raises(ValueError, match=words) as raised:
        read_sdp(path)
    assert str(path) in str(raised.value)


def test_any_bytes_are_read_or_refused(tmp_path: Path) -> None:
    rng = Random(1)
    path = tmp_path / "a.sdp"
    for _ in range(300):
        data = bytearray(TEXT.encode())
        for _ in range(rng.randrange(1, 6)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        path.write_bytes(data)
        with contextlib.suppress(ValueError):
            read_sdp(path)
    path.write_bytes(b"v=0\n" * 20_000)
    with pytest.raises(ValueError, match="too long"):
        read_sdp(path)
