"""The rows of Arbor."""

import pytest

from experiments.rows.arbor.rows import ROWS

SHARE, MANY = ROWS


def test_each_kind_of_tcp_is_beside_it_behind_each_queue() -> None:
    assert SHARE.experiment is not None
    cases = SHARE.experiment.cases(False)
    kinds = {(str(case.document["links"][0]["queue"]["kind"]), case.series) for case in cases}
    assert len(kinds) == len(cases) == 4 * 4


@pytest.mark.parametrize("quick", [False, True])
def test_receivers_lose_on_links_of_their_own(*, quick: bool) -> None:
    assert MANY.experiment is not None
    for case in MANY.experiment.cases(quick):
        lossy = [link for link in case.document["links"] if "toward" in link]
        assert len(lossy) == case.x == len(case.document["sessions"][0]["receivers"])
