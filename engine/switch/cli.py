"""`canopy switch`: the embedded switch, and packet tests on it. Slow imports wait until they are needed."""

import logging
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import TyperException

from engine.command.exits import EXIT_BAD_INPUT, EXIT_FAILED
from engine.command.lines import complain, note, say
from engine.switch.backend import Backend
from engine.switch.limits import DEFAULT_LIMITS, Limits

# BMv2's names for them, and Python's numbers; `off` is above all of them.
LOG_LEVELS = {
    "trace": logging.DEBUG,
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warn": logging.WARNING,
    "error": logging.ERROR,
    "off": logging.CRITICAL + 1,
}


class SwitchGroup(TyperGroup):
    """`canopy switch -i 1@veth1` without a subcommand is `canopy switch run -i 1@veth1`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] != "--help"):
            args = ["run", *args]
        return super().parse_args(ctx, args)


class OneLineCommand(TyperCommand):
    """Says what is wrong with the command line in one line."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except TyperException as error:
            raise _fail(error.format_message()) from None


class RunCommand(OneLineCommand):
    """Takes simple_switch_grpc's `--` too, behind which that has its target's own flags."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, [word for word in args if word != "--"])


MAX_U64 = 2**64 - 1
MAX_DESCRIPTOR = 2**31 - 1
"""An int's, as descriptors are."""

app = typer.Typer(cls=SwitchGroup, add_completion=False, pretty_exceptions_enable=False)


@app.callback()
def main() -> None:
    """The embedded P4 switch. Without a subcommand it runs: see `canopy switch run --help`."""


@app.command(cls=RunCommand)
def run(
    program: Annotated[
        Path | None, typer.Argument(metavar="PROGRAM.json", help="Start with this program (p4c's BMv2 JSON).")
    ] = None,
    interface: Annotated[
        list[str] | None, typer.Option("-i", "--interface", metavar="PORT@IFACE", help="A port; repeatable.")
    ] = None,
    device_id: Annotated[int, typer.Option(min=0, max=MAX_U64, help="P4Runtime's device id.")] = 1,
    grpc_server_addr: Annotated[str, typer.Option(metavar="HOST:PORT", help="Where to serve.")] = "127.0.0.1:9559",
    cpu_port: Annotated[
        int | None, typer.Option(min=1, max=510, help="The port of packet-in and packet-out; none without it.")
    ] = None,
    no_p4: Annotated[bool, typer.Option("--no-p4", help="Start without a program: the default without one.")] = False,
    p4info: Annotated[Path | None, typer.Option(help="The program's P4Info, text or binary.")] = None,
    links: Annotated[
        Path | None, typer.Option(help="The ports' emulated links, as JSON; read again upon SIGHUP.")
    ] = None,
    stats: Annotated[Path | None, typer.Option(help="Keep a JSON file of port statistics up to date.")] = None,
    seed: Annotated[int, typer.Option(min=0, max=MAX_U64, help="Of random() and of the links' losses.")] = 0,
    backend: Annotated[
        Backend, typer.Option(help="What runs the program: native code made at once or when it pays, or none.")
    ] = "native",
    digest_rate: Annotated[
        int, typer.Option(min=0, help="Digests a second that one port may cause, and twice as many at once; 0: any.")
    ] = DEFAULT_LIMITS.digests,
    digest_repeat_rate: Annotated[
        int, typer.Option(min=0, help="Of them, those with the same contents; 0: any.")
    ] = DEFAULT_LIMITS.repeats,
    packet_in_rate: Annotated[
        int, typer.Option(min=0, help="Packet-ins a second that one port may cause, and twice as many at once; 0: any.")
    ] = DEFAULT_LIMITS.packet_ins,
    metrics: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Serve metrics for Prometheus at /metrics there.")
    ] = None,
    pcap: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write IFACE_in.pcap and IFACE_out.pcap there, for all ports.")
    ] = None,
    pcap_port: Annotated[
        list[int] | None, typer.Option(metavar="PORT", help="With --pcap: only this port; repeatable.")
    ] = None,
    pcap_limit_mb: Annotated[
        float, typer.Option(min=0.001, max=1e9, help="A capture beyond this is put aside as FILE.1 and begun anew.")
    ] = 100.0,
    trace: Annotated[
        bool, typer.Option("--trace", help="Print each packet's way through the program to stderr. Slow.")
    ] = False,
    log_level: Annotated[str, typer.Option("-L", "--log-level", help="|".join(LOG_LEVELS))] = "warn",
    log_console: Annotated[bool, typer.Option("--log-console", help="As it always does, on stderr.")] = False,
    ready_fd: Annotated[
        int | None, typer.Option(min=0, max=MAX_DESCRIPTOR, help="Write the `ready` line to this descriptor too.")
    ] = None,
    grpc_server_ssl: Annotated[bool, typer.Option("--grpc-server-ssl", help="Serve over TLS.")] = False,
    grpc_server_cert: Annotated[Path | None, typer.Option(help="The server's certificate (PEM).")] = None,
    grpc_server_key: Annotated[Path | None, typer.Option(help="The server's key (PEM).")] = None,
    grpc_server_cacert: Annotated[Path | None, typer.Option(help="The CA to verify clients against (PEM).")] = None,
    grpc_server_with_client_auth: Annotated[
        bool, typer.Option("--grpc-server-with-client-auth", help="Clients must have a certificate.")
    ] = False,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Do not warn that whoever reaches the address controls the switch.")
    ] = False,
) -> None:
    """Run the embedded switch until SIGINT or SIGTERM.

    The flags are simple_switch_grpc's. Once it serves it prints `ready HOST:PORT device ID`. Exit status: 0 when it was
    stopped, 2 when it could not start.
    """
    if log_level not in LOG_LEVELS:
        raise _fail(f"--log-level: `{log_level}` is none of {', '.join(LOG_LEVELS)}")
    if no_p4 and program is not None:
        raise _fail("--no-p4 and a program exclude each other")
    if p4info is not None and program is None:
        raise _fail("--p4info needs the program that it describes")
    logging.basicConfig(
        level=LOG_LEVELS[log_level], stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    # gRPC's core writes its own lines to stderr, in a form of its own; what fails is reported by the server.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    from engine.switch.process import (
        SwitchError,
        SwitchOptions,
        observe_options,
        parse_interfaces,
        run_switch,
        tls_files,
    )

    try:
        interfaces = parse_interfaces(interface or [])
        options = SwitchOptions(
            interfaces=interfaces,
            limits=Limits(digest_rate, digest_repeat_rate, packet_in_rate),
            observe=observe_options(metrics, pcap, pcap_port or [], pcap_limit_mb, trace, interfaces),
            device_id=device_id,
            address=grpc_server_addr,
            cpu_port=cpu_port,
            program=program,
            p4info=p4info,
            links=links,
            stats=stats,
            seed=seed,
            backend=backend,
            ready_fd=ready_fd,
            tls=tls_files(
                grpc_server_cert,
                grpc_server_key,
                grpc_server_cacert,
                grpc_server_with_client_auth,
                is_wanted=grpc_server_ssl,
            ),
            insecure=insecure,
        )
        run_switch(options)
    except SwitchError as error:
        raise _fail(str(error)) from None


