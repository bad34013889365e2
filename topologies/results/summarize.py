"""The end of a run: its results as one summary, and the files that tell of it."""

import json
from collections.abc import Sequence
from datetime import datetime

from topologies.plan.plan import Plan
from topologies.results.results import FlowResult, SessionResult, Summary, find_bottleneck
from topologies.results.run_folder import RunFolder, RunFolderError, read_series
from topologies.scenario.scenario import Scenario


def summarize(
    scenario: Scenario,
    plan: Plan,
    folder: RunFolder,
    sessions: list[SessionResult],
    flows: list[FlowResult],
    *,
    switch: str,
    started: datetime,
    epoch: float,
    duration_s: float,
    outcome: str,
    notes: Sequence[str],
) -> Summary:
    """The summary of a run whose time series are complete."""
    ports = read_series(folder.series / "ports.jsonl")
    bottlenecks = [
        found
        for number, result in enumerate(sessions)
        if (found := find_bottleneck(scenario, plan, ports, number, result)) is not None
    ]
    used = [bottleneck.utilisation for bottleneck in bottlenecks if bottleneck.utilisation is not None]
    return Summary(
        scenario=scenario.name,
        seed=scenario.seed,
        switch=switch,
        started_at=started.isoformat(timespec="seconds"),
        epoch=epoch,
        duration_s=round(duration_s, 3),
        ok=all(result.ok for result in sessions),
        outcome=outcome,
        sessions=sessions,
        flows=flows,
        bottleneck_utilisation=max(used, default=None),
        bottlenecks=bottlenecks,
        notes=list(notes),
        run_folder=str(folder.path),
    )


def write_results(folder: RunFolder, summary: Summary, *, report: bool = True) -> None:
    """Write the summary and, unless nobody will read it, the report. RunFolderError."""
    try:
        folder.summary.write_text(json.dumps(summary.as_json(), indent=2) + "\n", encoding="utf-8")
        if report:
            from topologies.results.report import (
                write_report,  # Matplotlib takes a second to load, which no run waits for
            )

            write_report(folder)
    except OSError as error:
        raise RunFolderError(f"{error.filename or folder.path}: {error.strerror or error}") from None
