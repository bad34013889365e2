"""FDT instances, ours and others', and hostile ones."""

import pytest

from hosts.protocols.webrc.flute.fdt import (
    MOST_BYTES,
    FdtInstance,
    FileEntry,
    encode_fdt,
    lifetime,
    location_of,
    parse_fdt,
)
from hosts.protocols.webrc.flute.objects import plan
from hosts.protocols.webrc.flute.transmission import NO_CODE, RAPTORQ, REED_SOLOMON
from hosts.wire.header import PacketError

FILES = [
    FileEntry(
        1, location_of('a & "b" ü.txt'), 5000, plan(RAPTORQ, 5000, 960), 9000, "gzip", "bWQ1", "ab" * 32, "no-cache"
    ),
    FileEntry(2, "http://example.com/some/where/song%20one.ogg?v=1", 10, plan(NO_CODE, 10, 960), cache=1_900_000_000),
    FileEntry(2**70, "empty", 0, plan(REED_SOLOMON, 0, 960), 0, cache="max-stale"),
]
TABLE = FdtInstance(FILES, 4_000_000_000, True)
OTHERS = b"""<?xml version="1.0" encoding="UTF-8"?>
<x:FDT-Instance xmlns:x="urn:IETF:metadata:2005:FLUTE:FDT" xmlns:mbms2008="urn:3GPP:metadata:2008:MBMS:FLUTE:FDT_ext"
 Expires="3900000000" mbms2008:FullFDT="true" FEC-OTI-FEC-Encoding-ID="0" FEC-OTI-Maximum-Source-Block-Length="64"
 FEC-OTI-Encoding-Symbol-Length="1424">
 <x:File TOI="7" Content-Location="file:///a.bin" Content-Length="1500"><mbms2007:Cache-Control
   xmlns:mbms2007="urn:3GPP:metadata:2007:MBMS:FLUTE:FDT"><mbms2007:Expires>3900000000</mbms2007:Expires
  ></mbms2007:Cache-Control></x:File>
 <x:File TOI="8" Content-Location="file:///b.bin" Content-Length="15" FEC-OTI-FEC-Encoding-ID="77"/>
 <x:Other/>
</x:FDT-Instance>"""


@pytest.mark.parametrize("version", [1, 2])
def test_what_is_written_is_read(version: int) -> None:
    document = encode_fdt(TABLE, version)
    found = parse_fdt(document)
    assert found == TABLE
    assert [file.cache for file in found.files] == ["no-cache", 1_900_000_000, "max-stale"]
    assert (b"urn:ietf:params:xml:ns:fdt" in document) == (version == 2)
    assert [file.name for file in FILES] == ['a & "b" ü.txt', "song one.ogg", "empty"]


def test_other_senders_tables_are_read() -> None:
    """What the instance says holds for its files; a file that cannot be received is left out."""
    table = parse_fdt(OTHERS)
    assert table.is_full
    assert not table.is_complete
    (file,) = table.files
    assert (file.toi, file.name, file.transfer_length) == (7, "a.bin", 1500)
    assert file.cache == 3_900_000_000 - 2_208_988_800  # RFC 5905, figure 4
    assert file.transmission == plan(NO_CODE, 1500, 1424).__class__(NO_CODE, 1500, 1424, 64)


def test_hostile_tables_are_refused() -> None:
    document = encode_fdt(TABLE)
    for bad in (b"", b"<a/>", b"<!DOCTYPE x>" + document, document[:-9], b" " * MOST_BYTES + document):
        with pytest.raises(PacketError):
            parse_fdt(bad)
    growing = b'<!DOCTYPE x [<!ENTITY a "aaaa">]>' + document.split(b"?>")[1].replace(b'"a', b'"&a;')
    for letters in ("utf-8", "utf-16", "utf-16-le", "utf-16-be"):
        with pytest.raises(PacketError):
            parse_fdt(f'<?xml version="1.0" encoding="{letters[:6]}"?>{growing.decode()}'.encode(letters))
    for name, value in (("TOI", b'"0"'), ("TOI", b'"x"'), ("Transfer-Length", b'"-1"'), ("Content-Length", b'"1e3"')):
        changed = document.replace(f'{name}="1"'.encode(), name.encode() + b"=" + value, 1)
        changed = changed.replace(f'{name}="5000"'.encode(), name.encode() + b"=" + value, 1)
        changed = changed.replace(f'{name}="9000"'.encode(), name.encode() + b"=" + value, 1)
        assert changed != document
        assert [file.toi for file in parse_fdt(changed).files] == [2, 2**70]
    expires = OTHERS.replace(b">3900000000<", b">soon<")
    assert expires != OTHERS
    assert parse_fdt(expires).files == []
    for location in ("http://[", "a/%ff", ""):
        assert FileEntry(1, location, 1, None).name == ""


def test_a_table_may_be_in_utf_16() -> None:
    text = encode_fdt(TABLE).decode().replace("utf-8", "utf-16")
    assert parse_fdt(text.encode("utf-16")) == TABLE


def test_an_end_of_any_length_is_one_of_32_bits() -> None:
    said = encode_fdt(FdtInstance([], expires=5)).replace(b'"5"', b'"%d"' % (10**400 * 2**32 + 7))
    assert parse_fdt(said).expires == 7


def test_an_instance_s_end_may_lie_in_the_next_epoch_of_ntp() -> None:
    """RFC 6726, 3.3's example: 48 hours from 2036-02-07, 0h."""
    assert lifetime(149_504, 4_294_944_000) == 48 * 3600
    assert lifetime(149_504, 63_104) == 24 * 3600
    assert lifetime(4_294_944_000, 63_104) == -24 * 3600
    assert lifetime(3_900_000_000, 3_900_000_010) == -10
