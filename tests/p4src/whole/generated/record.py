"""A plugin of pytest that writes down what the tests of canopy.p4 tell and send the embedded switch.

`pytest -p tests.p4src.whole.generated.record tests/p4src`, with the file in RECORD_FILE: one JSON object a line.
"""

import inspect
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.p4src.bench import target
from tests.p4src.bench.program import Program, program
from tests.p4src.bench.target import Embedded, Rates
from tests.p4src.whole.generated.sequences import Step

MOST_STEPS = 1500
"""Of one switch in one test; what is beyond is left out."""

_METHODS = ("set_default", "insert", "modify", "delete", "set_groups", "change_group", "set_clone_session", "set_meter")
_recording: list[list[Step]] = []


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Rates):
        return [value.committed_rate, value.committed_burst, value.peak_rate, value.peak_burst]
    return value


class _Recorded(Embedded):
    """Stands in for Embedded."""

    def __init__(self, compiled: Program, *args: Any, **kwargs: Any) -> None:
        super().__init__(compiled, *args, **kwargs)
        self._steps: list[Step] = []
        self._begin(compiled)

    def _begin(self, compiled: Program) -> None:
        self._steps = []
        if compiled is program():
            _recording.append(self._steps)

    def note(self, step: Step) -> None:
        if len(self._steps) < MOST_STEPS:
            self._steps.append(json.loads(json.dumps([_plain(value) for value in step])))

    def reset(self) -> None:
        super().reset()
        self._begin(self.program)


def _noting(name: str) -> Any:
    plain = getattr(Embedded, name)

    def method(self: _Recorded, *args: Any, **kwargs: Any) -> Any:
        self.note([name, *inspect.signature(plain).bind(self, *args, **kwargs).args[1:]])
        return plain(self, *args, **kwargs)

    return method


for _name in ("send", "advance", *_METHODS):
    setattr(_Recorded, _name, _noting(_name))


target.Embedded = _Recorded  # type: ignore[assignment,misc]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    _recording.clear()
    result = yield
    with Path(os.environ["RECORD_FILE"]).open("a") as file:
        for steps in _recording:
            if any(step[0] == "send" for step in steps):
                file.write(json.dumps({"origin": item.nodeid.split("/", 2)[2], "steps": steps}) + "\n")
    return result
