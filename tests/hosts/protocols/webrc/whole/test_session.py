"""Whole sessions in the simulator: the paper's steady state, MRTT over joins that take their time, and the sender."""

from collections.abc import Sequence
from random import Random

import pytest

from hosts.endpoint import Address, Effect, Send, SendRun, SessionEnded
from hosts.parts.throughput import packets_per_rtt
from hosts.protocols.webrc.options import WebrcOptions
from hosts.protocols.webrc.packets import NO_CODE, parse
from hosts.protocols.webrc.sender import MOST_LATE_S, WebrcSender
from hosts.wire.manifest import Manifest
from tests.hosts.protocols.webrc.memory import FAST, PAPER, session
from tests.hosts.protocols.webrc.world import PACKET_BITS, World, one_way

DEFAULTS = {name: getattr(WebrcOptions(), name) for name in PAPER}
STEADY = {"session_rate_bps": 1.6e6}


def test_the_steady_state_is_the_paper_s() -> None:
    """5.1.1 and Fig. 4: 1 % loss, 0.2 s: 403 kbps in the paper, 428 by Eqs. (1), (7) and (8)."""
    rates, artts, lossps = [], [], []
    for seed in (2, 3):
        world = World([{"join": seed * 1.37}], shared=one_way(0.2, loss=0.01), options=STEADY, seed=seed)
        rates.append(world.rate(0, 250.0, 500.0))
        control = world.receivers[0].control
        artts.append(control.artt)
        lossps.append(control.losses.lossp)
    predicted = 0.869 * packets_per_rtt(0.0089) / 0.2 * PACKET_BITS
    assert predicted == pytest.approx(428e3, rel=0.01)
    assert sum(rates) / 2 == pytest.approx(predicted, rel=0.12)
    assert sum(artt or 0.0 for artt in artts) / 2 == pytest.approx(0.2, rel=0.1)
    assert sum(lossps) / 2 == pytest.approx(0.0089, rel=0.35)


def test_mrtt_is_the_way_to_the_first_switch_that_has_joined() -> None:
    """Section 4.4: alone a receiver measures the whole way. Beside one that joined before it, its cycle is taut when
    the wave flows at the nearer router already, and slack when that waits for the wave itself."""
    world = World([{"delay_us": 25_000, "join": 3.0}], shared=one_way(0.2, loss=0.002), options=STEADY)
    world.sim.run(200.0)
    alone = world.receivers[0].control.artt
    assert alone == pytest.approx(0.25, rel=0.12)

    # The second receiver does all that the first does, so much later: always behind it in the waves.
    measured: dict[float, list[float]] = {}
    for later in (0.1, 0.4):
        world = World(
            [{"delay_us": 25_000, "join": at, "phase_s": 0.5} for at in (3.0, 3.0 + later)],
            shared=one_way(0.2),
            options=STEADY,
        )
        found: list[float] = []
        world.receivers[1].control.rtt.update = _listening(world, found)  # type: ignore[method-assign]
        world.sim.run(9.0)
        measured[later] = found
    way, gap = 0.05, 0.5
    # Taut: the router has had the wave for long, and the measurement is the way to it (and a wait for a packet).
    assert all(way <= mrtt <= way + gap for mrtt in measured[0.4])
    assert min(measured[0.4]) < way + 0.25
    # Slack: the wave reaches the router 0.2 s after the first join, 0.1 s before the second's would have fetched it.
    assert all(mrtt >= 0.25 - 0.1 - 1e-9 for mrtt in measured[0.1])


def _listening(world: World, found: list[float]):  # type: ignore[no-untyped-def]
    control = world.receivers[1].control
    update = control.rtt.update

    def listen(mrtt: float, *rest: float) -> float:
        found.append(mrtt)
        return update(mrtt, *rest)

    return listen


def test_a_bottleneck_is_used() -> None:
    """Fig. 6: 320 kbps, 4 packets of buffer, 0.1 s: 95 % in the paper."""
    world = World([{"join": 3.0}], shared=one_way(0.1, rate_bps=320e3, limit_packets=4), options=STEADY)
    assert world.rate(0, 150.0, 300.0) >= 0.92 * 320e3


