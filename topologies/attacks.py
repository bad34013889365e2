"""`canopy attack`: a scenario with all that a stranger may send into it, its sessions open, sealed and signed."""

import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Final, NamedTuple, get_args

import typer
from rich.table import Table

from engine.command.exits import EXIT_FAILED
from engine.command.fail import fail
from engine.command.tables import print_table
from topologies.results.summary import SessionResult
from topologies.scenario import ScenarioError, load_scenario
from topologies.scenario.activity import Attack, Forgery
from topologies.scenario.scenario import Scenario

FORGERIES: Final[tuple[Forgery, ...]] = get_args(Forgery)
BEFORE: Final = frozenset({"announcement"})
"""Comes before the session, the others into the middle of it."""
HARMLESS: Final = 0.01
"""Of a session's time; a change of so much is none (ours)."""
MOST_DELAY_S: Final = 3.0
"""By which one packet may delay an open session: a block's repair, or the time in which it shows that somebody has not
gone (ours)."""
MOST_SLOWER: Final = 0.05
"""Of an open session without a file, in the seconds that are simulated (ours)."""


class Way(NamedTuple):
    """How sessions are protected."""

    name: str
    security: str
    spoofed: bool = True
    """Whether what has another's source address passes; P4 switches drop it."""


WAYS: Final = (
    Way("open", "none"),
    Way("open behind P4", "none", False),
    Way("sealed", "group"),
    Way("signed", "signed"),
)

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)


@dataclass(frozen=True, slots=True)
class Effect:
    """What became of one session with one attack on it."""

    session: int
    protocol: str
    security: str
    way: str
    """Of WAYS."""
    attack: str
    ok: bool
    """Whether every receiver had all, and the sender said so."""
    whole: int
    receivers: int
    took_s: float | None
    """From the session's start until the last receiver that had the whole file had it; without a file: None."""
    later_s: float | None
    """How much longer that is than without the attack."""
    slower: float | None
    """Without a file: the share of the receivers' mean goodput that is gone, 0..1."""
    detail: str

    @property
    def harmless(self) -> bool:
        """Whether it went as it does without the attack."""
        slow = self.later_s is not None and self.took_s is not None and self.later_s > HARMLESS * self.took_s
        return self.ok and not slow and not (self.slower is not None and self.slower > HARMLESS)

    @property
    def is_survived(self) -> bool:
        """Whether all had all, and not much later."""
        late = self.later_s is not None and self.later_s > MOST_DELAY_S
        return self.ok and not late and not (self.slower is not None and self.slower > MOST_SLOWER)

    @property
    def colour(self) -> str:
        """In a table."""
        return "green" if self.harmless else "yellow" if self.is_survived else "red"

    @property
    def words(self) -> str:
        """For a table."""
        if self.whole < self.receivers:
            return f"lost by {self.receivers - self.whole} of {self.receivers}"
        if self.harmless:
            return "harmless"
        if self.slower is not None:
            return f"{self.slower:.0%} slower"
        return f"{self.later_s or 0.0:.2f} s later" + ("" if self.ok else ", and the sender failed")


@app.command("attack")
def command(
    scenario: Annotated[Path, typer.Argument(metavar="FILE", help="The scenario, a YAML file.")],
    only: Annotated[list[str] | None, typer.Option(help=f"One of {', '.join(FORGERIES)}; repeatable.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Instead of the scenario's.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the effects as JSON.")] = False,
) -> None:
    """Simulate a scenario with each attack of a stranger who hears everything, sends from any address and has no keys
    (docs/security.md), on open sessions, with and without P4 switches, on sealed and on signed ones. Exit status: 1
    when one on a sealed or signed session is not harmless, or one on an open session loses it something or delays it
    by more than 3 s.
    """
    try:
        loaded = load_scenario(scenario, purpose="simulate")
    except ScenarioError as error:
        fail(str(error))
    if unknown := [word for word in only or () if word not in FORGERIES]:
        fail(f"--only: `{unknown[0]}` is none of {', '.join(FORGERIES)}")
    if seed is not None:
        loaded = loaded.model_copy(update={"seed": seed})
    chosen = [attack for attack in FORGERIES if not only or attack in only]
    effects = list(attacked(scenario, loaded, chosen))
    if as_json:
        verdicts = [{"harmless": effect.harmless, "is_survived": effect.is_survived} for effect in effects]
        rows = [asdict(effect) | verdict for effect, verdict in zip(effects, verdicts, strict=True)]
        print(json.dumps(rows, indent=2))
    else:
        print_table(_table(effects))
    if not all(effect.is_survived if effect.security == "none" else effect.harmless for effect in effects):
        raise typer.Exit(EXIT_FAILED)


