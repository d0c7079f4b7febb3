"""The domain gap: a panel for each encoder, a line for each task from its general counterparts to itself."""

from __future__ import annotations

from collections.abc import Sequence

from medsenteval.comparison.domain_gap import DomainGap
from medsenteval.report.charts.drawing import Circle, Drawing, Line, Rectangle, Shape, Text, shorten, text_width
from medsenteval.report.charts.scale import axis_over

__all__ = ["gap_panels"]

_ROW = 20.0
_PLOT = 210.0
_SPACE = 46.0
_PANELS_IN_A_ROW = 4


def gap_panels(gaps: Sequence[DomainGap]) -> Drawing:
    """Draw shares of the way to a perfect score: dots are biomedical tasks, squares the means of their counterparts."""
    encoders = list(dict.fromkeys(gap.encoder for gap in gaps))
    tasks = list(dict.fromkeys(gap.biomedical.task for gap in gaps))
    values = [v for gap in gaps for v in (gap.biomedical.low, gap.biomedical.high, gap.general_value)]
    left = 16 + max(map(text_width, tasks))
    panel_height = 30 + _ROW * len(tasks) + 34
    across = min(_PANELS_IN_A_ROW, len(encoders))
    shapes: list[Shape] = []
    for number, encoder in enumerate(encoders):
        row, column = divmod(number, across)
        top = 40 + panel_height * row + 26
        start = left + (_PLOT + _SPACE) * column
        axis = axis_over([*values, 0.0], start, start + _PLOT, about=4)
        bottom = top + _ROW * len(tasks)
        name = shorten(encoder, _PLOT)
        shapes.append(Text(start, top - 8, name, bold=True, title="" if name == encoder else encoder))
        for tick in axis.ticks:
            shapes.append(Line(axis.at(tick), top, axis.at(tick), bottom, "soft" if tick == 0 else "grid"))
            shapes.append(Text(axis.at(tick), bottom + 15, axis.label(tick), anchor="middle", fill="muted", size=11))
        if column == 0:
            shapes += [Text(left - 10, top + _ROW * (i + 0.5) + 4, task, anchor="end") for i, task in enumerate(tasks)]
        for gap in gaps:
            if gap.encoder == encoder:
                y = top + _ROW * (tasks.index(gap.biomedical.task) + 0.5)
                own, general = axis.at(gap.biomedical.value), axis.at(gap.general_value)
                said = f"{encoder}, {gap.biomedical.task}: gap {gap.gap:+.3f} [{gap.low:+.3f}, {gap.high:+.3f}]"
                shapes.append(Line(general, y, own, y, "soft", 3))
                shapes.append(Line(axis.at(gap.biomedical.low), y, axis.at(gap.biomedical.high), y, "accent", 1.5))
                shapes.append(Rectangle(general - 3.5, y - 3.5, 7, 7, "second", said))
                shapes.append(Circle(own, y, 4, "accent", said))
    shapes += [
        Circle(left + 4, 12, 4, "accent"),
        Text(left + 14, 16, "biomedical task, with its interval", fill="muted", size=11),
        Rectangle(left + 220, 8.5, 7, 7, "second"),
        Text(left + 234, 16, "mean of its general counterparts", fill="muted", size=11),
    ]
    rows = -(-len(encoders) // across)
    width = max(left + (_PLOT + _SPACE) * across, left + 440)
    described = (
        f"For {len(encoders)} encoders, the share of the way from the best constant answer to a perfect score on "
        f"{len(tasks)} biomedical tasks and on their general counterparts. The table below holds the numbers."
    )
    return Drawing(width, 40 + panel_height * rows + 8, "Domain gap", described, tuple(shapes))
