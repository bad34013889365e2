"""How figures are drawn."""

import re

from experiments.figures.plot import draw
from experiments.harness.relations import EachBetween
from experiments.harness.reproduce import Options, RowResult
from experiments.harness.row import Case, Curve, Experiment, Figure, Outcome, Row, Timeline


def path_styles(svg: str) -> list[str]:
    """The style of each line of each path, its own or its class's."""
    classes = dict(re.findall(r"\.(c\d+){([^}]*)}", svg))
    found = re.findall(r'<path d="([^"]*)"[^>]*(?:style="([^"]*)"|class="([^"]*)")', svg)
    return [own or classes[shared] for path, own, shared in found for _ in range(path.count("M"))]


def test_more_lines_than_colours_still_differ() -> None:
    experiment = Experiment(
        lambda _: [Case("one", {})], lambda _: {}, EachBetween(), Timeline("rate"), curves=lambda _: []
    )
    row = Row("x-1", "x", "sim", "title", "paper", "counts", "unit", experiment)
    result = RowResult(row, Options(), [Outcome(Case("one", {}), "rate", (1.0,))])
    result.curves["one"] = [Curve(f"line {number}", [(0.0, number), (1.0, number)]) for number in range(18)]
    looks = {look.partition("fill:none;")[2] for look in path_styles(draw(result)) if "stroke-width:11" in look}
    assert len({look for look in looks if look}) == 18


def test_cases_at_one_place_share_their_axes() -> None:
    cases = [
        Case(f"{name}, {world}", {}, x=x) for x, name in enumerate(("bbr", "cubic")) for world in ("kernel", "ours")
    ]
    figure = Timeline("window", by_place=True)
    experiment = Experiment(lambda _: cases, lambda _: {}, EachBetween(), figure, curves=lambda _: [])
    row = Row("x-1", "x", "sim", "title", "paper", "counts", "unit", experiment)
    result = RowResult(row, Options(), [Outcome(case, "window", (1.0,)) for case in cases])
    result.curves.update({case.label: [Curve(case.label, [(0.0, 1.0), (1.0, 2.0)])] for case in cases})
    svg = draw(result)
    assert [svg.count(f">{title}<") for title in ("bbr", "cubic", "bbr, kernel", "cubic, ours")] == [1, 1, 1, 1]


def _references_drawn(references: dict[str, float]) -> int:
    """Dashed lines in a figure of series, each compared with its own value at two places."""
    cases = [
        Case(f"{series} {x}", {}, x=x, series=series, references={"rate": value / x})
        for series, value in references.items()
        for x in (1.0, 2.0)
    ]
    experiment = Experiment(lambda _: cases, lambda _: {}, EachBetween(), Figure("load", {"rate": "rate"}, "theory"))
    row = Row("x-1", "x", "sim", "title", "paper", "counts", "unit", experiment)
    svg = draw(RowResult(row, Options(), [Outcome(case, "rate", (1.0,)) for case in cases]))
    assert svg.count(">theory<") == 1
    return sum("stroke-dasharray" in style for style in path_styles(svg)) - 1  # one in the legend


def test_what_is_no_number_is_called_by_its_name() -> None:
    cases = [Case(f"{tcp} {x}", {}, x=float(x), series=tcp) for tcp in ("a", "b") for x in (0, 1)]
    figure = Figure("queue", {"share": "share"}, places=("DropTail", "CoDel"))
    experiment = Experiment(lambda _: cases, lambda _: {}, EachBetween(), figure)
    row = Row("x-1", "x", "sim", "title", "paper", "counts", "unit", experiment)
    svg = draw(RowResult(row, Options(), [Outcome(case, "share", (1.0,)) for case in cases]))
    assert [svg.count(f">{text}<") for text in ("DropTail", "CoDel", "0.5")] == [1, 1, 0]


def test_each_series_has_its_own_reference_unless_all_have_the_same() -> None:
    assert _references_drawn({"a": 1.0, "b": 2.0}) == 2
    assert _references_drawn({"a": 1.0, "b": 1.0}) == 1
