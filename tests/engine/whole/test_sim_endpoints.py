"""Python endpoints in the simulated network: the seam of hosts/endpoint.py in virtual time."""

import gc
import time
import weakref
from collections.abc import Sequence

import pytest
from canopy_engine import Sim, SimError

from hosts import endpoint as seam
from hosts.endpoint import Address, Datagram, Deliver, Effect, JoinGroup, LeaveGroup, Send
from hosts.wire.header import CE, ECT_0, ECT_1, NOT_ECT
from tests.engine.simulated import GROUP, SOURCE, Listener, Ticker, listen, sender, star


def test_all_copies_carry_the_object_that_was_sent() -> None:
    sim = star(20)
    listeners = [Listener(GROUP) for _ in range(20)]
    for number, listener in enumerate(listeners, start=1):
        listen(sim, f"h{number}", listener)
    data = bytes(range(200))
    sim.add_endpoint("source", "sender", sender(data, GROUP), port=4000, seam=seam, start_at=1.0)
    sim.run(1.05)
    for listener in listeners:
        assert [datagram.data is data for _, datagram in listener.received] == [True] * 5
        first_at, first = listener.received[0]
        assert first == Datagram(data, Address(SOURCE, 4000), GROUP)
        assert type(first) is Datagram
        assert type(first.source) is Address
        # Two links of 1 ms and 242 octets at 100 Mbit/s.
        assert first_at == pytest.approx(1.0 + 2 * (0.001 + 242 * 8 / 100e6), abs=1e-8)
    assert all(listener.received[0][1] is listeners[0].received[0][1] for listener in listeners)
    assert listeners[0].received[0][1].source is listeners[0].received[1][1].source


def test_replies_come_back_to_the_senders_port() -> None:
    sim = star(1)

    class Echo(Listener):
        def receive(self, datagram: Datagram, /, *, now: float) -> Sequence[Effect]:
            return [Send(datagram.data[::-1], datagram.source)]

    class Asker(Listener):
        def start(self, *, now: float) -> Sequence[Effect]:
            return [Send(b"abc", Address("10.0.1.2", 7))]

    asker = Asker()
    listen(sim, "h1", Echo(), port=7)
    listen(sim, "source", asker, port=8)
    sim.run(1.0)
    assert [(datagram.data, datagram.source) for _, datagram in asker.received] == [(b"cba", Address("10.0.1.2", 7))]


def test_unicast_datagrams_say_how_many_routers_they_passed() -> None:
    """Two routers in a row; a group's datagrams say nothing, and neither does a seam that has no such field."""
    sim = star(2)
    sim.add_router("far")
    sim.add_host("h3", "10.0.1.4")
    sim.connect("router", "far")
    sim.connect("far", "h3")
    near, far, group = Listener(), Listener(), Listener(GROUP)
    listen(sim, "h1", near)
    listen(sim, "h3", far)
    listen(sim, "h2", group)
    for port, destination in enumerate([Address("10.0.1.2", 5000), Address("10.0.1.4", 5000), GROUP], start=4000):
        sim.add_endpoint("source", "sender", sender(b"x", destination, 10.0), port=port, seam=seam, start_at=1.0)
    sim.run(2.0)
    assert [datagram.hops for listener in (near, far, group) for _, datagram in listener.received] == [1, 2, None]


def test_a_queue_marks_what_says_that_it_may_be_marked() -> None:
    """Two hundred packets a second through 50: CoDel marks those of either codepoint, and drops the others."""
    sim = Sim(1)
    sim.add_router("router")
    sim.add_host("source", SOURCE)
    sim.add_host("h1", "10.0.1.2")
    sim.connect("source", "router")
    sim.connect("router", "h1", {"rate_bps": 50 * 8 * 129.0, "queue": "codel"})
    listeners = {}
    for codepoint in (NOT_ECT, ECT_1, ECT_0):
        port = 5000 + codepoint
        listeners[codepoint] = Listener()
        listen(sim, "h1", listeners[codepoint], port=port)
        destination = Address("10.0.1.2", port)
        ticker = Ticker(0.015, lambda count, now, to=destination, ecn=codepoint: [Send(bytes(101), to, ecn)])  # type: ignore[misc]
        sim.add_endpoint("source", "sender", ticker, port=4000 + codepoint, seam=seam)
    sim.run(10.0)
    found = {sent: {d.ecn for _, d in listener.received} for sent, listener in listeners.items()}
    assert found == {NOT_ECT: {NOT_ECT}, ECT_1: {ECT_1, CE}, ECT_0: {ECT_0, CE}}


