"""Session status files that sender agents write (docs/status.md): who limits the rate, what each receiver measures.

A file that cannot be read does not hide the others: it becomes a `SessionProblem` beside them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from controller.network import first_error

STALE_AFTER_S = 3.0  # docs/status.md
FINAL_STATES = frozenset({"done", "failed", "aborted"})
MAX_FILE_BYTES = 4 << 20  # a status of ten thousand receivers is 2 MB
_FILE_NAME = re.compile(r"^(0|[1-9][0-9]{0,9})\.json$")

Finite = Annotated[float, Field(allow_inf_nan=False)]


class _Status(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class ReceiverStatus(_Status):
    """What the sender knows of one receiver. Windows in packets, rates in bit/s, None for what is not known."""

    state: str | None = None
    parent: str | None = None
    cwnd: Finite | None = None
    rtt_s: Finite | None = None
    loss_rate: Finite | None = None
    advertised_window: Finite | None = None
    acked_bytes: int | None = None
    lost_packets: int | None = None
    repaired_packets: int | None = None
    rate_bps: Finite | None = None
    last_heard_s: Finite | None = None


class LimitingStatus(ReceiverStatus):
    """The receiver that limits the rate, and why it does."""

    receiver: str
    reason: str | None = None


class SessionStatus(_Status):
    """One status file."""

    version: Annotated[int, Field(ge=1, le=1)]
    session: Annotated[int, Field(ge=0, lt=2**32)]
    protocol: str
    group: IPv4Address
    port: int | None = None
    source: IPv4Address
    state: str
    detail: str | None = None
    updated_at: Finite
    started_at: Finite | None = None
    rate_bps: Finite | None = None
    goodput_bps: Finite | None = None
    cwnd: Finite | None = None
    rtt_s: Finite | None = None
    total_bytes: int | None = None
    sent_bytes: int | None = None
    repair_packets: int | None = None
    feedback_packets: int | None = None
    limiting: LimitingStatus | None = None
    receivers: dict[str, ReceiverStatus] = {}

    def is_stale(self, now: float) -> bool:
        """The sender should have written since. `now` is in seconds since 1970."""
        return self.state not in FINAL_STATES and now - self.updated_at > STALE_AFTER_S


@dataclass(frozen=True)
class SessionProblem:
    """A status file that cannot be used, and why, on one line."""

    path: Path
    message: str


def read_sessions(directory: Path) -> tuple[list[SessionStatus], list[SessionProblem]]:
    """All sessions of a status directory by id, and the files that are wrong. A directory that does not exist yet, or a
    file that vanishes meanwhile, is no problem."""
    found: list[SessionStatus] = []
    problems: list[SessionProblem] = []
    try:
        names = [path for path in directory.iterdir() if _FILE_NAME.match(path.name)]
    except OSError:
        return found, problems
    for path in sorted(names, key=lambda path: int(path.stem)):
        try:
            with path.open("rb") as file:
                data = file.read(MAX_FILE_BYTES + 1)
            if len(data) > MAX_FILE_BYTES:
                raise ValueError(f"longer than {MAX_FILE_BYTES} bytes")
            status = SessionStatus.model_validate_json(data)
            if str(status.session) != path.stem:
                raise ValueError(f"session: {status.session} is not the file's name")
        except FileNotFoundError:
            continue
        except ValidationError as error:
            problems.append(SessionProblem(path, first_error(error)))
        except (OSError, ValueError) as error:
            problems.append(SessionProblem(path, str(error)))
        else:
            found.append(status)
    return found, problems
