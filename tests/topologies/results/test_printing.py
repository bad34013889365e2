"""What a terminal of 80 columns shows of a result."""

import io

from rich.console import Console

from topologies.results.printing import print_summary
from topologies.results.summary import ReceiverResult, SessionResult, Summary

WHY = "ended with status 1: [Errno 28] No space left on device, and whatever else there is to say about it at length"


def test_reasons_are_told_once_below_a_table_that_fits() -> None:
    done = ReceiverResult("r1", "10.0.0.1", True, True, "", "00", 2.5, 8_049_999.0, 12_345, 12_345, "a")
    late = [ReceiverResult(f"r{n}", f"10.0.0.{n}", True, False, "still receiving") for n in (2, 3)]
    lost = ReceiverResult("r4", "10.0.0.4", True, False, WHY)
    summary = Summary(
        "small", 7, "embedded", "2026-03-04T05:06:07+00:00", 100.0, 3.0, False, "time limit",
        [SessionResult(3, "mtcp", "a", "/f", 1_000_000, "00", 0.5, 2.0, "failed", "", 40, 3, [done, *late, lost])],
        [],
        None,
        [],
        [],
        [],
        "/nowhere",
    )  # fmt: skip
    text = io.StringIO()
    print_summary(Console(file=text, width=80), summary)
    lines = text.getvalue().splitlines()
    assert max(len(line) for line in lines if line[0] in "┏┃┡│└") <= 80
    assert next(line for line in lines if line.startswith("│ r")).split()[-2:] == ["a", "│"]
    assert "r2, r3: still receiving" in lines
    assert f"r4: {WHY}" in lines
