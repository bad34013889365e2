"""A figure as SVG whose text depends on nothing but what is drawn, and is a small part of what matplotlib writes: every
byte of a kept figure stays in the project's history."""

import base64
import io
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure as Canvas
from PIL import Image

from experiments.figures.extents import PLACE, RECTANGLE, STRAIGHT, Box, box_of, extent, meet
from experiments.figures.moves import moved
from experiments.figures.straight import straightened

STYLE: Final[Mapping[Any, Any]] = {
    "svg.fonttype": "none",
    "font.size": 9,
    "font.sans-serif": ["DejaVu Sans", "Verdana"],
}
"""matplotlib's settings: letters as text and not as outlines; Verdana has the same widths where there is no DejaVu."""
_NAMESPACE: Final = "http://www.w3.org/2000/svg"
_PATH, _USE, _TEXT, _SPAN, _SHEET, _GROUP, _DEFINITIONS, _CLIP_PATH = (
    f"{{{_NAMESPACE}}}{name}" for name in ("path", "use", "text", "tspan", "style", "g", "defs", "clipPath")
)
_PNG: Final = "data:image/png;base64,"
_HREF: Final = "{http://www.w3.org/1999/xlink}href"
_DECIMALS, _SHAPE_DECIMALS = 1, 2
"""Of places, in points: finer than any line is wide; and of the shapes of markers."""
_DOTS_PER_INCH: Final = 100
"""Of what is drawn as pixels: more than the 72 at which figures are shown."""
SOFT: Final = 101
"""Of a dot's edge pixels those stay whose opacity is at least so much of 255 (ours): as much is on average."""
_NUMBER: Final = re.compile(r"-?\d+\.?\d*(?:e-?\d+)?")
_ROTATED: Final = re.compile(r"rotate\((\S+) ([^)]*)\)")
_MOVED: Final = re.compile(r"translate\(([^)]*)\)")
_LENGTH: Final = re.compile(r"((?:stroke-width|stroke-dasharray|stroke-dashoffset|font-size): ?)([^;}\"]+)")
_STROKE: Final = re.compile(r"M(-?[\d.]+) ?(-?[\d.]+)([hv]-?[\d.]+)")
"""A marker that is one upright or level line."""
_CLIPPED: Final = re.compile(r' style="clip-path:(url\(#\w+\));([^"]+)"')
_STYLED: Final = re.compile(r' style="([^"]*)"')
_FAMILY: Final = re.compile(r"font-family:([^;}\"]+);?")
_CLIP: Final = re.compile(r"clip-path: url\(#(\w+)\); ")


def new_canvas(width: float, height: float) -> Canvas:
    """An empty one, in inches."""
    canvas = Canvas(figsize=(width, height), dpi=_DOTS_PER_INCH, layout="constrained")
    FigureCanvasSVG(canvas)
    return canvas


def to_svg(canvas: Canvas) -> str:
    """Its text. Clips and markers are in the order of matplotlib's ids, which `svg.hashsalt` gives."""
    if (engine := canvas.get_layout_engine()) is not None:
        engine.execute(canvas)
        canvas.set_layout_engine(None)  # or matplotlib would draw all of it twice, the first time for the layout alone
    output = io.StringIO()
    canvas.savefig(output, format="svg", metadata={"Date": None, "Creator": None})
    text = output.getvalue()
    return clipped_apart(of_one_family(in_tenths(compact(text[text.index("<svg") :]))))


def clipped_apart(svg: str) -> str:
    """A picture whose clips are no part of styles, so that these may be classes."""
    svg = _CLIPPED.sub(r' style="\2" clip-path="\1"', svg)
    names = {style: name for name, style in re.findall(r"\.(c\d+)\{([^}]*)\}", svg)}
    for style, count in Counter(_STYLED.findall(svg)).items():
        if style not in names and count > 1:
            names[style] = f"c{100 + len(names)}"
            svg = svg.replace("</style>", f".{names[style]}{{{style}}}</style>", 1)
    return _STYLED.sub(lambda found: f' class="{names[found[1]]}"' if found[1] in names else found[0], svg)


def of_one_family(svg: str) -> str:
    """A picture in tenths of points whose letters, all alike, have their family from the whole; and without what says
    only what is so anyway."""
    families = set(_FAMILY.findall(svg))
    svg = svg.replace(' version="1.1"', "", 1).replace(' type="text/css"', "", 1)
    if len(families) != 1:
        return svg
    return _FAMILY.sub("", svg).replace(' stroke-width="10"', f' stroke-width="10" font-family="{families.pop()}"', 1)


