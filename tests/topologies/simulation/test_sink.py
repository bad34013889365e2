import hashlib

import pytest

from hosts.wire.manifest import FileError, Manifest
from hosts.wire.reason import Reason
from topologies.simulation.sink import CheckingSink

CONTENT = bytes(range(256)) * 5


def stream(content: bytes = CONTENT, size: int = len(CONTENT)) -> bytes:
    return Manifest("x.bin", size, hashlib.sha256(CONTENT).hexdigest()).encode() + content


@pytest.mark.parametrize("piece", [1, 7, 100, 10_000])
def test_a_whole_file_is_recognised_however_it_comes(piece: int) -> None:
    sink, data = CheckingSink(), stream()
    for at in range(0, len(data), piece):
        sink.write(data[at : at + piece])
    assert sink.sha256 is None
    sink.finish()
    assert sink.sha256 == hashlib.sha256(CONTENT).hexdigest()
    assert sink.written == len(CONTENT)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", Reason.BROKEN_STREAM),
        (stream(CONTENT[:-1]), Reason.BROKEN_STREAM),
        (stream(CONTENT[:-1] + b"?"), Reason.WRONG_HASH),
    ],
    ids=["nothing", "too short", "changed"],
)
def test_what_is_wrong_is_told_at_the_end(data: bytes, reason: Reason) -> None:
    sink = CheckingSink()
    sink.write(data)
    with pytest.raises(FileError) as error:
        sink.finish()
    assert error.value.reason == reason


def test_too_much_is_refused_at_once() -> None:
    with pytest.raises(FileError, match="more bytes"):
        CheckingSink().write(stream(CONTENT + b"?"))


def test_another_stream_is_refused() -> None:
    with pytest.raises(FileError, match="not a file"):
        CheckingSink().write(b"nothing of the kind")
