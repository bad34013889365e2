"""A new CLR's trial: who answers stays, who does not is not heard for a while."""

from hosts.endpoint import Address
from hosts.protocols.tfmcc.echoes import Echo
from hosts.protocols.tfmcc.limiting import Limiting
from hosts.protocols.tfmcc.trial import UNHEARD, UNHEARD_PATIENCES, Standing, Trials

PATIENCE = 0.5


def limiting(receiver: int) -> Limiting:
    echo = Echo(receiver, 0, 0.0, True)
    return Limiting(receiver, Address("10.0.0.2", 1), 1e5, 0.1, True, 0.01, 1e5, 0.0, echo)


def standing() -> Standing:
    return Standing(limiting(1), 1e5, False, PATIENCE)


def test_who_answers_a_packet_that_names_it_stays() -> None:
    trials = Trials()
    trials.begin(2, standing())
    trials.answered(2, 9.9)  # nothing has named it yet
    trials.named(10.0)
    trials.answered(2, 9.9)
    trials.answered(3, 10.1)
    assert trials.before is not None
    trials.answered(2, 10.0)
    assert trials.before is None
    assert not trials.is_lost(100.0)


def test_who_does_not_answer_is_not_heard_for_a_while() -> None:
    trials = Trials()
    before = standing()
    trials.begin(2, before)
    assert not trials.is_lost(1e9)  # nothing has named it yet
    trials.named(10.0)
    assert not trials.is_lost(10.0 + PATIENCE)
    assert trials.is_lost(10.1 + PATIENCE)
    assert trials.lose(11.0) is before
    assert trials.is_unheard(2, 11.0)
    assert not trials.is_unheard(3, 11.0)
    assert not trials.is_unheard(2, 11.0 + UNHEARD_PATIENCES * PATIENCE)


def test_what_stood_before_the_first_of_several_comes_back() -> None:
    trials = Trials()
    before = standing()
    trials.begin(2, before)
    trials.named(10.0)
    trials.begin(3, Standing(limiting(2), 5e4, False, PATIENCE))
    assert not trials.is_lost(1e9)
    trials.heard(limiting(1))
    trials.named(20.0)
    assert trials.lose(30.0) is before
    trials.begin(4, standing())
    trials.gone(1)
    assert trials.before is not None
    assert trials.before.clr is None


def test_the_clr_before_needs_no_trial() -> None:
    trials = Trials()
    trials.begin(2, standing())
    trials.begin(1, Standing(limiting(2), 5e4, False, PATIENCE))
    assert trials.before is None


def test_who_is_not_heard_is_forgotten_at_last() -> None:
    trials = Trials()
    for receiver in range(2, 2 * UNHEARD):
        trials.begin(receiver, standing())
        trials.lose(0.0)
    assert len(trials._unheard) == UNHEARD