def in_tenths(svg: str) -> str:
    """A compact picture in tenths of points, its size in points as before: places need no decimal point."""
    ElementTree.register_namespace("", _NAMESPACE)
    root = ElementTree.fromstring(svg)
    for element in root.iter():
        attributes = element.attrib
        places = {"viewBox"} if element is root else {"x", "y", "width", "height", "d"}
        for name in places & attributes.keys():
            attributes[name] = _tenths(attributes[name])
        if "d" in attributes:
            attributes["d"] = moved(straightened(attributes["d"]))
        if (turned := attributes.get("transform")) is not None:
            turned = _ROTATED.sub(lambda found: f"rotate({found[1]} {_tenths(found[2])})", turned)
            attributes["transform"] = _MOVED.sub(lambda found: f"translate({_tenths(found[1])})", turned)
        if (style := attributes.get("style")) is not None:
            attributes["style"] = _LENGTH.sub(lambda found: found[1] + _tenths(found[2], 2), style)
        if element.tag == _SHEET and element.text:
            element.text = _LENGTH.sub(lambda found: found[1] + _tenths(found[2], 2), element.text)
    root.set("stroke-width", "10")  # a line that says nothing of it is a point wide
    return _written(root)


def _tenths(numbers: str, decimals: int = _DECIMALS) -> str:
    return PLACE.sub(lambda found: _text(10 * float(found[0]), decimals), numbers)


def compact(svg: str) -> str:
    """The same picture in fewer bytes: no names that nothing refers to, each style said once, lines by their steps."""
    ElementTree.register_namespace("", _NAMESPACE)
    root = ElementTree.fromstring(svg)
    for child in root.findall(f"{{{_NAMESPACE}}}metadata"):
        root.remove(child)
    referred = set(re.findall(r"#([\w-]+)", svg))
    known = [name for element in root.iter() if (name := element.get("id")) in referred and name is not None]
    names = {name: f"i{number}" for number, name in enumerate(known)}
    shapes = {str(path.get("id")): path.get("style") for path in root.iter(_PATH) if path.get("id")}
    for element in root.iter():
        _shorten(element, names, shapes)
        if element.get(_HREF, "").startswith(_PNG):
            element.set(
                _HREF,
                _PNG + base64.b64encode(few_colours(base64.b64decode(element.attrib[_HREF][len(_PNG) :]))).decode(),
            )
    unclip(root)
    _unwrap(root)
    join(root)
    share_styles(root)
    style_letters(root)
    return _written(root)


def _written(root: Element) -> str:
    return ElementTree.tostring(root, encoding="unicode").replace(" />", "/>") + "\n"


def few_colours(png: bytes) -> bytes:
    """The same pixels by a palette, where they have few colours; what has one, as dots, without soft edges."""
    picture = Image.open(io.BytesIO(png)).convert("RGBA")
    seen = {colour[:3] for _, colour in picture.getcolors(256) or () if isinstance(colour, tuple) and colour[3]}
    if len(seen) == 1:
        dots = Image.new("RGBA", picture.size, (*seen.pop(), 255))
        dots.putalpha(picture.getchannel("A").point([0] * SOFT + [255] * (256 - SOFT)))
        picture = dots
    colours = picture.getcolors(256)
    if colours is None:
        return png
    palette = sorted(colour for _, colour in colours if isinstance(colour, tuple))
    number = {colour: index for index, colour in enumerate(palette)}
    pixels = picture.tobytes()
    places = bytes(number[tuple(pixels[at : at + 4])] for at in range(0, len(pixels), 4))
    packed = Image.frombytes("P", picture.size, places)
    packed.putpalette([part for colour in palette for part in colour[:3]])
    output = io.BytesIO()
    packed.save(output, "PNG", optimize=True, transparency=bytes(colour[3] for colour in palette))
    return output.getvalue()


def _shorten(element: Element, names: Mapping[str, str], shapes: Mapping[str, str | None]) -> None:
    """An element's attributes, in place. `shapes`: markers by id, with their styles."""
    attributes = element.attrib
    element.tail = None
    if element.tag not in (_TEXT, _SPAN, _SHEET):
        element.text = None
    if (name := names.get(attributes.pop("id", ""))) is not None:
        attributes["id"] = name
    if (href := attributes.pop(_HREF, None)) is not None:
        attributes["href"] = f"#{names[href[1:]]}" if href.startswith("#") else href
        if href.startswith("#") and attributes.get("style") == shapes.get(href[1:]):
            attributes.pop("style", None)
    if (clip := attributes.pop("clip-path", None)) is not None:
        clip = re.sub(r"#([\w-]+)", lambda found: f"#{names[found[1]]}", clip)
        attributes["style"] = f"clip-path: {clip}; {attributes.get('style', '')}"
    if (path := attributes.get("d")) is not None:
        attributes["d"] = _steps(path, _SHAPE_DECIMALS if "id" in attributes else _DECIMALS)
    for place in attributes.keys() & {"x", "y", "width", "height", "transform"}:
        value = re.sub(r"rotate\(-0[ ,][^)]*\)", "", attributes[place]).strip()
        attributes[place] = _NUMBER.sub(lambda found: _text(float(found[0]), _DECIMALS), value)
        if not value:
            del attributes[place]


