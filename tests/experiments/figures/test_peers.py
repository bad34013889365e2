"""What is kept of other programs beside ours, and its table."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from experiments.figures.peers import KeptLine, keep, peers_lines


def line(contender: str, goodput_bps: float, *, receivers: int = 1, lossy: int = 0) -> KeptLine:
    return KeptLine(
        contender=contender,
        title=contender.upper(),
        is_ours=contender != "uftp",
        receivers=receivers,
        lossy=lossy,
        megabytes=1000,
        runs=5,
        goodput_bps=goodput_bps,
        sender_cpu_s=1.5,
        load=0.1,
    )


def test_a_column_for_each_network_and_how_many_times_the_fastest_peer(tmp_path: Path) -> None:
    path = tmp_path / "peers" / "fast.json"
    keep([line("uftp", 1e9), line("rla", 1e9), line("mtcp", 2.5e9)], path)
    keep([line("rla", 3e9), line("rla", 1e8, receivers=4, lossy=1), line("uftp", 2e8, receivers=4, lossy=4)], path)
    assert peers_lines(path.read_text()) == [
        ["", "1,000 MB to 1", "1,000 MB to 4, 1 % loss at 1", "1,000 MB to 4, 1 % loss"],
        ["MTCP", "2,500, 2.50 x; 1.50 s", "", ""],
        ["RLA", "3,000, 3.00 x; 1.50 s", "100; 1.50 s", ""],
        ["UFTP", "1,000; 1.50 s", "", "200; 1.50 s"],
    ]
    drawn = path.with_suffix(".svg").read_text()
    assert all(text in drawn for text in (">MTCP<", ">UFTP<", ">1,000 MB to 4, 1 % loss at 1<"))


def test_what_is_no_such_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "fast.json"
    path.write_text("{}")
    with pytest.raises(ValidationError):
        keep([line("rla", 1e9)], path)
    assert path.read_text() == "{}"