@app.command(cls=OneLineCommand)
def stf(
    program: Annotated[Path, typer.Argument(metavar="PROGRAM.json", help="p4c's BMv2 JSON.")],
    tests: Annotated[list[Path], typer.Argument(metavar="TEST.stf", help="Packet tests.")],
    ignore: Annotated[
        list[str] | None, typer.Option(help="Pass over this statement (p4c's runner does with check_counter).")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=MAX_U64, help="Of random().")] = 0,
    backend: Annotated[Backend, typer.Option(help="What runs the program.")] = "interpreter",
    verbose: Annotated[
        bool, typer.Option("-v", "--verbose", help="Print what statements like register_read say.")
    ] = False,
    trace: Annotated[
        bool, typer.Option("--trace", help="Print each packet's way through the program, under its line of the test.")
    ] = False,
) -> None:
    """Run p4c's packet tests (STF) on a program, in this process and without root.

    Each test starts with a fresh switch. Exit status: 0 when all passed, 1 when not, 2 when a file cannot be read.
    """
    from engine.switch.stf.errors import StfError
    from engine.switch.stf.runner import run_test

    passed = True
    program_json = _read(program)
    for test in tests:
        try:
            result = run_test(program_json, _read(test), seed=seed, backend=backend, ignore=ignore or (), trace=trace)
        except StfError as error:
            raise _fail(f"{program}: {error}") from None
        for line in result.traced:
            typer.echo(line)
        for line in result.printed if verbose else ():
            typer.echo(line)
        for finding in result.findings:
            note(finding.at(test))
        say(f"{test}: {'passed' if result.passed else 'failed'}")
        passed &= result.passed
    raise typer.Exit(0 if passed else EXIT_FAILED)


@app.command(cls=OneLineCommand)
def stf_suite(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Holds tests (.stf), each beside its program (.p4).")],
    pattern: Annotated[str, typer.Option(help="Only tests whose name matches this glob.")] = "*",
    ignore: Annotated[
        list[str] | None, typer.Option(help="Pass over this statement (p4c's runner does with check_counter).")
    ] = None,
    jobs: Annotated[int, typer.Option("-j", "--jobs", min=1, help="Compilers at a time.")] = 2,
    verbose: Annotated[
        bool, typer.Option("-v", "--verbose", help="Name every test, not only the failed ones.")
    ] = False,
) -> None:
    """Compile and run a folder of packet tests, such as p4c's testdata/p4_16_samples (needs p4c on PATH).

    Programs for other architectures than v1model are left out. Exit status: 0 when no test failed, 1 otherwise.
    """
    from collections import Counter

    from engine.switch.stf.errors import StfError
    from engine.switch.stf.suite import find_compiler, find_tests, run_suite

    tests = find_tests(folder, pattern)
    if not tests:
        raise _fail(f"{folder}: there are no tests (NAME.stf with NAME.p4)")
    counts: Counter[str] = Counter()
    try:
        find_compiler()
        for outcome in run_suite(tests, jobs, ignore or ()):
            counts[outcome.status] += 1
            if verbose or outcome.status in ("failed", "not compiled"):
                say(f"{outcome.test}: {outcome.status}")
                for detail in outcome.details:
                    say(f"  {detail}")
    except StfError as error:
        raise _fail(str(error)) from None
    typer.echo(", ".join(f"{count} {status}" for status, count in sorted(counts.items())))
    raise typer.Exit(EXIT_FAILED if counts["failed"] else 0)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise _fail(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise _fail(f"{path}: not UTF-8 text") from None


def _fail(message: str) -> typer.Exit:
    complain(message, "canopy switch")
    return typer.Exit(EXIT_BAD_INPUT)


if __name__ == "__main__":
    app(prog_name="canopy switch")
