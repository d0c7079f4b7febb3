"""Names at the left, their values beside them, in panels that share rows and an axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from medsenteval.report.charts.drawing import Axis, Line, Shape, Text, axis_over, labels_of

_ROW: Final = 20.0
_SMALLEST_PLOT: Final = 110.0
#: Names take no more of a figure's width than this share.
NAMES_SHARE: Final = 0.42


class Row(NamedTuple):
    """Where the values of a name are drawn."""

    top: float
    middle: float
    bottom: float


def row_panels(
    names: Iterable[str],
    titles: Sequence[str],
    below: str,
    axis_between: Callable[[float, float], Axis],
    draw: Callable[[int, Axis, Sequence[Row]], Iterable[Shape]],
    width: float,
    *,
    top: float,
    right: float = 46.0,
) -> tuple[float, tuple[Shape, ...]]:
    """Return the height of panels that begin at ``top``, as many side by side as the width holds, and their shapes.

    All have the same rows and axis; ``below`` says what the axis shows. ``draw`` returns what stands in the panel of a number,
    behind which there is ``right`` room.
    """
    labels = labels_of(names, NAMES_SHARE * width)
    # Whole pixels, so that equal values are equally long in all panels.
    left = 16 + math.ceil(max(label.width for label in labels))
    across = max(1, min(len(titles), int((width - left) / (_SMALLEST_PLOT + right))))
    plot = int((width - left) / across - right)
    heads = labels_of(titles, plot + right - 20)
    head = max(label.height for label in heads) + 4 if any(titles) else 0.0
    heights = [max(_ROW, label.height + 5) for label in labels]
    panel_height = head + sum(heights) + 34
    shapes: list[Shape] = []
    for panel, title in enumerate(heads):
        down, column = divmod(panel, across)
        start, upper = left + (plot + right) * column, top + panel_height * down
        shapes += title.beside(start, upper + head - 4 - title.height / 2, "start", bold=True)
        ends = [upper + head + sum(heights[:place]) for place in range(len(heights) + 1)]
        rows = [Row(one, (one + other) / 2, other) for one, other in pairwise(ends)]
        if column == 0:
            for label, row in zip(labels, rows, strict=True):
                shapes += label.beside(left - 8, row.middle)
        axis = axis_between(start, start + plot)
        for tick in axis.ticks:
            shapes.append(Line(axis.at(tick), ends[0], axis.at(tick), ends[-1], "soft" if tick == 0 else "grid"))
            shapes.append(Text(axis.at(tick), ends[-1] + 15, axis.label(tick), anchor="middle", fill="muted", size=11))
        shapes += draw(panel, axis, rows)
    bottom = top + panel_height * -(-len(titles) // across) - 10
    (said,) = labels_of([below], width - 8, 11)
    # In the middle of the panels, or where the whole of it can be read.
    middle = max(said.width / 2, min((left + width - right) / 2, width - said.width / 2))
    shapes += said.beside(middle, bottom + said.height / 2, "middle", "muted")
    return bottom + said.height + 8, tuple(shapes)


def axis_of(values: Sequence[float]) -> Callable[[float, float], Axis]:
    """Return what makes an axis over these values between two places, with fewer ticks where there is little room."""
    return lambda start, end: axis_over(values, start, end, about=5 if end - start > 200 else 3)
