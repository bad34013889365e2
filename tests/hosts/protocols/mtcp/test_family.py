"""Who becomes a parent's child, and when it is probed; the parent is a sender."""

from itertools import pairwise

import pytest

from hosts.endpoint import Address, PeerRefused, Send
from hosts.parts.silence import PROVEN_TIMES, SILENT_S, START_BYTES
from hosts.protocols.mtcp.packets import parse
from hosts.protocols.mtcp.tree_packets import (
    Entry,
    Join,
    JoinAck,
    Probe,
    State,
    encode_abort,
    encode_join,
    encode_probe_ack,
    encode_report,
)
from hosts.wire.reason import Reason
from tests.hosts.protocols.mtcp.sender_bench import ONE, STRANGER, TWO, SenderBench, join, packets


def test_who_lost_its_parent_is_taken_without_room_before_it_is_given_up() -> None:
    """Everybody else may have discarded what it lacks; the sender keeps it for the orphan, and has the last word."""
    below = Address("10.0.0.4", 4001)
    bench = SenderBench(3, fan_out=2)
    bench.get(join(5000))
    bench.get(join(5000), TWO)
    bench.get(encode_report(7, 1, [Entry(below, ONE, 1, State.ACTIVE, Reason.NONE, False, False)]))
    bench.write(1400)
    bench.get(encode_abort(7, Reason.INTERRUPTED))
    bench.get(join(5000), STRANGER)
    assert set(bench.core.agent.children) == {TWO, STRANGER}

    def try_again(epoch: int) -> Reason:
        answer = packets(bench.get(encode_join(Join(7, False, False, True, True, epoch, 5000, 0)), below), below)[0]
        assert isinstance(answer, JoinAck)
        return answer.reason

    assert try_again(2) is Reason.FULL
    bench.now += 0.6 * 2 * bench.core.options.parent_timeout_s
    assert try_again(3) is Reason.NONE
    assert below in bench.core.agent.children


def test_a_repeated_join_is_answered_again() -> None:
    bench = SenderBench(1)
    bench.get(join(5000))
    effects = bench.get(join(5000))
    assert packets(effects) == [JoinAck(7, False, Reason.NONE, 0, 0, 0, 0, ONE)]
    assert len(bench.core.agent.children) == 1


def test_latecomers_are_refused_once_somebody_has_shown_that_it_is_there() -> None:
    bench = SenderBench(1)
    bench.get(join(5000))
    bench.write(PROVEN_TIMES * 1400)
    for number in range(PROVEN_TIMES):
        assert bench.core.agent.store.first_offset == 0
        bench.ack(number + 1)
        bench.now += SILENT_S
    effects = bench.get(join(5000), TWO)
    assert packets(effects, TWO) == [JoinAck(7, False, Reason.STARTED, 0, child=TWO)]
    assert PeerRefused(TWO, "the session has already started") in effects


def test_nobody_has_the_start_thrown_away_by_an_acknowledgment_but_much_is_not_kept() -> None:
    bench = SenderBench(1)
    bench.get(join(5000))
    bench.write(2 * 1400)
    bench.ack(2)
    assert JoinAck(7, False, Reason.NONE, 0, 1, child=TWO) in packets(bench.get(join(5000), TWO), TWO)
    store = bench.core.agent.store
    while store.first_offset == 0:
        bench.write(1400)
        assert bench.core.agent.end_offset <= START_BYTES + 2 * 1400
        bench.ack(store.end)
        bench.ack(store.end, source=TWO)


def test_who_left_does_not_come_back() -> None:
    bench = SenderBench(2)
    bench.get(join(5000))
    bench.get(encode_abort(7, Reason.INTERRUPTED))
    assert packets(bench.get(join(5000))) == [JoinAck(7, False, Reason.STARTED, 0, child=ONE)]


@pytest.mark.parametrize("count", [2, 3, 10, 100])
def test_children_that_joined_together_are_probed_in_turn(count: int) -> None:
    """All at once, every two seconds, they would be a burst as long as there are children. A repair's answer, which
    measures the round trip time too, changes nothing."""
    bench = SenderBench(count, fan_out=count)
    children = [Address("10.0.0.2", 4000 + index) for index in range(count)]
    for child in children:
        bench.get(join(1 << 20), child)
    probed: dict[Address, list[float]] = {child: [] for child in children}
    while bench.now < 120:
        for effect in bench.wake():
            if isinstance(effect, Send) and isinstance(probe := parse(effect.data), Probe):
                probed[effect.destination].append(bench.now)
                bench.now += 1e-5
                bench.get(encode_probe_ack(7, probe.time_us, 0), effect.destination)
                for record in bench.core.agent.children.values():
                    record.rtt.add(0.01)
    for times in probed.values():
        # At once and then in its place, but for the hundred answers' own time.
        assert all(2 - 0.01 < later - sooner < 2 + 0.01 for sooner, later in pairwise(times[2:]))
        assert 0.99 < times[2] - times[1] < 2.01
    steady = sorted(at for times in probed.values() for at in times[3:])
    gaps = [later - sooner for sooner, later in pairwise(steady)]
    assert min(gaps) > 0.25 / count
