"""That figures are small, and that nothing of the picture is lost by it."""

import io
import re
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import matplotlib as mpl
import pytest
from PIL import Image

from experiments.figures.documents import pages
from experiments.figures.plot import shows_values
from experiments.figures.svg import (
    STYLE,
    clipped_apart,
    compact,
    few_colours,
    in_tenths,
    new_canvas,
    of_one_family,
    to_svg,
)
from experiments.harness.results_folder import RESULTS
from experiments.harness.row import with_assistance
from experiments.rows import ROWS

ROOT = Path(__file__).parents[3]
MOST_BYTES = 100_000
MOST_BYTES_OF_ALL = 10 * 2**20
"""Ten of what `du` and `ls` call a megabyte."""
SVG = "{http://www.w3.org/2000/svg}"


def places(path: str) -> list[tuple[float, float]]:
    """Where the points of a path of lines are."""
    found, at, start = [], (0.0, 0.0), (0.0, 0.0)
    for letter, numbers in re.findall(r"([A-Za-z])([^A-Za-z]*)", path):
        values = [float(number) for number in re.findall(r"-?\d*\.?\d+", numbers)]
        steps: list[tuple[float, float]] = []
        if letter in "ML":
            at = (values[0], values[1])
            found.append(at)
        elif letter == "l":
            steps = list(zip(values[::2], values[1::2], strict=True))
        elif letter in "hv":
            steps = [(value, 0.0) if letter == "h" else (0.0, value) for value in values]
        else:
            at = start
        for x, y in steps:
            at = (at[0] + x, at[1] + y)
            found.append(at)
        start = at if letter == "M" else start
    return found


def line(points: str) -> str:
    (path,) = ElementTree.fromstring(compact(f'<svg xmlns="{SVG[1:-1]}"><path d="{points}"/></svg>'))
    return path.attrib["d"]


def test_lines_are_steps_from_point_to_point() -> None:
    assert line("M 10.04 20\nL 12.06 20\nL 12.06 21.5\nL 11 19\nz\n") == "M10 20h2.1v1.5l-1.1-2.5z"
    assert line("M 0.5 -0.5 L 0.52 -0.5 L 1.5 0.5") == "M.5-.5h0l1 1"
    assert line("M 1 1 C 2 2 3 3 4 4 L 5 4 M 7 7 L 7 8") == "M1 1C2 2 3 3 4 4h1M7 7v1"
    assert line("M 0 0 L 1 1 L 1.01 1.01 L 2 1") == "M0 0l1 1h1", "a step that is no step"


def test_the_error_of_a_place_does_not_add_up() -> None:
    points = [(0.033 * number, 0.07 * number * number % 50) for number in range(2000)]
    path = line("M " + " L ".join(f"{x:.6f} {y:.6f}" for x, y in points))
    kept = places(path)
    assert kept[-1] == pytest.approx(points[-1], abs=0.051)
    assert all(min(abs(x - a) + abs(y - b) for a, b in kept) < 0.11 for x, y in points[::97])


def joined(shapes: str) -> str:
    """What is drawn, without the sheet of styles."""
    text = compact(f'<svg xmlns="{SVG[1:-1]}"><defs><style type="text/css">*{{x: y}}</style></defs>{shapes}</svg>')
    return text[text.index("</defs>") + len("</defs>") : -len("</svg>\n")]


def test_neighbouring_lines_of_a_style_are_one_path() -> None:
    style = 'style="fill: none; stroke: #000000"'
    one, other = (f'<path d="M {x} 0 L {x} 9" {style}/>' for x in (1, 2))
    assert joined(one + other) == '<path d="M1 0v9M2 0v9" style="fill:none;stroke:#000000"/>'
    across = '<path d="M 0 5 L 9 5" style="fill: none; stroke: #ff0000"/>'
    beside = across.replace("5", "20")
    assert joined(one + '<text x="1" y="1">t</text>' + beside + other).count("<path") == 2, "nothing is between them"
    assert joined(one + across + other).count("<path") == 3, "they would be drawn in another order"
    assert joined(one + other.replace("000000", "ff0000")).count("<path") == 2
    assert joined((one + other).replace("none", "red")).count("<path") == 2, "areas may overlap"
    assert joined((one + other).replace("stroke:", "opacity: 0.5; stroke:")).count("<path") == 2, "overlaps would show"


