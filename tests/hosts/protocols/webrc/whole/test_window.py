"""Real-time data with FEC over a window: to receivers of different rates, through links that lose, in virtual time."""

from collections.abc import Sequence
from random import Random

from canopy_engine import Sim

from hosts import endpoint as seam
from hosts.endpoint import Address, Datagram, DeliverDatagram, Effect
from hosts.parts.playout import PlayoutBuffer
from hosts.protocol import Session
from hosts.protocols.webrc.options import WebrcOptions
from hosts.protocols.webrc.receiver import WebrcReceiver
from hosts.protocols.webrc.sender import WebrcSender
from tests.hosts.star import link_spec

SENDER = "10.0.0.1"
SESSION = Session(Address("232.6.0.0", 5000), source=SENDER, session=7, realtime=True, deliver=True)
DEADLINE_S = 2.0
OPTIONS = WebrcOptions(session_rate_bps=2e6, deadline_s=DEADLINE_S)
STREAM_BPS = 0.5e6
CHUNK = 7 * 188
"""Bytes that ffmpeg writes of a transport stream at a time."""


class Live:
    """A sender whose application has a stream of constant rate, from `START_S` until `END_S`."""

    START_S, END_S = 1.0, 45.0

    def __init__(self, endpoint: WebrcSender) -> None:
        self.endpoint = endpoint
        self.written = bytearray()
        self._rng = Random(3)

    def _fed(self, effects: Sequence[Effect], now: float) -> list[Effect]:
        found = list(effects)
        due = int(STREAM_BPS / 8 * (min(now, self.END_S) - self.START_S))
        while len(self.written) + CHUNK <= due and self.endpoint.send_space >= CHUNK:
            piece = self._rng.randbytes(CHUNK)
            self.written += piece
            found += self.endpoint.write(piece, now=now)
        if now >= self.END_S:
            found += self.endpoint.finish(now=now)
        return found

    def start(self, *, now: float) -> list[Effect]:
        return self._fed(self.endpoint.start(now=now), now)

    def receive(self, datagram: Datagram, /, *, now: float) -> list[Effect]:
        return []

    def handle_timer(self, *, now: float) -> list[Effect]:
        return self._fed(self.endpoint.handle_timer(now=now), now)

    @property
    def wake_at(self) -> float | None:
        return self.endpoint.wake_at


class Viewer:
    """A receiver that plays what comes, from when it has had time to join."""

    def __init__(self, seed: int) -> None:
        self.endpoint = WebrcReceiver(SESSION, WebrcOptions(), Random(seed))
        self.buffer = PlayoutBuffer(1.25 * DEADLINE_S)
        self.played: list[bytes] = []
        self.since = 20.0

    def take(self, effect: object, now: float) -> Sequence[Effect]:
        if isinstance(effect, DeliverDatagram) and effect.sent_at > self.since:
            self.buffer.add(effect)
            self.played += self.buffer.take(now)
        return ()


def watched(links: dict[str, dict[str, float]]) -> tuple[bytes, dict[str, Viewer]]:
    """What was streamed, and the receivers behind these links."""
    sim = Sim(1)
    sim.add_host("sender", SENDER)
    sim.add_router("core")
    sim.connect("sender", "core", link_spec({"limit_packets": 10_000}), link_spec({}))
    live = Live(WebrcSender(SESSION, OPTIONS, Random(1)))
    sim.add_endpoint("sender", "sender", live, port=40000, seam=seam)
    viewers = {}
    for number, (name, link) in enumerate(links.items(), 1):
        sim.add_host(name, f"10.1.0.{number}")
        sim.connect("core", name, link_spec({"delay_us": 10_000, "limit_packets": 50, **link}), link_spec({}))
        viewers[name] = viewer = Viewer(number)
        sim.add_endpoint(name, name, viewer.endpoint, port=40000, seam=seam, start_at=0.5, on_effect=viewer.take)
    sim.run(Live.END_S + 3 * DEADLINE_S)
    for viewer in viewers.values():
        viewer.played += viewer.buffer.take(1e9)
    return bytes(live.written), viewers


def test_a_receiver_of_more_than_the_streams_rate_has_all_of_it_and_a_slower_one_counts_its_gaps() -> None:
    written, viewers = watched({"enough": {"rate_bps": 1e6, "loss": 0.01}, "slow": {"rate_bps": 0.25e6, "loss": 0.01}})
    enough, slow = viewers["enough"], viewers["slow"]
    played = b"".join(enough.played)
    assert written.endswith(played)
    assert len(played) > (Live.END_S - enough.since - 0.5) * STREAM_BPS / 8
    assert (enough.buffer.lost, enough.buffer.late) == (0, 0)
    sources = enough.endpoint.counters["data_packets"] * STREAM_BPS / OPTIONS.session_rate_bps
    assert enough.endpoint.counters["recovered_packets"] > sources  # most came out of repairs
    assert all(piece in written for piece in slow.played)
    assert slow.buffer.lost > 0.5 * enough.buffer.played
    assert slow.buffer.played + slow.buffer.lost > 0.95 * enough.buffer.played
