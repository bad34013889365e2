"""members.p4 and groups.p4: members, copies, reports upstream and digests are those of the whole program."""

import random

import pytest

from tests.p4src.bench.both import Both
from tests.p4src.bench.packets import data, join, leave, leave_v2, report_v1, report_v2
from tests.p4src.bench.setup import EPOCH_SHIFT, install, route_group, route_source

SOURCE = "10.0.1.1"
GROUP = "239.1.1.1"
UNKNOWN = "239.1.1.2"
TICK_US = 1 << EPOCH_SHIFT - 2


@pytest.mark.parametrize("ports", [5, 12, 32])
@pytest.mark.parametrize("seed", range(8))
def test_any_history_leaves_as_the_whole_program_says(ports: int, seed: int) -> None:
    chooser = random.Random(seed)
    target = Both()
    install(target, ports=ports, epoch_shift=EPOCH_SHIFT)
    everywhere = range(1, ports + 1)
    upstream = chooser.sample(everywhere, chooser.choice((0, 1, 2, ports)))
    if seed % 3 != 0:
        route_source(target, SOURCE, GROUP, 7, upstream=upstream[:1], accept=everywhere)
    if seed % 3 != 1:
        route_group(target, GROUP, 9, upstream=upstream, accept=everywhere)
    target.advance(chooser.randrange(8 * TICK_US))
    kinds = (
        join(GROUP, SOURCE),
        leave(GROUP, SOURCE),
        join(GROUP),
        leave(GROUP),
        report_v1(GROUP),
        report_v2(GROUP),
        leave_v2(GROUP),
        join(UNKNOWN, SOURCE),
        bytes(data(SOURCE, GROUP)),
        bytes(data(SOURCE, GROUP, ttl=1)),
    )
    copies = reports = 0
    for _ in range(300):
        kind = chooser.choices(range(len(kinds)), (4, 2, 4, 2, 1, 1, 1, 1, 8, 1))[0]
        sent = target.send(chooser.randint(1, min(ports, 6)), kinds[kind])
        copies += len(sent) if kind > 7 else 0
        reports += len(sent) if kind < 7 else 0
        target.digests()
        target.advance(chooser.choice((0, 0, 1, 1000, TICK_US // 3, TICK_US, 5 * TICK_US)))
    assert copies > 0
    assert reports > 0 or not upstream
    for slot in (7, 9):
        for port in everywhere:
            target.counter("slot_port", slot * 256 + port - 1)
    assert "no_members" in target.drops()