def test_bars_of_a_colour_are_one_path_unless_they_meet() -> None:
    one, other = (f'<path d="M {x} 9 L {x + 2} 9 L {x + 2} 0 L {x} 0 z" style="fill: #00ff00"/>' for x in (1, 5))
    assert joined(one + other) == '<path d="M1 9h2v-9h-2zM5 9h2v-9h-2z" style="fill:#00ff00"/>'
    assert joined(one + one.replace("1", "2")).count("<path") == 2
    across = '<path d="M 0 5 L 9 5 L 9 4 L 0 4 z" style="fill: #ff0000"/>'
    assert joined(one + across + other).count("<path") == 3, "they would be drawn in another order"
    assert joined(one + '<path d="M 9 9 L 7 7" style="fill: none"/>' + other).count("<path") == 1, "shows nothing"


@pytest.mark.parametrize(
    ("shape", "cuts"),
    [
        ('<path d="M 1 1 L 9 1 L 9 9" style="fill: none; stroke: #000000; stroke-width: 0.8"/>', False),
        ('<path d="M 1 1 L 9.4 1" style="fill: none; stroke: #000000; stroke-width: 0.8"/>', True),  # its own width
        ('<path d="M 0 0 L 10 0 L 10 10 L 0 10 z" style="fill: #00ff00"/>', False),
        ('<path d="M 0 0 L 10 0 L 10 10.1 L 0 10 z" style="fill: #00ff00"/>', True),
        ('<path d="M 5 5 C 5 11 6 6 7 7" style="fill: #00ff00"/>', True),  # perhaps
        ('<text x="1" y="1">its width is not known</text>', True),
    ],
)
def test_a_clip_that_cuts_nothing_off_goes(shape: str, cuts: bool) -> None:
    clip = '<defs><clipPath id="p"><rect x="0" y="0" width="10" height="10"/></clipPath></defs>'
    for clipped in (shape.replace(" ", ' clip-path="url(#p)" ', 1), f'<g clip-path="url(#p)">{shape}</g>'):
        assert ("clip" in joined(clipped + clip)) == cuts


def test_ends_of_error_bars_are_lines() -> None:
    def bars(shape: str) -> str:
        uses = "".join(
            f'<use xlink:href="#m" x="{x}" y="4.04" style="fill: #1f77b4; stroke: #000000"/>' for x in (9, 2)
        )
        space = 'xmlns:xlink="http://www.w3.org/1999/xlink"'
        return joined(f'<g {space}><defs><path id="m" d="{shape}" style="stroke: #000000"/></defs>{uses}</g>')

    assert bars("M 3 0 L -3 -0") == '<path d="M12 4h-6M5 4h-6" style="fill:none;stroke:#000000"/>'
    assert bars("M 3 0 L -3 2").count("<use") == 2, "neither level nor upright"


