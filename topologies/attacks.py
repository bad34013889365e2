"""`canopy attack`: a scenario with all that a stranger may send into it, its sessions open, sealed and signed;
simulated, or emulated with the stranger as a host."""

import json
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Final, NamedTuple, TypeAlias, get_args

import typer
from pydantic import TypeAdapter
from rich.table import Table

from engine.command.exits import EXIT_FAILED, SIGNALLED
from engine.command.fail import fail
from engine.command.programs import module_command
from engine.command.signals import Interrupted, interruptible, uninterruptible
from engine.command.tables import print_table
from topologies.forging import BEFORE, PARTS
from topologies.results.run_folder import RunFolder
from topologies.results.summary import INTERRUPTED, SessionResult
from topologies.scenario import ScenarioError, load_scenario
from topologies.scenario.activity import Attack, Forgery
from topologies.scenario.network import Host, Link
from topologies.scenario.scenario import Scenario
from topologies.scenario.session import Session
from topologies.swallowing import AGENT, has_agents

FORGERIES: Final[tuple[Forgery, ...]] = get_args(Forgery)
HARMLESS: Final = 0.01
"""Of a session's time; a change of so much is none (ours)."""
MOST_DELAY_S: Final = 3.0
"""By which one packet may delay an open session: a block's repair, or the time in which it shows that somebody has not
gone (ours)."""
JOINING: Final[frozenset[Forgery]] = frozenset({"join", "claim", "slow"})
MOST_JOIN_DELAY_S: Final = 4.0
"""By which those may who join and are not there: others wait for them as for who is silent (`hosts/parts/silence.py`),
and slowstart may begin slowly (ours)."""
MOST_AGENT_DELAY_S: Final = 10.0
"""By which one may that serves others and passes nothing on: `parent_timeout_s` (6 s), and the file or the rest of it
from another parent (ours)."""
MOST_SLOWER: Final = 0.05
"""Of an open session without a file, in the seconds that are simulated (ours)."""


def most_delay_s(attack: str) -> float:
    """By which an attack may delay an open session."""
    if attack == AGENT:
        return MOST_AGENT_DELAY_S
    return MOST_JOIN_DELAY_S if attack in JOINING else MOST_DELAY_S


class Way(NamedTuple):
    """How sessions are protected."""

    name: str
    security: str
    spoofed: bool = True
    """Whether in a simulation what has another's source address passes; P4 switches drop it."""
    switch: str = "bridge"
    """Of an emulation: what `canopy emulate --switch` takes."""
    helped: bool = False
    """Whether switches help sealed sessions of protocols that have such help."""


WAYS: Final = (
    Way("open", "none"),
    Way("open behind P4", "none", False, "embedded"),
    Way("sealed", "group"),
    Way("signed", "signed"),
)
"""Those that the row `security` has."""
SIMULATED: Final = (*WAYS[:3], Way("sealed, switches help", "group", helped=True), WAYS[3])
EMULATED: Final = (
    *(way._replace(spoofed=True) for way in WAYS[:3]),
    Way("sealed behind P4", "group", switch="embedded"),
    SIMULATED[3]._replace(switch="embedded"),
    WAYS[3],
)
LISTENS_S: Final = 0.5
"""For so long one that takes part has listened when the session begins (ours)."""
STRANGER: Final = "stranger"
"""The host that attacks in an emulation."""
NOISE_S: Final = 0.6
"""By which emulated runs that are the same differ: how soon programs start, and are found out to have ended (ours)."""
NOISE: Final = 0.05
"""Of a stream's rate, likewise."""

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
    sent: int | None = None
    """Packets that the stranger has sent, in an emulation; 0: it heard too little of the session to make any."""

    @property
    def harmless(self) -> bool:
        """Whether it went as it does without the attack, as far as that can be seen."""
        least_s, least = (0.0, HARMLESS) if self.sent is None else (NOISE_S, NOISE)
        most_s = max(least_s, HARMLESS * (self.took_s or 0.0))
        slow = self.later_s is not None and self.later_s > most_s
        return self.ok and not slow and not (self.slower is not None and self.slower > least)

    @property
    def is_survived(self) -> bool:
        """Whether all had all, and not much later."""
        late = self.later_s is not None and self.later_s > most_delay_s(self.attack)
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
        if self.sent == 0:
            return "nothing to send"
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
    emulate: Annotated[
        bool, typer.Option("--emulate", help="In real time: a host sends the packets (needs root).")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the effects as JSON.")] = False,
) -> None:
    """Simulate a scenario with each attack of a stranger who hears everything, sends from any address and has no keys
    (docs/security.md), on open sessions, with and without P4 switches, on sealed ones, with and without switches' help
    for those that can have it, and on signed ones. With --emulate the stranger is a host, and without P4 switches means
    a Linux bridge. Exit status: 1 when one on a sealed or signed session is not harmless, or one on an open session
    loses it something or delays it by more than 3 s, one that joins by more than 4 s, an agent by more than 10 s.
    """
    try:
        loaded = load_scenario(scenario, purpose="emulate" if emulate else "simulate")
    except ScenarioError as error:
        fail(str(error))
    if unknown := [word for word in only or () if word not in FORGERIES]:
        fail(f"--only: `{unknown[0]}` is none of {', '.join(FORGERIES)}")
    if seed is not None:
        loaded = loaded.model_copy(update={"seed": seed})
    chosen = [attack for attack in FORGERIES if not only or attack in only]
    ways, run = (EMULATED, emulated) if emulate else (SIMULATED, simulated)
    try:
        with interruptible():
            effects = list(attacked(scenario, loaded, chosen, ways, run))
    except AttackError as error:
        fail(error, EXIT_FAILED)
    except Interrupted as interrupt:
        fail("interrupted", SIGNALLED + interrupt.number)
    if as_json:
        verdicts = [{"harmless": effect.harmless, "is_survived": effect.is_survived} for effect in effects]
        rows = [asdict(effect) | verdict for effect, verdict in zip(effects, verdicts, strict=True)]
        print(json.dumps(rows, indent=2))
    else:
        print_table(_table(effects, ways, "emulated" if emulate else "simulated"))
    if not all(effect.is_survived if effect.security == "none" else effect.harmless for effect in effects):
        raise typer.Exit(EXIT_FAILED)


