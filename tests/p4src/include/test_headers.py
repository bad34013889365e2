"""headers.p4: Canopy's headers have the fields that Python declares: names, widths and order."""

import json
from typing import Any, Final

import pytest

from hosts import protocols
from hosts.protocols.arbor.packets import BLOCKS, JOIN, TOLD_DATA
from hosts.protocols.arbor.packets import REPORT as ARBOR_REPORT
from hosts.protocols.mtcp.packets import FEEDBACK
from hosts.protocols.rla.packets import ACK
from hosts.protocols.tfmcc.packets import DATA as TFMCC_DATA
from hosts.protocols.tfmcc.packets import REPORT
from hosts.protocols.vlmcc.packets import CHALLENGE
from hosts.protocols.vlmcc.packets import DATA as VLMCC_DATA
from hosts.wire.header import COMMON
from hosts.wire.layout import Items, Layout
from hosts.wire.sealed import HOP, SEAL
from tests.p4src.bench.program import program

DECLARED: Final[dict[str, Layout[Any]]] = {
    "canopy_t": COMMON,
    "seal_t": SEAL,
    "hop_t": HOP,
    "mtcp_feedback_t": FEEDBACK,
    "rla_ack_t": ACK,
    "tfmcc_data_t": TFMCC_DATA,
    "tfmcc_report_t": REPORT,
    "vlmcc_data_t": VLMCC_DATA,
    "vlmcc_challenge_t": CHALLENGE,
    "arbor_told_data_t": TOLD_DATA,
    "arbor_report_t": ARBOR_REPORT,
    "arbor_blocks_t": BLOCKS,
    "arbor_join_t": JOIN,
}
BEGINNINGS: Final = {"tfmcc_data_t": "send_time_us", "vlmcc_data_t": "rate", "arbor_told_data_t": "send_time_us"}
"""Headers that end before the packet does, and the field that a switch does not read any more."""

UNREAD: Final = {"sack_start", "need_reserved"}
"""Fields that are reserved for what a switch knows: packets that use them ask for nothing of it."""


def compiled() -> dict[str, list[tuple[str, int]]]:
    """Name and width of each header's fields."""
    types = json.loads(program().json)["header_types"]
    return {one["name"]: [(field[0], field[1]) for field in one["fields"]] for one in types}


def without_numbers(fields: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """What is reserved has no meaning that a name could say."""
    return [("reserved" if name.startswith("reserved") or name in UNREAD else name, bits) for name, bits in fields]


@pytest.mark.parametrize("name", DECLARED)
def test_a_header_has_the_declared_fields(name: str) -> None:
    fields = [place.field for place in DECLARED[name].places()]
    if isinstance(fields[-1], Items):  # of which a switch reads packets with one
        fields = [*fields[:-1], *fields[-1].layout.fields]
    declared = [(field.name, field.bits) for field in fields]
    if name in BEGINNINGS:
        declared = declared[: [field for field, _ in declared].index(BEGINNINGS[name])]
    assert without_numbers(compiled()[name]) == without_numbers(declared)


def test_every_header_of_ours_is_compared() -> None:
    ours = {name for name in compiled() if name.split("_")[0] in ("canopy", "seal", "hop", *protocols.names())}
    assert ours == DECLARED.keys()
