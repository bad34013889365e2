"""`canopy emulate`, `simulate`, `exec` and `scenario`. What costs time to import is imported when it is used."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from engine.command.exits import EXIT_BAD_INPUT
from engine.command.fail import fail
from engine.command.lines import note, say
from topologies.emulation.requirements import SWITCHES

if TYPE_CHECKING:
    from topologies.results.page import Page
    from topologies.scenario import Scenario
    from topologies.scenario.checks import Purpose

EXIT_NOT_RUN = 126
"""`canopy exec`, as a shell: the program cannot be run."""
EXIT_NOT_FOUND = 127
"""`canopy exec`, as a shell: there is no such program."""

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)
scenario_app = typer.Typer(no_args_is_help=True, help="The scenario format.")
app.add_typer(scenario_app, name="scenario")

# Options that both worlds have.
ScenarioFile: TypeAlias = Annotated[Path, typer.Argument(metavar="FILE", help="The scenario, a YAML file.")]
Check: TypeAlias = Annotated[bool, typer.Option("--check", help="Only say what is wrong with the scenario.")]
OtherFile: TypeAlias = Annotated[Path | None, typer.Option(help="Send this file instead of the scenario's.")]
Out: TypeAlias = Annotated[Path | None, typer.Option(help="The run folder (default: runs/NAME-TIMESTAMP).")]
Seed: TypeAlias = Annotated[int | None, typer.Option(min=0, help="Instead of the scenario's.")]
KeepFiles: TypeAlias = Annotated[bool, typer.Option("--keep-files", help="Keep the received files.")]
Report: TypeAlias = Annotated[bool, typer.Option("--report/--no-report", help="Draw report.html.")]
Settings: TypeAlias = Annotated[
    list[str] | None, typer.Option("--set", metavar="PATH=VALUE", help="As links.core.loss=0.01; may be repeated.")
]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="Show nothing but the result.")]
OnPage: TypeAlias = Annotated[bool, typer.Option("--web", help="Show the run on a page; it stays until Ctrl-C.")]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print the summary as JSON, and nothing else.")]


@app.command()
def emulate(
    scenario: ScenarioFile,
    check: Check = False,
    file: OtherFile = None,
    switch: Annotated[
        str,
        typer.Option(help="embedded, bmv2 (simple_switch_grpc from PATH, tc links) or bridge (Linux's, no P4 at all)."),
    ] = "embedded",
    hold: Annotated[bool, typer.Option("--hold", help="Keep the network up until Ctrl-C.")] = False,
    out: Out = None,
    seed: Seed = None,
    keep_files: KeepFiles = False,
    report: Report = True,
    settings: Settings = None,
    quiet: Quiet = False,
    page: OnPage = False,
    as_json: AsJson = False,
) -> None:
    """Run a scenario on emulated hosts and live P4 switches, in real time (needs root).

    Exit status: 0 when every receiver holds the whole file, 1 when not, 2 when nothing could be run, 130 after Ctrl-C.
    """
    loaded, text = _ready(scenario, "emulate", check=check, file=file, settings=settings, seed=seed)
    if switch not in SWITCHES:
        fail(f"--switch: `{switch}` is none of {', '.join(SWITCHES)}")
    from topologies.emulation.runner import EmulationOptions
    from topologies.emulation.runner import emulate as run

    with _page(page) as shown:
        options = EmulationOptions(
            scenario,
            file=file,
            switch=switch,
            hold=hold,
            out=out,
            keep_files=keep_files,
            report=report,
            page=shown,
            text=text,
            quiet=quiet,
        )
        status = run(loaded, options, as_json=as_json)
    raise typer.Exit(status)


@app.command()
def simulate(
    scenario: ScenarioFile,
    check: Check = False,
    file: OtherFile = None,
    switch: Annotated[str, typer.Option(help="p4, or router: plain routers in place of the P4 switches.")] = "p4",
    until: Annotated[float | None, typer.Option(min=0, help="End after so many simulated seconds.")] = None,
    out: Out = None,
    seed: Seed = None,
    keep_files: KeepFiles = False,
    report: Report = True,
    settings: Settings = None,
    quiet: Quiet = False,
    page: OnPage = False,
    as_json: AsJson = False,
) -> None:
    """Run a scenario in virtual time, with the same protocols and the same P4 program (needs no root).

    Exit status: 0 when every receiver holds the whole file, 1 when not, 2 when nothing could be run, 130 after Ctrl-C.
    """
    loaded, text = _ready(scenario, "simulate", check=check, file=file, settings=settings, seed=seed)
    if switch not in ("p4", "router"):
        fail(f"--switch: `{switch}` is neither p4 nor router")
    from topologies.simulation.runner import SimulationOptions, with_routers
    from topologies.simulation.runner import simulate as run

    if switch == "router":
        loaded = with_routers(loaded)
    with _page(page) as shown:
        options = SimulationOptions(
            scenario,
            file=file,
            out=out,
            until=until,
            keep_files=keep_files,
            report=report,
            page=shown,
            text=text,
            quiet=quiet,
        )
        status = run(loaded, options, as_json=as_json)
    raise typer.Exit(status)


@app.command()
def compare(
    one: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    other: Annotated[Path, typer.Argument(metavar="RUN", help="Another.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Show two runs' results beside each other (canopy web RUN RUN shows how they came about)."""
    from engine.command.tables import print_table
    from topologies.results.compare import compare as rows_of
    from topologies.results.compare import comparison_table
    from topologies.results.run_folder import RunFolder, RunFolderError
    from topologies.results.summary import read_summary

    try:
        rows = rows_of(read_summary(RunFolder(one)), read_summary(RunFolder(other)))
    except RunFolderError as error:
        fail(str(error))
    if as_json:
        typer.echo(json.dumps({name: [first, second] for name, first, second in rows}, indent=2))
    else:
        print_table(comparison_table(rows))


