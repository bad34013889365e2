"""Registrar, members and sealed packets together, in virtual time: epochs roll by schedule, on demand and when somebody
is expelled, connections break, and anybody is killed and begins again."""

import random
from typing import Final

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from hosts import protocols
from hosts.endpoint import Address, Datagram, Send
from hosts.protocol import Session
from hosts.security.keyring import KeyRing
from hosts.security.membership import Action, Membership
from hosts.security.messages import Challenge, Hello, Refusal, encode_keys, encode_refusal
from hosts.security.registrar import Member, Members, Registrar
from hosts.security.schedule import LEAD_S, OVERLAP_S, Epoch, Schedule
from hosts.security.sealing import Sealing
from hosts.security.secured import secure
from hosts.security.ticket import Ticket, digest
from tests.hosts.host import Host
from tests.hosts.network import Network

GROUP = Address("239.1.1.1", 5000)
NAMES: Final = ("sender", "r1", "r2", "eve")
EVERY_S = 40.0


class Office:
    """A registrar on a disk that outlives it."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.members = Members({name: Member(digest(token(name))) for name in NAMES})
        self.disk = (Schedule([Epoch(1, self.secret(), 0.0)]), 0)
        self.is_up = True
        self.begin()

    def secret(self) -> bytes:
        return self.rng.randbytes(32)

    def begin(self) -> None:
        self.core = Registrar(self.members, *self.disk, EVERY_S, self.secret)

    def roll(self, now: float) -> bool:
        if not self.is_up or not self.core.handle_timer(now):
            return False
        self.disk = (self.core.schedule, self.core.turns)
        return True


def token(name: str) -> bytes:
    return name.encode().ljust(32, b".")


class Process:
    """A member's: what it knows is gone when it is killed."""

    def __init__(self, name: str, place: int, office: Office, seed: int, now: float) -> None:
        self.name = name
        self.office = office
        self.own = Address(f"10.0.0.{place}", 4000)
        self.is_connected = False
        self.is_cut = False
        self.core = Membership(Ticket(name, token(name), "h", 1, bytes(32)), KeyRing(), random.Random(seed))
        self.counters: dict[str, int] = {}
        self._seed = seed
        self._sealing: Sealing | None = None
        self._do(self.core.start(now), now)

    def _do(self, actions: list[Action | bytes], now: float) -> None:
        for action in actions:
            if action is Action.CALL:
                if not self.office.is_up or self.is_cut:
                    self.core.lost(now)
                    continue
                self.is_connected = True
                self.core.connected(now)
                self.tell(now)
            elif action is Action.HANG_UP:
                self.is_connected = False
            elif self.is_connected and self.office.is_up and not self.is_cut:
                self.tell(now)

    def tell(self, now: float) -> None:
        """The registrar's words, at once."""
        refusal = self.office.core.admit(Hello(self.name, token(self.name)), Challenge(bytes(32)))
        words = encode_refusal(refusal) if isinstance(refusal, Refusal) else encode_keys(self.office.core.schedule, now)
        self._do(self.core.heard(words, now), now)

    def tick(self, now: float) -> None:
        self._do(self.core.handle_timer(now), now)

    def lose(self, now: float) -> None:
        if self.is_connected:
            self.is_connected = False
            self.core.lost(now)

    @property
    def sealing(self) -> Sealing:
        if self._sealing is None:
            self._sealing = Sealing(self.core.ring, random.Random(self._seed), lambda: 1.8e9, self.counters)
            self._sealing.place(self.own)
        return self._sealing


