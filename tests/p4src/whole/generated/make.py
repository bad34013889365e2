"""Makes `sequences.json.xz` anew, where simple_switch_grpc and a C++ compiler are installed:
`python -m tests.p4src.whole.generated.make`.

The sequences begin as what the other tests of canopy.p4 send. Those that pass statements that no shorter one passes are
chosen, and what they do not need is left out. For the rest, they are tried at other ports, and with changes by chance.
What becomes of their packets says simple_switch_grpc.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from tests.p4src.bench.program import program
from tests.p4src.whole.generated.choose import Chosen, Tracer, joined, needed, pick, reduced
from tests.p4src.whole.generated.coverage import Statements
from tests.p4src.whole.generated.exact import exact_simple_switch, find_compiler
from tests.p4src.whole.generated.mutate import PORTS, mutant, rotated
from tests.p4src.whole.generated.sequences import FILE, LONGEST_US, Step, Told, duration_us, observe, write
from tests.simple_switch import find_simple_switch

ROOT: Final = Path(__file__).resolve().parents[4]
MOST_PACKETS: Final = 200
"""Of a test; what it sends later is left out."""
CHANGES: Final = 25_000
"""So many sequences are made of others by chance,"""
MOST_CHANGED: Final = 12
"""of those that have at most so many packets."""
SEED: Final = 1


def recorded() -> list[tuple[str, list[Step]]]:
    """What the tests of canopy.p4 tell and send each of their switches: (test, steps), the shortest first."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "steps"
        command = [sys.executable, "-m", "pytest", "-q", "-p", f"{__package__}.record", "-p", "no:cacheprovider"]
        command += ["tests/p4src", f"--ignore={Path(__file__).parent}", "-m", "not bmv2"]
        subprocess.run(command, cwd=ROOT, check=True, env={**os.environ, "RECORD_FILE": str(file)})
        items = [json.loads(line) for line in file.read_text().splitlines()]
    sequences = {json.dumps(steps): (item["origin"], steps) for item in items if (steps := _first(item["steps"]))}
    return sorted(sequences.values(), key=lambda sequence: (packets(sequence[1]), len(sequence[1])))


def packets(steps: list[Step]) -> int:
    """How many are sent."""
    return sum(step[0] == "send" for step in steps)


def _first(steps: list[Step]) -> list[Step]:
    sends = [place for place, step in enumerate(steps) if step[0] == "send"]
    return steps[: sends[:MOST_PACKETS][-1] + 1]


def choose(tracer: Tracer, seeds: list[tuple[str, list[Step]]]) -> list[Chosen]:
    """Sequences that together pass all that is passed."""
    known: set[int] = set()
    chosen: list[Chosen] = []

    def attempt(origin: str, steps: list[Step]) -> bool:
        found = pick(tracer, origin, steps, known) if duration_us(steps) < LONGEST_US else None
        if found is not None:
            chosen.append(reduced(tracer, found))
        return found is not None

    def report(what: str) -> None:
        statements, places, ways = tracer.statements.count(known)
        print(f"{what}: {len(chosen)} sequences, {statements} statements, {places} places, {ways} ways", flush=True)

    for origin, steps in seeds:
        attempt(origin, steps)
    report("as tests send them")
    for item in list(chosen):
        if any(step[:2] == ["set_default", "assist"] for step in item.steps):  # there is code for each port
            for by in range(1, PORTS):
                attempt(f"{item.origin}, {by} ports on", list(rotated(item.steps, by)))
    report("at other ports")
    chooser = random.Random(SEED)
    for _ in range(CHANGES):
        item = chooser.choice([item for item in chosen if packets(item.steps) <= MOST_CHANGED])
        attempt(f"{item.origin.removesuffix(', changed')}, changed", mutant(chooser, item.steps))
    report("with changes")
    return needed(tracer, chosen)


def main() -> int:
    switch, compiler = find_simple_switch(), find_compiler()
    if switch is None or compiler is None:
        print("simple_switch_grpc or c++ is not on PATH", file=sys.stderr)
        return 1
    began = time.process_time()
    tracer = Tracer(program(), Statements(program().json))
    chosen = choose(tracer, recorded())
    told = []
    with exact_simple_switch(program(), switch, compiler) as other:
        for number, item in enumerate(chosen):
            other.reset()
            steps = joined(item.steps)
            told.append(Told(item.origin, steps, observe(other, number, steps)))
    write(told)
    print(f"{len(told)} sequences, {sum(packets(item.steps) for item in told)} packets, {FILE.stat().st_size} bytes")
    print(f"{time.process_time() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
