"""Drawings as PNG or PDF files, painted shape by shape with matplotlib."""

from __future__ import annotations

from io import BytesIO
from typing import Any, Final

from medsenteval.errors import MissingExtraError
from medsenteval.report.charts.drawing import COLOURS, Circle, Drawing, Line, Rectangle, Shape, clean

__all__ = ["painted"]

#: CSS pixels to an inch: a figure on paper has the size that it has on the page.
_PIXELS: Final = 96.0
_RESOLUTION: Final = 192
_ALIGN: Final = {"start": "left", "middle": "center", "end": "right"}


def painted(drawing: Drawing, kind: str, scale: float = 1.0) -> bytes:
    """Return the bytes of a PNG or PDF file, its shapes and letters so many times their size on the page."""
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError(f"a figure as {kind}", "matplotlib", "report") from error
    size = (scale * drawing.width / _PIXELS, scale * drawing.height / _PIXELS)
    figure = Figure(figsize=size, facecolor=COLOURS["paper"])
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, drawing.width)
    axes.set_ylim(drawing.height, 0)
    axes.axis("off")
    for order, shape in enumerate(drawing.shapes):
        _paint(axes, shape, order, scale * 72 / _PIXELS)
    written = BytesIO()
    # Without dates the same scores give the same file.
    metadata = {"Title": drawing.title} | ({"CreationDate": None} if kind == "pdf" else {})
    # TrueType: journals refuse the Type 3 fonts that are matplotlib's default.
    with rc_context({"pdf.fonttype": 42}):
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
