"""A figure as SVG whose text depends on nothing but what is drawn."""

import io

from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure as Canvas


def new_canvas(width: float, height: float) -> Canvas:
    """An empty one, in inches."""
    canvas = Canvas(figsize=(width, height), layout="constrained")
    FigureCanvasSVG(canvas)
    return canvas


def to_svg(canvas: Canvas) -> str:
    """Its text. Ids of clips and markers come from matplotlib's `svg.hashsalt`, which the caller sets."""
    output = io.StringIO()
    canvas.savefig(output, format="svg", metadata={"Date": None, "Creator": None})
    text = output.getvalue()
    return "\n".join(line.rstrip() for line in text[text.index("<svg") :].splitlines()) + "\n"
