import pytest

from tests.topologies.scenarios import link
from topologies.emulation.traffic_control import describe_lacks, tc_plan

ALL = ("tbf", "netem", "red", "pfifo", "bfifo")
NO_NETEM = ("tbf", "red", "pfifo", "bfifo")


def commands(fields: str, kinds: tuple[str, ...]) -> list[str]:
    return [" ".join(command) for command in tc_plan(link(fields), "x-eth0", kinds).commands]


def missing(fields: str, kinds: tuple[str, ...]) -> list[str]:
    return describe_lacks(tc_plan(link(fields), "x-eth0", kinds).missing)


def test_tc_shapes_rate_and_queue_by_a_bucket_over_a_fifo() -> None:
    assert commands("rate: 10 Mbps, queue: {kind: droptail, packets: 50}", ALL) == [
        "tc qdisc replace dev x-eth0 root handle 1: tbf rate 10000000bit burst 3028 limit 75700",
        "tc qdisc replace dev x-eth0 parent 1:1 handle 10: pfifo limit 50",
    ]
    assert commands("rate: 100 Mbps, queue: {kind: droptail, bytes: 64 kB}", NO_NETEM) == [
        "tc qdisc replace dev x-eth0 root handle 1: tbf rate 100000000bit burst 25000 limit 64000",
        "tc qdisc replace dev x-eth0 parent 1:1 handle 10: bfifo limit 64000",
    ]


def test_tc_delays_and_loses_below_the_bucket() -> None:
    fields = "rate: 10 Mbps, delay: 5 ms, loss: 1 %, queue: {kind: droptail, packets: 50}"
    assert commands(fields, ALL)[1] == (
        "tc qdisc replace dev x-eth0 parent 1:1 handle 10: netem limit 55 delay 5000us loss random 1%"
    )
    assert missing(fields, ALL) == []
    assert commands("delay: 5 ms, queue: {kind: droptail, packets: 10}", ALL) == [
        "tc qdisc replace dev x-eth0 root handle 10: netem limit 423 delay 5000us"
    ]


def test_tc_has_red_where_nothing_else_is_asked_for() -> None:
    fields = "rate: 10 Mbps, queue: {kind: red, bytes: 90 kB, min_threshold: 9000, max_threshold: 30000}"
    assert commands(fields, ALL)[1] == (
        "tc qdisc replace dev x-eth0 parent 1:1 handle 10: red limit 90000 min 9000 max 30000 probability 0.1 "
        "avpkt 1000 burst 17 bandwidth 10000000bit"
    )


@pytest.mark.parametrize(
    ("fields", "kinds", "lines"),
    [
        ("delay: 5 ms", NO_NETEM, ["no delay (this kernel has no netem): h -> s 5 ms"]),
        ("loss: 1 %", NO_NETEM, ["no random loss (this kernel has no netem): h -> s 0.01"]),
        ("rate: 1 Mbps", ("pfifo",), ["no rate limit (this kernel has no tbf): h -> s 1 Mbps"]),
        (
            "rate: 1 Mbps, queue: {kind: red, packets: 9, min_threshold: 2, max_threshold: 6}",
            ("tbf", "pfifo"),
            ["no RED (this kernel has none) but DropTail of its size: h -> s"],
        ),
        (
            "duplicate: 1 %, mtu: 1500 B, reorder: {probability: 1 %, delay: 1 ms}",
            ALL,
            [f"no {what} (only the embedded switch has it): h -> s" for what in ("reordering", "duplicates", "MTU")],
        ),
        (
            "rate: 1 Mbps, queue: {kind: fq_codel}",
            ALL,
            ["no FQ-CoDel (only the embedded switch has it) but DropTail of its size: h -> s"],
        ),
        (
            "rate: 1 Mbps, delay: 1 ms, queue: {kind: dualpi2, packets: 50}",
            ALL,
            ["no DualPI2 (only the embedded switch has it) but DropTail of its size: h -> s"],
        ),
        (
            "rate: 1 Mbps, delay: 1 ms, queue: {kind: red, packets: 9, min_threshold: 2, max_threshold: 6}",
            ALL,
            ["no RED (tc cannot put it behind netem) but DropTail of its size: h -> s"],
        ),
        ("rate: 1 Mbps", ALL, []),
    ],
)
def test_what_this_kernel_cannot_give_is_named(fields: str, kinds: tuple[str, ...], lines: list[str]) -> None:
    assert missing(fields, kinds) == lines


def test_links_that_lack_the_same_share_a_line() -> None:
    lacks = tc_plan(link("delay: 5 ms"), "x-eth0", NO_NETEM).missing * 2
    assert describe_lacks(lacks) == ["no delay (this kernel has no netem): h -> s 5 ms, h -> s 5 ms"]
