"""Content encodings and digests."""

import gzip
import hashlib
import zlib

import pytest

from hosts.protocols.webrc.flute.content import DamagedError, content_of, decoded, encoded, in_base64, matching
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
        pieces = [coded[:7], coded[7:11], coded[11:]]
        assert b"".join(decoded(pieces, encoding, len(DATA))) == DATA
    with pytest.raises(ValueError, match="br"):
        encoded(DATA, "br")


def test_what_is_damaged_or_grows_beyond_its_length_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    coded = gzip.compress(DATA)
    monkeypatch.setattr("hosts.protocols.webrc.flute.content.MOST_UNKNOWN", 100)
    for data, encoding, length in (
        (coded[:-9], "gzip", len(DATA)),
        (coded, "gzip", len(DATA) - 1),
        (coded, "br", len(DATA)),
        (coded, "gzip", None),
        (b"", "gzip", None),
    ):
        with pytest.raises(DamagedError):
            list(decoded([data], encoding, length))


def test_a_file_is_what_the_fdt_says() -> None:
    coded = gzip.compress(DATA)
    for data in (DATA, coded):  # of the file, or of what is transferred
        digest = in_base64(hashlib.md5(data).digest())
        found = matching(lambda: [coded], entry(content_encoding="gzip", md5=digest))
        assert found == (len(DATA), hashlib.sha256(DATA).hexdigest())
    other = in_base64(hashlib.md5(b"other").digest())
    assert matching(lambda: [b"x", coded], entry(content_encoding="gzip")) is None
    assert matching(lambda: [DATA], entry(md5=other)) is None
    assert matching(lambda: [DATA], entry(sha256="0" * 64)) is None
    # Of two digests the stronger one counts; whoever has the FDT changed on its way would have changed both.
    assert matching(lambda: [DATA], entry(sha256=hashlib.sha256(DATA).hexdigest(), md5=other)) is not None
    assert matching(lambda: [DATA], entry(content_length=len(DATA) + 1)) is None
    assert matching(lambda: [DATA], entry()) is not None


def test_content_in_memory_has_its_digests() -> None:
    content = content_of("a", DATA, "gzip", 2.0)
    assert gzip.decompress(content.data.read(0, content.data.size)) == DATA
    assert content.manifest.sha256 == hashlib.sha256(DATA).hexdigest()
    assert content.md5 == hashlib.md5(DATA).digest()
    assert (content.encoding, content.priority) == ("gzip", 2.0)
