"""What `canopy recv --daemon` takes on the command line beside what a single reception does."""

import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from engine.command.exits import EXIT_BAD_INPUT, SIGNALLED
from engine.command.listen import parse_address
from hosts.programs.daemon import Daemon, Service
from hosts.programs.driver import Plan
from hosts.programs.naming import check_folder
from hosts.programs.policy import Policy, parse_size
from hosts.programs.progress import Display
from hosts.runtime import sockets
from hosts.wire.manifest import FileError

DEFAULT_SESSIONS = 4

DaemonOption = Annotated[
    bool, typer.Option("--daemon", help="Keep receiving: every session of the group, until SIGTERM.")
]
MaxSizeOption = Annotated[str | None, typer.Option(help="With --daemon: no larger files, as in 500M.")]
MaxFilesOption = Annotated[
    int | None, typer.Option(help="With --daemon: no more files when the folder has so many.", min=1)
]
AllowOption = Annotated[
    list[str] | None, typer.Option(help="With --daemon: only names like this, as in '*.iso'; repeatable.")
]
MaxSessionsOption = Annotated[
    int | None, typer.Option(help="With --daemon: so many sessions at a time.", show_default="4", min=1, max=64)
]
StatusOption = Annotated[Path | None, typer.Option("--status", help="With --daemon: keep a status file here.")]
MetricsOption = Annotated[
    str | None, typer.Option(metavar="HOST:PORT", help="With --daemon: serve metrics for Prometheus at /metrics there.")
]


@dataclass(frozen=True, slots=True)
class DaemonOptions:
    """As they were given."""

    daemon: bool
    max_size: str | None = None
    max_files: int | None = None
    allow: list[str] | None = None
    max_sessions: int | None = None
    status: Path | None = None
    metrics: str | None = None

    def check(self, single: Mapping[str, object]) -> None:
        """`single`: options of a single reception. ValueError when one has no effect."""
        if self.daemon:
            for name, value in single.items():
                if value is not None and value is not False and value != 0:
                    raise ValueError(f"--{name} is not for --daemon, which receives one session after the other")
            return
        for name in ("max_size", "max_files", "allow", "max_sessions", "status", "metrics"):
            if getattr(self, name) not in (None, []):
                raise ValueError(f"--{name.replace('_', '-')} is for --daemon")


async def serve(
    plan: Plan,
    folder: Path,
    interface: sockets.Interface,
    replace: bool,
    resume: bool,
    options: DaemonOptions,
    display: Display,
) -> int:
    """Receive until a signal; the exit status. Raises ValueError, FileError, SocketError and OSError for what is wrong
    from the start."""
    most = None if options.max_size is None else _size(options.max_size)
    place = None if options.metrics is None else parse_address("--metrics", options.metrics)
    if not folder.is_dir():
        raise FileError(f"{folder}: no such folder")
    check_folder(folder)
    if options.status is not None and not options.status.parent.is_dir():
        raise FileError(f"{options.status}: {options.status.parent} is no folder")
    service = Service(
        plan,
        Policy(folder, most, options.max_files, tuple(options.allow or ())),
        interface,
        "replace" if replace else "refuse",
        resume,
        options.max_sessions or DEFAULT_SESSIONS,
        options.status,
    )
    daemon = Daemon(service, display)
    if place is not None:
        from hosts.programs.daemon_metrics import serve_metrics  # a library that nothing else here needs

        try:
            serve_metrics(daemon, *place)
        except OSError as error:
            display.fail(f"--metrics {options.metrics}: {error.strerror or error}")
            return EXIT_BAD_INPUT
    number = await daemon.run()
    return 0 if number == signal.SIGTERM else SIGNALLED + number


def _size(text: str) -> int:
    try:
        return parse_size(text)
    except ValueError as error:
        raise ValueError(f"--max-size: {error}") from None