def _steps(path: str, decimals: int) -> str:
    """A path, whose lines are steps from where the last one ended, rounded; curves keep their places."""
    written: list[str] = []
    last, at, start = "", (0.0, 0.0), (0.0, 0.0)
    for letter, numbers in re.findall(r"([A-Za-z])([^A-Za-z]*)", path):
        values = tuple(round(float(number), decimals) for number in _NUMBER.findall(numbers))
        word, told = letter, values
        if letter == "L":
            x, y = (_text(value - origin, decimals) for value, origin in zip(values, at, strict=True))
            if x == y == "0" and last in ("l", "h", "v"):
                continue
            word = "h" if y == "0" else "v" if x == "0" else "l"
            told = {"h": (float(x),), "v": (float(y),), "l": (float(x), float(y))}[word]
        texts = [_text(value, decimals) for value in told]
        if word != last or word == "M":
            texts[:1] = [word + "".join(texts[:1])]
        # What begins with a letter or a minus needs no space before it.
        written += [text if not text[0].isdigit() and text[0] != "." else f" {text}" for text in texts]
        last = word
        at = start if letter in "zZ" else (values[-2], values[-1])
        start = at if letter == "M" else start
    return "".join(written)


def _text(value: float, decimals: int) -> str:
    text = re.sub(r"\.?0*$", "", f"{value:.{decimals}f}") if decimals else f"{value:.0f}"
    return "0" if text in ("-0", "") else re.sub(r"^(-?)0\.", r"\1.", text)


def unclip(root: Element) -> None:
    """Clips go that cut nothing off."""
    frames = {str(clip.get("id")): clip[0].attrib for clip in root.iter(_CLIP_PATH)}
    shapes = {f"#{path.get('id')}": path for path in root.iter(_PATH) if path.get("id")}
    default = float(root.get("stroke-width", "1"))
    used = set()
    for element in root.iter():
        if (clip := _CLIP.match(style := element.get("style", ""))) is None:
            continue
        x, y, width, height = (float(frames[clip[1]][name]) for name in ("x", "y", "width", "height"))
        extents = [
            extent(shown, shapes, default) for shown in element.iter() if shown.tag not in (_GROUP, _DEFINITIONS)
        ]
        if all(one and x <= one[0] and y <= one[1] and one[2] <= x + width and one[3] <= y + height for one in extents):
            element.set("style", style[clip.end() :])
            if not style[clip.end() :]:
                del element.attrib["style"]
        else:
            used.add(clip[1])
    for definitions in root.iter(_DEFINITIONS):
        definitions[:] = [child for child in definitions if child.tag != _CLIP_PATH or child.get("id") in used]


def _unwrap(element: Element) -> None:
    """Take groups apart that say nothing, and leave out paths that show nothing."""
    children: list[Element] = []
    for child in element:
        _unwrap(child)
        if child.tag == _GROUP and not child.attrib:
            children += child
        elif child.tag == _PATH and child.get("style") == "fill: none" and not child.get("id"):
            continue
        elif len(child) or child.attrib or child.tag not in (_GROUP, _DEFINITIONS):
            children.append(child)
    element[:] = children


@dataclass(slots=True)
class _Drawn:
    """An element, and lines or bars of one style that it stands for."""

    element: Element
    style: str
    """Empty: it is neither."""
    path: str = ""
    boxes: list[Box] = field(default_factory=list)
    """Where they are; empty: not known."""
    lines: int = 1

    def is_clear_of(self, other: "_Drawn") -> bool:
        """Whether it does not matter which of the two is drawn first."""
        if self.element.tag in (_TEXT, _DEFINITIONS):
            return True
        return bool(self.boxes and other.boxes) and not any(meet(one, two) for one in self.boxes for two in other.boxes)

    def result(self) -> Element:
        """One path where it stands for several lines."""
        return self.element if self.lines == 1 else Element(_PATH, {"d": self.path, "style": self.style})