def test_what_is_referred_to_keeps_its_name_and_styles_are_said_once() -> None:
    style = "fill: none; stroke: #123456"
    text = (
        f'<svg xmlns="{SVG[1:-1]}" xmlns:xlink="http://www.w3.org/1999/xlink"><metadata>who</metadata>'
        '<defs><style type="text/css">*{x: y}</style></defs><g id="axes_1"><g id="line_1"><defs>'
        f'<path id="m1" d="M 0 0 L 1 0 L 1 1" style="{style}"/></defs><g clip-path="url(#p1)">'
        f'<use xlink:href="#m1" x="1.23" y="2" style="{style}"/><use xlink:href="#m1" x="3" y="4" style="fill: red"/>'
        f'</g></g></g><g id="text_1"><text style="{style}" x="5" y="6" transform="rotate(-0 5 6)">words</text></g>'
        '<defs><clipPath id="p1"><rect x="1" y="2" width="3" height="4"/></clipPath></defs></svg>'
    )
    assert compact(text) == (
        f'<svg xmlns="{SVG[1:-1]}"><defs><style type="text/css">*{{x: y}}.c0{{fill:none;stroke:#123456}}</style></defs>'
        '<defs><path d="M0 0h1v1" id="i0" class="c0"/></defs>'
        '<g style="clip-path:url(#i1)"><use x="1.2" y="2" href="#i0"/>'
        '<use x="3" y="4" href="#i0" style="fill:red"/></g><text x="5" y="6" class="c0">words</text>'
        '<defs><clipPath id="i1"><rect x="1" y="2" width="3" height="4"/></clipPath></defs></svg>\n'
    )


def test_the_style_of_most_words_is_said_once() -> None:
    small, large, bold = "font-size: 9px", "font-size: 12px", "font-weight: bold"

    def words(*styles: str, beside: str = "") -> str:
        texts = "".join(f'<text style="{style}">t</text>' for style in styles)
        return compact(f'<svg xmlns="{SVG[1:-1]}"><defs><style type="text/css"/></defs>{texts}{beside}</svg>')

    assert "text{font-size:9px}" in words(small, small, large)
    assert words(small, small, large).count("<text>t") == 2
    assert "text{" not in words(small, small, bold), "a bold word's size would be theirs"
    assert "text{" not in words(small, small, beside=f'<g style="{small}"><rect x="1"/></g>'), "not words' alone"


