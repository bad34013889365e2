"""Who fills the queue."""

from hosts.parts.coexistence import BESIDE_OTHERS, DRAIN_ROUNDS, FILLED_ROUNDS, PERIOD_S, Company, FollowedCompany

SHORT_S, RTT_S = 0.005, 0.05


def rounds(company: Company, count: int, waiting_s: float, drained_s: float, now: float) -> float:
    """So many round trips; in drains only so much waits."""
    for _ in range(count):
        now += RTT_S
        company.round_trip_ended(drained_s if company.draining else waiting_s, SHORT_S, RTT_S, now)
    return now


def test_a_queue_of_one_s_own_is_drained_and_nobody_is_there() -> None:
    company = Company()
    rounds(company, FILLED_ROUNDS + DRAIN_ROUNDS + 1, 0.02, 0.0, 0.0)
    assert not company.present
    assert not company.draining


def test_a_queue_that_stays_is_somebody_else_s() -> None:
    company = Company()
    now = rounds(company, FILLED_ROUNDS + DRAIN_ROUNDS + 1, 0.02, 0.02, 0.0)
    assert company.present
    asked = now
    while not company.draining:  # it is asked again, though seldom
        now = rounds(company, 1, 0.02, 0.02, now)
    assert BESIDE_OTHERS * PERIOD_S <= now - asked + 2 * RTT_S < (BESIDE_OTHERS + 1) * PERIOD_S
    rounds(company, DRAIN_ROUNDS, 0.02, 0.0, now)  # it has gone
    assert not company.present


def test_a_queue_that_comes_and_goes_is_nobody_s() -> None:
    company = Company()
    now = 0.0
    for _ in range(20):
        now = rounds(company, FILLED_ROUNDS - 1, 0.02, 0.02, now)
        now = rounds(company, 1, 0.0, 0.0, now)
        assert not company.draining or now > PERIOD_S
    assert not company.present


def test_the_delay_without_a_queue_is_looked_for_all_the_same() -> None:
    company = Company()
    drained = 0
    now = 0.0
    while now < 4 * PERIOD_S:
        now = rounds(company, 1, 0.001, 0.0, now)
        drained += company.draining
    assert 3 * DRAIN_ROUNDS <= drained <= 4 * DRAIN_ROUNDS


def test_a_timeout_ends_a_drain() -> None:
    company = Company()
    rounds(company, FILLED_ROUNDS + 1, 0.02, 0.02, 0.0)
    assert company.draining
    company.forget()
    assert not company.draining


def test_a_queue_that_is_filled_again_and_again_is_somebody_else_s() -> None:
    """A TCP whose own losses empty a small queue, each time just when it is drained."""
    company = Company()
    now = rounds(company, FILLED_ROUNDS + DRAIN_ROUNDS + 1, 0.02, 0.0, 0.0)
    assert not company.present
    now = rounds(company, 3, 0.0, 0.0, now)
    now = rounds(company, FILLED_ROUNDS + DRAIN_ROUNDS, 0.02, 0.0, now)
    assert company.present
    while company.present:  # a drain later it may have gone
        now = rounds(company, 1, 0.0, 0.0, now)
    rounds(company, FILLED_ROUNDS + DRAIN_ROUNDS, 0.02, 0.0, now)  # it has not
    assert company.present


def followed(waiting_s: float, drained_s: float, *, others: bool = False) -> FollowedCompany:
    """Another host drains a queue that was filled, for three of one's own round trips."""
    company = FollowedCompany()
    for _ in range(FILLED_ROUNDS):
        company.round_trip_ended(waiting_s, SHORT_S, RTT_S, 0.0)
    for at in range(3):
        company.tell(True, others)
        assert company.draining
        company.round_trip_ended(waiting_s if at == 0 else drained_s, SHORT_S, RTT_S, 0.0)
    company.tell(False, others)
    company.round_trip_ended(waiting_s, SHORT_S, RTT_S, 0.0)
    assert not company.draining
    return company


def test_who_only_watches_judges_by_the_other_s_drains() -> None:
    assert followed(0.02, 0.02).present
    assert not followed(0.02, 0.0).present


def test_a_queue_that_fills_beside_one_who_has_company_is_that_one_s() -> None:
    assert followed(0.02, 0.0, others=True).present
    assert not followed(0.0, 0.0, others=True).present


def test_a_mark_tells_of_somebody_over_two_drains_though_no_queue_is_seen() -> None:
    company = Company()
    company.signalled(RTT_S, 100.0)
    rounds(company, int(1.8 * PERIOD_S / RTT_S), 0.001, 0.0, 100.0)
    assert company.present
    rounds(company, int(1.2 * PERIOD_S / RTT_S), 0.001, 0.0, 100.0 + 1.8 * PERIOD_S)
    assert not company.present


def test_who_watches_anothers_drains_believes_a_mark_as_long() -> None:
    company = FollowedCompany()
    for began, present in ((100.0, True), (100.0 + 3 * PERIOD_S, False)):
        if present:
            company.signalled(RTT_S, began)
        company.tell(True, present=False)
        rounds(company, 2, 0.0, 0.0, began)
        company.tell(False, present=False)
        rounds(company, 2, 0.0, 0.0, began)
        assert company.present is present