class Rekeying(RuleBasedStateMachine):
    """Every rule takes some time, in which timers fire each tenth of a second."""

    @initialize(seed=st.integers(0, 1 << 30))
    def begin(self, seed: int) -> None:
        self.now = 1000.0
        self.seeds = random.Random(seed)
        self.office = Office(seed)
        self.office.disk = (Schedule([Epoch(1, self.office.secret(), self.now)]), 0)
        self.office.begin()
        self.processes = {name: self.process(name) for name in NAMES}
        self.expelled_at: int | None = None
        self.serials = dict.fromkeys(NAMES, 0)

    def process(self, name: str) -> Process:
        return Process(name, NAMES.index(name) + 1, self.office, self.seeds.getrandbits(60), self.now)

    def advance(self, seconds: float) -> None:
        until = self.now + seconds
        while self.now < until:
            self.now += 0.1
            if self.office.roll(self.now):
                for process in self.processes.values():
                    if process.is_connected and not process.is_cut:
                        process.tell(self.now)
            for process in self.processes.values():
                process.tick(self.now)
            self.check_packets()

    def check_packets(self) -> None:
        """What the sender says now; nobody who has been connected all the time misses it."""
        sender = self.processes["sender"]
        if not sender.core.ring.epochs:
            return
        (send,) = sender.sealing.seal([Send(b"data", GROUP)])
        assert isinstance(send, Send)
        for name in ("r1", "r2"):
            process = self.processes[name]
            if process.core.ring.epochs:
                opened = process.sealing.open(Datagram(send.data, sender.own, GROUP))
                connected = process.is_connected and sender.is_connected and self.office.is_up
                assert opened is not None or not connected or process.is_cut or sender.is_cut

    @rule(seconds=st.floats(0.1, 60.0))
    def wait(self, seconds: float) -> None:
        self.advance(seconds)

    @rule()
    def ask_roll(self) -> None:
        self.office.members = self.office.members._replace(turns=self.office.members.turns + 1)
        self.office.core.members = self.office.members
        self.advance(0.5)

    @precondition(lambda self: self.expelled_at is None)
    @rule()
    def expel(self) -> None:
        known = self.office.members.members
        gone = Members({**known, "eve": known["eve"]._replace(expelled=True)}, self.office.members.turns + 1)
        self.office.members = self.office.core.members = gone
        self.expelled_at = self.office.disk[0].newest.serial
        if self.office.is_up and self.processes["eve"].is_connected:
            self.processes["eve"].tell(self.now)
        self.advance(0.5)

    @rule(name=st.sampled_from(NAMES))
    def kill(self, name: str) -> None:
        self.processes[name] = self.process(name)
        self.advance(0.2)

    @rule(name=st.sampled_from(NAMES), seconds=st.floats(0.1, 100.0))
    def cut(self, name: str, seconds: float) -> None:
        """Its network is gone for a while; half of the time it hears of that."""
        process = self.processes[name]
        process.is_cut = True
        if seconds > 50:
            process.lose(self.now)
        self.advance(seconds)
        process.is_cut = False
        process.lose(self.now)

    @rule(seconds=st.floats(0.0, 100.0))
    def kill_registrar(self, seconds: float) -> None:
        self.office.is_up = False
        for process in self.processes.values():
            process.lose(self.now)
        self.advance(seconds)
        self.office.is_up = True
        self.office.begin()
        self.advance(0.1)

    @invariant()
    def epochs_never_go_back(self) -> None:
        for name, process in self.processes.items():
            schedule = process.core.schedule
            serial = 0 if schedule is None else schedule.newest.serial
            assert serial >= self.serials[name] or not process.core.ring.epochs or schedule is None
            self.serials[name] = serial

    @invariant()
    def who_is_expelled_knows_no_later_epoch(self) -> None:
        if self.expelled_at is not None:
            schedule = self.processes["eve"].core.schedule
            assert schedule is None or schedule.newest.serial <= self.expelled_at

    def teardown(self) -> None:
        """Whatever has happened: soon all who may are together again, and who is expelled is not."""
        if not hasattr(self, "processes"):
            return
        self.advance(60.0 + LEAD_S + OVERLAP_S)
        newest = self.office.disk[0].newest
        for name in ("sender", "r1", "r2"):
            assert newest.number in [number for number, _ in self.processes[name].core.ring.epochs], name
        if self.expelled_at is not None:
            assert newest.serial > self.expelled_at


TestRekeying = Rekeying.TestCase
TestRekeying.settings = settings(max_examples=25, stateful_step_count=12, deadline=None)


def test_a_session_goes_on_over_many_rolls_and_loses_nothing() -> None:
    """Ten rolls in the time of one file: as many repairs as without any."""

    def repairs(rolls: bool) -> int:
        network, seeds = Network(1), random.Random(5)
        rings = {name: KeyRing() for name in ("sender", "r1", "r2")}
        schedule = Schedule([Epoch(1, seeds.randbytes(32), -100.0)])
        protocol = protocols.get("mtcp")

        def step() -> None:
            nonlocal schedule
            if rolls and schedule.next_at(network.now) is None:
                schedule = schedule.rolled(seeds.randbytes(32), network.now)
            for number, ring in enumerate(rings.values()):
                # a member hears of an epoch up to a second late
                network.at(network.now + number / 2, ring.follow, schedule, network.now)
            network.at(network.now + 0.25, step)

        step()
        for ring in rings.values():
            ring.follow(schedule, 0.0)
        data = random.Random(1).randbytes(3_000_000)
        network.link("sender", "s", rate_bps=3e5, delay_s=0.01)
        hosts: list[Host] = []
        for name, ring in rings.items():
            sealed = secure(protocol, ring, random.Random(len(hosts)), lambda: network.now)
            if name == "sender":
                session = Session(GROUP, None, 7, receivers=2)
                hosts.append(network.host(name, sealed.sender(session, random.Random(2)), source=data))
            else:
                network.link("s", name, rate_bps=1e6, delay_s=0.01)
                hosts.append(network.host(name, sealed.receiver(Session(GROUP), random.Random(3))))
        network.run_until_ended(200.0)
        assert network.now > 80.0
        for host in hosts[1:]:
            assert bytes(host.received) == data
            assert not {"drop_epoch", "drop_forged", "drop_stale"} & host.endpoint.counters.keys()
        assert (schedule.newest.serial > 9) == rolls
        found = hosts[0].endpoint.sample(now=network.now)["repair_packets"]
        assert isinstance(found, int)
        return found

    assert repairs(True) == repairs(False)
