import pytest

from hosts.security.complaint import complaint


@pytest.mark.parametrize(
    ("counters", "words"),
    [
        ({}, None),
        ({"drop_truncated": 3}, None),
        ({"drop_open": 1}, "without --secure"),
        ({"drop_open": 1, "drop_forged": 1}, "the sender's secret"),
        ({"drop_epoch": 1}, "another epoch"),
        ({"drop_stale": 1, "drop_replayed": 1}, "clock differs"),
        ({"drop_sealed": 1}, "--secret-file"),
        ({"drop_forged": 1, "opened": 1}, None),
    ],
)
def test_what_is_amiss_is_said(counters: dict[str, int], words: str | None) -> None:
    found = complaint(counters)
    assert found is None if words is None else found is not None and words in found
