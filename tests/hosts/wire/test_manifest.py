"""The head of a file's stream, and names from the network."""

import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.wire.manifest import NAME_MAX_BYTES, FileError, Manifest, unsafe_name
from hosts.wire.reason import Reason

UNSAFE = [
    "",
    ".",
    "..",
    ".hidden",
    "../up",
    "a/b",
    "/etc/passwd",
    "a\\b",
    "a\nb",
    "a\0b",
    "a\x1b[2J",
    "x" * 300,
    "\ud800",
    "é" * 200,
]


@pytest.mark.parametrize("name", UNSAFE)
def test_unsafe_names(name: str) -> None:
    assert unsafe_name(name)
    body = json.dumps({"name": name, "size": 1, "sha256": "0" * 64}).encode()
    with pytest.raises(FileError, match="name is refused") as error:
        Manifest.decode(body)
    assert error.value.reason is Reason.REFUSED_FILE


@pytest.mark.parametrize("name", ["a", "ein schöner Name.tar.gz", "x" * NAME_MAX_BYTES, "-rf", "日本語", "~", "con"])
def test_safe_names(name: str) -> None:
    assert unsafe_name(name) is None


@given(st.text(max_size=50))
def test_a_safe_name_stays_in_its_folder(name: str) -> None:
    if unsafe_name(name) is None:
        assert os.path.dirname(os.path.normpath(os.path.join("/in", name))) == "/in"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        b"\xff",
        b"[" * 60_000,
        b'{"name": "a", "size": -1, "sha256": "%s"}' % (b"0" * 64),
        b'{"name": "a", "size": 1.5, "sha256": "%s"}' % (b"0" * 64),
        b'{"name": "a", "size": true, "sha256": "%s"}' % (b"0" * 64),
        b'{"name": "a", "size": 1, "sha256": "xyz"}',
        b'{"name": "a", "size": 1, "sha256": 5}',
        b'{"name": 5, "size": 1, "sha256": "%s"}' % (b"0" * 64),
    ],
)
def test_bad_manifests(body: bytes) -> None:
    with pytest.raises(FileError) as error:
        Manifest.decode(body)
    assert error.value.reason is Reason.REFUSED_FILE


@given(st.binary(max_size=200))
def test_any_bytes_as_a_manifest(body: bytes) -> None:
    with pytest.raises(FileError):
        Manifest.decode(body)
