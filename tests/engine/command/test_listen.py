"""Addresses on the command line."""

import pytest

from engine.command.listen import parse_address


def test_addresses() -> None:
    assert parse_address("--metrics", "127.0.0.1:9100") == ("127.0.0.1", 9100)
    assert parse_address("--metrics", "[::1]:0") == ("::1", 0)
    for text in ("", "9100", "host:", "host:x", "host:65536", "host:-1"):
        with pytest.raises(ValueError, match=r"--metrics: .* is not HOST:PORT"):
            parse_address("--metrics", text)
