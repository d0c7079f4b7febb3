"""Analogies: a bar for each relation, a panel for each encoder."""

from __future__ import annotations

from collections.abc import Mapping

from medsenteval.report.charts.drawing import Drawing, Line, Rectangle, Shape, Text, labels_of
from medsenteval.report.charts.interval_chart import axis_title

_ROW = 18.0
_PLOT = 130.0
_SPACE = 56.0
_SMALLEST_PLOT = 70.0


def analogy_bars(task: str, metric: str, series: Mapping[str, Mapping[str, float]], width: float | None = None) -> Drawing:
    """Draw one metric of each relation (0 to 1), a panel for each encoder or the like; as many as fit stand side by side."""
    relations = list(dict.fromkeys(name for values in series.values() for name in values))
    names = labels_of(relations, 260 if width is None else 0.42 * width, 11)
    left = 16 + max(name.width for name in names)
    across = len(series) if width is None else max(1, min(len(series), int((width - left) / (_SMALLEST_PLOT + _SPACE))))
    plot = _PLOT if width is None else (width - left) / across - _SPACE
    titles = labels_of(series, plot + _SPACE - 12)
    heights = [max(_ROW, name.height + 3) for name in names]
    title_height = max(title.height for title in titles)
    panel_height = title_height + 18 + sum(heights) + 42
    shapes: list[Shape] = []
    for number, (title, (encoder, values)) in enumerate(zip(titles, series.items(), strict=True)):
        row, column = divmod(number, across)
        start = left + (plot + _SPACE) * column
        top = panel_height * row + title_height + 14
        bottom = top + sum(heights)
        shapes += title.beside(start, top - 8 - title.height / 2, "start", bold=True)
        for tick in (0.0, 0.5, 1.0):
            x = start + plot * tick
            shapes.append(Line(x, top, x, bottom, "soft" if tick == 0 else "grid"))
            shapes.append(Text(x, bottom + 15, f"{tick:g}", anchor="middle", fill="muted", size=11))
        said = axis_title(task, metric, "fraction")
        shapes.append(Text(start + plot / 2, bottom + 32, said, anchor="middle", fill="muted", size=11))
        y = top
        for name, relation, height in zip(names, relations, heights, strict=True):
            if column == 0:
                shapes += name.beside(left - 8, y + height / 2)
            value = values.get(relation)
            if value is None:
                said = f"{encoder}, {relation}: no question asked"
                shapes.append(Text(start + 4, y + height / 2 + 4, "–", fill="muted", size=11, title=said))
            else:
                said = f"{encoder}, {relation}: {value:.3f}"
                shapes.append(Rectangle(start, y + 3, max(plot * value, 0.5), height - 6, "accent", said))
                shapes.append(Text(start + plot * value + 5, y + height / 2 + 4, f"{value:.2f}", fill="muted", size=10))
            y += height
    described = f"{metric} of {len(relations)} relations in {len(series)} panels. The table holds the numbers."
    whole = left + (_PLOT + _SPACE) * len(series) if width is None else width
    return Drawing(whole, panel_height * -(-len(series) // across), f"{task}: {metric} by relation", described, tuple(shapes))
