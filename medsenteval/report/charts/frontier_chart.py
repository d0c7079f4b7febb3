"""The compression frontier: bytes per vector against score, a line for each precision, a panel for each encoder and task."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from medsenteval.comparison.frontier import Frontier
from medsenteval.encoders.derived import PRECISIONS
from medsenteval.report.charts.drawing import Circle, Drawing, Line, Shape, Text, shorten
from medsenteval.report.charts.scale import axis_over

__all__ = ["frontier_panels"]

_WIDTH: Final = 300.0
_HEIGHT: Final = 190.0
_LEFT: Final = 56.0
_PANELS_IN_A_ROW: Final = 3
_COLOURS: Final = dict(zip(PRECISIONS, ("line0", "line1", "line2"), strict=True))


def frontier_panels(found: Sequence[Frontier]) -> Drawing:
    """Draw scores over the logarithm of bytes, each with the interval of its loss below the full score."""
    across = min(_PANELS_IN_A_ROW, len(found))
    shapes: list[Shape] = []
    for place, (precision, colour) in enumerate(_COLOURS.items()):
        shapes.append(Circle(_LEFT + 4 + 90 * place, 12, 4, colour))
        shapes.append(Text(_LEFT + 14 + 90 * place, 16, precision, fill="muted", size=11))
    note = "filled: no smaller vectors score as well"
    shapes.append(Text(_LEFT + 14 + 90 * len(_COLOURS), 16, note, fill="muted", size=11))
    for number, frontier in enumerate(found):
        row, column = divmod(number, across)
        shapes += _panel(frontier, _LEFT + (_WIDTH + _LEFT + 24) * column, 52 + (_HEIGHT + 78) * row)
    rows = -(-len(found) // across)
    width = max((_WIDTH + _LEFT + 24) * across + 24, _LEFT + 560)
    described = (
        f"Scores of {len(found)} pairs of encoder and task over the bytes of a vector, for fewer dimensions in float32, int8 "
        "and one bit, with intervals of the loss against all dimensions in float32. The table holds the numbers."
    )
    return Drawing(width, 52 + (_HEIGHT + 78) * rows, "Compression frontier", described, tuple(shapes))


def _panel(frontier: Frontier, left: float, top: float) -> list[Shape]:
    points, full = frontier.points, frontier.points[0].score
    ends = [full - end for point in points for end in (point.low, point.high)]
    down = axis_over([*ends, *(point.score for point in points)], top + _HEIGHT, top, about=4)
    sizes = [math.log2(point.size) for point in points]
    low, high = math.floor(min(sizes)), math.ceil(max(sizes))

    def at(size: int) -> float:
        return left + (math.log2(size) - low) / max(high - low, 1) * _WIDTH

    title = f"{frontier.task}, {frontier.encoder}: {frontier.metric}"
    shown = shorten(title, _WIDTH)
    shapes: list[Shape] = [Text(left, top - 12, shown, bold=True, title="" if shown == title else title)]
    for tick in down.ticks:
        shapes.append(Line(left, down.at(tick), left + _WIDTH, down.at(tick), "grid"))
        shapes.append(Text(left - 8, down.at(tick) + 4, down.label(tick), anchor="end", fill="muted", size=11))
    shapes += [
        Text(at(2**power), top + _HEIGHT + 16, f"{2**power:,}", anchor="middle", fill="muted", size=11)
        for power in range(low, high + 1, max(1, (high - low) // 6))
    ]
    shapes.append(Text(left + _WIDTH / 2, top + _HEIGHT + 34, "bytes per vector", anchor="middle", fill="muted", size=11))
    for precision, colour in _COLOURS.items():
        line = sorted((point for point in points if point.precision == precision), key=lambda point: point.size)
        for one, other in pairwise(line):
            shapes.append(Line(at(one.size), down.at(one.score), at(other.size), down.at(other.score), colour, 1.5))
        for point in line:
            x, y = at(point.size), down.at(point.score)
            shapes.append(Line(x, down.at(full - point.low), x, down.at(full - point.high), colour))
            said = (
                f"{point.dimension} dimensions, {precision}, {point.size:,} bytes: {point.score:.3f}, "
                f"loss {point.loss:+.3f} [{point.low:+.3f}, {point.high:+.3f}]"
            )
            shapes.append(Circle(x, y, 4, colour, said, hollow=not point.kept))
    return shapes
