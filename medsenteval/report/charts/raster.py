"""Drawings as PNG or PDF files, painted shape by shape with matplotlib."""

from __future__ import annotations

from io import BytesIO
from typing import Any, Final

from medsenteval.errors import MissingExtraError
from medsenteval.report.charts.drawing import COLOURS, Circle, Drawing, Line, Rectangle, Shape, clean

#: CSS pixels: a figure on paper has the size that it has on the page, and 11 pixels are letters of 8.25 points.
PIXELS_TO_THE_INCH: Final = 96.0
_RESOLUTION: Final = 192
_ALIGN: Final = {"start": "left", "middle": "center", "end": "right"}


def painted(drawing: Drawing, kind: str) -> bytes:
    """Return the bytes of a PNG or PDF file."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError(f"a figure as {kind}", "matplotlib", "report") from error
    size = (drawing.width / PIXELS_TO_THE_INCH, drawing.height / PIXELS_TO_THE_INCH)
    figure = Figure(figsize=size, facecolor=COLOURS["paper"])
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, drawing.width)
    axes.set_ylim(drawing.height, 0)
    axes.axis("off")
    for order, shape in enumerate(drawing.shapes):
        _paint(axes, shape, order, 72 / PIXELS_TO_THE_INCH)
    return saved(figure, kind, drawing.title)


def saved(figure: Any, kind: str, title: str) -> bytes:
    """Return a figure of matplotlib's as a file, the same one for the same scores."""
    from matplotlib import rc_context

    written = BytesIO()
    metadata = {"Title": title, **{"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(kind, {})}
    # TrueType: journals refuse the Type 3 fonts that are matplotlib's default. Without a salt, names in SVG are random.
    with rc_context({"pdf.fonttype": 42, "svg.hashsalt": title}):
        figure.savefig(written, format=kind, dpi=_RESOLUTION, metadata=metadata)
    return written.getvalue()


def _paint(axes: Any, shape: Shape, order: int, points: float) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Circle as Disc
    from matplotlib.patches import Rectangle as Box

    if isinstance(shape, Rectangle):
        axes.add_patch(Box((shape.x, shape.y), shape.width, shape.height, color=COLOURS[shape.fill], lw=0, zorder=order))
    elif isinstance(shape, Line):
        style = (0, (4, 3)) if shape.dashed else "-"
        across, down = (shape.x1, shape.x2), (shape.y1, shape.y2)
        colour = COLOURS[shape.stroke]
        axes.add_line(Line2D(across, down, color=colour, lw=shape.width * points, linestyle=style, zorder=order))
    elif isinstance(shape, Circle):
        inside = COLOURS["paper"] if shape.hollow else COLOURS[shape.fill]
        edge = 1.5 * points if shape.hollow else 0
        colour = COLOURS[shape.fill]
        axes.add_patch(Disc((shape.x, shape.y), shape.radius, facecolor=inside, edgecolor=colour, lw=edge, zorder=order))
    else:
        axes.text(
            shape.x, shape.y, clean(shape.text), ha=_ALIGN[shape.anchor], va="baseline", color=COLOURS[shape.fill],
            fontsize=shape.size * points, fontweight="bold" if shape.bold else "normal", rotation=-shape.angle,
            rotation_mode="anchor", parse_math=False, zorder=order,
        )  # fmt: skip
