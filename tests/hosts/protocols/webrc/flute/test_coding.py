"""A session's encoders: which are kept, and which are made before they are wanted."""

from random import Random

import pytest
from canopy_engine import RaptorqEncoder

from hosts.protocols.webrc.flute.coding import Encoders
from hosts.wire.manifest import FileError

SYMBOL = 16
BLOCK = Random(1).randbytes(20 * SYMBOL)


def test_what_was_made_ahead_is_what_is_wanted() -> None:
    encoders, reads = Encoders(), []

    def read() -> bytes:
        reads.append(1)
        return BLOCK

    work = encoders.ahead(1, 0, len(BLOCK), read, SYMBOL)
    assert work is not None
    made = work()
    assert encoders.get(1, 0, read, SYMBOL) is made
    assert len(reads) == 1
    assert encoders.ahead(1, 0, len(BLOCK), read, SYMBOL) is None
    assert made.repair(0, 3) == RaptorqEncoder(BLOCK, SYMBOL).repair(0, 3)  # type: ignore[attr-defined]


def test_who_is_first_makes_it() -> None:
    encoders = Encoders()
    work = encoders.ahead(1, 0, len(BLOCK), lambda: BLOCK, SYMBOL)
    assert work is not None
    assert encoders.get(1, 0, lambda: BLOCK, SYMBOL) is work()


def test_nothing_is_made_ahead_that_has_no_room_or_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone() -> bytes:
        raise FileError("gone")

    encoders = Encoders()
    assert encoders.ahead(1, 0, len(BLOCK), gone, SYMBOL) is None
    with pytest.raises(FileError, match="gone"):
        encoders.get(1, 0, gone, SYMBOL)
    monkeypatch.setattr("hosts.protocols.webrc.flute.coding.ENCODER_BYTES", 2 * len(BLOCK) - 1)
    assert encoders.ahead(1, 0, len(BLOCK), lambda: BLOCK, SYMBOL) is None


def test_those_that_were_used_last_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hosts.protocols.webrc.flute.coding.ENCODER_BYTES", 2 * len(BLOCK))
    encoders = Encoders()
    first, second = (encoders.get(1, block, lambda: BLOCK, SYMBOL) for block in (0, 1))
    assert encoders.get(1, 0, lambda: BLOCK, SYMBOL) is first
    encoders.get(1, 2, lambda: BLOCK, SYMBOL)
    assert encoders.get(1, 0, lambda: BLOCK, SYMBOL) is first
    assert encoders.get(1, 1, lambda: BLOCK, SYMBOL) is not second
    encoders.forget(1)
    assert encoders.get(1, 0, lambda: BLOCK, SYMBOL) is not first
