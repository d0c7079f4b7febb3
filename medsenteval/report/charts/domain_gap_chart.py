"""The domain gap: a panel for each encoder, a line for each task from its general counterparts to itself."""

from __future__ import annotations

from collections.abc import Sequence

from medsenteval.comparison.domain_gap import DomainGap
from medsenteval.report.charts.drawing import Circle, Drawing, Line, Rectangle, Shape, Text, axis_over, labels_of, text_width

_ROW = 20.0
_PLOT = 210.0
_SPACE = 46.0
_PANELS_IN_A_ROW = 4
_SMALLEST_PLOT = 110.0


def gap_panels(gaps: Sequence[DomainGap], width: float | None = None) -> Drawing:
    """Draw shares of the way to a perfect score: dots are biomedical tasks, squares the means of their counterparts."""
    encoders = list(dict.fromkeys(gap.encoder for gap in gaps))
    tasks = list(dict.fromkeys(gap.biomedical.task for gap in gaps))
    said = {gap.biomedical.task: f"{gap.biomedical.task} {gap.biomedical.metric}" for gap in gaps}
    values = [v for gap in gaps for v in (gap.biomedical.low, gap.biomedical.high, gap.general_value)]
    left = 16 + max(map(text_width, said.values()))
    panels = _PANELS_IN_A_ROW if width is None else max(1, int((width - left) / (_SMALLEST_PLOT + _SPACE)))
    across = min(panels, len(encoders))
    plot = _PLOT if width is None else (width - left) / across - _SPACE
    titles = labels_of(encoders, plot + _SPACE - 12)
    title_height = max(title.height for title in titles)
    panel_height = title_height + 16 + _ROW * len(tasks) + 34
    head = 44.0 if width is None else 62.0
    shapes: list[Shape] = []
    for number, (encoder, title) in enumerate(zip(encoders, titles, strict=True)):
        row, column = divmod(number, across)
        top = head + panel_height * row + title_height + 10
        start = left + (plot + _SPACE) * column
        axis = axis_over([*values, 0.0], start, start + plot, about=4 if plot > 150 else 2)
        bottom = top + _ROW * len(tasks)
        shapes += title.beside(start, top - 6 - title.height / 2, "start", bold=True)
        for tick in axis.ticks:
            shapes.append(Line(axis.at(tick), top, axis.at(tick), bottom, "soft" if tick == 0 else "grid"))
            shapes.append(Text(axis.at(tick), bottom + 15, axis.label(tick), anchor="middle", fill="muted", size=11))
        if column == 0:
            shapes += [Text(left - 10, top + _ROW * (i + 0.5) + 4, said[task], anchor="end") for i, task in enumerate(tasks)]
        for gap in gaps:
            if gap.encoder == encoder:
                y = top + _ROW * (tasks.index(gap.biomedical.task) + 0.5)
                own, general = axis.at(gap.biomedical.value), axis.at(gap.general_value)
                shown = f"{encoder}, {gap.biomedical.task}: gap {gap.gap:+.3f} [{gap.low:+.3f}, {gap.high:+.3f}]"
                shapes.append(Line(general, y, own, y, "soft", 3))
                shapes.append(Line(axis.at(gap.biomedical.low), y, axis.at(gap.biomedical.high), y, "accent", 1.5))
                shapes.append(Rectangle(general - 3.5, y - 3.5, 7, 7, "second", shown))
                shapes.append(Circle(own, y, 4, "accent", shown))
    # Side by side, or one below the other.
    x, y = (left + 220, 12.0) if width is None else (4.0, 28.0)
    first = left + 4 if width is None else 8.0
    shapes += [
        Circle(first, 12, 4, "accent"),
        Text(first + 10, 16, "biomedical task, with its interval", fill="muted", size=11),
        Rectangle(x, y - 3.5, 7, 7, "second"),
        Text(x + 14, y + 4, "mean of its general counterparts", fill="muted", size=11),
    ]
    bottom = head + panel_height * -(-len(encoders) // across)
    shapes.append(Text(8, bottom + 12, "0: constant answer, 1: perfect", fill="muted", size=11))
    described = (
        f"For {len(encoders)} encoders, the share of the way from the best constant answer to a perfect score on "
        f"{len(tasks)} biomedical tasks and on their general counterparts. The table below holds the numbers."
    )
    whole = max(left + (_PLOT + _SPACE) * across, left + 440) if width is None else width
    return Drawing(whole, bottom + 24, "Domain gap", described, tuple(shapes))
