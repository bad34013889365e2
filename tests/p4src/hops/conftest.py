"""What switches vouch for is tested with the embedded switch's interpreter, too: native code is made of the same
program in another way."""

import pytest

from tests.p4src.bench.program import program
from tests.p4src.bench.target import Embedded, Target
from tests.p4src.conftest import TargetFactory


@pytest.fixture(params=["", "interpreted"])
def target(request: pytest.FixtureRequest, targets: TargetFactory) -> Target:
    (given,) = targets(1)
    if not request.param:
        return given
    if not isinstance(given, Embedded):
        pytest.skip("it has one way")
    return Embedded(program(), "interpreter")
