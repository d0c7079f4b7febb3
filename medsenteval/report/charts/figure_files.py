"""Drawings as SVG, inside the page or as files of their own, and as PNG or PDF files, painted with matplotlib."""

from __future__ import annotations

from html import escape
from io import BytesIO
from pathlib import Path
from typing import Any, Final

from medsenteval.errors import MissingExtraError, SettingsError
from medsenteval.report.charts.drawing import COLOURS, Circle, Drawing, Line, Rectangle, Shape, clean
from medsenteval.support.atomic_files import write_atomically

_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', Arial, sans-serif"


def inline_svg(drawing: Drawing, name: str) -> str:
    """Return the figure for a page; ``name`` makes the ids of its title and description unique."""
    return (
        f'<svg class="chart" {_size(drawing)} aria-labelledby="{name}-title {name}-desc">'
        f'<title id="{name}-title">{_text(drawing.title)}</title><desc id="{name}-desc">{_text(drawing.description)}</desc>'
        f"{''.join(map(_shape, drawing.shapes))}</svg>"
    )


def svg_file(drawing: Drawing) -> str:
    """Return the figure as a file that stands alone, in the colours of paper."""
    rules = "".join(f".f-{role}{{fill:{colour}}}.s-{role}{{stroke:{colour}}}" for role, colour in COLOURS.items())
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<svg xmlns="http://www.w3.org/2000/svg" {_size(drawing)}>'
        f"<title>{_text(drawing.title)}</title><desc>{_text(drawing.description)}</desc>"
        f"<style>text{{font-family:{_FONT}}}{rules}</style>"
        f'<rect width="100%" height="100%" class="f-paper"/>{"".join(map(_shape, drawing.shapes))}</svg>\n'
    )


def _size(drawing: Drawing) -> str:
    width, height = _n(drawing.width), _n(drawing.height)
    return f'role="img" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'


def _shape(shape: Shape) -> str:
    if isinstance(shape, Rectangle):
        place = f'x="{_n(shape.x)}" y="{_n(shape.y)}" width="{_n(shape.width)}" height="{_n(shape.height)}"'
        return _element("rect", f'{place} class="f-{shape.fill}"', "", shape.title)
    if isinstance(shape, Line):
        dashes = ' stroke-dasharray="4 3"' if shape.dashed else ""
        ends = f'x1="{_n(shape.x1)}" y1="{_n(shape.y1)}" x2="{_n(shape.x2)}" y2="{_n(shape.y2)}"'
        return f'<line {ends} class="s-{shape.stroke}" stroke-width="{_n(shape.width)}"{dashes}/>'
    if isinstance(shape, Circle):
        look = f'class="f-paper s-{shape.fill}" stroke-width="1.5"' if shape.hollow else f'class="f-{shape.fill}"'
        return _element("circle", f'cx="{_n(shape.x)}" cy="{_n(shape.y)}" r="{_n(shape.radius)}" {look}', "", shape.title)
    weight = ' font-weight="600"' if shape.bold else ""
    turn = f' transform="rotate({_n(shape.angle)} {_n(shape.x)} {_n(shape.y)})"' if shape.angle else ""
    anchor = "" if shape.anchor == "start" else f' text-anchor="{shape.anchor}"'
    place = f'x="{_n(shape.x)}" y="{_n(shape.y)}" font-size="{_n(shape.size)}"{anchor}{weight}{turn} class="f-{shape.fill}"'
    return _element("text", place, _text(shape.text), shape.title)


def _element(name: str, attributes: str, content: str, title: str) -> str:
    inner = (f"<title>{_text(title)}</title>" if title else "") + content
    return f"<{name} {attributes}>{inner}</{name}>" if inner else f"<{name} {attributes}/>"


def _text(text: str) -> str:
    return escape(clean(text))


def _n(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".")


#: CSS pixels: a figure on paper has the size that it has on the page, and 11 pixels are letters of 8.25 points.
PIXELS_TO_THE_INCH: Final = 96.0
_RESOLUTION: Final = 192
_ALIGN: Final = {"start": "left", "middle": "center", "end": "right"}


def painted(drawing: Drawing, kind: str) -> bytes:
    """Return the bytes of a PNG or PDF file."""
    try:
        from matplotlib import rc_context
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
    written = BytesIO()
    # No date, so that the same scores make the same file.
    metadata = {"Title": drawing.title, **({"CreationDate": None} if kind == "pdf" else {})}
    # TrueType: journals refuse the Type 3 fonts that are matplotlib's default.
    with rc_context({"pdf.fonttype": 42}):
        figure.savefig(written, format=kind, dpi=_RESOLUTION, metadata=metadata)
    return written.getvalue()


def _paint(axes: Any, shape: Shape, order: int, points: float) -> None:
    from matplotlib import lines, patches

    look: dict[str, Any]
    if isinstance(shape, Rectangle):
        axes.add_patch(
            patches.Rectangle((shape.x, shape.y), shape.width, shape.height, color=COLOURS[shape.fill], lw=0, zorder=order)
        )
    elif isinstance(shape, Line):
        style = (0, (4, 3)) if shape.dashed else "-"
        look = {"color": COLOURS[shape.stroke], "lw": shape.width * points, "linestyle": style}
        axes.add_line(lines.Line2D((shape.x1, shape.x2), (shape.y1, shape.y2), **look, zorder=order))
    elif isinstance(shape, Circle):
        inside, edge = ("paper", 1.5 * points) if shape.hollow else (shape.fill, 0)
        look = {"facecolor": COLOURS[inside], "edgecolor": COLOURS[shape.fill], "lw": edge}
        axes.add_patch(patches.Circle((shape.x, shape.y), shape.radius, **look, zorder=order))
    else:
        axes.text(
            shape.x, shape.y, clean(shape.text), ha=_ALIGN[shape.anchor], va="baseline", color=COLOURS[shape.fill],
            fontsize=shape.size * points, fontweight="bold" if shape.bold else "normal", rotation=-shape.angle,
            rotation_mode="anchor", parse_math=False, zorder=order,
        )  # fmt: skip


FIGURE_FORMATS: Final = ("svg", "png", "pdf")


def write_drawing(drawing: Drawing, path: Path) -> None:
    """Write a figure as .svg, .png or .pdf, as its name ends, in the size that it was laid out for."""
    kind = path.suffix.lstrip(".").casefold()
    if kind not in FIGURE_FORMATS:
        raise SettingsError(f"{path}: a figure's name ends in {', '.join('.' + each for each in FIGURE_FORMATS)}")
    write_atomically(path, svg_file(drawing) if kind == "svg" else painted(drawing, kind))
