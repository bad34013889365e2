"""Who is the first of a comparison."""

import pytest

from experiments.figures.firsts import Measured, firsts_lines
from experiments.harness.statistics import Estimate


def measured(quantity: str, network: str = "net", half: float = 0.0, **means: float) -> list[Measured]:
    """Of contenders by name; `_` for with switches."""
    return [
        Measured(
            network, quantity, quantity, name.replace("_", ", switches"), Estimate(m, m - half, m + half), f"{m:g}"
        )
        for name, m in means.items()
    ]


def verdicts(cells: list[Measured], *without: str) -> list[tuple[str, str, str]]:
    """(Quantity, first of the others, verdict) without switches, and with them."""
    lines = firsts_lines(cells, "A", without)[1:]
    return [(line[1], line[3], line[4]) for line in lines] + [(line[1], line[6], line[7]) for line in lines]


def test_less_is_better_of_what_disturbs_and_more_of_rates() -> None:
    cells = measured("loss", A=2, B=1, C=3, A_=2, B_=4, C_=3) + measured("slowest", A=2, B=1, C=3, A_=2, B_=1, C_=1.5)
    assert verdicts(cells) == [
        ("loss", "B 1", "**no**"), ("slowest", "C 3", "**no**"),
        ("loss", "C 3", "first"), ("slowest", "C 1.5", "first"),
    ]  # fmt: skip


def test_a_share_is_better_the_nearer_it_is_to_one_and_rates_beside_a_tcp_do_not_count() -> None:
    cells = measured("share", A=0.6, B=1.5, A_=1.2, B_=0.9) + measured("slowest", A=1, B=2, A_=1, B_=2)
    assert verdicts(cells) == [("share", "B 1.5", "**no**"), ("share", "B 0.9", "**no**")]


def test_within_is_in_the_interval_of_the_first() -> None:
    cells = measured("loss", A=2, A_=2) + measured("loss", B=1, B_=1, half=1.0)
    assert [verdict for *_, verdict in verdicts(cells)] == ["within", "within"]


def test_who_has_no_help_takes_part_in_both_halves_and_who_has_no_feedback_in_none_of_that() -> None:
    cells = measured("variation", A=2, W=1, A_=2) + measured("feedback", A=2, W=0, B=3, A_=2, B_=1)
    assert [first for _, first, _ in verdicts(cells)] == ["W 1", "B 3", "W 1", "B 1"]
    assert [first for _, first, _ in verdicts(cells + measured("variation", B=9), "W")] == ["B 9", "B 3", "B 9", "B 1"]


def test_networks_one_after_the_other() -> None:
    cells = [one for name in ("n1", "n2") for one in measured("loss", name, A=1, A_=1, B=2)]
    assert [line[0] for line in firsts_lines(cells, "A")[1:]] == ["`n1`", "`n2`"]


@pytest.mark.parametrize(("who", "without"), [("X", ()), ("A", ("X",))])
def test_a_contender_that_was_not_measured(who: str, without: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="no contender X"):
        firsts_lines(measured("loss", A=1, A_=1, B=2), who, without)
