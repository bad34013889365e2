from pathlib import Path

import polars as pl

from experiments.survey.distribution import Back, Change, Tcp
from experiments.survey.outcome import Outcome, judge
from experiments.survey.survey import Plan, Surveyed
from experiments.survey.table import DIMENSIONS, FILE_NAME, JUDGED, MEASURED, make_table, write_table
from tests.experiments.survey.cells import FAR, small
from tests.experiments.survey.test_outcome import run

CELL = small(
    tcps=(Tcp("bbr", 0.0, 0.0), Tcp("reno", 0.0, 0.0)),
    back=Back("udp", 0.7),
    change=Change("rate", 1e6),
    slow=(FAR, 5e5),
)
DONE = judge(CELL, "tfmcc", run(4.5e5, tcps_bps=[9e5, 9e5], queue_p99_s=0.02), [run(1e6)])
SURVEYED = Surveyed(Plan(["tfmcc", "rla"], 1, 1), [DONE, Outcome(small(), "rla", "failed", "why")])


def test_a_row_has_what_was_drawn_judged_and_measured() -> None:
    table = make_table(SURVEYED)
    assert table.shape == (2, 5 + len(DIMENSIONS) + len(JUDGED) + len(MEASURED))
    row = table.row(0, named=True)
    assert (row["seed"], row["cell"], row["protocol"], row["state"]) == (1, 0, "tfmcc", "done")
    assert (row["rate_bps"], row["rtt_s"], row["queue"], row["receivers"]) == (2e6, 0.1, "droptail", 2)
    assert (row["tcps"], row["tcp_kinds"], row["back"], row["back_load"]) == (2, "bbr reno", "udp", 0.7)
    assert (row["change"], row["change_factor"], row["slow_bps"]) == ("rate", 0.5, 5e5)
    assert (row["of_tcp"], row["share"], row["is_fair"], row["is_enough"]) == (0.45, 0.5, True, None)
    assert (row["goodput_bps"], row["queue_p99_s"], row["feedback"]) == (4.5e5, 0.02, None)


def test_a_failed_run_has_its_reason_and_no_numbers() -> None:
    row = make_table(SURVEYED).row(1, named=True)
    assert (row["state"], row["error"]) == ("failed", "why")
    assert {row[name] for name in JUDGED if name != "badness"} == {None}
    assert {row[name] for name in MEASURED} == {None}


def test_the_file_is_the_table(tmp_path: Path) -> None:
    table = write_table(SURVEYED, tmp_path)
    assert pl.read_parquet(tmp_path / FILE_NAME).equals(table)
