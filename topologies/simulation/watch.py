"""What a simulated session's endpoints show while they run: traces (docs/trace.md), and the sender's status."""

from collections.abc import Callable, Mapping
from typing import Any

from controller.sessions import SessionStatus
from hosts.endpoint import Address
from hosts.programs.observe import STATUS_INTERVAL_S, Observer, plain
from hosts.protocol import Session
from topologies.agenda import Agenda
from topologies.results.run_folder import RunFolder, SeriesWriter
from topologies.results.series import RunSeries
from topologies.simulation.member import Member


class Trace:
    """One member's trace: a row every so often, and one at its end."""

    def __init__(
        self,
        folder: RunFolder,
        name: str,
        member: Member,
        header: Mapping[str, Any],
        agenda: Agenda,
        interval: float,
        heard: Callable[[Mapping[str, Any]], None] = lambda row: None,
    ) -> None:
        """`name` is the file's; `interval` is in seconds; `heard` is given each row."""
        self._member = member
        self._writer = SeriesWriter(folder.series / f"{name}.jsonl")
        self._writer.write([{"trace": 1, "started_at": agenda.now, **header}])
        self._started = agenda.now
        self._agenda = agenda
        self._heard = heard
        hosted = member.hosted
        self.observer = Observer(hosted.endpoint, hosted.local(agenda.now))
        agenda.every(interval, self._tick, start=agenda.now + interval)

    def row(self, now: float) -> dict[str, Any]:
        """What the member shows now, with `t` in seconds since its start, on the network's clock."""
        return {**self.observer.row(self._member.hosted.local(now)), "t": now - self._started}

    def write(self, now: float) -> None:
        """Append a row."""
        row = plain(self.row(now))
        self._writer.write([row])
        self._heard(row)

    def close(self) -> None:
        """Finish the file."""
        self._writer.close()

    def _tick(self, now: float) -> None:
        if not self._member.is_over:
            self.write(now)


class StatusReport:
    """A sender's status, as its status file would have it (docs/status.md): every `STATUS_INTERVAL_S`."""

    def __init__(
        self,
        session: Session,
        protocol: str,
        source: Address,
        total: int | None,
        sender: Member,
        trace: Trace,
        series: RunSeries,
        agenda: Agenda,
    ) -> None:
        """`source` is the sender's address, `total` the bytes of its stream, if it has an end."""
        self._fixed: dict[str, Any] = {
            "version": 1,
            "session": session.session,
            "protocol": protocol,
            "group": session.group.host,
            "port": session.group.port,
            "source": source.host,
            "total_bytes": total,
        }
        self._sender = sender
        self._trace = trace
        self._series = series
        self._is_final = False
        agenda.every(STATUS_INTERVAL_S, self._tick, start=agenda.now + STATUS_INTERVAL_S)

    def write(self, now: float, *, final: bool = False) -> None:
        """Put the status into the run's series."""
        self._is_final = final
        status = {**self._fixed, **plain(self._trace.row(now)), "started_at": self._sender.started_at}
        self._series.write_status(SessionStatus.model_validate({**status, "updated_at": now}))

    def _tick(self, now: float) -> None:
        if not self._is_final:
            self.write(now)
