"""Rules of a broadcast: what they say, and what is no rule."""

import pytest

from hosts.programs.times import Rule, Rules, parse_rule, parse_time


def test_the_first_rule_that_matches_counts_and_leaves_the_rest_to_the_default() -> None:
    default = Rule(turns=4, until=900.0)
    first = parse_rule("*.iso priority=2 start=+10", 100.0, default)
    assert first == Rule("*.iso", 2.0, 4, 110.0, 900.0)
    second = parse_rule("b.* turns=1 until=1970-01-01T00:10:00+00:00", 100.0, default)
    assert second.until == 600.0
    rules = Rules([first, second], default)
    assert rules.of("b.iso") is first
    assert rules.of("b.txt") is second
    assert rules.of("c") is default
    assert [parse_rule(f"* cache={word}", 100.0, default).cache for word in ("no", "stale", "+60")] == [
        "no-cache",
        "max-stale",
        160,
    ]
    assert [first.holds(now) for now in (109.0, 110.0, 899.0, 900.0)] == [False, True, True, False]
    assert not rules.are_over(899.0)
    assert rules.are_over(900.0)
    assert rules.have_times
    assert not Rules().have_times


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "a pattern"),
        ("*.iso", "a pattern"),
        ("*.iso speed=2", "no 'speed'"),
        ("*.iso priority=0", "priority: 0 is not within"),
        ("*.iso priority=nan", "priority"),
        ("*.iso priority=high", "priority: 'high' is no number"),
        ("*.iso turns=0", "turns: 0 is less"),
        ("*.iso turns=1.5", "turns: '1.5' is no whole number"),
        ("*.iso cache=never", "cache: 'never' is no time"),
        ("*.iso start=tomorrow", "start: 'tomorrow' is no time"),
        ("*.iso until=+soon", "until: '\\+soon' is no number"),
    ],
)
def test_what_is_no_rule_is_said(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_rule(text, 0.0, Rule())


def test_times_are_iso_or_from_now_on() -> None:
    assert parse_time("+2.5", 10.0) == 12.5
    assert parse_time("1970-01-02", 0.0) == pytest.approx(86_400, abs=86_400)
    with pytest.raises(ValueError, match="no time"):
        parse_time("+inf", 0.0)
