from tests.topologies.scenarios import small_scenario
from topologies.plan.timeline import Step, Timeline, scenario_timeline


def drain(timeline: Timeline) -> list[tuple[float, Step]]:
    steps = []
    while (at := timeline.next_at) is not None:
        step = timeline.pop_due(at)
        assert step is not None
        steps.append((at, step))
    return steps


def test_everything_happens_at_its_time_and_receivers_come_before_their_sender() -> None:
    steps = [(at, step.action, step.subject) for at, step in drain(scenario_timeline(small_scenario()))]
    assert steps == [
        (0.0, "start receiver", (0, 0)),
        (0.0, "start receiver", (1, 0)),
        (0.0, "start sender", (0,)),
        (0.0, "start flow", (0,)),
        (0.0, "start flow", (2,)),
        (1.0, "start sender", (1,)),
        (1.0, "start flow", (1,)),
        (2.0, "start receiver", (0, 1)),
        (3.0, "kill switch", ("s2",)),
        (3.5, "start switch", ("s2",)),
        (4.0, "kill receiver", (0, 1)),
        (5.0, "stop flow", (1,)),
        (6.0, "link down", ("s2", "s1")),
        (7.0, "link up", ("s2", "s1")),
        (8.0, "kill controller", ()),
        (9.0, "leave", (0, 1)),
        (10.0, "start controller", ()),
    ]


def test_faults_are_told_from_the_rest_and_have_a_name() -> None:
    faults = [
        f"{step.action} {step.label}".strip() for _, step in drain(scenario_timeline(small_scenario())) if step.is_fault
    ]
    assert faults == [
        "kill switch s2",
        "start switch s2",
        "kill receiver c",
        "link down s2 - s1",
        "link up s2 - s1",
        "kill controller",
        "start controller",
    ]


def test_nothing_is_due_before_its_time() -> None:
    timeline = Timeline()
    timeline.add(2.0, Step("kill controller", ()))
    assert timeline.pop_due(1.999) is None
    assert timeline.pop_due(2.0) == Step("kill controller", ())
    assert timeline.next_at is None
    assert timeline.pop_due(9.0) is None