@pytest.mark.parametrize(("colours", "mode"), [(1, "P"), (256, "P"), (257, "RGBA")])
def test_pictures_of_few_colours_have_a_palette_and_the_same_pixels(colours: int, mode: str) -> None:
    pixels = b"".join(bytes([number % 251, number // 251, 7, 255 - number % 3]) for number in range(colours))
    picture, written = Image.frombytes("RGBA", (colours, 1), pixels), io.BytesIO()
    picture.save(written, "PNG")
    packed = Image.open(io.BytesIO(few_colours(written.getvalue())))
    assert packed.mode == mode
    assert packed.convert("RGBA").tobytes() == pixels


def test_dots_of_one_colour_have_no_soft_edges() -> None:
    picture, written = Image.new("RGBA", (9, 9), (255, 255, 255, 0)), io.BytesIO()
    for place, opacity in enumerate((100, 101, 255)):
        picture.putpixel((place, 4), (1, 2, 3, opacity))
    picture.save(written, "PNG")
    found = Image.open(io.BytesIO(few_colours(written.getvalue()))).convert("RGBA")
    assert [found.getpixel((place, 4))[3] for place in range(4)] == [0, 255, 255, 0]  # type: ignore[index]
    assert found.getpixel((2, 4)) == (1, 2, 3, 255)


def test_in_tenths_of_points_nothing_has_moved() -> None:
    style = "stroke-width:.8;stroke-dasharray:1.1,1.815;stroke-miterlimit:4;opacity:.5"
    text = (
        f'<svg xmlns="{SVG[1:-1]}" width="60.5pt" height="9pt" viewBox="0 0 60.5 9"><defs><style>.c0{{font-size:9px}}'
        f'</style></defs><path d="M.5-.5h2.1 .3l1.5-3z" style="{style}"/><text x="3" y="4.5" class="c0" '
        'transform="rotate(-90 3 4.5)">1.5</text><image x="1.5" width="2" transform="scale(1 -1) translate(0 -26.1)"/>'
        "</svg>"
    )
    tenths = "stroke-width:8;stroke-dasharray:11,18.15;stroke-miterlimit:4;opacity:.5"
    assert in_tenths(text) == (
        f'<svg xmlns="{SVG[1:-1]}" width="60.5pt" height="9pt" viewBox="0 0 605 90" stroke-width="10"><defs><style>'
        f'.c0{{font-size:90px}}</style></defs><path d="M5-5h24l15-30z" style="{tenths}"/><text x="30" y="45" '
        'class="c0" transform="rotate(-90 30 45)">1.5</text><image x="15" width="20" '
        'transform="scale(1 -1) translate(0 -261)"/></svg>\n'
    )


def test_letters_are_text() -> None:
    with mpl.rc_context({**STYLE, "svg.hashsalt": "x"}):
        canvas = new_canvas(3, 2)
        canvas.subplots().set(xlabel="seconds & more", xscale="log", xlim=(1, 10))
        svg = to_svg(canvas)
    texts = {"".join(element.itertext()).strip() for element in ElementTree.fromstring(svg).iter(f"{SVG}text")}
    assert {"seconds & more", "100", "101"} <= texts  # the powers' exponents are raised
    assert len(svg) < 5000


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.svg")), ids=lambda path: path.stem)
def test_a_kept_figure_is_small_and_whole(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.encode()) < MOST_BYTES
    names = set(re.findall(r'\bid="([^"]*)"', text))
    assert set(re.findall(r'(?:href="|url\()#([\w-]+)', text)) <= names
    assert path.stem in "".join(element.text or "" for element in ElementTree.fromstring(text).iter(f"{SVG}text")) or (
        path.stem == "compare"
    )


def files_of_the_repository(*under: str) -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z", *under], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.split("\0") if name]


def test_no_figure_is_kept_that_a_command_draws_from_kept_values_but_what_a_page_shows() -> None:
    rows = with_assistance(list(ROWS.values()))
    drawings = {row.id: row.experiment.figure for row in rows if row.experiment is not None}
    kept = {path.stem for path in files_of_the_repository("experiments/results/*.svg")}
    assert kept & drawings.keys()
    shown = set(re.findall(r"/([\w-]+)\.svg\)", "".join(page.read_text(encoding="utf-8") for page in pages())))
    assert not [name for name in kept & drawings.keys() - shown if shows_values(drawings[name])]


def test_all_files_together_are_small() -> None:
    files = files_of_the_repository()
    assert len(files) > 500
    assert sum(path.stat().st_size for path in files if path.is_file()) < MOST_BYTES_OF_ALL


def test_the_family_that_all_letters_have_is_said_once() -> None:
    text = (
        f'<svg xmlns="{SVG[1:-1]}" version="1.1" stroke-width="10"><style type="text/css">.c0{{font-size:9px;'
        "font-family:A;text-anchor:end}.c1{font-family:A}</style></svg>"
    )
    assert of_one_family(text) == (
        f'<svg xmlns="{SVG[1:-1]}" stroke-width="10" font-family="A"><style>.c0{{font-size:9px;text-anchor:end}}.c1{{}}'
        "</style></svg>"
    )
    assert of_one_family(text.replace("A}", "B}")).count("font-family:") == 2


def test_clips_are_no_part_of_styles() -> None:
    lines = [f'<path d="M{at} 0h9" style="clip-path:url(#i1);{style}"/>' for at, style in enumerate("aabc")]
    text = f'<svg><style>.c0{{b}}</style>{"".join(lines)}<g style="clip-path:url(#i1)"/></svg>'
    said = ['class="c101"', 'class="c101"', 'class="c0"', 'style="c"']
    apart = [f'<path d="M{at} 0h9" {one} clip-path="url(#i1)"/>' for at, one in enumerate(said)]
    expected = f'<svg><style>.c0{{b}}.c101{{a}}</style>{"".join(apart)}<g style="clip-path:url(#i1)"/></svg>'
    assert clipped_apart(text) == expected
