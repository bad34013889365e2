"""A grid of simulations: every combination of settings, several seeds each; what is done already is not done again."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from experiments.harness.jobs import Job, Metrics, RunAll, run_jobs
from experiments.harness.runs import Finished, Run
from topologies.plan import file_sha256
from topologies.scenario import Scenario, ScenarioError, parse_scenario
from topologies.scenario.checks import check_ability
from topologies.scenario.errors import format_field
from topologies.scenario.settings import Setting, SettingError, apply, combinations


@dataclass(frozen=True, slots=True)
class Point:
    """One run of a sweep."""

    key: str
    """Of scenario, settings, seed and the content of files that are sent."""
    seed: int
    settings: Mapping[str, Any]
    document: Mapping[str, Any]

    @property
    def job(self) -> Job:
        """The run."""
        notes = {"seed": self.seed, "settings": dict(self.settings)}
        return Job(self.key, _describe(self), Run(self.document, self.seed), metrics, notes)


@dataclass(frozen=True, slots=True)
class Record:
    """A point's results."""

    key: str
    seed: int
    settings: Mapping[str, Any]
    metrics: Metrics


@dataclass(slots=True)
class SweepOutcome:
    """What a sweep gave, in the grid's order."""

    records: list[Record] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    reused: int = 0
    """Runs that an earlier sweep had made."""


def grid(scenario: Scenario, base: Path, settings: Sequence[Setting], seeds: int) -> list[Point]:
    """All points of a sweep. `base` is where relative files start. SettingError."""
    for setting in settings:
        if setting.path == "seed":
            raise SettingError("`seed` is not a setting; --seeds says how many runs a combination has")
    if len({setting.path for setting in settings}) < len(settings):
        raise SettingError("a path is given twice; all its values go into one")
    points = []
    for combination in combinations(settings):
        document = scenario.model_dump(mode="json", exclude_none=True)
        for path, value in combination.items():
            apply(scenario, document, path, value)
        for session in document["sessions"]:
            if "file" in session:
                session["file"] = str((base / session["file"]).resolve())
        # As a file says it and as a plain number or word does, so that the key does not depend on how it was written.
        document = _checked(document, combination).model_dump(mode="json", exclude_none=True)
        points += [
            Point(_key(document, seed), seed, combination, document | {"seed": seed}) for seed in range(1, seeds + 1)
        ]
    return points


def metrics(run: Finished) -> Metrics:
    """What a sweep's table has of one run; rates in bit/s. A session's goodput is its slowest receiver's."""
    found: Metrics = {"duration_s": run.summary["duration_s"]}
    for session in run.summary["sessions"]:
        name = f"session_{session['id']}"
        expected = [receiver for receiver in session["receivers"] if receiver["expected"]]
        rates = [receiver["goodput_bps"] for receiver in expected]
        if expected:
            found[f"{name}.complete"] = sum(receiver["complete"] for receiver in expected) / len(expected)
        if rates and all(rate is not None for rate in rates):
            found[f"{name}.goodput_bps"] = min(rates)
        losses = [receiver["lost_packets"] for receiver in expected]
        if losses and all(lost is not None for lost in losses):  # a sender knows none below its agents
            found[f"{name}.lost_packets"] = sum(losses)
        for count in ("repair_packets", "feedback_packets"):
            if session[count] is not None:
                found[f"{name}.{count}"] = session[count]
    for number, flow in enumerate(run.summary["flows"]):
        if flow["goodput_bps"] is not None:
            found[f"flow_{number}.goodput_bps"] = flow["goodput_bps"]
    if run.summary["bottleneck_utilisation"] is not None:
        found["bottleneck_utilisation"] = run.summary["bottleneck_utilisation"]
    return {name: float(value) for name, value in found.items()}


def run_sweep(
    points: Sequence[Point], folder: Path, run_all: RunAll, on_run: Callable[[int, int], None]
) -> SweepOutcome:
    """Run what `folder` has no result of yet. Each result is kept as soon as it is there. JobsError."""
    done = run_jobs([point.job for point in points], folder / "runs", run_all, on_run)
    outcome = SweepOutcome(reused=done.reused)
    for point in points:
        if point.key in done.results:
            outcome.records.append(Record(point.key, point.seed, point.settings, done.results[point.key]))
        elif point.key in done.failures:
            outcome.failures.append(f"{_describe(point)}: {done.failures[point.key]}")
    return outcome


def _checked(document: dict[str, Any], combination: Mapping[str, Any]) -> Scenario:
    """The scenario of a document that settings have changed. SettingError."""
    try:
        scenario = parse_scenario(yaml.safe_dump(document, sort_keys=False))
        problems = list(check_ability(scenario, "simulate"))
    except ScenarioError as error:
        problems = [(problem.path, problem.message) for problem in error.problems]
    if problems:
        told = "; ".join(f"{format_field(path)}: {message}" for path, message in problems)
        raise SettingError(f"{_settings_text(combination)}: {told}")
    return scenario


def _key(document: Mapping[str, Any], seed: int) -> str:
    """Not of the description; of the order of nodes, which gives them their addresses."""
    content = {name: value for name, value in document.items() if name not in ("seed", "description")}
    files = {
        session["file"]: file_sha256(Path(session["file"])) for session in content["sessions"] if "file" in session
    }
    text = json.dumps([content, seed, files], separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _describe(point: Point) -> str:
    return ", ".join(part for part in (_settings_text(point.settings), f"seed {point.seed}") if part)


def _settings_text(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{path}={value}" for path, value in settings.items())