def test_a_member_hears_a_group_from_its_source_and_at_its_port_only() -> None:
    sim = star(3)
    other = Address("10.0.1.4", 4000)
    specific, any_source, elsewhere = (
        Listener(GROUP, SOURCE),
        Listener(GROUP, None),
        Listener(Address(GROUP.host, 5001)),
    )
    listen(sim, "h1", specific)
    listen(sim, "h2", any_source)
    listen(sim, "h2", elsewhere, port=5002)
    for host in ("source", "h3"):
        sim.add_endpoint(host, "sender", sender(b"x", GROUP), port=4000, seam=seam, start_at=1.0)
    sim.run(1.045)
    assert {datagram.source.host for _, datagram in specific.received} == {SOURCE}
    assert {datagram.source.host for _, datagram in any_source.received} == {SOURCE, other.host}
    assert len(any_source.received) == 2 * len(specific.received) == 10
    assert elsewhere.received == []


def test_actions_at_a_time_join_and_leave() -> None:
    sim = star(1)
    listener = Listener(GROUP)
    program = listen(sim, "h1", listener)
    sim.act_at(2.0, program, listener.leave)
    sim.act_at(3.0, program, lambda *, now: [JoinGroup(GROUP, SOURCE)])
    sim.add_endpoint("source", "sender", sender(b"x", GROUP, 0.1), port=4000, seam=seam, start_at=0.05)
    sim.run(5.0)
    times = [at for at, _ in listener.received]
    assert not [at for at in times if 2.01 < at < 3.0]
    assert [at for at in times if at < 2.0]
    assert len([at for at in times if at > 3.0]) == 20


def test_other_effects_go_to_on_effect_and_what_it_returns_is_done() -> None:
    sim = star(1)
    seen: list[tuple[float, object]] = []

    class Receiver(Listener):
        def receive(self, datagram: Datagram, /, *, now: float) -> Sequence[Effect]:
            return [Deliver(0, datagram.data)]

    def on_effect(effect: object, now: float) -> Sequence[Effect] | None:
        seen.append((now, effect))
        return [Send(b"consumed", Address(SOURCE, 4000))]

    replies = Listener()
    sim.add_endpoint("h1", "receiver", Receiver(GROUP), port=5000, seam=seam, on_effect=on_effect)
    listen(sim, "source", replies, port=4000)
    sim.add_endpoint("source", "sender", sender(b"x", GROUP, 10.0), port=4001, seam=seam, start_at=1.0)
    sim.run(2.0)
    assert [effect for _, effect in seen] == [Deliver(0, b"x")]
    assert [datagram.data for _, datagram in replies.received] == [b"consumed"]


def test_timers_keep_the_times_that_floats_have() -> None:
    sim = star(1)
    times: list[float] = []

    def act(count: int, now: float) -> Sequence[Effect]:
        times.append(now)
        return ()

    ticker = Ticker(0.1, act)  # 0.1 + 0.1 + 0.1 is not 0.3
    sim.add_endpoint("h1", "ticker", ticker, port=1, seam=seam)
    sim.run(100.0)
    assert len(times) in (1000, 1001)
    assert times == sorted(times)
    assert all(abs(at - 0.1 * index) < 1e-6 for index, at in enumerate(times))


def test_an_endpoints_exception_comes_out_with_its_place() -> None:
    sim = star(1)

    def fail(count: int, now: float) -> Sequence[Effect]:
        if count == 3:
            raise LookupError("out of ideas")
        return ()

    sim.add_endpoint("h1", "fragile", Ticker(1.0, fail), port=1, seam=seam)
    with pytest.raises(LookupError, match="out of ideas") as raised:
        sim.run(10.0)
    assert raised.value.__notes__ == ["raised by fragile on h1 at 2 s of simulated time"]
    assert sim.now == 2.0


def test_time_that_stands_still_is_an_error() -> None:
    class Impatient(Listener):
        def start(self, *, now: float) -> Sequence[Effect]:
            self.wake_at = now
            return ()

    sim = star(1)
    listen(sim, "h1", Impatient(), start_at=3.0)
    with pytest.raises(SimError, match=r"time stands still at 3 s: \d+ events at one instant, the last at h1"):
        sim.run(4.0)


