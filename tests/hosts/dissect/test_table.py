"""docs/packets.md is what the protocols declare."""

from pathlib import Path

from hosts.dissect.table import page

PAGE = Path(__file__).resolve().parents[3] / "docs" / "packets.md"


def test_the_page_is_up_to_date() -> None:
    """If not: python -m hosts.dissect.table > docs/packets.md"""
    assert PAGE.read_text() == page()


def test_rows_by_hand() -> None:
    lines = page().splitlines()
    assert "| 28 | 32 | `child_host` | who asked, as seen from the parent: IPv4 address |" in lines
    assert "| 14.4 | 4 | `state` | where it stands (0 ACTIVE, 1 COMPLETE, 2 LEFT, 3 LOST, 4 GONE) |" in lines
    assert "| 32 | 8 × `length` | `data` | the stream's bytes |" in lines
    assert "| 8 | 16 | `payload_bytes` | largest payload of a packet (1 to 1,472) |" in lines
    assert "### FIN, type 10 and FIN_ACK, type 11" in lines
    assert "| 4 | 64 | `session_rate_bps` | bit/s of all channels (IEEE 754) |" in lines, "a part of a packet"
    assert "| 12 | 64 | `digest` | first bytes of the block's SHA-256 |" in lines