class AttackError(Exception):
    """A run did not come about; one line for the user."""


class Ran(NamedTuple):
    """What came of a scenario's sessions, by their ids."""

    results: dict[int, SessionResult]
    sent: dict[int, int]
    """Packets of the strangers, in an emulation."""


Runs: TypeAlias = Callable[[Path, Scenario, Path, Way], Ran]
"""Runs a scenario of a file, in a folder. AttackError."""


def simulated(path: Path, scenario: Scenario, folder: Path, way: Way) -> Ran:
    """In virtual time."""
    from topologies.simulation.runner import SimulationOptions, simulate_scenario

    if any(isinstance(one, Attack) and one.forgery == AGENT for one in scenario.faults):
        scenario = with_stranger(scenario)
    options = SimulationOptions(path, out=folder, report=False, quiet=True)
    summary = simulate_scenario(scenario, options)
    if summary.outcome == INTERRUPTED:
        raise Interrupted(signal.SIGINT)
    return Ran({result.id: result for result in summary.sessions}, {})


def emulated(path: Path, scenario: Scenario, folder: Path, way: Way) -> Ran:
    """In real time, by a program of its own: it moves to a network of its own. Files are named from where `path` is."""
    document = folder.with_suffix(".yaml")
    sessions = [_with_whole_path(session, path.parent) for session in scenario.sessions]
    written = with_stranger(scenario).model_copy(update={"sessions": sessions})
    document.write_text(written.at_length(), encoding="utf-8")
    options = ("--switch", way.switch, "--out", str(folder), "--no-report", "--quiet", "--json")
    command = module_command("topologies.cli", "emulate", str(document), *options)
    status, output, errors = _run(command)
    try:
        summary = json.loads(output)
        if summary["outcome"] == INTERRUPTED:
            raise Interrupted(signal.SIGINT)
        sessions_ran = TypeAdapter(list[SessionResult]).validate_python(summary["sessions"])
    except (ValueError, KeyError):
        words = errors.strip().splitlines()
        raise AttackError(words[-1] if words else f"an emulation ended with status {status}") from None
    sent: dict[int, int] = {}
    for session in scenario.sessions:
        for said in RunFolder(folder).agents.glob(f"session-{session.id}-stranger-*.jsonl"):
            sent[session.id] = sent.get(session.id, 0) + json.loads(said.read_text().splitlines()[-1]).get("sent", 0)
    return Ran({result.id: result for result in sessions_ran}, sent)


