"""Drawings as SVG: inside the page, where CSS colours the roles, or as files of their own."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from medsenteval.report.charts.drawing import COLOURS, Circle, Drawing, Line, Rectangle, Shape, clean

_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', Arial, sans-serif"


def inline_svg(drawing: Drawing, name: str) -> str:
    """Return the figure for a page; ``name`` makes the ids of its title and description unique."""
    head = (
        f'<svg class="chart" role="img" width="{_n(drawing.width)}" height="{_n(drawing.height)}" '
        f'viewBox="0 0 {_n(drawing.width)} {_n(drawing.height)}" aria-labelledby="{name}-title {name}-desc">'
        f'<title id="{name}-title">{_text(drawing.title)}</title><desc id="{name}-desc">{_text(drawing.description)}</desc>'
    )
    return head + "".join(_shapes(drawing)) + "</svg>"


def svg_file(drawing: Drawing) -> str:
    """Return the figure as a file that stands alone, in the colours of paper."""
    rules = "".join(f".f-{role}{{fill:{colour}}}.s-{role}{{stroke:{colour}}}" for role, colour in COLOURS.items())
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{_n(drawing.width)}" '
        f'height="{_n(drawing.height)}" '
        f'viewBox="0 0 {_n(drawing.width)} {_n(drawing.height)}">'
        f"<title>{_text(drawing.title)}</title><desc>{_text(drawing.description)}</desc>"
        f"<style>text{{font-family:{_FONT}}}{rules}</style>"
        f'<rect width="100%" height="100%" class="f-paper"/>{"".join(_shapes(drawing))}</svg>\n'
    )


def _shapes(drawing: Drawing) -> Iterator[str]:
    for shape in drawing.shapes:
        yield _shape(shape)


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
