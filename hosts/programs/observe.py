"""What a running session shows: a status file (docs/status.md), a trace (docs/trace.md), and rates for a person."""

import contextlib
import math
import time
from collections import deque
from collections.abc import Mapping
from json.encoder import encode_basestring_ascii
from pathlib import Path
from typing import Any, Final, TextIO

from engine.command.whole import write_whole
from hosts.endpoint import Endpoint
from hosts.protocol import Session

STATUS_INTERVAL_S: Final = 0.5
"""docs/status.md."""
TRACE_INTERVAL_S: Final = 0.2
"""docs/trace.md."""
RATE_WINDOW_S: Final = 1.0
"""docs/status.md: rates are over the last second."""
COMPLETE: Final = "complete"
"""A receiver's final state, when it has got what there was (docs/trace.md)."""
_PLAIN: Final = frozenset({str, int, bool})


class RateMeter:
    """The rate of a counter of bytes over the last `RATE_WINDOW_S`."""

    def __init__(self) -> None:
        self._points: deque[tuple[float, int]] = deque()

    def update(self, now: float, octets: int) -> float:
        """Take a reading; the rate in bit/s."""
        points = self._points
        points.append((now, octets))
        while len(points) > 2 and points[1][0] <= now - RATE_WINDOW_S:
            points.popleft()
        elapsed = now - points[0][0]
        return (octets - points[0][1]) * 8 / elapsed if elapsed > 0 else 0.0


def plain(value: Any) -> Any:
    """JSON without NaN and infinity (null instead); floats to 9 significant digits, wall-clock times to 1 us."""
    if value is None or type(value) in _PLAIN:
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return round(value, 6) if abs(value) >= 1e8 else float(f"{value:.9g}")
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def to_json(value: Any) -> str:
    """The text of `plain(value)` in JSON, without spaces: at once, for a row of many receivers is written several times
    a second, and to make plain values first takes four times as long."""
    kind = type(value)
    if kind is float:
        if not math.isfinite(value):
            return "null"
        text = repr(round(value, 6)) if abs(value) >= 1e8 else f"{value:.9g}"
        return text if "." in text or "e" in text else f"{text}.0"
    if kind is str:
        return encode_basestring_ascii(value)
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    if isinstance(value, int):  # also what stands for one, as the members of an IntEnum
        return str(int(value))
    if isinstance(value, Mapping):
        return (
            f"{{{','.join([f'{encode_basestring_ascii(str(key))}:{to_json(item)}' for key, item in value.items()])}}}"
        )
    if isinstance(value, (list, tuple)):
        return f"[{','.join(map(to_json, value))}]"
    if isinstance(value, (float, str)):
        return to_json(float(value) if isinstance(value, float) else str(value))
    raise TypeError(f"{kind.__name__} is nothing that JSON has")


def replace_json(path: Path, content: Mapping[str, object]) -> None:
    """Put a JSON file in the place of the one before, as a whole. Raises OSError."""
    write_whole(path, to_json(content))


class StatusFile:
    """Writes a sender's status file. A failed write never stops a transfer."""

    def __init__(
        self, folder: Path, protocol: str, session: Session, number: int, source: str, total: int | None
    ) -> None:
        self._path = folder / f"{number}.json"
        self._fixed: dict[str, object] = {
            "version": 1,
            "session": number,
            "protocol": protocol,
            "group": session.group.host,
            "port": session.group.port,
            "source": source,
            "total_bytes": total,
        }

    def begin(self) -> None:
        """Data may flow from now on."""
        self._fixed["started_at"] = time.time()

    def write(self, row: Mapping[str, object]) -> None:
        """Replace the file by one with the trace row `row`, which has the names of docs/status.md."""
        status = self._fixed | {name: value for name, value in row.items() if name != "t"}
        with contextlib.suppress(OSError):
            replace_json(self._path, status | {"updated_at": time.time()})


class TraceFile:
    """Appends rows to a trace, one JSON object a line. Gives up quietly when the disk does."""

    def __init__(self, path: Path, header: Mapping[str, object]) -> None:
        """Raises OSError when the file cannot be opened."""
        self._file: TextIO | None = path.open("w", encoding="utf-8", buffering=1)
        self._write({"trace": 1, "started_at": time.time(), **header})

    def write(self, row: Mapping[str, object]) -> None:
        """Append a row."""
        self._write(row)

    def _write(self, row: Mapping[str, object]) -> None:
        if self._file is None:
            return
        try:
            self._file.write(to_json(row) + "\n")
        except OSError:
            self.close()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()
            self._file = None


class Observer:
    """Turns an endpoint's samples into rows: with the time, rates, and the states of docs/status.md."""

    def __init__(self, endpoint: Endpoint, started: float) -> None:
        self.endpoint = endpoint
        self._started = started
        self._meters: dict[str, RateMeter] = {}
        self.final: str | None = None
        """The final state, once it is known."""
        self.detail = ""
        """With it; or what is to be said before, when the endpoint has nothing to say."""

    def row(self, now: float) -> dict[str, Any]:
        """The row for the time `now`."""
        row: dict[str, Any] = {"t": now - self._started, **self.endpoint.sample(now=now)}
        if self.final is not None:
            row["state"] = self.final
            row["detail"] = self.detail
        elif self.detail and not row.get("detail"):
            row["detail"] = self.detail
        if "udp_bytes" in row:
            row["rate_bps"] = self._rate("sent", now, row["udp_bytes"])
        if row.get("acked_bytes") is not None:
            row["goodput_bps"] = self._rate("acked", now, row["acked_bytes"])
        if "received_bytes" in row:
            row["rate_bps"] = self._rate("received", now, row["received_bytes"])
        for name, receiver in row.get("receivers", {}).items():
            if receiver.get("acked_bytes") is not None:
                receiver["rate_bps"] = self._rate(f"receiver {name}", now, receiver["acked_bytes"])
        return row

    def _rate(self, name: str, now: float, octets: int) -> float:
        meter = self._meters.get(name)
        if meter is None:
            meter = self._meters[name] = RateMeter()
        return meter.update(now, octets)