def test_a_queue_that_holds_a_slot_s_waves_never_overflows() -> None:
    """Fig. 7: 3.2 Mbps, 160 packets, 0.1 s: start-up ends when the reception rate lags, and each join waits until what
    it brings over a slot fits through."""
    world = World(
        [{"join": 6.3, "phase_s": 0.1}],
        shared=one_way(0.1, rate_bps=3.2e6, limit_packets=160),
        options={"session_rate_bps": 8e6},
    )
    assert world.rate(0, 60.0, 160.0) >= 0.96 * 3.2e6
    assert world.receivers[0].control.startup_ended_by == "lag"
    assert world.receivers[0].lost_packets == 0


def test_receivers_that_begin_together_do_not_join_together() -> None:
    """Two that hear the same: one of them opens each wave, and the other one's way is the shorter for it (4.4)."""
    near = {"delay_us": 1_000}
    rates = {}
    for receivers in (1, 2):
        world = World([near] * receivers, shared=one_way(0.198, loss=0.02), options=STEADY, seed=4)
        rates[receivers] = world.rate(0, 100.0, 250.0)
    assert rates[2] > 1.15 * rates[1]


def test_the_same_seed_gives_the_same_run() -> None:
    runs = []
    for _ in range(2):
        world = World([{}], shared=one_way(0.1, loss=0.02), options=STEADY, seed=5)
        world.sim.run(60.0)
        runs.append(world.receivers[0].sample(now=60.0))
    assert runs[0] == runs[1]


def test_the_sender_sends_at_a_constant_rate_and_skips_what_it_missed() -> None:
    sender = WebrcSender(session(realtime=True), WebrcOptions(**FAST), Random(1))
    assert len(sender.start(now=5.0)) == 1
    now = 0.0
    for _ in range(1000):
        now = sender.wake_at or 0.0
        assert len(sender.handle_timer(now=now)) == 1
    assert now - 5.0 == pytest.approx(1000 / sender.waves.session_rate)
    late = sender.handle_timer(now=now + 30.0)
    assert len(late) <= (MOST_LATE_S + 0.02) * sender.waves.session_rate
    number = parse(late[-1].data).payload_id if isinstance(late[-1], Send) else 0
    assert number == pytest.approx((now + 30.0 - 5.0) * sender.waves.session_rate, abs=2)
    assert sender.sample(now=now)["skipped_packets"] == pytest.approx(30 * sender.waves.session_rate, rel=0.02)


def test_what_leaves_at_one_moment_may_leave_in_runs_of_a_channel() -> None:
    """Each channel's packets are the same, in the same order."""
    found: list[dict[Address, list[bytes]]] = []
    for run_bytes in (0, 4000):
        sender = WebrcSender(session(realtime=True), WebrcOptions(**FAST), Random(1))
        sender.run_bytes = run_bytes
        sender.start(now=0.0)
        channels: dict[Address, list[bytes]] = {}
        kinds = set()
        for turn in range(1, 40):
            for effect in sender.handle_timer(now=turn / 20):
                assert isinstance(effect, Send | SendRun)
                kinds.add(type(effect))
                if isinstance(effect, Send):
                    channels.setdefault(effect.destination, []).append(effect.data)
                else:
                    assert len(effect.data) <= run_bytes
                    pieces = range(0, len(effect.data), effect.size)
                    channels.setdefault(effect.destination, []).extend(
                        effect.data[at : at + effect.size] for at in pieces
                    )
        assert (SendRun in kinds) == bool(run_bytes)
        found.append(channels)
    assert found[0] == found[1]
    assert len(found[0]) > 3


def _closing(sender: WebrcSender, effects: Sequence[Effect]) -> None:
    """Packets that end the session, one on every channel that may be heard."""
    packets = [parse(effect.data) for effect in effects if isinstance(effect, Send)]
    waves, slot = sender.waves, packets[0].slot_index
    assert all(packet.closes for packet in packets)
    assert {packet.channel for packet in packets} == {waves.t, *(waves.channel(slot, age) for age in range(waves.n))}
    assert len(packets) == 1 + waves.n