def test_packets_that_circle_without_delay_are_an_error() -> None:
    sim = Sim(storm_limit=1_000)
    sim.add_host("a", "10.0.0.1")
    sim.add_host("b", "10.0.0.2")
    sim.connect("a", "b")  # no rate, no delay

    class Echo(Listener):
        def start(self, *, now: float) -> Sequence[Effect]:
            return [Send(b"x", Address("10.0.0.2", 1))]

        def receive(self, datagram: Datagram, /, *, now: float) -> Sequence[Effect]:
            return [Send(datagram.data, datagram.source)]

    listen(sim, "a", Echo(), port=1)
    listen(sim, "b", Echo(), port=1)
    with pytest.raises(SimError, match="time stands still at 0 s: 1001 events"):
        sim.run(1.0)


@pytest.mark.parametrize(
    ("effect", "error"),
    [
        (Send("text", GROUP), TypeError),  # type: ignore[arg-type]
        (Send(b"", Address("nowhere", 1)), ValueError),
        (Send(b"", Address("10.0.0.2", 70_000)), OverflowError),
        (Send(b"", GROUP, 4), ValueError),
        (JoinGroup(Address("10.0.0.2", 1), None), ValueError),
        (LeaveGroup(GROUP, "x"), ValueError),
    ],
)
def test_effects_that_make_no_sense_are_errors(effect: Effect, error: type[Exception]) -> None:
    sim = star(1)
    sim.add_endpoint("h1", "wrong", Ticker(1.0, lambda count, now: [effect]), port=1, seam=seam)
    with pytest.raises(error):
        sim.run(1.0)


def test_a_network_that_runs_may_only_be_asked_for_the_time() -> None:
    sim = star(1)
    asked: list[object] = []

    def act(count: int, now: float) -> Sequence[Effect]:
        asked.append(sim.now)
        with pytest.raises(RuntimeError, match="running"):
            sim.run(5.0)
        with pytest.raises(RuntimeError, match="running"):
            sim.link_stats(0)
        return ()

    sim.add_endpoint("h1", "curious", Ticker(1.0, act), port=1, seam=seam)
    sim.run(3.5)
    assert asked == [0.0, 1.0, 2.0, 3.0]


def test_a_network_that_its_endpoints_hold_is_collected() -> None:
    class Holder(Listener):
        sim: Sim

    def leave_behind() -> weakref.ref[Holder]:
        sim = star(1)
        holder = Holder(GROUP)
        holder.sim = sim
        program = listen(sim, "h1", holder)
        sim.act_at(5.0, program, holder.leave)
        sim.every(1.0, lambda now: [] if sim.now == now else None)
        sim.run(2.0)
        return weakref.ref(holder)

    left = leave_behind()
    gc.collect()
    assert left() is None


def test_collecting_garbage_during_a_run_harms_nothing() -> None:
    sim = star(3)
    listeners = [Listener(GROUP) for _ in range(3)]
    for number, listener in enumerate(listeners, start=1):
        listen(sim, f"h{number}", listener)

    def act(count: int, now: float) -> Sequence[Effect]:
        gc.collect()
        return [Send(b"x", GROUP)]

    sim.add_endpoint("source", "collector", Ticker(1.0, act), port=1, seam=seam, start_at=0.5)
    sim.run(5.0)
    assert [len(listener.received) for listener in listeners] == [5, 5, 5]


def test_oversize_datagrams_are_counted() -> None:
    sim = star(1)
    data = bytes(65_508)  # one more than an IPv4 packet holds
    sim.add_endpoint("source", "sender", sender(data, Address("10.0.1.2", 1), 10.0), port=1, seam=seam)
    sim.run(1.0)
    assert sim.node_stats("source")["drop_oversize"] == 1


def test_the_same_seed_gives_endpoints_the_same_seeds() -> None:
    assert Sim(5).derive_seed("r1") == Sim(5).derive_seed("r1")
    assert len({Sim(seed).derive_seed(name) for seed in (5, 6) for name in ("r1", "r2")}) == 4


def test_a_hundred_thousand_deliveries_a_second() -> None:
    sim = star(100)
    listeners = [Listener(GROUP) for _ in range(100)]
    for number, listener in enumerate(listeners, start=1):
        listen(sim, f"h{number}", listener)
    sim.add_endpoint("source", "sender", sender(bytes(1000), GROUP, 0.001), port=4000, seam=seam, start_at=1.0)
    sim.run(1.0)
    start = time.process_time()
    sim.run(2.0)
    seconds = time.process_time() - start
    deliveries = sum(len(listener.received) for listener in listeners)
    assert deliveries >= 99_000
    assert deliveries / seconds > 100_000
