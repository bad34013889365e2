"""constants.p4: what Python says too is the same there."""

import enum

import pytest

from controller import groups, network
from controller.program import MAX_BITMAP_PORTS
from hosts.parts import base_delay
from hosts.protocols.arbor import packets as arbor
from hosts.protocols.arbor.options import ArborOptions
from hosts.protocols.mtcp import packets as mtcp
from hosts.protocols.mtcp import wire as mtcp_wire
from hosts.protocols.mtcp.options import MtcpOptions
from hosts.protocols.rla import packets as rla
from hosts.protocols.tfmcc import packets as tfmcc
from hosts.protocols.tfmcc.options import TfmccOptions
from hosts.protocols.tfmcc.rate_float import NO_RATE
from hosts.protocols.vlmcc import packets as vlmcc
from hosts.protocols.vlmcc.options import VlmccOptions
from hosts.wire.header import IPV4_UDP_BYTES, VERSION
from tests.p4src.bench.program import number, program

UDP_BYTES = 8
NUMBERS = [
    ("MAX_PORTS", network.MAX_PORT),
    ("MAX_PORTS", 1 << number("MAX_PORTS_LOG")),
    ("MERGED_PORTS", 1 << number("MERGED_PORTS_LOG")),
    ("CPU_PORT", network.CPU_PORT),
    ("MAX_SLOTS", groups.NUM_SLOTS),
    ("FLOOD_GROUP", 1 << MAX_BITMAP_PORTS),
    ("CANOPY_VERSION", VERSION),
    ("SACK_BITS", mtcp.SACK_BITS),
    ("SACK_BITS", rla.SACK_BITS),
    ("FEEDBACK_CHILDREN", mtcp.MERGE_CHILDREN),
    ("FEEDBACK_CHILDREN", rla.CHILD_BITS),
    ("IPV4_BYTES", IPV4_UDP_BYTES - UDP_BYTES),
    ("MTCP_FEEDBACK_UDP_BYTES", UDP_BYTES + len(mtcp.encode_feedback(0, False, *[0] * 8))),
    ("RLA_ACK_UDP_BYTES", UDP_BYTES + len(rla.encode_ack(rla.Ack(*[0] * 10)))),  # type: ignore[arg-type]
    ("TFMCC_DATA_UDP_BYTES", UDP_BYTES + tfmcc.DATA_BYTES),
    ("TFMCC_REPORT_UDP_BYTES", UDP_BYTES + len(tfmcc.encode_report(tfmcc.Report._make([0] * 13)))),
    ("TFMCC_NO_RATE", NO_RATE),
    ("TFMCC_IDLE_MS", 3 * TfmccOptions().longest_gap_s * 1024),
    ("TFMCC_PATH_SHIFT", tfmcc.PATH_UNIT_US.bit_length() - 1),
    ("TFMCC_REPORTS", number("MERGED_PORTS") / 2),
    ("VLMCC_DATA_UDP_BYTES", UDP_BYTES + vlmcc.DATA_BYTES),
    ("VLMCC_CHALLENGE_UDP_BYTES", UDP_BYTES + len(vlmcc.encode_challenge(vlmcc.Challenge._make([0] * 11)))),
    ("ARBOR_TOLD_DATA_UDP_BYTES", UDP_BYTES + arbor.TOLD_DATA_BYTES),
    ("ARBOR_REPORT_UDP_BYTES", UDP_BYTES + len(arbor.encode_report(arbor.Report._make([0] * 11)))),
    ("ARBOR_JOIN_UDP_BYTES", UDP_BYTES + arbor.JOIN.struct.size),
    ("ARBOR_JOIN_UDP_BYTES", UDP_BYTES + arbor.WELCOME.struct.size),
    ("ARBOR_BLOCKS_UDP_BYTES", UDP_BYTES + len(arbor.encode_blocks(arbor.Blocks(0, 0, 0, 0, ((0, 0),))))),
    ("ARBOR_LONGEST_RTT_US", ArborOptions().largest_rtt_s * 1e6),
    ("FEEDBACK_PERIOD_US", MtcpOptions().ack_delay_s * 1e6),
    ("FEEDBACK_IDLE_US", number("FEEDBACK_IDLE_MS") << 10),
    ("MTCP_LEAST_MARGIN_US", MtcpOptions().rto_margin_s * 1e6),
    ("MTCP_BASE_US", base_delay.WINDOW_S / 2 * 1e6),
    ("VLMCC_LONGEST_RTT_US", VlmccOptions().largest_rtt_s * 1e6),
]
FLAGS = [
    ("MTCP_BIT_MERGED", mtcp.FLAG_MERGED),
    ("MTCP_BIT_MERGE", mtcp.FLAG_MERGE),
    ("MTCP_BIT_REPAIRED", mtcp.FLAG_REPAIRED),
    ("MTCP_BIT_RELEARN", mtcp.FLAG_RELEARN),
    ("RLA_BIT_ASSIST", rla.FLAG_ASSIST),
    ("RLA_BIT_MERGED", rla.FLAG_MERGED),
    ("RLA_BIT_MERGE", rla.FLAG_MERGE),
    ("RLA_BIT_PASS", rla.FLAG_PASS),
    ("TFMCC_BIT_ECHO", tfmcc.FLAG_ECHO),
    ("TFMCC_BIT_ANSWER", tfmcc.FLAG_ANSWER),
    ("TFMCC_BIT_SUPPRESSION_LOSS", tfmcc.FLAG_SUPPRESSION_LOSS),
    ("TFMCC_BIT_HAVE_RTT", tfmcc.FLAG_HAVE_RTT),
    ("TFMCC_BIT_HAVE_LOSS", tfmcc.FLAG_HAVE_LOSS),
    ("TFMCC_BIT_LEAVE", tfmcc.FLAG_LEAVE),
    ("VLMCC_BIT_SETTLING", vlmcc.FLAG_SETTLING),
    ("BIT_ASSIST", tfmcc.FLAG_ASSIST),
    ("BIT_ASSIST", vlmcc.FLAG_ASSIST),
    ("BIT_ASSIST", arbor.FLAG_ASSIST),
    ("BIT_SUPPRESSED", arbor.FLAG_SUPPRESSED),
    ("BIT_MAY_SUPPRESS", arbor.FLAG_MAY_SUPPRESS),
    ("BIT_SUPPRESSED", tfmcc.FLAG_SUPPRESSED),
    ("BIT_SUPPRESSED", vlmcc.FLAG_SUPPRESSED),
    ("BIT_MAY_SUPPRESS", tfmcc.FLAG_MAY_SUPPRESS),
    ("BIT_MAY_SUPPRESS", vlmcc.FLAG_MAY_SUPPRESS),
]
PROTOCOLS: dict[str, tuple[int, type[enum.IntEnum]]] = {
    "mtcp": (mtcp_wire.NUMBER, mtcp_wire.Type),
    "rla": (rla.NUMBER, rla.Type),
    "tfmcc": (tfmcc.NUMBER, tfmcc.Type),
    "vlmcc": (vlmcc.NUMBER, vlmcc.Type),
    "arbor": (arbor.NUMBER, arbor.Type),
}


@pytest.mark.parametrize(("name", "value"), NUMBERS)
def test_a_number_is_the_same(name: str, value: float) -> None:
    assert number(name) == value


@pytest.mark.parametrize(("name", "flag"), FLAGS)
def test_a_flag_is_the_same_bit(name: str, flag: int) -> None:
    assert 1 << number(name) == flag


def test_no_flag_is_left_out() -> None:
    assert {name for name in program().constants.numbers if "BIT_" in name} == {name for name, _ in FLAGS}


def test_protocols_have_their_numbers() -> None:
    assert program().constants.enums["protocol"] == {name: value for name, (value, _) in PROTOCOLS.items()}


@pytest.mark.parametrize("name", PROTOCOLS)
def test_types_of_packets_have_their_numbers(name: str) -> None:
    types = program().constants.enums[f"{name}_type"]
    assert types == {kind: PROTOCOLS[name][1][kind.upper()] for kind in types}