def _run(command: Sequence[str]) -> tuple[int, str, str]:
    """Exit status and output. An emulation that is interrupted takes its network down, and has the time for it."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        try:
            output, errors = program.communicate()
        except Interrupted:
            with uninterruptible():
                program.terminate()
                program.communicate()
            raise
    return program.returncode, output, errors


def with_stranger(scenario: Scenario) -> Scenario:
    """The scenario with a host more, at the switch of the first session's first receiver, from which attacks come."""
    beside = scenario.sessions[0].receivers[0].host
    link = next(one for one in scenario.links if beside in one.between)
    switch = next(name for name in link.between if name != beside)
    nodes = {**scenario.nodes, STRANGER: Host(kind="host")}
    faults = [one.model_copy(update={"host": STRANGER}) if isinstance(one, Attack) else one for one in scenario.faults]
    links = [*scenario.links, Link(between=(STRANGER, switch))]
    # A copy would keep what it has found out of the nodes that it had.
    return Scenario.model_construct(**{**dict(scenario), "nodes": nodes, "links": links, "faults": faults})


def attacked(
    path: Path, scenario: Scenario, attacks: Sequence[Forgery], ways: Sequence[Way] = SIMULATED, run: Runs = simulated
) -> Iterator[Effect]:
    """The effects of the attacks on each session, in each of `ways`; `path` is the scenario's file. AttackError."""
    bases: dict[tuple[str, ...], Ran] = {}
    with tempfile.TemporaryDirectory(prefix="canopy-attack-") as place:
        for way in ways:
            for attack in attacks:
                secured = _secured(scenario, way, is_served=attack == AGENT)
                emulated_by = way.switch if run is emulated else ""
                kind = (way.security, emulated_by, "helped" * way.helped, AGENT * (attack == AGENT))
                base = bases.get(kind) or run(path, secured, Path(place) / "-".join(kind), way)
                bases[kind] = base
                faults = [
                    _fault(part, way, session.id, session.start, base.results, scenario.duration)
                    for session in scenario.sessions
                    for part in PARTS.get(attack, (attack,))
                ]
                changed = secured.model_copy(update={"faults": [*scenario.faults, *faults]})
                ran = run(path, changed, Path(place) / f"{way.name}-{attack}".replace(" ", "-"), way)
                for session in scenario.sessions:
                    sent = ran.sent.get(session.id, 0) if run is emulated else None
                    results = ran.results[session.id], base.results[session.id]
                    yield _effect(way, attack, session.start, *results, sent)


def _with_whole_path(session: Session, folder: Path) -> Session:
    """The session with its file named from anywhere."""
    return (
        session if session.file is None else session.model_copy(update={"file": str((folder / session.file).resolve())})
    )


def _secured(scenario: Scenario, way: Way, *, is_served: bool) -> Scenario:
    """The scenario with all sessions of this kind; sealed ones have no help of switches but where the way is to have
    it. `is_served`: receivers take for a parent who offers itself."""
    sessions = []
    for one in scenario.sessions:
        update: dict[str, object] = {"security": way.security}
        if way.security == "signed" and one.agents:  # of which it has none
            update |= {"tree": "one-level", "fan_out": None}
            update["receivers"] = [receiver.model_copy(update={"agent": False}) for receiver in one.receivers]
        elif is_served and one.tree == "one-level" and has_agents(one.protocol):
            update["tree"] = "automatic"
        if way.security != "none":
            update["assist"] = "switch" if way.helped and one.may_be_helped else "none"
        # A copy would keep what it has found out of the tree that it had.
        sessions.append(Session.model_construct(**{**dict(one), **update}))
    return scenario.model_copy(update={"sessions": sessions})


def _fault(
    attack: Forgery, way: Way, session: int, start: float, base: dict[int, SessionResult], duration: float
) -> Attack:
    """The attack, in the middle of what the session takes without it, which is all the time where it has no end."""
    ended = _ended(base[session])
    middle = (start + (duration if ended is None else ended)) / 2
    at = max(0.0, start - LISTENS_S) if attack == AGENT else start if attack in BEFORE else middle
    return Attack.model_construct(kind="attack", at=at, session=session, forgery=attack, spoofed=way.spoofed)


def _ended(result: SessionResult) -> float | None:
    return max((one.completed_at for one in result.receivers if one.completed_at is not None), default=None)


def _effect(
    way: Way, attack: str, start: float, result: SessionResult, base: SessionResult, sent: int | None
) -> Effect:
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
        sent,
    )


def _table(effects: list[Effect], ways: Sequence[Way], how: str) -> Table:
    names = [way.name for way in ways]
    table = Table("session", "attack", *names, title=f"One stranger's packets, {how}")
    by_place = {(effect.session, effect.attack, effect.way): effect for effect in effects}
    for session, attack, way in by_place:
        if way == names[0]:
            shown = [by_place[session, attack, one] for one in names]
            styled = [f"[{one.colour}]{one.words}[/]" for one in shown]
            table.add_row(f"{session} {shown[0].protocol}", attack, *styled)
    return table
