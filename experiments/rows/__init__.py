"""All rows, by paper; `experiments/harness/row.py` says what a row is."""

from collections.abc import Iterable, Mapping

from experiments.harness.row import Row, with_assistance
from experiments.rows.arbor import rows as arbor
from experiments.rows.compare import comparison as compare
from experiments.rows.lan import rows as lan
from experiments.rows.mtcp import paper as mtcp
from experiments.rows.rla import paper as rla
from experiments.rows.security import rows as security
from experiments.rows.tcp_validation import rows as tcp_validation
from experiments.rows.tfmcc import paper as tfmcc
from experiments.rows.vlmcc import paper as vlmcc
from experiments.rows.webrc import paper as webrc
from topologies.scenario.names import UnknownNameError as UnknownNameError
from topologies.scenario.names import did_you_mean

_TABLES = (
    mtcp.ROWS,
    tfmcc.ROWS,
    webrc.ROWS,
    rla.ROWS,
    vlmcc.ROWS,
    arbor.ROWS,
    compare.ROWS,
    tcp_validation.ROWS,
    lan.ROWS,
    security.ROWS,
)

ROWS: Mapping[str, Row] = {row.id: row for table in _TABLES for row in table}
"""Id -> row, in the papers' order."""
PAPERS = tuple(dict.fromkeys(row.paper for row in ROWS.values()))


_ASSISTED: Mapping[str, Row] = {row.id: row for row in with_assistance(list(ROWS.values())) if row.id not in ROWS}
"""Rows that are asked for by their own names only, or all by `--assist`."""


def select(names: Iterable[str]) -> list[Row]:
    """The rows of these papers and ids, each once, in the papers' order; then those with help of the switches that were
    named. UnknownNameError.
    """
    wanted: set[str] = set()
    for name in names:
        found = {row.id for row in ROWS.values() if name in (row.id, row.paper)} | ({name} & _ASSISTED.keys())
        if not found:
            known = (*PAPERS, *ROWS, *_ASSISTED)
            raise UnknownNameError(
                f"no paper or row is called `{name}`" + (did_you_mean(name, known) or "; --list shows all")
            )
        wanted |= found
    return [row for row in (*ROWS.values(), *_ASSISTED.values()) if row.id in wanted]
