import time
from pathlib import Path

from experiments.bench.sampling import LOOP, PARTS, START, THREADS, Sampler, part_of

OUTER = ["/usr/lib/asyncio/base_events.py:BaseEventLoop.run_forever", "hosts/programs/cli.py:send"]
ROOT = Path(__file__).parents[3]


def test_the_innermost_function_that_has_a_part_has_the_time() -> None:
    assert part_of(["/usr/lib/x.py:f", "hosts/parts/sack.py:bits", "hosts/runtime/runtime.py:r", *OUTER]) == "protocol"
    assert part_of(["hosts/runtime/datagrams.py:Outbox._hand_over", *OUTER]) == "handing to the kernel"
    assert part_of(["hosts/protocols/rla/packets.py:parse", *OUTER]) == "packets' heads"
    assert part_of(["/usr/lib/selectors.py:select", *OUTER[:1]]) == LOOP
    assert part_of(["hosts/parts/sack.py:<module>", *OUTER[1:]]) == START


def test_parts_are_places_that_there_are() -> None:
    for within, _ in PARTS:
        path = within.split(":")[0].strip("/")
        assert (ROOT / path).exists() or any(ROOT.glob(f"hosts/protocols/*/{path}")), within


def test_all_of_the_processors_time_is_counted() -> None:
    sampler = Sampler()
    begun = time.thread_time()
    while time.thread_time() < begun + 0.1:
        pass
    seconds = sampler.end()
    assert 0.08 < sum(seconds.values()) - seconds[THREADS] < 0.13
