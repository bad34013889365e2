"""The controller as a process: `canopy controller NETWORK.json --state-dir DIR`."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

import typer
from finsy import GRPCCredentialsTLS

from controller import logs
from controller.api import ApiError, ApiServer, Method
from controller.core import ADOPTION_S, Core
from controller.events import EventLog
from controller.hop_keys import HopKeys, read_secret
from controller.network import Network, load_network
from controller.program import Program, ProgramError
from controller.remembered import Remembered
from controller.statedir import EVENTS_NAME, SESSIONS_NAME, StateDirError, check_socket_path, claim
from controller.switch_app import SwitchApp
from controller.views import Views
from engine.command.fail import fail
from engine.command.listen import parse_address
from engine.command.notify import notify
from engine.command.tls import TlsFileError, check_tls_files

LOG = logging.getLogger("canopy.controller")

TICK_S = 0.25  # how late an expiry or a query may be


class Service:
    """One controller: its core, its switches, its API. Use `running`."""

    def __init__(
        self,
        network: Network,
        program: Program,
        state_dir: Path,
        credentials: GRPCCredentialsTLS | None = None,
        hop_keys: HopKeys | None = None,
    ) -> None:
        """`credentials`: of its connections to switches; None: without TLS. `hop_keys`: what neighbours vouch by."""
        self._network = network
        self._state_dir = state_dir
        self._started = time.time()
        self.events = EventLog(state_dir / EVENTS_NAME)
        self._remembered = Remembered(state_dir, network)
        self.core = Core(
            network,
            program,
            self.events,
            down_links=self._remembered.down_links(),
            members=self._remembered.members(),
            hop_keys=hop_keys,
        )
        seniority = time.time_ns() // 1_000_000  # the controller started last is in charge
        self.apps = {
            spec.name: SwitchApp(spec, program, self.core, seniority, credentials) for spec in network.switches
        }
        self.core.connect(self.apps)
        views = Views(self.core, self.apps, state_dir / SESSIONS_NAME)
        methods: dict[str, Method] = {
            "status": self._status,
            "switches": views.switches,
            "groups": views.groups,
            "members": views.members,
            "trees": views.trees,
            "links": views.links,
            "sessions": views.sessions,
            "set_link": self._set_link,
            "query": self._query,
        }
        self.api = ApiServer(check_socket_path(state_dir), methods, self.events)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve until the body ends. The state directory must be claimed. Raises OSError."""
        finsy_filter = logs.FinsyFilter(
            self.core.digests_lost, lambda switch, failure: self.apps[switch].failed(failure)
        )
        logging.getLogger("finsy").addFilter(finsy_filter)
        self.events.open()
        tasks: list[asyncio.Task[None]] = []
        try:
            await self.api.start()
            self.events.add(
                "controller_start", network=self._network.name, switches=len(self.apps), state_dir=str(self._state_dir)
            )
            tasks = [asyncio.create_task(app.run(), name=f"switch {name}") for name, app in self.apps.items()]
            tasks += [asyncio.create_task(self._tick()), asyncio.create_task(self._begin())]
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._remembered.keep_members(self.core.members)
            self.events.add("controller_stop")
            await self.api.stop()
            self.events.close()
            logging.getLogger("finsy").removeFilter(finsy_filter)

    async def _begin(self) -> None:
        await asyncio.sleep(ADOPTION_S)
        self.core.begin()

    async def _tick(self) -> None:
        while True:
            try:
                self.core.tick()
                self._remembered.members_at(self.core.members, self.core.clock())
            except Exception:
                LOG.exception("a periodic task failed")
            await asyncio.sleep(TICK_S)

    async def _status(self) -> dict[str, Any]:
        return {
            "network": self._network.name,
            "pid": os.getpid(),
            "version": metadata.version("canopy"),
            "started_at": self._started,
            "switches": len(self.apps),
            "switches_ready": sum(app.ready for app in self.apps.values()),
            "groups": len(self.core.slots),
            "members": len(self.core.members),
            "links_down": sorted(self.core.trees.down),
            "epoch_s": 2**self.core.epoch_shift / 1e6,
        }

    async def _set_link(self, link: str, up: bool) -> dict[str, Any]:
        """Mark a link down or up. Kept across a restart of the controller."""
        if not isinstance(link, str) or not isinstance(up, bool):
            raise ApiError("set_link: link is a name, up is true or false")
        try:
            changed = self.core.set_link(link, up=up)
        except KeyError as error:
            raise ApiError(str(error.args[0])) from None
        if changed:
            self._remembered.keep_down_links(self.core.trees.down)
        return {"changed": changed, "links_down": sorted(self.core.trees.down)}

    async def _query(self) -> str:
        """Query all switches' hosts now."""
        self.core.query_now()
        return "queried"


async def serve(
    network: Network,
    program: Program,
    state_dir: Path,
    credentials: GRPCCredentialsTLS | None = None,
    metrics: tuple[str, int] | None = None,
    hop_keys: HopKeys | None = None,
) -> None:
    """Run a controller until SIGINT or SIGTERM. Raises StateDirError, ValueError, OSError."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    service = Service(network, program, state_dir, credentials, hop_keys)
    if metrics is not None:
        from controller.metrics import serve_metrics  # which takes 0.07 s to load

        serve_metrics(service.core, service.apps, *metrics)
    async with service.running():
        notify("READY=1")
        await stop.wait()
        notify("STOPPING=1")


def command(
    network: Annotated[Path, typer.Argument(metavar="NETWORK.json", help="The network, as docs/controller.md says.")],
    state_dir: Annotated[Path, typer.Option(help="Directory for the socket, the event log and sessions' status.")],
    program: Annotated[Path | None, typer.Option(help="Directory of the compiled P4 program.")] = None,
    tls: Annotated[
        Path | None, typer.Option(help="Speak TLS with the certificates in this folder (canopy keys ca).")
    ] = None,
    metrics: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Serve metrics for Prometheus at /metrics there.")
    ] = None,
    hop_secret: Annotated[
        Path | None,
        typer.Option(help="The secret in this file gives neighbours keys to vouch for feedback (docs/security.md)."),
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log more.")] = False,
) -> None:
    """Control the switches of a network until interrupted."""
    logs.set_up(verbose)
    try:
        place = None if metrics is None else parse_address("--metrics", metrics)
        description = load_network(network)
        compiled = Program(program)
        credentials = None if tls is None else read_credentials(tls)
        hop_keys = None if hop_secret is None else HopKeys(read_secret(hop_secret), description)
        with claim(state_dir):
            asyncio.run(serve(description, compiled, state_dir, credentials, place, hop_keys))
    except (ValueError, ProgramError, StateDirError, TlsFileError) as error:
        fail(error, of="canopy controller")
    except OSError as error:
        fail(f"{error.filename or state_dir}: {error.strerror or error}", of="canopy controller")


app = typer.Typer(add_completion=False)
app.command(name="controller")(command)


def read_credentials(folder: Path) -> GRPCCredentialsTLS:
    """The authority's certificate, the controller's and its key. Raises TlsFileError."""
    authority, certificate, key = paths = [folder / name for name in ("ca.pem", "controller.pem", "controller.key")]
    check_tls_files(certificate, key, authority)
    whole = [path.read_bytes() for path in paths]
    return GRPCCredentialsTLS(cacert=whole[0], cert=whole[1], private_key=whole[2])


if __name__ == "__main__":
    app()
