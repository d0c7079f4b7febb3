"""The compression frontier: bytes per vector against score, a line for each precision, a panel for each encoder and task."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from medsenteval.comparison.frontier import Frontier
from medsenteval.encoders.derived import PRECISIONS
from medsenteval.report.charts.drawing import Circle, Drawing, Line, Shape, Text, axis_over, labels_of
from medsenteval.report.charts.interval_chart import axis_title

#: A page of a journal, 6.9 inches, so that letters of 11 pixels are larger than 7 points in print.
_WIDTH: Final = 662.0
_HEIGHT: Final = 190.0
_LEFT: Final = 62.0
_RIGHT: Final = 18.0
_PANELS_IN_A_ROW: Final = 2
_COLOURS: Final = dict(zip(PRECISIONS, ("line0", "line1", "line2"), strict=True))
#: What a number of bytes needs below the axis.
_TICK: Final = 44.0
#: Precisions of equal size stand so far apart that their intervals can be told apart.
_APART: Final = 3.0


def frontier_panels(found: Sequence[Frontier]) -> Drawing:
    """Draw scores over the logarithm of bytes, each with the interval of its loss below the full score."""
    across = min(_PANELS_IN_A_ROW, len(found))
    plot = _WIDTH / across - _LEFT - _RIGHT
    titles = labels_of((f"{each.task}, {each.encoder}" for each in found), plot)
    title_height = max(title.height for title in titles)
    panel_height = title_height + _HEIGHT + 54
    shapes: list[Shape] = []
    for place, (precision, colour) in enumerate(_COLOURS.items()):
        shapes.append(Circle(_LEFT + 4 + 90 * place, 12, 4, colour))
        shapes.append(Text(_LEFT + 14 + 90 * place, 16, precision, fill="muted", size=11))
    note = "filled: no smaller vectors score as well"
    shapes.append(Text(_LEFT + 14 + 90 * len(_COLOURS), 16, note, fill="muted", size=11))
    for number, (frontier, title) in enumerate(zip(found, titles, strict=True)):
        row, column = divmod(number, across)
        left, top = _LEFT + column * _WIDTH / across, 34 + panel_height * row + title_height
        shapes += [replace(line, bold=True) for line in title.beside(left, top - 8 - title.height / 2, anchor="start")]
        shapes += _panel(frontier, left, top, plot)
    described = (
        f"Scores of {len(found)} pairs of encoder and task over the bytes of a vector, for fewer dimensions in float32, int8 "
        "and one bit, with intervals of the loss against all dimensions in float32. The table holds the numbers."
    )
    height = 34 + panel_height * -(-len(found) // across)
    return Drawing(_WIDTH, height, "Compression frontier", described, tuple(shapes))


def _panel(frontier: Frontier, left: float, top: float, width: float) -> list[Shape]:
    points, full = frontier.points, frontier.points[0].score
    ends = [full - end for point in points for end in (point.low, point.high)]
    down = axis_over([*ends, *(point.score for point in points)], top + _HEIGHT, top, about=4)
    sizes = [math.log2(point.size) for point in points]
    low, high = math.floor(min(sizes)), math.ceil(max(sizes))

    def at(size: int) -> float:
        return left + (math.log2(size) - low) / max(high - low, 1) * width

    shapes: list[Shape] = []
    for tick in down.ticks:
        shapes.append(Line(left, down.at(tick), left + width, down.at(tick), "grid"))
        shapes.append(Text(left - 8, down.at(tick) + 4, down.label(tick), anchor="end", fill="muted", size=11))
    shapes += [
        Text(at(2**power), top + _HEIGHT + 16, f"{2**power:,}", anchor="middle", fill="muted", size=11)
        for power in range(low, high + 1, max(1, math.ceil((high - low) * _TICK / width)))
    ]
    shapes.append(Text(left + width / 2, top + _HEIGHT + 34, "bytes per vector", anchor="middle", fill="muted", size=11))
    measured = axis_title(frontier.task, frontier.metric, frontier.unit)
    shapes.append(Text(left - 48, top + _HEIGHT / 2, measured, anchor="middle", fill="muted", size=11, angle=-90))
    for place, (precision, colour) in enumerate(_COLOURS.items()):
        line = sorted((point for point in points if point.precision == precision), key=lambda point: point.size)
        where = [(at(point.size) + _APART * (place - 1), down.at(point.score)) for point in line]
        shapes += [Line(*one, *other, colour, 1.5) for one, other in pairwise(where)]
        for point, (x, y) in zip(line, where, strict=True):
            shapes.append(Line(x, down.at(full - point.low), x, down.at(full - point.high), colour))
            said = (
                f"{point.dimension} dimensions, {precision}, {point.size:,} bytes: {point.score:.3f}, "
                f"loss {point.loss:+.3f} [{point.low:+.3f}, {point.high:+.3f}]"
            )
            shapes.append(Circle(x, y, 4, colour, said, hollow=not point.kept))
    return shapes