@app.command(name="exec", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
def execute(
    node: Annotated[str, typer.Argument(help="A host, or a switch (all switches share one namespace).")],
    command: Annotated[list[str], typer.Argument(help="The program and its arguments, after `--`.")],
    run: Annotated[str | None, typer.Option("--run", help="Which emulation, if several are running.")] = None,
) -> None:
    """Run a program on a node of a running emulation; its exit status is the program's."""
    from topologies.emulation.state import StateError, execute_on, find_emulation

    if command[0] == "--":  # typer leaves it when it comes after the first argument
        command = command[1:]
    if not command:
        fail("exec: there is no program after `--`")
    try:
        execute_on(find_emulation(run), node, command)
    except StateError as error:
        fail(str(error))
    except FileNotFoundError:
        fail(f"{command[0]}: no such program", EXIT_NOT_FOUND)
    except OSError as error:
        fail(f"{command[0]}: {error.strerror or error}", EXIT_NOT_RUN)


@scenario_app.command()
def schema() -> None:
    """Print the format's JSON schema, for editors."""
    from topologies.scenario.schema import json_schema

    typer.echo(json.dumps(json_schema(), indent=2))


@scenario_app.command()
def check(files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Scenarios.")]) -> None:
    """Say what is wrong with scenarios, with exit status 2 if something is, and what is in doubt."""
    from topologies.scenario import ScenarioError, load_scenario

    bad = False
    for path in files:
        try:
            load_scenario(path, check_files=True, warn=note)
        except ScenarioError as error:
            typer.echo(str(error), err=True)
            bad = True
    if bad:
        raise typer.Exit(EXIT_BAD_INPUT)


@scenario_app.command()
def show(scenario: ScenarioFile) -> None:
    """Print a scenario with its ranges and generated networks written out."""
    from topologies.scenario import ScenarioError, load_scenario

    try:
        loaded = load_scenario(scenario)
    except ScenarioError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(EXIT_BAD_INPUT) from None
    typer.echo(loaded.at_length(), nl=False)


def _set(scenario: "Scenario", settings: list[str] | None, purpose: "Purpose") -> "tuple[Scenario, str | None]":
    """The scenario with the command line's settings, and as text: None where its file says as much on its own."""
    if not settings:
        return scenario, scenario.at_length() if scenario.is_expanded else None
    import yaml

    from topologies.scenario import ScenarioError
    from topologies.scenario.checks import check_ability
    from topologies.scenario.errors import format_field
    from topologies.scenario.settings import SettingError, with_settings

    try:
        changed = with_settings(scenario, settings)
    except SettingError as error:
        fail(f"--set: {error}")
    except ScenarioError as error:
        fail("--set: " + "; ".join(f"{format_field(each.path)}: {each.message}" for each in error.problems))
    problems = [f"{format_field(path)}: {message}" for path, message in check_ability(changed, purpose)]
    if problems:
        fail(f"--set: {'; '.join(problems)}")
    return changed, yaml.safe_dump(changed.model_dump(mode="json", exclude_none=True), sort_keys=False)


@contextmanager
def _page(wanted: bool) -> Iterator["Page | None"]:
    """A run's page, which says on standard error where it is; None when it is not wanted."""
    if not wanted:
        yield None
        return
    from topologies.results.page import page_for

    with page_for(note) as page:
        yield page


def _ready(
    path: Path, purpose: "Purpose", *, check: bool, file: Path | None, settings: list[str] | None, seed: int | None
) -> "tuple[Scenario, str | None]":
    """The scenario as it is to be run, and its text where that is not the file's; with `check`, only what it is."""
    loaded, text = _set(_load(path, check_files=file is None, purpose=purpose), settings, purpose)
    if check:
        forwarding = f"{len(loaded.switches)} switches" if loaded.switches else f"{len(loaded.routers)} routers"
        say(f"{path}: a valid scenario ({len(loaded.hosts)} hosts, {forwarding})")
        raise typer.Exit
    return loaded if seed is None else loaded.model_copy(update={"seed": seed}), text


def _load(path: Path, *, check_files: bool, purpose: "Purpose") -> "Scenario":
    from topologies.scenario import ScenarioError, load_scenario

    try:
        return load_scenario(path, check_files=check_files, purpose=purpose, warn=note)
    except ScenarioError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(EXIT_BAD_INPUT) from None


if __name__ == "__main__":
    app(prog_name="canopy")
    sys.exit()
