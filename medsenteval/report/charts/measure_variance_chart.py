"""How much the choice of a similarity measure moves an encoder's scores: smallest, median and largest variance over tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from medsenteval.report.charts.drawing import Circle, Drawing, Line, Shape, Text, axis_over, shorten, text_width

_ROW = 22.0
_PLOT = 420.0


def variance_plot(title: str, variances: Mapping[str, Sequence[float]]) -> Drawing:
    """Draw a row for each encoder: a line from the smallest to the largest variance over its tasks, a dot for the median."""
    names = {encoder: shorten(encoder, 220) for encoder in variances}
    left = 12 + max(map(text_width, names.values()))
    axis = axis_over([0.0, *(max(values) for values in variances.values())], left + 8, left + 8 + _PLOT)
    top, bottom = 16.0, 16.0 + _ROW * len(variances)
    shapes: list[Shape] = []
    for tick in axis.ticks:
        shapes.append(Line(axis.at(tick), top, axis.at(tick), bottom, "grid"))
        shapes.append(Text(axis.at(tick), bottom + 16, axis.label(tick), anchor="middle", fill="muted", size=11))
    for row, (encoder, values) in enumerate(variances.items()):
        y = top + _ROW * (row + 0.5)
        low, middle, high = min(values), median(values), max(values)
        said = f"{encoder}: {low:.2g}, {middle:.2g}, {high:.2g} over {len(values)} tasks"
        shapes.append(Text(left, y + 4, names[encoder], anchor="end", title="" if names[encoder] == encoder else encoder))
        shapes.append(Line(axis.at(low), y, axis.at(high), y, "accent", 2))
        shapes += [Line(axis.at(end), y - 4, axis.at(end), y + 4, "accent", 1.5) for end in (low, high)]
        shapes.append(Circle(axis.at(middle), y, 4.5, "accent", said))
        shapes.append(Text(axis.end + 14, y + 4, f"{middle:.2g}", size=11))
    below = "variance over measures: smallest, median and largest of the tasks"
    shapes.append(Text((axis.start + axis.end) / 2, bottom + 34, below, anchor="middle", fill="muted", size=11))
    widest = max(variances, key=lambda encoder: max(variances[encoder]))
    described = (
        f"Variance of scores over similarity measures for {len(variances)} encoders; the largest is {widest}'s, "
        f"{max(variances[widest]):.2g}."
    )
    return Drawing(axis.end + 72, bottom + 44, title, described, tuple(shapes))
