"""Content encodings and digests."""

import gzip
import zlib

import pytest

from hosts.protocols.webrc.flute.content import decoded, encoded, matching, md5
from hosts.protocols.webrc.flute.fdt import FileEntry

DATA = b"the same again, " * 500


def entry(**fields: object) -> FileEntry:
    return FileEntry(1, "a", 1, None, **fields)  # type: ignore[arg-type]


def test_every_encoding_is_read() -> None:
    raw = zlib.compressobj(wbits=-15)
    for encoding, coded in (
        ("", DATA),
        ("gzip", encoded(DATA, "gzip")),
        ("zlib", zlib.compress(DATA)),
        ("deflate", zlib.compress(DATA)),
        ("deflate", raw.compress(DATA) + raw.flush()),
    ):
        assert decoded(coded, encoding, len(DATA)) == DATA
    with pytest.raises(ValueError, match="br"):
        encoded(DATA, "br")


def test_what_is_damaged_or_grows_beyond_its_length_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    coded = gzip.compress(DATA)
    assert decoded(coded[:-9], "gzip", len(DATA)) is None
    assert decoded(coded, "gzip", len(DATA) - 1) is None
    assert decoded(coded, "br", len(DATA)) is None
    monkeypatch.setattr("hosts.protocols.webrc.flute.content.MOST_UNKNOWN", 100)
    assert decoded(coded, "gzip", None) is None


def test_a_file_is_what_the_fdt_says() -> None:
    coded = gzip.compress(DATA)
    for digest in (md5(DATA), md5(coded)):  # of the file, or of what is transferred
        assert matching([b"x", coded], entry(content_encoding="gzip", md5=digest)) == DATA
    assert matching([DATA], entry(md5=md5(b"other"))) is None
    assert matching([DATA], entry(sha256="0" * 64)) is None
    assert matching([DATA], entry(content_length=len(DATA) + 1)) is None
    assert matching([DATA], entry()) == DATA