def join(root: Element) -> None:
    """Lines of one style become one path where nothing that is drawn between them meets them; so do markers that are
    lines: ticks, ends of error bars; and bars, which do not meet either. Words stand beside lines."""
    shapes = {f"#{path.get('id')}": path for path in root.iter(_PATH) if path.get("id")}
    for parent in list(root.iter()):
        drawn: list[_Drawn] = []
        for child in parent:
            style, path = _as_line(child, shapes) or _as_area(child) or ("", "")
            straight, area = STRAIGHT.fullmatch(path), RECTANGLE.fullmatch(path)
            boxes = [box_of(straight)] if straight else [extent(child, {}, 0.0)] if area else []
            new = _Drawn(child, style, path, [box for box in boxes if box is not None])
            before = next((one for one in reversed(drawn) if one.style == style or not one.is_clear_of(new)), None)
            if style and before is not None and before.style == style and (not area or before.is_clear_of(new)):
                before.path += path
                before.boxes = [*before.boxes, *new.boxes] if before.boxes and new.boxes else []
                before.lines += 1
            else:
                drawn.append(new)
        parent[:] = [one.result() for one in drawn]
    used = {use.get("href") for use in root.iter(_USE)}
    for definitions in root.iter(_DEFINITIONS):
        definitions[:] = [child for child in definitions if child.tag != _PATH or f"#{child.get('id')}" in used]
    _unwrap(root)


def _as_line(element: Element, shapes: Mapping[str, Element]) -> tuple[str, str] | None:
    """Style and path of what is only stroked: a line, or a marker that is one. None for all else."""
    style = element.get("style", "")
    if element.tag == _PATH:
        is_line = element.attrib.keys() == {"d", "style"} and "fill: none" in style and "opacity" not in style
        return (style, element.attrib["d"]) if is_line else None
    if element.tag != _USE or not element.attrib.keys() <= {"x", "y", "href", "style"}:
        return None
    shape = shapes.get(element.attrib["href"])
    stroke = None if shape is None else _STROKE.fullmatch(shape.attrib["d"])
    if shape is None or stroke is None:
        return None
    # The shape's own style counts for more; a line has nothing to fill.
    parts = re.split(r";\s*", f"{style}; {shape.get('style', '')}")
    said = dict(part.split(":", 1) for part in parts if part)
    style = "; ".join(f"{name}:{value}" for name, value in (said | {"fill": " none"}).items())
    first, second = (
        _text(float(element.attrib[axis]) + float(offset), _DECIMALS)
        for axis, offset in zip("xy", stroke.groups(), strict=False)
    )
    step = _NUMBER.sub(lambda found: _text(float(found[0]), _DECIMALS), stroke[3])
    between = "" if second.startswith("-") else " "
    return style, f"M{first}{between}{second}{step}"


def _as_area(element: Element) -> tuple[str, str] | None:
    """Style and path of a rectangle of one colour."""
    style = element.get("style", "")
    if element.tag != _PATH or element.attrib.keys() != {"d", "style"} or "opacity" in style or "stroke" in style:
        return None
    return (style, element.attrib["d"]) if RECTANGLE.fullmatch(element.attrib["d"]) else None


def share_styles(root: Element) -> None:
    """Styles that come more than once as classes."""
    counts = Counter(style for element in root.iter() if (style := element.get("style")) is not None)
    classes = {style: f"c{number}" for number, style in enumerate(style for style, n in counts.items() if n > 1)}
    for element in root.iter():
        style = element.attrib.pop("style", None)
        if style in classes:
            element.set("class", classes[style])
        elif style is not None:
            element.set("style", _tight(style))
    sheet = root.find(f".//{_SHEET}")
    if sheet is not None:
        sheet.text = (sheet.text or "") + "".join(f".{name}{{{_tight(style)}}}" for style, name in classes.items())


def style_letters(root: Element) -> None:
    """The class that most words have is said of all: of others, which say as much, their own counts for more."""
    sheet = root.find(f".//{_SHEET}")
    words = [element for element in root.iter(_TEXT) if len(element) or element.text]
    classes = Counter(word.get("class", "") for word in words)
    name = max(classes, key=lambda one: classes[one], default="")
    if not name or sheet is None or sheet.text is None:
        return
    rules = {rule[0]: _properties(rule[1]) for rule in re.findall(r"\.(\w+)\{([^}]*)\}", sheet.text)}
    said = [rules.get(word.get("class", ""), set()) | _properties(word.get("style", "")) for word in words]
    of_others = any(element.get("class") == name for element in root.iter() if element.tag != _TEXT)
    if of_others or not all(rules[name] <= one for one in said):
        return
    sheet.text = sheet.text.replace(f".{name}{{", "text{")
    for word in words:
        if word.get("class") == name:
            del word.attrib["class"]


def _properties(style: str) -> set[str]:
    return {part.partition(":")[0].strip() for part in style.split(";") if part.strip()}


def _tight(style: str) -> str:
    return re.sub(r"\s*([:;,])\s*", r"\1", style).strip().rstrip(";")