def test_an_interrupted_session_says_its_end_three_times_on_every_channel_that_may_be_heard() -> None:
    """A queue that is full loses all that comes at once."""
    sender = WebrcSender(session(realtime=True), WebrcOptions(**FAST), Random(1))
    sender.start(now=0.0)
    effects = list(sender.close(now=1.0, reason="interrupted"))
    for at in (1.5, 2.0):
        _closing(sender, effects)
        assert not any(isinstance(effect, SessionEnded) for effect in effects)
        assert sender.wake_at == at
        effects = list(sender.handle_timer(now=at))
    _closing(sender, effects)
    assert effects[-1] == SessionEnded(False, "interrupted")
    assert sender.wake_at is None


def test_a_session_that_is_interrupted_twice_ends_at_once() -> None:
    sender = WebrcSender(session(realtime=True), WebrcOptions(**FAST), Random(1))
    sender.start(now=0.0)
    sender.close(now=1.0, reason="interrupted")
    effects = sender.close(now=1.1, reason="interrupted")
    _closing(sender, effects)
    assert effects[-1] == SessionEnded(False, "interrupted")
    assert sender.wake_at is None


def test_realtime_packets_carry_the_application_s_bytes() -> None:
    sender = WebrcSender(session(realtime=True), WebrcOptions(**FAST), Random(1))
    sender.start(now=0.0)
    space = sender.send_space
    sender.write(b"a" * space, now=0.0)
    assert sender.send_space == 0
    wake = sender.wake_at
    assert wake is not None
    effect = sender.handle_timer(now=wake)[0]
    assert isinstance(effect, Send)
    packet = parse(effect.data)
    assert (packet.encoding, packet.payload_id, packet.symbol) == (NO_CODE, 0, b"a" * space)


def test_what_is_no_file_is_refused() -> None:
    for data in (b"", b"no manifest"):
        sender = WebrcSender(session(), WebrcOptions(**FAST), Random(1))
        sender.start(now=0.0)
        end = [*sender.write(data, now=0.0), *sender.finish(now=0.0)][-1]
        assert isinstance(end, SessionEnded)
        assert not end.complete


def test_a_file_that_is_too_long_is_refused_as_soon_as_its_length_is_known() -> None:
    """Beyond what Reed-Solomon's 2^24 blocks carry: long before the file has been read."""
    head = Manifest("large", 10**12, "0" * 64).encode()
    sender = WebrcSender(session(), WebrcOptions(**FAST), Random(1))
    (end,) = sender.write(head, now=0.0)
    assert isinstance(end, SessionEnded)
    assert "at most" in end.reason
    assert "bytes" in end.reason


def test_sessions_begin_anywhere_in_their_cycle() -> None:
    """So that those that begin together do not rise and fall together."""
    slots = set()
    for seed in range(20):
        sender = WebrcSender(session(realtime=True), WebrcOptions(**FAST), Random(seed))
        sender.start(now=0.0)
        effect = sender.handle_timer(now=sender.wake_at or 0.0)[0]
        assert isinstance(effect, Send)
        packet = parse(effect.data)
        assert packet.payload_id == 0
        slots.add(packet.slot_index)
    assert len(slots) > 8


def test_several_files_are_written_one_after_the_other() -> None:
    sender = WebrcSender(session(), WebrcOptions(**FAST), Random(1))
    for name, data in (("a", b"1" * 5000), ("b", b""), ("c", b"3" * 300)):
        stream = Manifest(name, len(data), "0" * 64).encode() + data
        for at in range(0, len(stream), 100):
            assert not sender.write(stream[at : at + 100], now=0.0)
    assert len(sender.carousel) == 3
    assert sender.finish(now=0.0)
    assert sender.carousel.is_complete
    assert sender.state == "sending"


def test_who_has_filled_a_queue_hears_the_end_all_the_same() -> None:
    """What is said at one moment only is lost in it: a third of such receivers waited for the sender until they gave
    up."""
    options = {**DEFAULTS, "session_rate_bps": 4e6, "carousel_s": 12.0}
    world = World([one_way(0.01, rate_bps=0.4e6, limit_packets=20)] * 4, options=options, seed=8)
    world.sim.run(12.0 + 3.0)
    for number in range(4):
        assert any(isinstance(effect, SessionEnded) for _, effect in world.effects[number])
