"""`canopy doctor`."""

import dataclasses
import json
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import Annotated, Final

import typer
from rich.console import Console

from engine.command.exits import EXIT_FAILED
from engine.command.fail import fail
from hosts.doctor import buffers, interfaces, kernel, rights, trial
from hosts.doctor.finding import PARTS, Finding, Part

_COLOURS: Final = {"ok": "green", "advice": "yellow", "missing": "red", "unknown": "yellow"}
_MODULES: Final[dict[Part, str]] = {"agents": "hosts", "switch": "engine.switch", "emulation": "topologies"}

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def doctor(
    wanted: Annotated[
        list[str] | None,
        typer.Option("--for", metavar="|".join(PARTS), help="What is to run here; repeatable.", show_default="agents"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Check this machine, and say what to do about what it lacks. Changes nothing.

    Exit status: 0 when nothing that is needed is missing, 1 when something is, 2 for wrong usage.
    """
    parts = [part for part in PARTS if part in (wanted or ["agents"])]
    for word in wanted or ():
        if word not in PARTS:
            fail(f"--for: '{word}' is none of {', '.join(PARTS)}")
    absent = [part for part in parts if find_spec(_MODULES[part]) is None]
    findings = [
        *(Finding("program", part, "missing", "not installed", "install the package canopy") for part in absent),
        *(finding for finding in examine() if set(finding.parts) & set(parts)),
    ]
    if as_json:
        print(
            json.dumps({"ok": _is_well(findings), "findings": [dataclasses.asdict(one) for one in findings]}, indent=2)
        )
    else:
        _show(findings, parts)
    raise typer.Exit(0 if _is_well(findings) else EXIT_FAILED)


def examine() -> Iterator[Finding]:
    """All checks, for whatever part."""
    yield from kernel.check()
    yield from rights.check()
    yield from buffers.check()
    yield from interfaces.check()
    yield trial.check()


def _is_well(findings: Sequence[Finding]) -> bool:
    return all(finding.verdict != "missing" for finding in findings)


def _show(findings: Sequence[Finding], parts: Sequence[Part]) -> None:
    """One line each, and below it what to do, on a line of its own that can be copied."""
    console = Console(highlight=False, soft_wrap=True)
    for finding in findings:
        verdict = f"[{_COLOURS[finding.verdict]}]{finding.verdict:8}[/]"
        console.print(f"{verdict} {finding.area:12} {finding.subject}: {finding.found}")
        if finding.advice:
            console.print(f"{'':21} -> {finding.advice}", markup=False)
    missing = sum(finding.verdict == "missing" for finding in findings)
    end = "all that is needed is there" if not missing else f"{missing} missing"
    console.print(f"for {', '.join(parts)}: {end}")


if __name__ == "__main__":
    app()