def attacked(
    path: Path, scenario: Scenario, attacks: Sequence[Forgery], ways: Sequence[Way] = WAYS
) -> Iterator[Effect]:
    """The effects of the attacks on each session, in each of `ways`; `path` is the scenario's file."""
    bases: dict[str, dict[int, SessionResult]] = {}
    with tempfile.TemporaryDirectory() as place:
        for way in ways:
            secured = _secured(scenario, way.security)
            base = bases.get(way.security) or _run(path, secured, Path(place) / way.security)
            bases[way.security] = base
            for attack in attacks:
                faults = [
                    _fault(attack, way, session.id, session.start, base, scenario.duration)
                    for session in scenario.sessions
                ]
                changed = secured.model_copy(update={"faults": [*scenario.faults, *faults]})
                results = _run(path, changed, Path(place) / f"{way.name}-{attack}")
                for session in scenario.sessions:
                    yield _effect(way, attack, session.start, results[session.id], base[session.id])


def _secured(scenario: Scenario, security: str) -> Scenario:
    """The scenario with all sessions of this kind; sealed ones have no help of switches."""
    update = {"security": security} | ({} if security == "none" else {"assist": "none"})
    return scenario.model_copy(update={"sessions": [one.model_copy(update=update) for one in scenario.sessions]})


def _fault(
    attack: Forgery, way: Way, session: int, start: float, base: dict[int, SessionResult], duration: float
) -> Attack:
    """The attack, in the middle of what the session takes without it, which is all the time where it has no end."""
    ended = _ended(base[session])
    middle = start if attack in BEFORE else (start + (duration if ended is None else ended)) / 2
    return Attack.model_construct(kind="attack", at=middle, session=session, forgery=attack, spoofed=way.spoofed)


def _ended(result: SessionResult) -> float | None:
    return max((one.completed_at for one in result.receivers if one.completed_at is not None), default=None)


def _run(path: Path, scenario: Scenario, folder: Path) -> dict[int, SessionResult]:
    from topologies.simulation.runner import SimulationOptions, simulate_scenario

    options = SimulationOptions(path, out=folder, report=False, quiet=True)
    return {result.id: result for result in simulate_scenario(scenario, options).sessions}


def _effect(way: Way, attack: str, start: float, result: SessionResult, base: SessionResult) -> Effect:
    expected = [one for one in result.receivers if one.expected]
    whole = sum(one.complete for one in expected)
    ended, usual = _ended(result), _ended(base)
    later = slower = None
    if ended is not None and usual is not None:
        later = round(ended - usual, 3)
    else:
        rates = [sum(one.goodput_bps or 0.0 for one in found.receivers) for found in (result, base)]
        slower = round(1 - rates[0] / rates[1], 4) if usual is None and rates[1] else None
    took = None if ended is None else round(ended - start, 3)
    return Effect(
        result.id,
        result.protocol,
        way.security,
        way.name,
        attack,
        result.ok,
        whole,
        len(expected),
        took,
        later,
        slower,
        result.detail,
    )


def _table(effects: list[Effect]) -> Table:
    ways = [way.name for way in WAYS]
    table = Table("session", "attack", *ways, title="One stranger's packets, simulated")
    by_place = {(effect.session, effect.attack, effect.way): effect for effect in effects}
    for session, attack, way in by_place:
        if way == ways[0]:
            shown = [by_place[session, attack, one] for one in ways]
            styled = [f"[{one.colour}]{one.words}[/]" for one in shown]
            table.add_row(f"{session} {shown[0].protocol}", attack, *styled)
    return table
