import itertools

from canopy_engine import Signer

from hosts.security.messages import Challenge, Hello, Refusal
from hosts.security.registrar import Member, Members, Registrar
from hosts.security.schedule import LEAD_S, OVERLAP_S, Epoch, Schedule
from hosts.security.ticket import digest

CHALLENGE = Challenge(bytes(range(32)))
ALICE, EVE = Hello("alice", bytes(32)), Hello("eve", bytes([1] * 32))
ROLL_S = LEAD_S + OVERLAP_S


def registrar(every_s: float = 100.0) -> Registrar:
    secrets = itertools.count(2)
    members = Members({one.name: Member(digest(one.token)) for one in (ALICE, EVE)})
    return Registrar(members, Schedule([Epoch(1, bytes(32), 0.0)]), 0, every_s, lambda: bytes([next(secrets)] * 32))


def expel(core: Registrar, name: str) -> None:
    gone = core.members.members[name]._replace(expelled=True)
    core.members = Members({**core.members.members, name: gone}, core.members.turns + 1)


def test_who_is_admitted() -> None:
    core = registrar()
    assert core.admit(ALICE, CHALLENGE) is None
    unknown = Refusal("this registrar knows no such member")
    assert core.admit(ALICE._replace(token=EVE.token), CHALLENGE) == unknown
    assert core.admit(Hello("mallory", bytes(32)), CHALLENGE) == unknown
    expel(core, "eve")
    assert core.admit(EVE, CHALLENGE) == Refusal("this member was expelled")
    assert core.admit(EVE._replace(token=bytes(32)), CHALLENGE) == unknown, "who has no ticket is told nothing"


def test_who_has_a_key_of_its_own_signs_what_it_is_asked() -> None:
    signer, here = Signer(bytes(range(32))), bytes([5] * 32)
    members = Members({"own": Member(signer.public, is_own=True), "alice": Member(digest(ALICE.token))})
    core = Registrar(members, Schedule([Epoch(1, bytes(32), 0.0)]), 0, 100.0, lambda: bytes(32), here)

    def shown(name: str = "own", challenge: Challenge = CHALLENGE, fingerprint: bytes = here) -> Hello:
        return Hello(name, signer.sign(challenge.message(name, fingerprint)), is_signed=True)

    assert core.admit(shown(), CHALLENGE) is None
    unknown = Refusal("this registrar knows no such member")
    for wrong in (
        shown(challenge=Challenge(bytes(32))),  # of another connection
        shown(fingerprint=bytes(32)),  # for another registrar
        shown(name="alice"),
        shown()._replace(token=bytes(64)),
        Hello("own", signer.public),
        Hello("own", bytes(range(32))),
    ):
        assert core.admit(wrong, CHALLENGE) == unknown


def test_epochs_follow_their_schedule() -> None:
    core = registrar()
    assert not core.handle_timer(99.9)
    assert core.handle_timer(100.0)
    assert not core.handle_timer(100.0)
    assert core.wake_at(100.0) == 100.0 + LEAD_S + 100.0
    assert core.schedule.newest.serial == 2


def test_they_never_roll_faster_than_a_roll_takes() -> None:
    core = registrar(every_s=0.0)
    times = [now / 10 for now in range(1000) if core.handle_timer(now / 10)]
    assert min(b - a for a, b in itertools.pairwise(times)) >= ROLL_S


def test_who_is_expelled_while_an_epoch_comes_does_not_know_the_one_after() -> None:
    core = registrar()
    assert core.handle_timer(100.0)
    expel(core, "eve")
    assert not core.handle_timer(100.1), "eve was told of epoch 2"
    assert core.handle_timer(100.0 + ROLL_S)
    assert core.schedule.newest.serial == 3
    assert not core.handle_timer(150.0)


def test_what_was_asked_for_while_it_did_not_run_is_done() -> None:
    core = registrar()
    expel(core, "eve")
    assert core.handle_timer(1.0)
    assert core.turns == core.members.turns
    again = Registrar(core.members, core.schedule, core.turns, 100.0, lambda: bytes(32))
    assert not again.handle_timer(50.0)
