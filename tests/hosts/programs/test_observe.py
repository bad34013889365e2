"""Status files, traces and rates."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hosts.endpoint import Address, Effect, Sample
from hosts.programs.observe import Observer, RateMeter, StatusFile, TraceFile, plain, to_json
from hosts.protocol import Session
from hosts.wire.reason import Reason
from tests.hosts.stub import Still

SESSION = Session(Address("232.1.0.7", 5007))


def test_rates_are_over_the_last_second() -> None:
    meter = RateMeter()
    assert meter.update(0.0, 0) == 0.0
    assert meter.update(0.5, 1000) == 16_000
    assert meter.update(1.0, 1000) == 8_000
    assert meter.update(1.5, 1000) == 0.0
    for step in range(1000):
        rate = meter.update(2 + step / 100, 1000 + 50 * step)
    assert rate == pytest.approx(40_000)
    assert len(meter._points) < 110


def test_plain_values() -> None:
    row = {"a": float("nan"), "b": [float("inf"), 1], "c": (2.0,), 5: {"d": 1 / 3}, "e": None}
    assert json.loads(json.dumps(plain(row), allow_nan=False)) == {
        "a": None,
        "b": [None, 1],
        "c": [2.0],
        "5": {"d": 0.333333333},
        "e": None,
    }
    assert plain(1795252254.6128407) == 1795252254.612841


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(Reason),
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.text(), inner)
        | st.dictionaries(st.integers(), inner)
    ),
    max_leaves=20,
)


@given(VALUES)
@example([5.0, 1e8, 99999999.97, 1e-5, 1e300, -0.0, 123456.789012345, 1795252254.6128407, Reason.NONE])
def test_text_is_that_of_plain_values(value: Any) -> None:
    """To the byte, so that a trace is the same as one of a simulation."""
    assert to_json(value) == json.dumps(plain(value), separators=(",", ":"))


def test_what_json_does_not_have_is_an_error() -> None:
    with pytest.raises(TypeError, match="set is nothing"):
        to_json({"a": {1}})


def test_a_status_file_is_replaced_whole(tmp_path: Path) -> None:
    status = StatusFile(tmp_path, "mtcp", SESSION, 7, "10.0.0.1", 1000)
    for state in ("waiting", "sending"):
        if state == "sending":
            status.begin()
        status.write({"t": 1.0, "state": state, "cwnd": 3.5, "receivers": {}})
        assert os.listdir(tmp_path) == ["7.json"]
        read = json.loads((tmp_path / "7.json").read_text())
        assert read["state"] == state
        assert ("started_at" in read) == (state == "sending")
    for name in ("version", "session", "protocol", "group", "source", "state", "updated_at"):
        assert name in read
    assert "t" not in read


def test_a_status_file_never_stops_a_transfer(tmp_path: Path) -> None:
    StatusFile(tmp_path / "gone", "mtcp", SESSION, 7, "10.0.0.1", 1000).write({"state": "sending"})


def test_a_trace(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    trace = TraceFile(path, {"role": "sender"})
    trace.write({"t": 0.2, "rate_bps": float("nan")})
    first, second = (json.loads(line) for line in path.read_text().splitlines())
    assert first["trace"] == 1
    assert first["role"] == "sender"
    assert second == {"t": 0.2, "rate_bps": None}
    trace.close()
    trace.write({"t": 0.4})
    assert len(path.read_text().splitlines()) == 2


def test_a_trace_on_a_full_disk_ends_quietly() -> None:
    trace = TraceFile(Path("/dev/full"), {})
    trace.write({"t": 0.2})
    trace.close()


class Fake(Still):
    """An endpoint that only has a sample."""

    def __init__(self, sample: dict[str, Any]) -> None:
        self.counters = {}
        self._sample = sample

    @property
    def session_id(self) -> int | None:
        return None

    def close(self, *, now: float, reason: str) -> Sequence[Effect]:
        return ()

    @property
    def closed(self) -> bool:
        return False

    def sample(self, *, now: float) -> Sample:
        return dict(self._sample)


def test_rows() -> None:
    fake = Fake(
        {
            "state": "sending",
            "sent_bytes": 0,
            "acked_bytes": 0,
            "udp_bytes": 0,
            "receivers": {"10.0.0.2": {"acked_bytes": 0}},
        }
    )
    observer = Observer(fake, 100.0)
    observer.row(100.0)
    fake._sample |= {"sent_bytes": 10_000, "acked_bytes": 8_000, "udp_bytes": 12_800}
    fake._sample["receivers"] = {"10.0.0.2": {"acked_bytes": 9_000}}
    row = observer.row(101.0)
    assert row["t"] == 1.0
    assert row["rate_bps"] == 12_800 * 8
    assert row["goodput_bps"] == 64_000
    assert row["receivers"]["10.0.0.2"]["rate_bps"] == 72_000
    observer.final, observer.detail = "done", "all is well"
    row = observer.row(102.0)
    assert (row["state"], row["detail"]) == ("done", "all is well")


def test_a_receivers_row() -> None:
    fake = Fake({"state": "member", "received_bytes": 0})
    observer = Observer(fake, 0.0)
    observer.row(0.0)
    fake._sample["received_bytes"] = 1000
    assert observer.row(0.5)["rate_bps"] == 16_000
